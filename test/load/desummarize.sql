\set r random(0, 1000000)
\set step random(1, 40)
BEGIN;
LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE;
SELECT rencoder_desummarize_range(i, b)
FROM some_index(:r) i, generate_series(:r % 40,
	pg_relation_size('t') / current_setting('block_size')::int - 1, :step) b;
COMMIT;
