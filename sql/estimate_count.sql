-- rencoder_estimate_count() beside the rows that a sequential scan counts.
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET max_parallel_maintenance_workers = 0;
SET jit = off;
SET rencoder.sample_rate = 0;
\getenv seed RENCODER_SEED
SELECT setseed(:seed / 2147483647.0) \gset ignored_

CREATE TABLE ec (id int, v int8, skewed int8, few int, s text COLLATE "C", p point)
	WITH (autovacuum_enabled = off);
INSERT INTO ec SELECT i, (i * 2654435761) % 4294967296, (1e9 * random() ^ 5)::int8,
	nullif(i % 50, 7), 'key ' || (i * 7919) % 60000, point(random() * 100, random() * random())
FROM generate_series(1, 60000) i;
CREATE INDEX ec_id ON ec USING rencoder (id) WITH (storage = run, autosummarize = off);
CREATE INDEX ec_v ON ec USING rencoder (v) WITH (storage = run, autosummarize = off);
CREATE INDEX ec_skewed ON ec USING rencoder (skewed) WITH (storage = run, autosummarize = off);
CREATE INDEX ec_few ON ec USING rencoder (few) WITH (storage = run, autosummarize = off);
CREATE INDEX ec_s ON ec USING rencoder (s) WITH (storage = run, autosummarize = off);
CREATE INDEX ec_p ON ec USING rencoder (p) WITH (storage = run, autosummarize = off);
CREATE INDEX ec_filter ON ec USING rencoder (v) WITH (storage = filter, autosummarize = off);

-- Asks about intervals between the values of two rows.
CREATE FUNCTION ec_compare(column_name text, index_name text, n int, per_cent float8,
	rows float8) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	estimate int8;
	truth int8;
	lo text;
	hi text;
	bad text;
BEGIN
	FOR i IN 1 .. n LOOP
		EXECUTE format('SELECT min(%1$I)::text, max(%1$I)::text FROM (
			SELECT %1$I FROM ec WHERE %1$I IS NOT NULL OFFSET %2$s * random() LIMIT %3$s) r',
			column_name, 30000, i * i) INTO lo, hi;
		EXECUTE format('SELECT count(*), rencoder_estimate_count(%2$L, %3$L::%5$s, %4$L::%5$s)
			FROM ec WHERE %1$I BETWEEN %3$L AND %4$L', column_name, index_name, lo, hi,
			(SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'ec'::regclass
				AND attname = column_name))
			INTO truth, estimate;
		IF abs(estimate - truth) > greatest(rows, truth * per_cent / 100) THEN
			bad := concat_ws(', ', bad, format('%s .. %s: %s for %s', lo, hi, estimate, truth));
		END IF;
	END LOOP;
	RETURN coalesce(bad, 'near');
END $$;
CREATE FUNCTION ec_compare_all(per_cent float8 DEFAULT 2) RETURNS TABLE (i text, answer text)
	LANGUAGE sql AS $$
	SELECT c, ec_compare(c, 'ec_' || c, 12, per_cent, 100)
	FROM unnest(ARRAY['id', 'v', 'skewed', 'few', 's']) c
$$;
CREATE FUNCTION ec_compare_boxes(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	estimate int8;
	truth int8;
	b box;
	bad text;
BEGIN
	FOR i IN 1 .. n LOOP
		b := box(point(random() * 100, random()), point(random() * 100, random()));
		SELECT count(*) INTO truth FROM ec WHERE p <@ b;
		estimate := rencoder_estimate_count('ec_p', b[0], b[1]);
		IF abs(estimate - truth) > greatest(60, truth * 0.01) THEN
			bad := concat_ws(', ', bad, format('%s: %s for %s', b, estimate, truth));
		END IF;
	END LOOP;
	RETURN coalesce(bad, 'near');
END $$;
SELECT * FROM ec_compare_all();
SELECT ec_compare_boxes(40);
-- Few rows: one, of a cell of several keys, and none.
SELECT rencoder_estimate_count('ec_id', 777, 777) AS one, rencoder_estimate_count('ec_id', 5, 4) AS
	exchanged, rencoder_estimate_count('ec_id', -5, 0) AS below,
	rencoder_estimate_count('ec_id', 0, 2147483647) AS everything;

-- Filters have no ranks: keys are taken to lie evenly.
ANALYZE ec;
SELECT ec_compare('v', 'ec_filter', 12, 10, 600);

-- Updated rows are pending, then in deltas; the old ones are dead.  None of them is asked for by id
-- at random.
UPDATE ec SET v = v WHERE id BETWEEN 50000 AND 50099;
SELECT pending_pages > 0 AS pending FROM rencoder_metapage('ec_id');
SELECT rencoder_estimate_count('ec_id', 50000, 50099) AS twice,
	rencoder_estimate_count('ec_id', 50101, 52000) AS once;
VACUUM ec;
SELECT count(*) FILTER (WHERE kind = 'delta') AS deltas FROM rencoder_runs('ec_id');
SELECT * FROM ec_compare_all();
UPDATE ec SET v = v WHERE id BETWEEN 50000 AND 50099;
VACUUM ec;
SELECT rencoder_estimate_count('ec_id', 50101, 52000) AS once;

-- Keys that come to a group that is not covered lie between those of its ranges.
INSERT INTO ec SELECT i, (i * 2654435761) % 4294967296, (1e9 * random() ^ 5)::int8,
	nullif(i % 50, 7), 'key ' || (i * 7919) % 60000, point(random() * 100, random())
FROM generate_series(60001, 75000) i;
SELECT sum(rencoder_summarize_range('ec_id', first_block)) > 0 AS summarized
FROM rencoder_ranges('ec_id') WHERE state = 'unsummarized';
SELECT count(*) > 0 AS filters FROM rencoder_ranges('ec_id') WHERE NOT covered;
SELECT ec_compare('id', 'ec_id', 12, 2, 100);
SELECT rencoder_estimate_count('ec_id', 60001, 75000) BETWEEN 14000 AND 16000 AS grown;
-- Of those that are not summarized nothing is known.
SELECT ec_compare('v', 'ec_v', 12, 5, 300);
VACUUM ec;
-- A fifth is in filters.  Their skewed keys do not lie evenly, so nothing is asked of these.
SELECT * FROM ec_compare_all(10) WHERE i <> 'skewed';

-- Dead rows of which VACUUM knows.
DELETE FROM ec WHERE id % 2 = 0;
VACUUM ec;
SELECT ec_compare('v', 'ec_v', 12, 4, 200);

-- Who may ask, and for what.
SELECT rencoder_estimate_count(NULL, 1, 2) IS NULL AS nothing;
SELECT rencoder_estimate_count('ec_v', 1, NULL::int8);
SELECT rencoder_estimate_count('ec_v', 'a'::text, 'b'::text);
SELECT rencoder_estimate_count('ec', 1, 2);
CREATE ROLE regress_rencoder_count;
SET ROLE regress_rencoder_count;
SELECT rencoder_estimate_count('ec_id', 1, 2);
RESET ROLE;
GRANT SELECT ON ec TO regress_rencoder_count;
SET ROLE regress_rencoder_count;
SELECT rencoder_estimate_count('ec_id', 5, 5);
RESET ROLE;
ALTER TABLE ec ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rencoder_count;
SELECT rencoder_estimate_count('ec_id', 5, 5);
RESET ROLE;

-- No rows, no index pages to speak of.
TRUNCATE ec;
SELECT rencoder_estimate_count('ec_v', 0, 5) AS none, rencoder_estimate_count('ec_p', point '(0,0)',
	point '(9,9)') AS no_points;
DROP TABLE ec;
DROP FUNCTION ec_compare, ec_compare_all, ec_compare_boxes;
DROP ROLE regress_rencoder_count;

-- Of a table without statistics rows are guessed from its size, as by the planner.
CREATE TABLE ec_new (v int8) WITH (autovacuum_enabled = off);
CREATE INDEX ec_new_v ON ec_new USING rencoder (v) WITH (storage = filter, autosummarize = off);
INSERT INTO ec_new SELECT i FROM generate_series(1, 100000) i;
SELECT rencoder_summarize_new_values('ec_new_v') > 0 AS summarized;
SELECT rencoder_estimate_count('ec_new_v', 1, 100000) BETWEEN 50000 AND 200000 AS guessed;
DROP TABLE ec_new;
