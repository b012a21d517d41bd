-- storage = filter: blocks whose keys are too many for maintenance_work_mem; ranges with too many
-- keys for their filters.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
CREATE SCHEMA filters_memory;
SET search_path = filters_memory, public;

-- 185 rows a page, 600 pages.  Some ranges hold only nulls, most few keys, the last ones very many.
CREATE TABLE t (v int8, few int4) WITH (autovacuum_enabled = off);
INSERT INTO t
SELECT CASE WHEN i BETWEEN 20000 AND 23000 THEN NULL WHEN i < 35000 THEN hashint8extended(i, 1) % 50
	ELSE hashint8extended(i, 1) END,
	CASE WHEN i > 2000 THEN abs(hashint4extended(i, 2)) % 3000 END
FROM generate_series(1, 111000) i;
\getenv abs_srcdir PG_ABS_SRCDIR
\set lost :abs_srcdir '/sql/include/lost.sql'
\set ECHO none
\i :lost
\set ECHO all
CREATE FUNCTION compare(OUT asked bigint, OUT lost text) LANGUAGE sql AS $$
	SELECT * FROM compare_all(ARRAY(SELECT CASE i % 4
			WHEN 0 THEN format('v BETWEEN %s AND %1$s + 50', i * 7 - 280)
			WHEN 1 THEN format('v = hashint8extended(%s, 1)', 35000 + i * 931)
			WHEN 2 THEN format('few = %s AND v > %s', i * 37, hashint8extended(i, 3))
			ELSE format('few BETWEEN %s AND %1$s + 2', i * 37) END FROM generate_series(1, 80) i
		UNION ALL SELECT unnest('{v IS NULL,few IS NULL,few IS NULL AND v < 0,v = -5,
			v > 9223372036854775000,v = 2500000000}'::text[])))
$$;
-- With memory enough and without; several blocks, one, and ranges of more keys than there is
-- memory for.  Absent values pass few pages.
CREATE FUNCTION build(memory text, pages int, OUT asked bigint, OUT lost text, OUT few bool)
	LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('maintenance_work_mem', memory, true);
	EXECUTE format('CREATE INDEX t_i ON t USING rencoder (v, few)
		WITH (storage = filter, pages_per_range = %s)', pages);
	SELECT * INTO asked, lost FROM compare();
	SELECT sum(c.pages) < 100 * 600 / 10 INTO few FROM generate_series(1, 100) i,
		rencoder_candidates('t_i', hashint8extended(i, 4), hashint8extended(i, 4)) c;
	DROP INDEX t_i;
END $$;
SELECT memory, pages, b.* FROM unnest('{64MB,1MB}'::text[]) memory,
	unnest('{1,4,16,1024}'::int[]) pages, build(memory, pages) b;

-- Ranges with too many keys for the filters of their block: rows come to these pages, too.
CREATE INDEX t_i ON t USING rencoder (v, few) WITH (storage = filter, pages_per_range = 1);
DELETE FROM t WHERE ctid BETWEEN '(590,1)' AND '(595,60)';
VACUUM t;
INSERT INTO t SELECT unnest('{-5,2500000000,9223372036854775806,NULL}'::int8[]), 77777;
SELECT min((ctid::text::point)[0]) < 600 AS early FROM t WHERE few = 77777;
SELECT * FROM compare();
SELECT rencoder_maintain_index('t_i') >= 0 AS maintained;
SELECT * FROM compare();
SELECT rencoder_compact('t_i') > 0 AS compacted;
SELECT * FROM compare();
DROP SCHEMA filters_memory CASCADE;
