-- What can be done to tables and indexes as a whole.  After each step the index
-- must be used, and find what the table holds.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
-- Queries are counted below: none is to be recorded by chance.
SET rencoder.sample_rate = 0;

-- The rows that a condition finds by the index, if they are those of the table.
CREATE FUNCTION ddl_found(tab text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT count(*) || '' rows '' || coalesce(sum(hashtext(x::text)), 0) '
		'FROM (SELECT * FROM %s WHERE %s) x',
		tab, condition);
	plan json;
	by_index text;
	by_table text;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true),
		set_config('enable_indexscan', 'off', true),
		set_config('enable_indexonlyscan', 'off', true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	EXECUTE query INTO by_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true),
		set_config('rencoder.enable_scan', 'off', true);
	EXECUTE query INTO by_table;
	PERFORM set_config('enable_bitmapscan', 'on', true), set_config('enable_indexscan', 'on', true),
		set_config('enable_indexonlyscan', 'on', true),
		set_config('rencoder.enable_scan', 'on', true);
	RETURN CASE WHEN plan::text !~ 'Bitmap Index Scan' THEN 'index not used, ' ELSE '' END ||
		CASE WHEN by_index = by_table THEN split_part(by_index, ' ',
			1) ELSE format('by the index %s, by the table %s', by_index, by_table) END;
END $$;
-- The same after all indexes of the table have been checked.
CREATE FUNCTION ddl_check(tab text, condition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM rencoder_index_check(indexrelid, true) FROM pg_index
		JOIN pg_class c ON c.oid = indexrelid JOIN pg_am ON relam = pg_am.oid
	WHERE indrelid = tab::regclass AND amname = 'rencoder' AND indisvalid AND c.relkind = 'i';
	RETURN ddl_found(tab, condition);
END $$;

-- 300 pages.
CREATE TABLE ddl (id int, v int8, s text, filler text);
ALTER TABLE ddl ALTER filler SET STORAGE plain;
INSERT INTO ddl SELECT i, i * 7919 % 10007, 'name ' || i * 7919 % 10007, repeat('x', 1000)
FROM generate_series(1, 2100) i;
CREATE INDEX ddl_v ON ddl USING rencoder (v)
	WITH (autosummarize = off, pages_per_range = 1);
CREATE INDEX ddl_s ON ddl USING rencoder (s COLLATE "C")
	WITH (autosummarize = off, pages_per_range = 1);
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200'), ddl_check('ddl', $$s COLLATE "C" = 'name 7919'$$);

--
-- Built once more, rewritten, emptied.
--
REINDEX TABLE ddl;
REINDEX TABLE CONCURRENTLY ddl;
VACUUM FULL ddl;
CREATE INDEX ddl_id ON ddl (id DESC);
CLUSTER ddl USING ddl_id;
SELECT id FROM ddl LIMIT 1;
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200'), ddl_check('ddl', $$s COLLATE "C" = 'name 7919'$$);
BEGIN;
TRUNCATE ddl;
INSERT INTO ddl SELECT i, i, i, 'x' FROM generate_series(1, 100) i;
SELECT ddl_found('ddl', 'v BETWEEN 99 AND 200');
ROLLBACK;
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200'), ddl_check('ddl', $$s COLLATE "C" = 'name 7919'$$);
BEGIN;
DROP INDEX ddl_v;
ROLLBACK;
BEGIN;
CREATE INDEX ddl_v2 ON ddl USING rencoder (v) WITH (pages_per_range = 1);
INSERT INTO ddl VALUES (0, 150, 'x', 'x');
SAVEPOINT s;
REINDEX INDEX ddl_v;
ROLLBACK TO s;
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200');
ROLLBACK;
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200');
ALTER INDEX ddl_v RENAME TO ddl_renamed;
ALTER TABLE ddl RENAME TO ddl_t;
COMMENT ON INDEX ddl_renamed IS 'an index';
SELECT ddl_check('ddl_t', 'v BETWEEN 100 AND 200'), rencoder_maintain_index('ddl_renamed');
CREATE TABLE ddl (LIKE ddl_t INCLUDING ALL);
SELECT indexdef FROM pg_indexes WHERE tablename = 'ddl' AND indexdef LIKE '%rencoder%'
ORDER BY indexdef;
INSERT INTO ddl SELECT * FROM ddl_t;
SELECT rencoder_maintain_index('ddl_v_idx'), rencoder_maintain_index('ddl_s_idx');
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200'), ddl_check('ddl', $$s COLLATE "C" = 'name 7919'$$);
DROP TABLE ddl_t;

--
-- Columns.
--
CREATE TABLE ddl_c (gone int, a int4, gone_too text, b varchar(20), c timestamp, d int4);
INSERT INTO ddl_c SELECT 1, i, 'x', i, timestamp '2024-01-01' + i * interval '1 minute', i
FROM generate_series(1, 5000) i;
CREATE INDEX ddl_c_acb ON ddl_c USING rencoder (a, c, b)
	WITH (pages_per_range = 1);
CREATE INDEX ddl_c_d ON ddl_c USING rencoder (d) WITH (pages_per_range = 1);
CREATE INDEX ddl_c_both ON ddl_c USING rencoder (d, gone)
	WITH (pages_per_range = 1);
ALTER TABLE ddl_c DROP COLUMN gone, DROP COLUMN gone_too;
ALTER TABLE ddl_c ADD COLUMN e int8 DEFAULT 7;
CREATE INDEX ddl_c_e ON ddl_c USING rencoder (e) WITH (pages_per_range = 1);
INSERT INTO ddl_c SELECT i, i, timestamp '2024-01-01' + i * interval '1 minute', i, i
FROM generate_series(5001, 6000) i;
SELECT relname FROM pg_class WHERE relname ~ '^ddl_c_' ORDER BY 1;
SELECT ddl_check('ddl_c', 'a BETWEEN 4990 AND 5010'), ddl_check('ddl_c', $$b = '5500'$$),
	ddl_check('ddl_c', $$c = '2024-01-02'$$), ddl_check('ddl_c', 'd < 3'),
	ddl_check('ddl_c', 'e > 5990'), ddl_check('ddl_c', 'e = 7');
-- Without a rewrite, where the index is kept, and with one.
SELECT pg_relation_filenode('ddl_c_acb') AS acb, pg_relation_filenode('ddl_c') AS heap \gset
ALTER TABLE ddl_c ALTER b TYPE varchar(40);
SELECT pg_relation_filenode('ddl_c_acb') = :acb AS index_kept,
	pg_relation_filenode('ddl_c') = :heap AS table_kept;
ALTER TABLE ddl_c ALTER b TYPE text;
SELECT pg_relation_filenode('ddl_c_acb') = :acb AS index_kept,
	pg_relation_filenode('ddl_c') = :heap AS table_kept;
SET timezone = 'UTC';
ALTER TABLE ddl_c ALTER c TYPE timestamptz;
SELECT pg_relation_filenode('ddl_c') = :heap AS table_kept;
SELECT ddl_check('ddl_c', 'a BETWEEN 4990 AND 5010'), ddl_check('ddl_c', $$b = '5500'$$),
	ddl_check('ddl_c', $$c = '2024-01-02'$$);
ALTER TABLE ddl_c ALTER a TYPE numeric USING a / 4.0, ALTER d TYPE int8;
INSERT INTO ddl_c VALUES (0.125, 'x', 'infinity', 5000000000);
SELECT ddl_check('ddl_c', 'a BETWEEN 0.1 AND 0.5'), ddl_check('ddl_c', 'd > 5999'),
	ddl_check('ddl_c', $$c > '2024-01-05 03:50'$$);
ALTER TABLE ddl_c ALTER a TYPE tsvector USING a::text::tsvector;
ALTER TABLE ddl_c DROP COLUMN c;
SELECT relname FROM pg_class WHERE relname ~ '^ddl_c_' ORDER BY 1;
-- Generated columns, domains.
CREATE DOMAIN ddl_domain AS int4 CHECK (VALUE > 0);
CREATE TABLE ddl_g (a int, g int GENERATED ALWAYS AS (a * 2) STORED, d ddl_domain);
INSERT INTO ddl_g (a, d) SELECT i, i FROM generate_series(1, 5000) i;
CREATE INDEX ddl_g_g ON ddl_g USING rencoder (g, d) WITH (pages_per_range = 1);
UPDATE ddl_g SET a = 1000000 WHERE a = 77;
SELECT ddl_check('ddl_g', 'g = 2000000'), ddl_check('ddl_g', 'g < 10'),
	ddl_check('ddl_g', 'd BETWEEN 70 AND 80');

--
-- Partitions.
--
CREATE TABLE ddl_p (part int, v int8, filler text) PARTITION BY LIST (part);
CREATE INDEX ddl_p_v ON ddl_p USING rencoder (v)
	WITH (autosummarize = off, pages_per_range = 1, bits_per_key = 12);
CREATE TABLE ddl_p1 PARTITION OF ddl_p FOR VALUES IN (1);
CREATE TABLE ddl_p2 (filler text, dropped int, v int8, part int);
ALTER TABLE ddl_p2 DROP COLUMN dropped;
INSERT INTO ddl_p SELECT 1, i, repeat('x', 100) FROM generate_series(1, 3000) i;
INSERT INTO ddl_p2 SELECT repeat('x', 100), i, 2 FROM generate_series(1, 3000) i;
CREATE INDEX ddl_p2_own ON ddl_p2 USING rencoder (v)
	WITH (pages_per_range = 1, bits_per_key = 30);
-- It has an index like that: no other is made.
ALTER TABLE ddl_p ATTACH PARTITION ddl_p2 FOR VALUES IN (2);
CREATE TABLE ddl_p3 (part int, v int8, filler text);
INSERT INTO ddl_p3 SELECT 3, i, repeat('x', 100) FROM generate_series(1, 3000) i;
-- It has none.
ALTER TABLE ddl_p ATTACH PARTITION ddl_p3 FOR VALUES IN (3);
SELECT inhrelid::regclass, bits_per_key FROM pg_inherits, rencoder_metapage(inhrelid)
WHERE inhparent = 'ddl_p_v'::regclass ORDER BY inhrelid::regclass::text;
SELECT inhrelid::regclass, rencoder_maintain_index(inhrelid) FROM pg_inherits
WHERE inhparent = 'ddl_p_v'::regclass ORDER BY inhrelid::regclass::text;
-- Rows that go to another partition.
UPDATE ddl_p SET part = part % 3 + 1 WHERE v BETWEEN 100 AND 105;
SELECT ddl_check('ddl_p', 'v BETWEEN 100 AND 110'), ddl_check('ddl_p', 'part = 2 AND v < 10');
SELECT ddl_check('ddl_p1', 'v < 103'), ddl_check('ddl_p2', 'v < 103'),
	ddl_check('ddl_p3', 'v < 103');
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM ddl_p WHERE part = 2 AND v < 10;
RESET enable_seqscan;
SELECT rencoder_maintain_index('ddl_p_v');
ALTER TABLE ddl_p DETACH PARTITION ddl_p2;
INSERT INTO ddl_p2 SELECT repeat('x', 100), -i, 2 FROM generate_series(1, 10) i;
SELECT ddl_check('ddl_p2', 'v < 10'), ddl_check('ddl_p', 'v < 10');
ALTER TABLE ddl_p ATTACH PARTITION ddl_p2 FOR VALUES IN (2);
ALTER TABLE ddl_p DETACH PARTITION ddl_p3 CONCURRENTLY;
SELECT ddl_check('ddl_p', 'v < 10');
CREATE UNIQUE INDEX ON ddl_p USING rencoder (part, v);
DROP INDEX ddl_p2_own;
DROP INDEX ddl_p_v;
SELECT relname FROM pg_class WHERE relname ~ '^ddl_p' AND relkind IN ('i', 'I') ORDER BY 1;
-- The index is made on the parent only, those of the partitions attached later.
CREATE INDEX ddl_p_v ON ONLY ddl_p USING rencoder (v);
CREATE INDEX CONCURRENTLY ddl_p1_v ON ddl_p1 USING rencoder (v)
	WITH (pages_per_range = 1);
CREATE INDEX CONCURRENTLY ddl_p2_v ON ddl_p2 USING rencoder (v)
	WITH (pages_per_range = 1);
ALTER INDEX ddl_p_v ATTACH PARTITION ddl_p1_v;
ALTER INDEX ddl_p_v ATTACH PARTITION ddl_p2_v;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'ddl_p_v'::regclass;
SELECT ddl_check('ddl_p', 'v < 10');
-- Nothing but a metapage before there is a batch of ranges.
CREATE TABLE ddl_many (part int, v int8) PARTITION BY RANGE (part);
CREATE INDEX ddl_many_v ON ddl_many USING rencoder (v);
DO $$ BEGIN
	FOR i IN 0 .. 999 LOOP
		EXECUTE format('CREATE TABLE ddl_many_%s PARTITION OF ddl_many '
			'FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
	END LOOP;
END $$;
INSERT INTO ddl_many SELECT i % 1000, i FROM generate_series(1, 30000) i;
VACUUM (ANALYZE off) ddl_many;
SELECT count(*), sum(pg_relation_size(inhrelid) / current_setting('block_size')::int) AS pages
FROM pg_inherits WHERE inhparent = 'ddl_many_v'::regclass;
SELECT * FROM ddl_many WHERE v = 12345;
SET client_min_messages = error;
DROP TABLE ddl_many;
SET client_min_messages = warning;

--
-- Tablespaces, and how a table is kept.
--
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE ddl_space LOCATION '';
SELECT pg_relation_filenode('ddl_v_idx') AS node \gset
ALTER INDEX ddl_v_idx SET TABLESPACE ddl_space;
SELECT pg_relation_filenode('ddl_v_idx') <> :node AS moved, spcname FROM pg_class
	JOIN pg_tablespace t ON t.oid = reltablespace WHERE relname = 'ddl_v_idx';
-- What the session remembers was in the other file.
INSERT INTO ddl VALUES (-1, 150, 'name x', 'x');
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200');
ALTER TABLE ddl SET TABLESPACE ddl_space;
ALTER INDEX ddl_v_idx SET TABLESPACE pg_default;
INSERT INTO ddl VALUES (-1, 151, 'name x', 'x');
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200');
ALTER TABLE ddl SET UNLOGGED;
INSERT INTO ddl VALUES (-1, 152, 'name x', 'x');
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200'), ddl_check('ddl', $$s COLLATE "C" = 'name x'$$);
ALTER TABLE ddl SET LOGGED;
INSERT INTO ddl VALUES (-1, 153, 'name x', 'x');
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200'), ddl_check('ddl', $$s COLLATE "C" = 'name x'$$);
ALTER TABLE ddl SET TABLESPACE pg_default;
DROP TABLESPACE ddl_space;
SELECT ddl_check('ddl', 'v BETWEEN 100 AND 200'), ddl_check('ddl', $$s COLLATE "C" = 'name x'$$);

--
-- Temporary tables.
--
CREATE TEMP TABLE ddl_rows (v int8, filler text) ON COMMIT DELETE ROWS;
CREATE INDEX ddl_rows_v ON ddl_rows USING rencoder (v) WITH (pages_per_range = 1);
BEGIN;
INSERT INTO ddl_rows SELECT i, repeat('x', 1000) FROM generate_series(1, 1000) i;
SELECT rencoder_maintain_index('ddl_rows_v') > 0 AS maintained;
SELECT ddl_check('ddl_rows', 'v < 20');
COMMIT;
SELECT ddl_check('ddl_rows', 'v < 20'),
	pg_relation_size('ddl_rows_v') / current_setting('block_size')::int AS pages;
BEGIN;
INSERT INTO ddl_rows SELECT i, repeat('x', 1000) FROM generate_series(1, 1000) i;
SELECT ddl_check('ddl_rows', 'v BETWEEN 10 AND 20');
COMMIT;
BEGIN;
CREATE TEMP TABLE ddl_drop ON COMMIT DROP AS SELECT i AS v, repeat('x', 1000) AS filler
FROM generate_series(1, 1000) i;
CREATE INDEX ddl_drop_v ON ddl_drop USING rencoder (v) WITH (pages_per_range = 1);
INSERT INTO ddl_drop SELECT i, repeat('x', 1000) FROM generate_series(1, 200) i;
SELECT ddl_check('ddl_drop', 'v BETWEEN 10 AND 20');
COMMIT;
SELECT count(*) FROM pg_class WHERE relname ~ '^ddl_drop';

--
-- Ways to ask.
--
ANALYZE ddl;
CREATE TABLE ddl_keys AS SELECT i * 7919 % 10007 AS k FROM generate_series(1, 2000, 97) i;
ANALYZE ddl_keys;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM ddl_keys
	LEFT JOIN LATERAL (SELECT * FROM ddl WHERE v BETWEEN k AND k + 5) d ON true;
SELECT count(*), count(d.v), sum(d.id) FROM ddl_keys
	LEFT JOIN LATERAL (SELECT * FROM ddl WHERE v BETWEEN k AND k + 5) d ON true;
SELECT k, (SELECT count(*) FROM ddl WHERE v = k + 1) FROM ddl_keys ORDER BY k LIMIT 5;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SELECT count(*), count(d.v), sum(d.id) FROM ddl_keys LEFT JOIN ddl d ON d.v BETWEEN k AND k + 5;
-- Order is not the index' business.
EXPLAIN (COSTS OFF) SELECT v FROM ddl WHERE v BETWEEN 100 AND 110 ORDER BY v LIMIT 3;
SELECT v FROM ddl WHERE v BETWEEN 100 AND 110 ORDER BY v LIMIT 3;
SELECT v FROM ddl WHERE v BETWEEN 100 AND 110 ORDER BY v DESC LIMIT 3;
SELECT min(v), max(v) FROM ddl WHERE v BETWEEN 200 AND 300;
-- Cursors.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT v FROM ddl WHERE v BETWEEN 100 AND 120 ORDER BY id;
DECLARE w CURSOR FOR SELECT v FROM ddl WHERE v BETWEEN 140 AND 150 FOR UPDATE;
DECLARE h CURSOR WITH HOLD FOR SELECT v FROM ddl WHERE v BETWEEN 100 AND 103;
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
FETCH LAST FROM c;
FETCH 1 FROM w;
UPDATE ddl SET v = -v WHERE CURRENT OF w;
FETCH 1 FROM w;
DELETE FROM ddl WHERE CURRENT OF w;
COMMIT;
FETCH ALL FROM h;
CLOSE h;
SELECT ddl_check('ddl', 'v < 0'), ddl_check('ddl', 'v BETWEEN 140 AND 150');
-- Prepared statements, with generic plans too.
PREPARE ddl_query (int8, int8) AS SELECT count(*) FROM ddl WHERE v BETWEEN $1 AND $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE ddl_query(100, 200);
EXECUTE ddl_query(200, 100);
EXECUTE ddl_query(NULL, 100);
REINDEX INDEX ddl_v_idx;
EXECUTE ddl_query(100, 200);
RESET plan_cache_mode;
DEALLOCATE ddl_query;
-- INSERT ON CONFLICT, MERGE.
CREATE UNIQUE INDEX ddl_unique ON ddl (id) WHERE id > 0;
INSERT INTO ddl VALUES (3, 99999, 'x', 'x'), (5000, 99998, 'x', 'x') ON CONFLICT (id)
WHERE id > 0 DO UPDATE SET v = 99997;
MERGE INTO ddl USING (VALUES (5, 99996), (5001, 99995)) n (id, v) ON ddl.id = n.id
	WHEN MATCHED THEN UPDATE SET v = n.v WHEN NOT MATCHED THEN INSERT
		VALUES (n.id, n.v, 'merged', 'x');
SELECT ddl_check('ddl', 'v > 99990'), ddl_check('ddl', $$s COLLATE "C" = 'merged'$$);
SELECT id, v FROM ddl WHERE v > 99990 ORDER BY v;
-- Parallel workers read the table, one process the index.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET parallel_leader_participation = off;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM ddl WHERE v BETWEEN 100 AND 5000;
SELECT count(*), sum(id) FROM ddl WHERE v BETWEEN 100 AND 5000;
SET enable_bitmapscan = off;
SET enable_seqscan = on;
SELECT count(*), sum(id) FROM ddl WHERE v BETWEEN 100 AND 5000;
RESET ALL;

--
-- Event triggers see it, with its table.
--
CREATE FUNCTION ddl_event() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
		RAISE NOTICE '% %', c.command_tag, c.object_identity;
	END LOOP;
END $$;
CREATE EVENT TRIGGER ddl_event ON ddl_command_end WHEN TAG IN ('CREATE INDEX',
	'ALTER INDEX') EXECUTE FUNCTION ddl_event();
CREATE INDEX ddl_again ON ddl USING rencoder (v) WITH (autosummarize = off);
ALTER INDEX ddl_again SET (autosummarize = on);
DROP EVENT TRIGGER ddl_event;

DROP TABLE ddl, ddl_c, ddl_g, ddl_p, ddl_p3, ddl_keys;
DROP DOMAIN ddl_domain;
DROP FUNCTION ddl_found, ddl_check, ddl_event;
