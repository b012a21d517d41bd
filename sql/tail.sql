-- The page that the table ends in when a run is made of it: rows that come to it later are
-- entries, until the next run takes the page again.  Then they leave the pending list, whatever
-- older runs have not read.
SET rencoder.sample_rate = 0;
SET enable_seqscan = off;
CREATE SCHEMA tail;
SET search_path = tail, public;
CREATE TABLE t (id int, v int8) WITH (fillfactor = 70, autovacuum_enabled = off);
CREATE FUNCTION add(first int, last int) RETURNS void LANGUAGE sql AS
	'INSERT INTO t SELECT i, hashint8extended(i, 1) FROM generate_series(first, last) i';
SELECT add(1, 5050);
CREATE INDEX t_idx ON t USING rencoder (v) WITH (autosummarize = off);
CREATE FUNCTION pages() RETURNS int LANGUAGE sql AS
	$$ SELECT (pg_relation_size('t') / current_setting('block_size')::int)::int $$;
CREATE FUNCTION made() RETURNS bool LANGUAGE sql AS $$
	SELECT rencoder_compact('t_idx', (frontier - 1)::int, pages()) > 0
	FROM rencoder_metapage('t_idx')
$$;
-- How many rows does the index not find?
CREATE FUNCTION lost() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
BEGIN
	FOR k IN 4 .. (SELECT max(id) FROM t) LOOP
		n := n + (NOT EXISTS (SELECT FROM t WHERE v = hashint8extended(k, 1) AND id = k))::int;
	END LOOP;
	RETURN n;
END $$;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT FROM t WHERE v = 5 AND id = 5;
SELECT frontier = pages() AS covered, pending_pages FROM rencoder_metapage('t_idx');

-- Some come to the last page, others behind it, again and again: the list is its open page.
SELECT add(5051, 5055);
SELECT frontier = pages() AS covered, pending_pages FROM rencoder_metapage('t_idx');
SELECT lost();
SELECT add(5056, 5400);
SELECT lost();
SELECT made();
SELECT frontier = pages() AS covered, pending_pages FROM rencoder_metapage('t_idx');
SELECT count(DISTINCT rank) AS readings FROM rencoder_runs('t_idx') WHERE kind = 'base';
SELECT lost();
SELECT rencoder_index_check('t_idx', true);
SELECT add(5401, 5700);
SELECT made();
SELECT pending_pages, spare_pages FROM rencoder_metapage('t_idx');
SELECT lost();
SELECT rencoder_index_check('t_idx', true);

-- An entry of a page that is not read again is needed, and its page stays with all behind it.
UPDATE t SET v = 4711 WHERE id = 3;
SELECT add(5701, 6000);
SELECT made();
SELECT pending_pages FROM rencoder_metapage('t_idx');
SELECT add(6001, 6300);
SELECT made();
SELECT pending_pages FROM rencoder_metapage('t_idx');
SELECT id FROM t WHERE v = 4711;
SELECT lost();
SELECT rencoder_index_check('t_idx', true);
-- Its page is read again: all of them go.
SELECT rencoder_compact('t_idx', 0, 3) > 0 AS made;
SELECT pending_pages FROM rencoder_metapage('t_idx');
SELECT id FROM t WHERE v = 4711;
SELECT rencoder_index_check('t_idx', true);
DROP SCHEMA tail CASCADE;
