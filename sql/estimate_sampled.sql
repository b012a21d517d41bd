-- rencoder_estimate() of a table that is sampled in part: the sample's seed is fixed, and so are
-- the rows.  Sizes are right within a tenth, or four pages.
SET rencoder.sample_rate = 0;

CREATE TABLE estimated_part AS
SELECT i AS id, i / 40 AS nearly, i / 300000 AS steps, (3000000 - i) / 300000 AS descending,
    (hashint4(i) & 255) AS few,
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
DROP TABLE estimated_part;
DROP FUNCTION estimate_and_make;
