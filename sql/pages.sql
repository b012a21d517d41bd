-- Index pages that scans read: each page of a group's storage at most once.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
-- Recording a query reads a page, too.
SET rencoder.sample_rate = 0;
\getenv seed RENCODER_SEED

-- Seven groups of 128 block ranges, the last in slices; 200 keys a range: eight
-- windows, each a page where the group is a matrix.
CREATE TABLE pages (v int8, filler text);
ALTER TABLE pages ALTER filler SET STORAGE plain;
INSERT INTO pages SELECT hashint8extended(i, :seed), 'x' FROM generate_series(1, 150000) i;
CREATE INDEX pages_v ON pages USING rencoder (v) WITH (pages_per_range = 1, storage = filter);
VACUUM ANALYZE pages;

-- Pages that a bitmap index scan reads, by what the executor counts.
CREATE FUNCTION pages_read(condition text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	node json;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true);
	-- The first run fills the catalog caches.
	FOR i IN 1 .. 2 LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT count(*) FROM pages WHERE '
			|| condition INTO plan;
	END LOOP;
	node := plan->0->'Plan'->'Plans'->0->'Plans'->0;
	IF node->>'Index Name' IS DISTINCT FROM 'pages_v' THEN
		RAISE EXCEPTION 'no bitmap scan: %', plan;
	END IF;
	RETURN (node->>'Shared Hit Blocks')::int8 + (node->>'Shared Read Blocks')::int8;
END $$;

CREATE TEMP TABLE group_pages AS
SELECT count(*) AS groups, sum(pages) AS storage, max(windows) AS windows
FROM rencoder_groups('pages_v');
SELECT groups, windows FROM group_pages;
-- The executor and rencoder_candidates() count alike.
SELECT pages_read('v BETWEEN 1 AND 1000000') = index_pages AS alike
FROM rencoder_candidates('pages_v', 1::int8, 1000000::int8);

-- Values that are not there.
SELECT array_agg(v) AS absent
FROM (SELECT hashint8extended(i, :seed) + 1 AS v FROM generate_series(1, 100) i) a
WHERE NOT EXISTS (SELECT FROM pages p WHERE p.v = a.v) \gset
SELECT cardinality(:'absent'::int8[]) AS values;
-- Metapage and directory are four reads.  A probe reads two windows a group at
-- most (kw 2), and the header where it finds something ...
SELECT pages_read(format('v = %s', (:'absent'::int8[])[1])) <= fixed + 2 * groups AS one
FROM group_pages, LATERAL (SELECT 4 + groups AS fixed) f;
-- ... and a list of them each page of storage and each header once.
SELECT pages_read(format('v = ANY (%L)', :'absent')) <= 4 + groups + storage AS list
FROM group_pages;
-- Intervals that take many windows.
SELECT count(*) AS too_many
FROM group_pages, generate_series(30, 60) bits,
	LATERAL rencoder_candidates('pages_v', 5::int8, 5 + (1::int8 << bits)) c
WHERE c.index_pages > 4 + groups + storage;

DROP TABLE pages, group_pages;
DROP FUNCTION pages_read;
