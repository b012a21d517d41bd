-- Storage parameters, settings, and what CREATE INDEX refuses.
SET client_min_messages = warning;
CREATE TABLE opt (v int8, t tsvector, filler text);
ALTER TABLE opt ALTER filler SET STORAGE plain;
INSERT INTO opt SELECT i * 7919 % 10007, i::text::tsvector, repeat('x', 1000)
FROM generate_series(1, 140) i;

-- What an index was built with, and whether it finds its rows.
CREATE FUNCTION opt_index() RETURNS TABLE (pages_per_range int, bits_per_key int, found bigint)
	LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rencoder_index_check('opt_v', true);
	SET LOCAL enable_seqscan = off;
	RETURN QUERY SELECT m.pages_per_range, m.bits_per_key,
		(SELECT count(*) FROM opt WHERE v BETWEEN 1000 AND 5000)
		FROM rencoder_metapage('opt_v') m;
END $$;

--
-- pages_per_range: 0 (automatic) to 1024.
--
CREATE INDEX opt_v ON opt USING rencoder (v);
SELECT * FROM opt_index();
DROP INDEX opt_v;
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = -1);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 0);
SELECT * FROM opt_index();
DROP INDEX opt_v;
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 1);
SELECT * FROM opt_index();
DROP INDEX opt_v;
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 3);
SELECT * FROM opt_index();
DROP INDEX opt_v;
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 1024);
SELECT * FROM opt_index();
DROP INDEX opt_v;
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 1025);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 5000);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 99999999999);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 'many');
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range = 1.5);
SELECT * FROM opt_index();
DROP INDEX opt_v;
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (pages_per_range);

--
-- bits_per_key: 4 to 64.
--
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (bits_per_key = 3);
CREATE INDEX opt_v ON opt USING rencoder (v)
	WITH (pages_per_range = 1, bits_per_key = 4);
SELECT * FROM opt_index();
DROP INDEX opt_v;
CREATE INDEX opt_v ON opt USING rencoder (v)
	WITH (pages_per_range = 1, bits_per_key = 64);
SELECT * FROM opt_index();
DROP INDEX opt_v;
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (bits_per_key = 65);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (bits_per_key = 1000);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (bits_per_key = -20);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (bits_per_key = on);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (bits_per_key = 20, bits_per_key = 20);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (autosummarize = maybe);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (autosummarize = 2);

--
-- No others.
--
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (fillfactor = 70);
CREATE INDEX opt_v ON opt USING rencoder (v) WITH (colour = 'red');

--
-- They take effect when the index is built.
--
CREATE INDEX opt_v ON opt USING rencoder (v)
	WITH (pages_per_range = 2, bits_per_key = 16);
SELECT reloptions FROM pg_class WHERE relname = 'opt_v';
ALTER INDEX opt_v SET (pages_per_range = 4, bits_per_key = 8);
SELECT * FROM opt_index();
INSERT INTO opt SELECT i * 7919 % 10007, i::text::tsvector, repeat('x', 1000)
FROM generate_series(141, 170) i;
SELECT rencoder_maintain_index('opt_v');
SELECT * FROM opt_index();
REINDEX INDEX opt_v;
SELECT * FROM opt_index();
ALTER INDEX opt_v RESET (pages_per_range);
REINDEX INDEX opt_v;
SELECT * FROM opt_index();
ALTER INDEX opt_v SET (pages_per_range = 1025);
ALTER INDEX opt_v SET (fillfactor = 50);
ALTER INDEX opt_v RESET (bits_per_key);
TRUNCATE opt;
SELECT * FROM opt_index();
DROP INDEX opt_v;

--
-- What the access method does not do.
--
CREATE INDEX opt_t ON opt USING rencoder (t);
CREATE INDEX opt_t ON opt USING rencoder (v, (int8range(v, v)));
CREATE INDEX opt_t ON opt USING rencoder (v tsvector_ops);
CREATE UNIQUE INDEX opt_u ON opt USING rencoder (v);
CREATE INDEX opt_i ON opt USING rencoder (v) INCLUDE (t);
-- From 19 on PostgreSQL says at which place.
DO $$
DECLARE
	part text;
BEGIN
	FOREACH part IN ARRAY array['v DESC', 'v NULLS FIRST', 'v COLLATE "C"'] LOOP
		BEGIN
			EXECUTE format('CREATE INDEX opt_d ON opt USING rencoder (%s)', part);
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING '%: %', part, SQLERRM;
		END;
	END LOOP;
END $$;
CREATE INDEX opt_v ON opt USING rencoder (v);
CLUSTER opt USING opt_v;
SELECT amname, pg_indexam_has_property(oid, 'can_order') AS can_order,
	pg_indexam_has_property(oid, 'can_unique') AS can_unique,
	pg_indexam_has_property(oid, 'can_multi_col') AS can_multi_col,
	pg_indexam_has_property(oid, 'can_exclude') AS can_exclude,
	pg_indexam_has_property(oid, 'can_include') AS can_include
FROM pg_am WHERE amname = 'rencoder';
SELECT property, pg_index_has_property('opt_v', property) AS index,
	pg_index_column_has_property('opt_v', 1, property) AS "column"
FROM unnest('{clusterable,index_scan,bitmap_scan,backward_scan,asc,orderable,distance_orderable,'
	'returnable,search_array,search_nulls}'::text[]) property;

--
-- Settings.
--
SHOW rencoder.enable_scan;
SELECT name, setting, vartype, context, boot_val FROM pg_settings WHERE name LIKE 'rencoder.%';
INSERT INTO opt SELECT i * 7919 % 10007, i::text::tsvector, repeat('x', 1000)
FROM generate_series(1, 3000) i;
VACUUM ANALYZE opt;
SET enable_indexscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM opt WHERE v BETWEEN 100 AND 101;
SET rencoder.enable_scan = off;
EXPLAIN (COSTS OFF) SELECT * FROM opt WHERE v BETWEEN 100 AND 101;
-- Not even if all is off, as far as there is another way.
CREATE INDEX opt_btree ON opt (v);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM opt WHERE v BETWEEN 100 AND 101;
RESET enable_seqscan;
RESET enable_indexscan;
SET rencoder.enable_scan = 'sometimes';
RESET rencoder.enable_scan;
SHOW rencoder.enable_scan;
SET rencoder.speed = 'fast';

DROP TABLE opt;
DROP FUNCTION opt_index;
