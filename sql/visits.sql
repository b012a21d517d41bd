-- The pages that a query visits, by the operators of each type and combinations of them.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
SET visits.value = 2654435761;

CREATE TABLE visits (id int, v int8, few int4, s text COLLATE "C", u text COLLATE "C", p point,
	net inet, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE visits ALTER filler SET STORAGE plain;
INSERT INTO visits SELECT i, (i * 2654435761) % 4294967296, nullif(i % 50, 7), 'key ' || i,
	CASE WHEN i % 3 = 0 THEN 'some ' || i END, point(i % 177, i % 180),
	('10.' || i % 200 || '.' || i % 256 || '.7')::inet, repeat('x', 150)
FROM generate_series(1, 20000) i;
CREATE INDEX visits_v ON visits USING rencoder (v) WITH (storage = run, autosummarize = off);
CREATE INDEX visits_s ON visits USING rencoder (s) WITH (autosummarize = off);
CREATE INDEX visits_p ON visits USING rencoder (p) WITH (autosummarize = off);
CREATE INDEX visits_net ON visits USING rencoder (net) WITH (autosummarize = off);
CREATE INDEX visits_two ON visits USING rencoder (few, u) WITH (autosummarize = off);
CREATE INDEX visits_sum ON visits USING rencoder ((id + few)) WITH (autosummarize = off);
CREATE INDEX visits_part ON visits USING rencoder (v) WITH (autosummarize = off)
	WHERE id > 19000;
-- The end is not indexed.
INSERT INTO visits SELECT i, i, i, 'key ' || i, NULL, point(i, i), '10.0.0.1', repeat('x', 150)
FROM generate_series(20001, 20900) i;
VACUUM (INDEX_CLEANUP off) visits;
ANALYZE visits;

-- What the bitmap scan of a query visits; all indexes but one are gone meanwhile.
CREATE FUNCTION visits_of(index_name text, condition text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	name text;
	visited int8 := -1;
BEGIN
	BEGIN
		FOR name IN SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'visits'::regclass
			AND indexrelid <> index_name::regclass LOOP
			EXECUTE 'DROP INDEX ' || name;
		END LOOP;
		SET LOCAL enable_seqscan = off;
		EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM visits WHERE '
			|| condition INTO plan;
		visited := (plan->0->'Plan'->>'Exact Heap Blocks')::int8 +
			(plan->0->'Plan'->>'Lossy Heap Blocks')::int8;
		RAISE EXCEPTION 'back';
	EXCEPTION WHEN raise_exception THEN
		RETURN visited;
	END;
END $$;
CREATE TABLE visits_list (i serial, name text, condition text);
INSERT INTO visits_list (name, condition) VALUES
	('visits_v', 'v = 2654435761'), ('visits_v', 'v BETWEEN 5 AND 10000000'),
	('visits_v', 'v < 100000000'), ('visits_v', 'v IN (1, 2, 2654435761)'),
	('visits_v', 'v = ANY (ARRAY[1, 2654435761, NULL])'), ('visits_v', 'v = 5 OR v > 4294000000'),
	('visits_v', '(v = 2654435761 OR v = 5) AND id > 3'), ('visits_v', 'v = 1::int2'),
	('visits_v', 'v = abs(-2654435761) AND random() < 2'), ('visits_v', 'v IS NULL'),
	('visits_v', 'v = current_setting(''visits.value'')::int8'),
	('visits_v', 'visits.v = 5 -- and no more'),
	('visits_v', '"v" = 5 AND s = ''key 7'''),
	('visits_s', 's = ''key 777'''), ('visits_s', 's LIKE ''key 12%'''),
	('visits_s', 's ^@ ''key 99'''),
	('visits_s', 's > ''key 99'' AND s < ''key 992'''),
	('visits_p', 'p <@ box ''(3,3),(9,9)'''), ('visits_p', 'p <@ circle ''<(50,50),3>'''),
	('visits_p', 'p ~= point ''(5,5)'''), ('visits_net', 'net << ''10.7.0.0/16'''),
	('visits_net', 'net <<= ''10.7.7.0/24'' OR net = ''10.0.0.1'''),
	('visits_two', 'few = 5 AND u = ''some 6'''), ('visits_two', 'u LIKE ''some 77%'''),
	('visits_two', 'few = 7 OR u = ''some 33'''), ('visits_two', 'u IS NULL AND few = 3'),
	('visits_two', 'few IS NOT NULL AND u ~~ ''some 1%'''), ('visits_sum', 'id + few = 17'),
	('visits_two', '(few = 5 OR few = 6) AND (u = ''some 6'' OR u LIKE ''some 1%'')'),
	('visits_part', 'v = 6 AND id > 19500');
SELECT name, condition, visits_of(name, condition) BETWEEN 20 AND 500 AS few
FROM visits_list ORDER BY i;
SELECT visits_of('visits_v', 'v BETWEEN 1000 AND 9000000') = pages AS same
FROM rencoder_candidates('visits_v', 1000, 9000000);
DROP TABLE visits, visits_list;
DROP FUNCTION visits_of;
