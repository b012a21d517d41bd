-- rencoder_advise() and rencoder_stat_indexes.  All indexes that are to be judged have a megabyte.
-- ANALYZE reads all rows, so nothing hangs on chance.
SET client_min_messages = warning;
SET max_parallel_maintenance_workers = 0;
SET search_path = advise, public;
\getenv seed RENCODER_SEED
SELECT setseed(:seed / 2147483647.0) \gset ignored_
SET default_statistics_target = 600;
CREATE SCHEMA advise;
CREATE COLLATION ad_nodet (provider = icu, locale = 'und', deterministic = false);

CREATE TABLE ad (id int8 PRIMARY KEY, v int8, u uuid, s text, at timestamptz, few int, p point,
	r int8range, near int8, j jsonb, c text) WITH (autovacuum_enabled = off);
INSERT INTO ad SELECT i, (i::int8 * 2654435761) % 4294967296, md5(i::text)::uuid,
	'https://www.example.com/' || md5((i + 7)::text),
	timestamptz '2026-01-01' + (i::int8 * 2654435761) % 31536000 * interval '1 second',
	i % 4, point(random() * 100, random() * 100), int8range(i, i + 1), i, '{"a": 1}', i % 3
FROM generate_series(1, 60000) i;
CREATE TABLE ad_child (no int8, parent int8 REFERENCES ad, u uuid, PRIMARY KEY (no));
INSERT INTO ad_child SELECT i, (i::int8 * 7919) % 60000 + 1, md5(i::text)::uuid
FROM generate_series(1, 60000) i;
CREATE INDEX ad_v ON ad (v);
CREATE INDEX ad_u ON ad (u);
CREATE INDEX ad_s ON ad (s);
CREATE INDEX ad_at ON ad (at);
CREATE INDEX ad_p ON ad USING gist (p);
CREATE INDEX ad_r ON ad USING gist (r);
CREATE INDEX ad_h ON ad USING hash (v);
CREATE INDEX ad_two ON ad (v, s);
CREATE INDEX ad_expr ON ad ((v % 1000000007));
CREATE INDEX ad_part ON ad (u) WHERE few <> 1;
CREATE INDEX ad_few ON ad (few, v);
CREATE INDEX ad_near ON ad (near);
CREATE INDEX ad_small ON ad (few) WHERE v = 5;
CREATE INDEX ad_brin ON ad USING brin (v);
CREATE INDEX ad_brin_near ON ad USING brin (near);
CREATE INDEX ad_desc ON ad (at DESC);
CREATE INDEX ad_include ON ad (v) INCLUDE (few);
CREATE UNIQUE INDEX ad_unique ON ad (u);
CREATE INDEX ad_ours ON ad USING rencoder (v);
CREATE INDEX ad_child_parent ON ad_child (parent);
CREATE INDEX ad_child_u ON ad_child (u);
ALTER TABLE ad ADD CONSTRAINT ad_excluded EXCLUDE USING gist (r WITH &&);
CREATE INDEX ad_cluster ON ad_child (u, no);
ALTER TABLE ad_child CLUSTER ON ad_cluster;
ALTER TABLE ad ALTER u SET NOT NULL, REPLICA IDENTITY USING INDEX ad_unique;
-- Equal values in rows that follow each other; an index of a third of the rows.
CREATE TABLE ad_rows (three uuid, v int8) WITH (autovacuum_enabled = off);
INSERT INTO ad_rows SELECT md5((i / 3)::text)::uuid, (i::int8 * 2654435761) % 4294967296
FROM generate_series(1, 180000) i;
CREATE INDEX ad_rows_three ON ad_rows (three);
CREATE INDEX ad_rows_third ON ad_rows (v) WHERE v % 3 = 0;
-- Rows in order, but for some that a page had no room for; three names beside each other that
-- differ at the end; few rows in order, and those without the most common value.
CREATE TABLE ad_wide (id int8, name text, phrase text, filler text) WITH (autovacuum_enabled = off);
INSERT INTO ad_wide SELECT i, md5((i / 3)::text) || ', ' || i % 500,
	CASE WHEN i % 10 = 0 THEN 'phrase ' || md5((i % 7001)::text) ELSE '' END,
	repeat('x', hashint4(i) & 255)
FROM generate_series(1, 120000) i;
CREATE INDEX ad_wide_id ON ad_wide (id);
CREATE INDEX ad_wide_name ON ad_wide (name);
CREATE INDEX ad_wide_some ON ad_wide (id) WHERE phrase <> '';
CREATE INDEX ad_wide_phrase ON ad_wide (phrase) WHERE phrase <> '';
VACUUM ANALYZE ad, ad_child, ad_rows, ad_wide;
-- Orders that rencoder has, and others: a table for each index, with a condition that uses it.
CREATE TYPE ad_mood AS ENUM ('sad', 'ok', 'happy');
CREATE FUNCTION ad_own(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE
	AS 'BEGIN RETURN v % 1009; END';
CREATE TABLE ad_order_kinds (name text, definition text, condition text);
INSERT INTO ad_order_kinds VALUES
	('number', 'v DESC', 'v = 5'),
	('c', 'c', 'c = ''a'''),
	('icu', 'icu', 'icu = ''a'''),
	('icu_id', 'token', 'token = ''a'''),
	('icu_pattern', 'icu text_pattern_ops', 'icu = ''a'''),
	('nulls', 'v NULLS FIRST', 'v = 5'),
	('mood', 'mood, v', 'mood = ''ok'' AND v = 5'),
	('two', 'tenant, at', 'tenant = 5 AND at < ''2026-01-02'''),
	('two_desc', 'tenant DESC, at DESC', 'tenant = 5 AND at < ''2026-01-02'''),
	('two_mixed', 'tenant, at DESC', 'tenant = 5 AND at < ''2026-01-02'''),
	('two_icu', 'token, at', 'token = ''a'''),
	('two_few', 'few, tenant', 'few = 3 AND tenant = 5'),
	('two_in_order', 'few, at', 'few = 3 AND at < ''2026-01-02'''),
	('two_expression', 'tenant, (v % 1009)', 'tenant = 5 AND v % 1009 = 5'),
	('two_own', 'tenant, ad_own(v)', 'tenant = 5 AND ad_own(v) = 5'),
	('two_skewed', 'skewed, few', 'skewed = 5 AND few = 3'),
	('three', 'few, skewed, u', 'few = 3 AND skewed = 5'),
	('four', 'few, tenant, skewed, v', 'few = 3 AND tenant = 5'),
	('five', 'few, tenant, v, at, skewed', 'few = 3 AND tenant = 5 AND v = 5'),
	('partial', 'tenant, at) WHERE (few > 2', 'tenant = 5 AND few > 2');
DO $$
DECLARE
	o ad_order_kinds;
BEGIN
	FOR o IN TABLE ad_order_kinds LOOP
		EXECUTE format('CREATE TABLE ad_o_%1$s WITH (autovacuum_enabled = off) AS
			SELECT hashint8extended(i, 1) AS v, md5(i::text)::uuid AS u,
				hashint4(i) & 2047 AS tenant, (hashint8extended(i, 2) & 1048575) %% 10 AS few,
				(2000 * ((hashint8extended(i, 3) & 1048575) / 1048576::float8) ^ 3)::int AS skewed,
				timestamptz ''2026-01-01'' + i * interval ''1 minute'' AS at,
				md5(i::text) COLLATE "C" AS c, md5(i::text) COLLATE "en-x-icu" AS icu,
				md5(i::text) COLLATE "en-x-icu" AS token,
				(ARRAY[''sad'', ''ok'', ''happy'']::ad_mood[])[i %% 3 + 1] AS mood,
				repeat(''x'', 20) AS filler
			FROM generate_series(1, 60000) i;
			CREATE INDEX ad_o_%1$s_idx ON ad_o_%1$s (%2$s); ANALYZE ad_o_%1$s;
			SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
			SELECT count(filler) FROM ad_o_%1$s WHERE %3$s', o.name, o.definition, o.condition);
	END LOOP;
END $$;
-- A class of btree for a type whose keys have no order, and no =.
CREATE FUNCTION ad_compare_points(point, point) RETURNS int LANGUAGE sql IMMUTABLE
	RETURN btfloat8cmp($1[0], $2[0]);
CREATE OPERATOR CLASS ad_point_ops FOR TYPE point USING btree AS
	OPERATOR 1 <<, OPERATOR 3 ~=, OPERATOR 5 >>, FUNCTION 1 ad_compare_points(point, point);
CREATE INDEX ad_p_btree ON ad (p ad_point_ops, v);
-- An index that a failed CREATE INDEX CONCURRENTLY has left.
INSERT INTO ad_child VALUES (0, 1, md5('1')::uuid);
\set VERBOSITY terse
CREATE UNIQUE INDEX CONCURRENTLY ad_invalid ON ad_child (u);
\set VERBOSITY default
DELETE FROM ad_child WHERE no = 0;
VACUUM ad_child;

-- Two of them have been used.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM ad WHERE v = 2654435761 AND s IS NOT NULL;
SELECT count(*) FROM ad WHERE near BETWEEN 5 AND 9 AND s IS NOT NULL;
SELECT pg_stat_force_next_flush() \gset
RESET enable_seqscan;
RESET enable_bitmapscan;

CREATE FUNCTION ad_numbers(text) RETURNS text LANGUAGE sql AS $$
	SELECT regexp_replace($1, '\d+( bytes| kB| MB)?', 'N', 'g')
$$;
-- Sizes and orders of sizes differ by version.
SELECT index, method, verdict, size > 0 AS size, saves > 0 AS saves, ad_numbers(reason) AS reason
FROM rencoder_advise('advise') WHERE index IS NOT NULL ORDER BY index::text COLLATE "C";
SELECT ddl FROM rencoder_advise('advise') WHERE ddl IS NOT NULL ORDER BY index::text COLLATE "C";
-- The last row has sums.
SELECT verdict, size = sum AS size, t.saves = a.saves AS saves, ad_numbers(reason) AS reason
FROM (SELECT * FROM rencoder_advise('advise') WHERE verdict = 'total') AS t,
	(SELECT sum(size), sum(saves) AS saves FROM rencoder_advise('advise')
	WHERE verdict <> 'total') AS a;
-- What saves most comes first.
SELECT count(*) AS indexes, bool_and(ordered) FROM (
	SELECT saves <= lag(saves, 1, saves) OVER () AS ordered FROM rencoder_advise('advise')
	WHERE index IS NOT NULL) AS o;
-- No index that something needs, and no other schema's.
SELECT count(*) FROM rencoder_advise() WHERE verdict = 'keep' AND (saves > 0 OR ddl IS NOT NULL);
SELECT count(*) FROM rencoder_advise('public') WHERE "table" IN ('ad', 'ad_child');
SELECT count(*) > 20 FROM rencoder_advise() WHERE "table" IN ('ad', 'ad_child');
SELECT count(*) FROM rencoder_advise() WHERE "table" = 'pg_class'::regclass;
SELECT * FROM rencoder_advise('nowhere');

-- Sizes are within a fifth, or two pages, of those of the indexes that CREATE INDEX makes.
CREATE FUNCTION ad_compare(OUT index text, OUT answer text) RETURNS SETOF record
LANGUAGE plpgsql AS $$
DECLARE
	e record;
	made bigint;
	definition text;
BEGIN
	FOR e IN SELECT a.index::text, method, rencoder_size FROM rencoder_advise('advise') AS a
		WHERE rencoder_size IS NOT NULL AND a.index IS NOT NULL ORDER BY a.index::text COLLATE "C"
	LOOP
		definition := pg_get_indexdef(e.index::regclass);
		definition := regexp_replace(definition, '^CREATE( UNIQUE)? INDEX \S+',
			'CREATE INDEX ad_made');
		definition := regexp_replace(definition, 'USING \w+', 'USING rencoder');
		definition := regexp_replace(definition,
			' DESC| NULLS FIRST| text_pattern_ops| INCLUDE.*', '', 'g');
		-- As advised: all columns of a btree make one key.
		IF e.method = 'btree' AND (SELECT indnkeyatts BETWEEN 2 AND 4 FROM pg_index
			WHERE indexrelid = e.index::regclass) THEN
			definition := regexp_replace(definition, '( WHERE .*)?$', ' WITH (composite = on)\1');
		END IF;
		EXECUTE definition;
		made := pg_relation_size('ad_made');
		DROP INDEX ad_made;
		index := e.index;
		answer := 'near';
		IF abs(e.rencoder_size - made) > greatest(made / 5, 16384) THEN
			answer := format('%s bytes for %s', e.rencoder_size, made);
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM ad_compare();

-- What it looks at: of "few", which goes round, no row repeats the one before; of "three" two of
-- three do; of an expression it is not known.
SELECT size = pg_relation_size('ad_v') AS size, repeats, problem
FROM rencoder_look_at('ad', 'ad_v', '{6,3,0}');
SELECT size = pg_relation_size('ad_rows') AS size, round(repeats[1]::numeric, 1) AS repeats
FROM rencoder_look_at('ad_rows', 0::regclass, '{1}');
SELECT round(repeats[2]::numeric, 1) AS names, falls[1] < 0.02 AS in_order,
	falls[2] > 0.1 AS not_known
FROM rencoder_look_at('ad_wide', 0::regclass, '{1,2}');
SELECT * FROM rencoder_look_at('ad_rows', 'ad_v', '{1}');
SELECT * FROM rencoder_look_at(99999999::regclass, 'ad_v', '{1}');
SELECT repeats FROM rencoder_look_at('ad', 'ad_v', '{-1,99}');
SELECT rencoder_look_at('ad', 'ad_v', '{NULL}');

-- No statistics, no size.
CREATE TABLE ad_new (v int8) WITH (autovacuum_enabled = off);
INSERT INTO ad_new SELECT i FROM generate_series(1, 60000) i;
CREATE INDEX ad_new_v ON ad_new (v);
SELECT index, verdict, rencoder_size, saves, reason, ddl FROM rencoder_advise('advise')
WHERE "table" = 'ad_new'::regclass;
DROP TABLE ad_new;

-- An operator class that is none for equality, order and ranges; a type, a collation.
CREATE TABLE ad_class (k point, m jsonb, s text COLLATE ad_nodet) WITH (autovacuum_enabled = off);
INSERT INTO ad_class SELECT point(i, i * 7919 % 60000), format('{"a": %s}', i)::jsonb,
	md5(i::text)
FROM generate_series(1, 60000) i;
CREATE INDEX ad_class_k ON ad_class USING spgist (k kd_point_ops);
CREATE INDEX ad_class_m ON ad_class (m);
CREATE INDEX ad_class_s ON ad_class (s);
VACUUM ANALYZE ad_class;
SELECT index, verdict, reason FROM rencoder_advise('advise')
WHERE "table" = 'ad_class'::regclass ORDER BY index::text;
DROP TABLE ad_class;

-- 120 characters are enough for what one wants to see of each.
SELECT count(*) FROM rencoder_advise('advise') WHERE length(reason) > 64 AND index IS NOT NULL;

-- Partitions: the index of each, with the one of the parent.
CREATE TABLE ad_parts (k int, v int8, PRIMARY KEY (k, v)) PARTITION BY RANGE (k);
CREATE TABLE ad_parts_1 PARTITION OF ad_parts FOR VALUES FROM (0) TO (10)
	WITH (autovacuum_enabled = off);
INSERT INTO ad_parts SELECT i % 10, (i::int8 * 2654435761) % 4294967296
FROM generate_series(1, 60000) i;
CREATE INDEX ad_parts_v ON ad_parts (v);
VACUUM ANALYZE ad_parts_1;
SELECT "table", index, verdict, ad_numbers(reason) AS reason, ddl FROM rencoder_advise('advise')
WHERE "table"::text LIKE 'ad_parts%' ORDER BY index::text;
DROP TABLE ad_parts;

-- One partition's index is used, the other's not: the index of the parent is used.
CREATE TABLE ad_used (k uuid, at int) PARTITION BY RANGE (at);
CREATE TABLE ad_used_1 PARTITION OF ad_used FOR VALUES FROM (0) TO (30)
	WITH (autovacuum_enabled = off);
CREATE TABLE ad_used_2 PARTITION OF ad_used FOR VALUES FROM (30) TO (60)
	WITH (autovacuum_enabled = off);
INSERT INTO ad_used SELECT md5(i::text)::uuid, i % 59 FROM generate_series(1, 100000) i;
CREATE INDEX ad_used_k ON ad_used (k, at DESC);
VACUUM ANALYZE ad_used;
SET enable_seqscan = off;
SET enable_indexonlyscan = off;
SELECT count(*) FROM ad_used WHERE k = md5('1')::uuid AND at < 20;
RESET enable_seqscan;
RESET enable_indexonlyscan;
SELECT pg_stat_force_next_flush() \gset
SELECT "table", index, verdict, scans, reason, ddl FROM rencoder_advise('advise')
WHERE "table"::text LIKE 'ad_used%' ORDER BY index::text;
-- What it says is done as it is said.
SELECT unnest(string_to_array(ddl, E'\n')) FROM rencoder_advise('advise')
WHERE index = 'ad_used_k'::regclass \gexec
SELECT tablename, indexname FROM pg_indexes WHERE tablename LIKE 'ad_used%' ORDER BY 1, 2;
SELECT bool_and(indisvalid) AS valid FROM pg_index WHERE indrelid::regclass::text LIKE 'ad_used%';
DROP TABLE ad_used;

-- A referencing side without an index is told one.
CREATE TABLE ad_note (parent int8 REFERENCES ad, note text) WITH (autovacuum_enabled = off);
INSERT INTO ad_note SELECT 1 + i % 100, repeat('x', 100) FROM generate_series(1, 20000) i;
VACUUM ANALYZE ad_note;
SELECT index, verdict, reason, ddl FROM rencoder_advise('advise')
WHERE "table" = 'ad_note'::regclass;
DROP TABLE ad_note;

-- Privileges: no rows of what one may not read.  An expression is evaluated by nobody.
CREATE ROLE ad_owner;
CREATE ROLE ad_reader;
CREATE ROLE ad_other;
GRANT USAGE, CREATE ON SCHEMA advise TO ad_owner, ad_reader, ad_other;
SET ROLE ad_owner;
CREATE FUNCTION ad_who(v int8) RETURNS int8 LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_user <> 'ad_owner' THEN
		RAISE 'evaluated as %', current_user;
	END IF;
	RETURN v % 1000000007;
END $$;
CREATE TABLE ad_owned (v int8) WITH (autovacuum_enabled = off);
INSERT INTO ad_owned SELECT (i::int8 * 2654435761) % 4294967296 FROM generate_series(1, 60000) i;
CREATE INDEX ad_owned_who ON ad_owned (ad_who(v));
CREATE INDEX ad_owned_ours ON ad_owned USING rencoder (v);
ANALYZE ad_owned;
GRANT SELECT ON ad_owned TO ad_reader;
RESET ROLE;
SET ROLE ad_reader;
SELECT index, verdict, ad_numbers(reason) AS reason FROM rencoder_advise();
SELECT rencoder_look_at('ad', 'ad_v', '{1}');
SELECT indexrelname FROM rencoder_stat_indexes;
SET ROLE ad_other;
SELECT index, verdict, reason FROM rencoder_advise();
SELECT rencoder_look_at('ad_owned', 'ad_owned_who', '{1}');
SELECT indexrelname FROM rencoder_stat_indexes;
RESET ROLE;
SELECT verdict, ad_numbers(reason) AS reason FROM rencoder_advise()
WHERE index = 'ad_owned_who'::regclass;
GRANT pg_stat_scan_tables TO ad_other;
SET ROLE ad_other;
SELECT indexrelname FROM rencoder_stat_indexes WHERE schemaname = 'advise' ORDER BY 1;
RESET ROLE;
-- Row security that applies.
ALTER TABLE ad_owned ENABLE ROW LEVEL SECURITY;
SET ROLE ad_reader;
SELECT index, verdict, reason FROM rencoder_advise();
SELECT rencoder_look_at('ad_owned', 'ad_owned_who', '{1}');
SELECT indexrelname FROM rencoder_stat_indexes;
RESET ROLE;

-- The view: each index once, with the numbers of the functions.
SELECT relname, indexrelname, size = pg_relation_size(indexrelid) AS size, scans, runs,
	pending_pages, since IS NULL AS since
FROM rencoder_stat_indexes WHERE schemaname = 'advise' ORDER BY indexrelname;
CREATE UNLOGGED TABLE ad_unlogged (v int);
CREATE INDEX ON ad_unlogged USING rencoder (v);
CREATE TEMP TABLE ad_temp (v int);
CREATE INDEX ON ad_temp USING rencoder (v);
SELECT count(*) FROM rencoder_stat_indexes WHERE relname IN ('ad_unlogged', 'ad_temp');

DROP SCHEMA advise CASCADE;
DROP ROLE ad_owner, ad_reader, ad_other;
