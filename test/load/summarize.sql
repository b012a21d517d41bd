\set r random(0, 1000000)
BEGIN;
LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE;
SELECT rencoder_summarize_new_values(some_index(:r));
COMMIT;
