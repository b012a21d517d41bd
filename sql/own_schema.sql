-- The extension in a schema of its own that is not on search_path, as for tools that drop unknown
-- views of public: operator classes are found, functions are called by their schema.
SET client_min_messages = warning;
DROP EXTENSION rencoder;
CREATE SCHEMA own_home;
CREATE EXTENSION rencoder SCHEMA own_home;
SHOW search_path;

-- Each type has its class by default, and an index that a dump would make again.
CREATE TYPE own_enum AS ENUM ('a', 'b');
CREATE TABLE own_type (v int);
DO $$
DECLARE
	type text;
BEGIN
	FOR type IN SELECT CASE opcintype WHEN 'anyenum'::regtype THEN 'own_enum'
			ELSE opcintype::regtype::text END
			FROM pg_opclass WHERE opcdefault AND opcmethod =
				(SELECT oid FROM pg_am WHERE amname = 'rencoder') ORDER BY 1 LOOP
		EXECUTE format('ALTER TABLE own_type DROP v, ADD v %s', type);
		CREATE INDEX own_type_v ON own_type USING rencoder (v);
		IF pg_get_indexdef('own_type_v'::regclass) NOT LIKE '% USING rencoder (v)' THEN
			RAISE WARNING '%: %', type, pg_get_indexdef('own_type_v'::regclass);
		END IF;
	END LOOP;
END $$;
DROP TABLE own_type;

CREATE TABLE own (id int, s text, p point);
INSERT INTO own SELECT i * 7919 % 20000, 'text ' || i, point(i % 1000, i % 999)
FROM generate_series(1, 20000) i;
CREATE INDEX own_any ON own USING rencoder (id, s, p)
	WITH (pages_per_range = 1, autosummarize = off);
VACUUM ANALYZE own;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM own WHERE id = 5::int8;
EXPLAIN (COSTS OFF) SELECT * FROM own WHERE s LIKE 'text 123%';
SELECT count(*) FROM own WHERE id = 5::int8;
SELECT count(*) FROM own WHERE s LIKE 'text 123%';
SELECT count(*) FROM own WHERE p <@ box '(5,5),(9,9)';
INSERT INTO own SELECT i, 'text', point(0, 0) FROM generate_series(20001, 30000) i;
SELECT index, pages > 0 AS maintained FROM own_home.rencoder_maintain('own');
SELECT own_home.rencoder_compact('own_any') > 0 AS compacted;
SELECT own_home.rencoder_index_check('own_any', true);
SELECT relname, indexrelname, size > 0 AS size, runs FROM own_home.rencoder_stat_indexes;
SELECT unindexed, index_pages > 0 AS pages FROM own_home.rencoder_candidates('own_any', 5, 6);
SELECT own_home.rencoder_estimate('own', 'id', 's') > 0 AS size;
CREATE INDEX own_btree ON own (id);
SELECT index, method, verdict FROM own_home.rencoder_advise('public')
WHERE "table" = 'own'::regclass;
RESET enable_seqscan;

-- There and back again, with the index.
ALTER EXTENSION rencoder SET SCHEMA public;
SELECT index FROM rencoder_maintain('own');
SELECT indexrelname FROM rencoder_stat_indexes;
DROP TABLE own;
DROP TYPE own_enum;
DROP SCHEMA own_home;
