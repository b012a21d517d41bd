\set r random(0, 1000000)
BEGIN;
LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE;
SELECT rencoder_maintain_index(some_index(:r));
COMMIT;
