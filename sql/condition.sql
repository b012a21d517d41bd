-- rencoder_candidates(index, condition): the pages that a query with the condition visits.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
SET cond.value = 2654435761;

CREATE TABLE cond (id int, v int8, few int4, s text COLLATE "C", u text COLLATE "C", p point,
	net inet, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE cond ALTER filler SET STORAGE plain;
INSERT INTO cond SELECT i, (i * 2654435761) % 4294967296, nullif(i % 50, 7), 'key ' || i,
	CASE WHEN i % 3 = 0 THEN 'some ' || i END, point(i % 177, i % 180),
	('10.' || i % 200 || '.' || i % 256 || '.7')::inet, repeat('x', 150)
FROM generate_series(1, 20000) i;
CREATE INDEX cond_v ON cond USING rencoder (v) WITH (storage = run, autosummarize = off);
CREATE INDEX cond_s ON cond USING rencoder (s) WITH (storage = filter, autosummarize = off);
CREATE INDEX cond_p ON cond USING rencoder (p) WITH (autosummarize = off);
CREATE INDEX cond_net ON cond USING rencoder (net) WITH (autosummarize = off);
CREATE INDEX cond_two ON cond USING rencoder (few, u) WITH (autosummarize = off);
CREATE INDEX cond_sum ON cond USING rencoder ((id + few)) WITH (autosummarize = off);
CREATE INDEX cond_part ON cond USING rencoder (v) WITH (autosummarize = off)
	WHERE id > 19000;
CREATE INDEX cond_btree ON cond (v);
-- The end is not summarized.
INSERT INTO cond SELECT i, i, i, 'key ' || i, NULL, point(i, i), '10.0.0.1', repeat('x', 150)
FROM generate_series(20001, 20900) i;
VACUUM (INDEX_CLEANUP off) cond;
ANALYZE cond;

-- What the bitmap scan of a query visits; all indexes but one are gone meanwhile.
CREATE FUNCTION cond_visits(index_name text, condition text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	name text;
	visited int8 := -1;
BEGIN
	BEGIN
		FOR name IN SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'cond'::regclass
			AND indexrelid <> index_name::regclass LOOP
			EXECUTE 'DROP INDEX ' || name;
		END LOOP;
		SET LOCAL enable_seqscan = off;
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM cond WHERE ' || condition
			INTO plan;
		visited := (plan->0->'Plan'->>'Lossy Heap Blocks')::int8;
		RAISE EXCEPTION 'back';
	EXCEPTION WHEN raise_exception THEN
		RETURN visited;
	END;
END $$;
CREATE TABLE cond_list (i serial, name text, condition text);
INSERT INTO cond_list (name, condition) VALUES
	('cond_v', 'v = 2654435761'), ('cond_v', 'v BETWEEN 5 AND 10000000'),
	('cond_v', 'v < 100000000'), ('cond_v', 'v IN (1, 2, 2654435761)'),
	('cond_v', 'v = ANY (ARRAY[1, 2654435761, NULL])'), ('cond_v', 'v = 5 OR v > 4294000000'),
	('cond_v', '(v = 2654435761 OR v = 5) AND id > 3'), ('cond_v', 'v = 1::int2'),
	('cond_v', 'v = abs(-2654435761) AND random() < 2'), ('cond_v', 'v IS NULL'),
	('cond_v', 'v = current_setting(''cond.value'')::int8'),
	('cond_v', 'cond.v = 5 -- and no more'),
	('cond_v', '"v" = 5 AND s = ''key 7'''),
	('cond_s', 's = ''key 777'''), ('cond_s', 's LIKE ''key 12%'''), ('cond_s', 's ^@ ''key 99'''),
	('cond_s', 's > ''key 99'' AND s < ''key 992'''),
	('cond_p', 'p <@ box ''(3,3),(9,9)'''), ('cond_p', 'p <@ circle ''<(50,50),3>'''),
	('cond_p', 'p ~= point ''(5,5)'''), ('cond_net', 'net << ''10.7.0.0/16'''),
	('cond_net', 'net <<= ''10.7.7.0/24'' OR net = ''10.0.0.1'''),
	('cond_two', 'few = 5 AND u = ''some 6'''), ('cond_two', 'u LIKE ''some 77%'''),
	('cond_two', 'few = 7 OR u = ''some 33'''), ('cond_two', 'u IS NULL AND few = 3'),
	('cond_two', 'few IS NOT NULL AND u ~~ ''some 1%'''), ('cond_sum', 'id + few = 17'),
	('cond_two', '(few = 5 OR few = 6) AND (u = ''some 6'' OR u LIKE ''some 1%'')'),
	('cond_part', 'v = 6 AND id > 19500');
SELECT name, condition, pages BETWEEN 20 AND 500 AS few,
	pages = cond_visits(name, condition) AS same,
	skipped + candidates = ranges AND index_pages > 0 AS sound, unsummarized > 0 AS tail
FROM cond_list, rencoder_candidates(name::regclass, condition) ORDER BY i;
SELECT c.pages = b.pages AND c.index_pages = b.index_pages AND c.candidates = b.candidates AS same
FROM rencoder_candidates('cond_v', 'v BETWEEN 1000 AND 9000000') c,
	rencoder_candidates('cond_v', 1000, 9000000) b;
SELECT count(*) FROM pg_locks WHERE relation = 'cond_v'::regclass AND mode <> 'AccessShareLock';

-- What is no such condition.
SELECT * FROM rencoder_candidates('cond_v', 'id = 5');
SELECT * FROM rencoder_candidates('cond_s', 's || u = ''a''');
SELECT * FROM rencoder_candidates('cond_part', 'v = 5');
SELECT * FROM rencoder_candidates('cond_v', 'false');
SELECT * FROM rencoder_candidates('cond_v', 'v');
SELECT * FROM rencoder_candidates('cond_v', 'w = 5');
SELECT * FROM rencoder_candidates('cond_v', 'v = ');
SELECT * FROM rencoder_candidates('cond_v', '');
SELECT * FROM rencoder_candidates('cond_v', 'v = 5; DROP TABLE cond');
SELECT * FROM rencoder_candidates('cond_v', 'v = 5) OR (true');
SELECT * FROM rencoder_candidates('cond_v', 'v = 5 ORDER BY v');
SELECT * FROM rencoder_candidates('cond_v', 'v = 5 FROM pg_class');
SELECT * FROM rencoder_candidates('cond_v', 'v = 5, v = 6');
SELECT * FROM rencoder_candidates('cond_v', '*');
SELECT * FROM rencoder_candidates('cond_v', 'cond.*');
SELECT * FROM rencoder_candidates('cond_v', 'v.*');
SELECT * FROM rencoder_candidates('cond_v', '8f14e45f-ceea-467f-9575-67f2c4e1f5b1');
SELECT * FROM rencoder_candidates('cond_v', 'v = 5.0');
SELECT * FROM rencoder_candidates('cond_v', 'v = 5 UNION SELECT 1');
SELECT * FROM rencoder_candidates('cond_v', 'v IN (SELECT id FROM cond)');
SELECT * FROM rencoder_candidates('cond_v', 'v = max(v)');
SELECT * FROM rencoder_candidates('cond_btree', 'v = 5');
SELECT * FROM rencoder_candidates('cond_v', NULL);

-- The same plans as before are made afterwards.
EXPLAIN (COSTS OFF) SELECT * FROM cond WHERE v = 5;

-- The planner may evaluate a function that asks the same.
CREATE FUNCTION cond_nested(index_name text, condition text) RETURNS int8 LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
	PERFORM rencoder_candidates(index_name::regclass, condition);
	RETURN 2654435761;
END $$;
SELECT index_name, asked.pages = plain.pages AS same
FROM (VALUES ('cond_v', 'v = 5'), ('cond_two', 'few = 1')) AS other (index_name, condition),
	rencoder_candidates('cond_v', 'v = 2654435761') AS plain,
	rencoder_candidates('cond_v',
		format('v = cond_nested(%L, %L)', index_name, condition)) AS asked;
SELECT count(*) FROM cond WHERE v = 2654435761;

-- Conditions of which the plan tests a part before it begins.
SELECT asked.pages = plain.pages AS same
FROM rencoder_candidates('cond_v', 'v = 5') AS plain,
	rencoder_candidates('cond_v', 'v = 5 AND now() > ''2000-01-01''') AS asked;

-- Who may ask: whoever may read all rows; and no function runs as the table's owner.
CREATE ROLE regress_rencoder_cond;
CREATE FUNCTION cond_who(int8) RETURNS int8 LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF current_user <> 'regress_rencoder_cond' THEN
		RAISE WARNING 'called as %', current_user;
	END IF;
	RETURN $1;
END $$;
SET ROLE regress_rencoder_cond;
SELECT pages FROM rencoder_candidates('cond_v', 'v = cond_who(2654435761)');
RESET ROLE;
GRANT SELECT (v) ON cond TO regress_rencoder_cond;
SET ROLE regress_rencoder_cond;
SELECT pages FROM rencoder_candidates('cond_v', 'v = 5');
RESET ROLE;
GRANT SELECT ON cond TO regress_rencoder_cond;
SET ROLE regress_rencoder_cond;
SELECT pages > 0 AS pages FROM rencoder_candidates('cond_v', 'v = cond_who(2654435761)');
RESET ROLE;
ALTER TABLE cond ENABLE ROW LEVEL SECURITY;
CREATE POLICY cond_policy ON cond USING (id < 100);
SET ROLE regress_rencoder_cond;
SELECT pages FROM rencoder_candidates('cond_v', 'v = 5');
RESET ROLE;
-- The owner is bound by policies only if he wants to, and then as in a query.
SELECT pages > 0 AS pages FROM rencoder_candidates('cond_v', 'v = 5');
DROP TABLE cond, cond_list;
DROP FUNCTION cond_visits, cond_who, cond_nested;
DROP ROLE regress_rencoder_cond;
