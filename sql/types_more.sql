-- Each type and operator: the same rows with the index as without, for random
-- and edge values in the table and as constants.
\getenv abs_srcdir PG_ABS_SRCDIR
\set values :abs_srcdir '/sql/include/values.sql'
\set begin :abs_srcdir '/sql/include/begin.sql'
SET enable_indexscan = off;
CREATE SCHEMA types_more;
SET search_path = types_more, public;
\set ECHO none
\i :values
\i :begin
\set ECHO all
SET random_page_cost = 1.1;

-- Two columns of the type: v has many values, few has few.  170 pages, so two groups of block
-- ranges, the second of which grows: a third of the rows come after the index.
CREATE FUNCTION make_table(type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DROP TABLE IF EXISTS t;
		CREATE TABLE t (id int, v %1$s, few %1$s, filler text);
		CREATE FUNCTION pg_temp.fill(first int, last int) RETURNS void LANGUAGE sql AS $fn$
			INSERT INTO t SELECT i, CASE WHEN i %% 40 <> 0 THEN %2$s END,
				(%3$L::%1$s[])[i %% 7 + i / 700 %% 5 + 1], repeat(''x'', 180)
			FROM generate_series(first, last) i;
			INSERT INTO t SELECT first, e, e, repeat(''x'', 180) FROM unnest(%3$L::%1$s[]) e
		$fn$;', type, value_random(type), value_edges(type));
	PERFORM pg_temp.fill(1, 4000);
	CREATE INDEX t_v ON t USING rencoder (v)
		WITH (autosummarize = off, pages_per_range = 1);
	CREATE INDEX t_few ON t USING rencoder (few)
		WITH (autosummarize = off, pages_per_range = 1);
	PERFORM pg_temp.fill(4001, 5000);
	PERFORM rencoder_maintain_index('t_v'), rencoder_maintain_index('t_few');
	PERFORM pg_temp.fill(5001, 6000);
	ANALYZE t;
	DROP FUNCTION pg_temp.fill;
END $$;

-- Compares all operators with values of "rhs" on the right-hand side, on both
-- columns.  Says which did not use the index, warns of differences.
CREATE FUNCTION compare(rhs text, operators text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	constants text[];
	extra text[];
	op text;
	col text;
	c text;
	condition text;
	unused text := '';
	compared int := 0;
BEGIN
	-- Edge values; values of the table; others.
	EXECUTE format('SELECT array_agg((%s)::text) FROM generate_series(1, 12)',
		value_random(rhs)) INTO constants;
	SELECT array_agg(v::text) INTO extra
	FROM (SELECT v FROM t TABLESAMPLE bernoulli (20) REPEATABLE (1) WHERE v IS NOT NULL LIMIT 12) s;
	BEGIN
		EXECUTE format('SELECT %L::%s[]', extra, rhs);
		constants := constants || extra;
	EXCEPTION WHEN numeric_value_out_of_range THEN
		NULL;					-- a float8 that is no float4
	END;
	constants := constants || value_edges(rhs);
	FOREACH op IN ARRAY operators LOOP
		FOREACH col IN ARRAY ARRAY['v', 'few'] LOOP
			FOREACH c IN ARRAY constants LOOP
				condition := format('%s %s %L::%s', col, op, c, rhs);
				compared := compared + 1;
				PERFORM index_finds(rows_of(condition, false), condition);
			END LOOP;
			IF NOT uses_index(condition) THEN
				unused := unused || format(' %s %s', col, op);
			END IF;
		END LOOP;
	END LOOP;
	RETURN rhs || CASE WHEN compared < 100 THEN ': too few' ELSE '' END
		|| CASE WHEN unused <> '' THEN ': unused by' || unused ELSE ' compared' END;
END $$;
\set order '{<,<=,=,>=,>}'

CREATE FUNCTION check_type(type text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM make_table(type);
	RETURN NEXT compare(type, '{<,<=,=,>=,>}');
	PERFORM rencoder_index_check('t_v', true), rencoder_index_check('t_few', true);
END $$;

SELECT check_type(type)
FROM unnest('{time,money,pg_lsn,xid8,numeric,uuid,macaddr,macaddr8}'::text[]) type;

-- Floating point, of either width on either side.
SELECT check_type('float4');
SELECT compare('float8', :'order');
SELECT check_type('float8');
SELECT compare('float4', :'order');

-- Spans, zones, bytes and bits.
SELECT check_type(type)
FROM unnest(ARRAY['timetz', 'interval', '"char"', 'tid', 'bit(70)', 'varbit']) type;

-- Networks: order, and the operators of subnets.
SELECT check_type('inet');
SELECT compare('inet', '{<<,<<=,>>,>>=,&&}');

-- Neighbourhoods: every network of a small space against every other.
CREATE TABLE nets (n inet);
INSERT INTO nets SELECT set_masklen(inet '10.0.0.0' + host, masklen)
	FROM generate_series(0, 15) host, generate_series(27, 32) masklen;
INSERT INTO nets SELECT set_masklen(a::inet, masklen)
	FROM unnest('{2001:db8::,2001:db8:0:1::,2001:db8:0:2::1,2001:db8::8000:0:0:0}'::text[]) a,
		unnest('{0,32,47,48,61,62,63,64,65,96,127,128}'::int[]) masklen;
TRUNCATE t;
INSERT INTO t SELECT row_number() OVER (), n, n, repeat('x', 2500) FROM nets;
SELECT rencoder_maintain_index('t_v') > 0 AS maintained;
SELECT op, count(*) AS networks,
	count(*) FILTER (WHERE rows_of(condition, true) <> rows_of(condition, false)) AS differences
FROM unnest('{<,<=,=,>=,>,<<,<<=,>>,>>=,&&}'::text[]) op, nets, format('v %s %L', op, n) condition
GROUP BY op ORDER BY op;

-- cidr is served by inet's operator class, the other way round the operators
-- have commutators, and parameters are as good as constants.
CREATE TABLE routes (id int, net cidr, filler text);
INSERT INTO routes SELECT i, network(set_masklen(inet '10.0.0.0' + ((i * 2654435761) % 16777216),
	(16 + i % 17)::int)), repeat('x', 200)
	FROM generate_series(1, 8000::int8) i;
INSERT INTO routes VALUES (8001, '10.0.0.0/8'), (8002, '0.0.0.0/0'), (8003, '::/0');
CREATE INDEX routes_net ON routes USING rencoder (net) WITH (pages_per_range = 1);
VACUUM ANALYZE routes;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM routes WHERE net >>= '10.10.0.1';
EXPLAIN (COSTS OFF) SELECT * FROM routes WHERE '10.10.0.1' <<= net AND net <> '::/0';
SELECT count(*) FROM routes WHERE net >>= '10.10.0.1' \gset with_
PREPARE around(inet) AS SELECT count(*) FROM routes WHERE net >> $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE around('10.10.0.1');
EXECUTE around('10.10.0.1') \gset generic_
EXECUTE around(NULL);
RESET plan_cache_mode;
SET enable_bitmapscan = off;
SET enable_seqscan = on;
SELECT count(*) FROM routes WHERE net >>= '10.10.0.1' \gset without_
SELECT :with_count = :without_count AS same, :generic_count = :without_count AS generic_same,
	:with_count >= 2 AS found;
RESET enable_bitmapscan;
-- What a network query skips.
SELECT pages < table_pages / 10 AS skips
FROM rencoder_candidates('routes_net', inet '10.10.0.0', inet '10.10.0.7');

-- Numbers beyond float8, and rows that only a NaN condition finds.
CREATE TABLE far (v numeric, f float8, filler text);
INSERT INTO far SELECT i::numeric * 1e400, i * 1e300, repeat('x', 200)
FROM generate_series(-500, 500) i;
INSERT INTO far SELECT i::numeric / 1e400, i / 1e300 / 1e20, repeat('x', 200)
FROM generate_series(-500, 500) i;
INSERT INTO far VALUES ('NaN', 'NaN'), ('Infinity', 'Infinity'), ('-Infinity', '-Infinity');
CREATE INDEX far_v ON far USING rencoder (v, f) WITH (pages_per_range = 1);
SET enable_seqscan = off;
SELECT count(*) FROM far WHERE v = 3e400;
SELECT count(*) FROM far WHERE v > 3e400;
SELECT count(*) FROM far WHERE v < 3e-400 AND v > -3e-400;
SELECT count(*) FROM far WHERE v = 'NaN';
SELECT count(*) FROM far WHERE v > 'Infinity';
SELECT count(*) FROM far WHERE f > 'Infinity'::float8;
SELECT count(*) FROM far WHERE f = '-0'::float8;
SELECT count(*) FROM far WHERE f = 'NaN'::float4;
SELECT count(*) FROM far WHERE v = 0 AND f = 0;
RESET enable_seqscan;

SET client_min_messages = error;
DROP SCHEMA types_more CASCADE;
