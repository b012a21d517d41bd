-- rencoder_estimate() of a table that is sampled in part: the sample's seed is fixed, and so are
-- the rows.  Sizes are right within a tenth, or four pages.
SET rencoder.sample_rate = 0;

CREATE TABLE estimated_part AS
SELECT i AS id, i / 40 AS nearly, i / 300000 AS steps, (3000000 - i) / 300000 AS descending,
    (hashint4(i) & 255) AS few, (i % 10 = 0)::int AS two,
    ((hashint4(i) & 65535)::float8 ^ 2 / 4e6)::int AS skewed
FROM generate_series(1, 3000000) i;
VACUUM ANALYZE estimated_part;

CREATE FUNCTION estimate_and_make(col name, OUT estimated bigint, OUT made bigint) LANGUAGE plpgsql
AS $$
BEGIN
    SELECT size INTO estimated FROM rencoder_estimate('estimated_part', col, 1, 1)
    WHERE method = 'rencoder';
    EXECUTE format('CREATE INDEX estimated_i ON estimated_part USING rencoder (%I)', col);
    made := pg_relation_size('estimated_i');
    DROP INDEX estimated_i;
END $$;

SELECT col, abs(estimated - made) <= greatest(0.1 * made, 4 * 8192) AS right,
    CASE WHEN abs(estimated - made) > greatest(0.1 * made, 4 * 8192) THEN estimated / 8192 END
        AS pages_estimated,
    CASE WHEN abs(estimated - made) > greatest(0.1 * made, 4 * 8192) THEN made / 8192 END AS made
FROM unnest('{id,nearly,steps,descending,few,skewed}'::name[]) AS col, estimate_and_make(col);

-- In the order of the column pages lie together: a sample has all of them, or none.
SELECT count(*) AS queries, count(*) FILTER (WHERE e.pages NOT BETWEEN t.pages - 1 AND t.pages + 1)
        AS wrong,
    max(e.pages - t.pages) AS too_many, max(t.pages - e.pages) AS too_few
FROM generate_series(100000, 2900000, 350000) AS lo,
    LATERAL (SELECT heap_pages FROM rencoder_estimate('estimated_part', 'id', lo, lo + 499)
        WHERE method = 'btree') AS e (pages),
    LATERAL (SELECT count(DISTINCT (ctid::text::point)[0]) FROM estimated_part
        WHERE id BETWEEN lo AND lo + 499) AS t (pages);
-- Two values in turn are in no order: one in ten rows has the second.
SELECT round(100.0 * index_pages * 8192 / size, -1) AS per_cent
FROM rencoder_estimate('estimated_part', 'two', 1, 1) WHERE method = 'btree';
DROP TABLE estimated_part;
DROP FUNCTION estimate_and_make;
