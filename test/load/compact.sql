\set r random(0, 1000000)
BEGIN;
LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE;
SELECT ask(:r);
SELECT rencoder_compact(some_index(:r));
COMMIT;
