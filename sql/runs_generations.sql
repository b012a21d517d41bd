-- Coders of several generations at once in base runs, deltas and pending list: of each its keys
-- are found, by the keys that it makes.
SET rencoder.sample_rate = 0;
CREATE SCHEMA runs_generations;
SET search_path = runs_generations, public;
\getenv abs_srcdir PG_ABS_SRCDIR
\set begin :abs_srcdir '/sql/include/begin.sql'
\set ECHO none
\i :begin
\set ECHO all

-- Four rows a page, a quarter of which is free.  What comes later is unlike what came before.
CREATE TABLE t (id int, s text COLLATE "C", p point, filler text)
	WITH (fillfactor = 70, autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION s_of(i int, age int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT (ARRAY['https://www.example.com/a/rather/long/way/to/', '/usr/share/doc/packages/lib/',
		'{"name": "value", "customer": "', 'SELECT column FROM table WHERE number = ',
		'urn:uuid:00000000-0000-0000-0000-'])[age] || left(md5(i::text), 10)
$$;
CREATE FUNCTION p_of(i int, age int) RETURNS point LANGUAGE sql IMMUTABLE AS $$
	SELECT point(power(1000, age) * (1 + (hashint4(i) & 65535) / 65536.0),
		power(1000, age) * (1 + (hashint4(-i) & 65535) / 65536.0))
$$;
CREATE FUNCTION fill(first int, last int, age int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t SELECT i, CASE WHEN i % 23 <> 0 THEN s_of(i, age) END,
		CASE WHEN i % 19 <> 0 THEN p_of(i, age) END, repeat('x', 1200)
	FROM generate_series(first, last) i
$$;
-- Rows of all groups, to values of all ages.
CREATE FUNCTION change(k int) RETURNS void LANGUAGE sql AS $$
	UPDATE t SET s = s_of(id + k * 100000, 1 + (id / 20 + k) % 5),
		p = p_of(id + k * 100000, 1 + (id / 20 + k) % 5) WHERE id % 80 = k
$$;
CREATE FUNCTION compare() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r t;
	c text;
	compared int := 0;
	lost int := 0;
	found int := 0;
BEGIN
	FOR r IN SELECT * FROM t WHERE s IS NOT NULL AND p IS NOT NULL ORDER BY random() LIMIT 25 LOOP
		FOREACH c IN ARRAY ARRAY[format('s = %L', r.s), format('s LIKE %L', left(r.s, -8) || '%'),
			format('s BETWEEN %L AND %L', r.s, left(r.s, -7) || '~'),
			format('p ~= %L', r.p), format('p <@ %L::box', box(r.p, r.p * point(1.01, 0))),
			format('s = %L AND p <@ %L::box', r.s, box(r.p * point(0.99, 0), r.p * point(1.2, 0)))]
		LOOP
			compared := compared + 1;
			found := found + (rows_of(c, false) !~ '^0 ')::int;
			lost := lost + (NOT index_finds(rows_of(c, false), c))::int;
		END LOOP;
	END LOOP;
	PERFORM rencoder_index_check('t_sp', true);
	RETURN format('%s compared, %s lost%s', compared, lost,
		CASE WHEN found > compared * 0.8 THEN ', most are there' END);
END $$;

SELECT fill(1, 2100, 1);
CREATE INDEX t_sp ON t USING rencoder (s, p)
	WITH (storage = run, pages_per_range = 1, autosummarize = off);
-- Base runs and deltas, and whether there are pending pages.
CREATE VIEW state AS
	SELECT count(DISTINCT run) FILTER (WHERE kind = 'base') AS base,
		count(DISTINCT run) FILTER (WHERE kind = 'delta') AS deltas,
		(SELECT pending_pages > 1 FROM rencoder_metapage('t_sp')) AS pages_pending
	FROM rencoder_runs('t_sp');
SELECT uses_index('s = ''a'''), uses_index('p ~= ''(1,1)''');
SELECT compare();

-- The table doubles four times.
SELECT fill(2101, 4300, 2);
SELECT rencoder_compact('t_sp', frontier) > 0 AS made FROM rencoder_metapage('t_sp');
SELECT compare();
SELECT change(1);
SELECT compare();
SELECT fill(4301, 8700, 3);
SELECT rencoder_compact('t_sp', frontier) > 0 AS made FROM rencoder_metapage('t_sp');
SELECT change(2);
SELECT compare();
VACUUM t;
SELECT * FROM state;
SELECT compare();
SELECT fill(8701, 17500, 4);
SELECT rencoder_compact('t_sp', frontier) > 0 AS made FROM rencoder_metapage('t_sp');
VACUUM t;
VACUUM t;
SELECT change(3);
SELECT * FROM state;
SELECT compare();

-- One run takes in all, with the newest coder.
SELECT rencoder_compact('t_sp') > 0 AS compacted;
SELECT * FROM state;
SELECT change(4);
SELECT compare();
VACUUM t;
SELECT * FROM state;
SELECT compare();
-- Deltas that are merged.
SELECT step FROM generate_series(5, 8) i, unnest(ARRAY[format('SELECT change(%s)', i), 'VACUUM t',
	format('SELECT change(%s)', i + 5)]) step
\gexec
SELECT * FROM state;
SELECT compare();
-- Pages that are read again have the newest coder.
SELECT rencoder_compact('t_sp', 100, 300) AS made;
SELECT change(14);
SELECT rencoder_compact('t_sp', frontier) > 0 AS made FROM rencoder_metapage('t_sp');
SELECT compare();
SELECT rencoder_compact('t_sp') > 0 AS compacted;
SELECT * FROM state;
SELECT compare();
REINDEX INDEX t_sp;
SELECT * FROM state;
SELECT compare();

DROP SCHEMA runs_generations CASCADE;
