-- rencoder_estimate() of a table that is sampled in part: the sample's seed is fixed, and so are
-- the rows.  Sizes are right within a tenth.
SET rencoder.sample_rate = 0;

CREATE TABLE estimated_part AS
SELECT i AS id, i / 40 AS nearly, (hashint4(i) & 255) AS few,
    ((hashint4(i) & 65535)::float8 ^ 2 / 4e6)::int AS skewed
FROM generate_series(1, 3000000) i;
VACUUM ANALYZE estimated_part;

CREATE FUNCTION estimate_ratio(col name) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    estimated bigint;
    ratio numeric;
BEGIN
    SELECT size INTO estimated FROM rencoder_estimate('estimated_part', col, 1, 1)
    WHERE method = 'rencoder';
    EXECUTE format('CREATE INDEX estimated_i ON estimated_part USING rencoder (%I)', col);
    ratio := estimated / pg_relation_size('estimated_i')::numeric;
    DROP INDEX estimated_i;
    RETURN ratio;
END $$;

SELECT col, ratio BETWEEN 0.9 AND 1.1 AS right,
    CASE WHEN ratio NOT BETWEEN 0.9 AND 1.1 THEN round(ratio, 2) END AS wrong
FROM unnest('{id,nearly,few,skewed}'::name[]) AS col, estimate_ratio(col) AS ratio;
DROP TABLE estimated_part;
DROP FUNCTION estimate_ratio;
