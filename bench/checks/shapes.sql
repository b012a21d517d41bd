-- Loaded by shapes.sh: the table, and what its queries visit.

CREATE FUNCTION bits(i bigint, n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    'SELECT hashint8extended(i, n)';
CREATE FUNCTION unit(i bigint, n bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT ((hashint8extended(i, n) >> 12) & 4503599627370495)::float8 / 4503599627370496';
-- A value in one of 300 clusters of 2^20.
CREATE FUNCTION clustered(i bigint, n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    'SELECT (bits((bits(i, n + 50) & 1048575) % 300, 77) & 9223372036854775807) / 2 + (bits(i, n) & 1048575)';
CREATE FUNCTION moment(i bigint, n bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
    'SELECT timestamptz ''2016-01-01 UTC'' + unit(i, n) * interval ''3650 days''';
CREATE FUNCTION place(i bigint, n bigint) RETURNS point LANGUAGE sql IMMUTABLE AS
    'SELECT point(1000 * unit(i, n), 1000 * unit(i, n + 1))';

BEGIN;
CREATE TABLE t (u bigint, c bigint, t timestamptz, h text COLLATE "C", p point, filler text);
ALTER TABLE t ALTER filler SET STORAGE plain;
INSERT INTO t SELECT bits(i, :seed), clustered(i, :seed), moment(i, :seed), md5(i::text),
        place(i, :seed), repeat('x', 105)
    FROM generate_series(1, :rows) AS i;
COMMIT;
SELECT relpages FROM pg_class WHERE relname = 't';

-- Which queries match nothing, btree and GiST say.
CREATE TABLE kinds (kind text, col text, i bigint, lo text, hi text);
INSERT INTO kinds
    SELECT 'uniform', 'u', i, bits(i, -1)::text, bits(i, -1)::text FROM generate_series(1, 3300) AS i
    UNION ALL SELECT 'clusters: absent value', 'c', i, clustered(i, -1)::text, clustered(i, -1)::text
    FROM generate_series(1, 3300) AS i
    UNION ALL SELECT 'clusters: 64 long', 'c', i, clustered(i, -2)::text, (clustered(i, -2) + 63)::text
    FROM generate_series(1, 5000) AS i
    UNION ALL SELECT 'clusters: gap, 10^6 long', 'c', i, g::text, (g + 999999)::text
    FROM generate_series(1, 3300) AS i, LATERAL (SELECT (bits(i, -3) & 9223372036854775807) / 2 AS g) AS at
    UNION ALL SELECT 'timestamps: a value', 't', i, moment(i, -4)::text, moment(i, -4)::text
    FROM generate_series(1, 3300) AS i
    UNION ALL SELECT 'timestamps: 60 s', 't', i, moment(i, -5)::text, (moment(i, -5) + interval '60 s')::text
    FROM generate_series(1, 5000) AS i
    UNION ALL SELECT 'text: = absent', 'h', i, md5('a' || i), md5('a' || i) FROM generate_series(1, 3300) AS i
    UNION ALL SELECT 'text: LIKE, 6 hex digits', 'h', i, left(md5('b' || i), 6), left(md5('b' || i), 6) || 'ffffffffffffffffffffffffff'
    FROM generate_series(1, 5000) AS i
    UNION ALL SELECT 'points: box of 0.1', 'p', i, place(i, -6)::text, (place(i, -6) + point(0.1, 0.1))::text
    FROM generate_series(1, 3300) AS i
    UNION ALL SELECT 'points: box of 1', 'p', i, place(i, -8)::text, (place(i, -8) + point(1, 1))::text
    FROM generate_series(1, 12000) AS i;
CREATE INDEX ON t (u);
CREATE INDEX ON t (c);
CREATE INDEX ON t (t);
CREATE INDEX ON t (h);
CREATE INDEX ON t USING gist (p);
ANALYZE t;
DELETE FROM kinds WHERE col = 'u' AND EXISTS (SELECT FROM t WHERE u BETWEEN lo::bigint AND hi::bigint);
DELETE FROM kinds WHERE col = 'c' AND EXISTS (SELECT FROM t WHERE c BETWEEN lo::bigint AND hi::bigint);
DELETE FROM kinds WHERE col = 't' AND EXISTS (SELECT FROM t WHERE t BETWEEN lo::timestamptz AND hi::timestamptz);
DELETE FROM kinds WHERE col = 'h' AND EXISTS (SELECT FROM t WHERE h COLLATE "C" BETWEEN lo AND hi);
DELETE FROM kinds WHERE col = 'p' AND EXISTS (SELECT FROM t WHERE p <@ box(lo::point, hi::point));
DROP INDEX t_u_idx, t_c_idx, t_t_idx, t_h_idx, t_p_idx;

-- Median time of five builds.
CREATE FUNCTION build_ms(col text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    times numeric[] := '{}';
    start float8;
BEGIN
    FOR i IN 1 .. 5 LOOP
        EXECUTE format('DROP INDEX IF EXISTS t_%s', col);
        start := bench_cpu();
        EXECUTE format('CREATE INDEX t_%1$s ON t USING rencoder (%1$s) WITH (pages_per_range = 32, storage = filter)', col);
        times := times || ((bench_cpu() - start) / 1000)::numeric;
    END LOOP;
    RETURN (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(times) AS x);
END $$;

CREATE FUNCTION visited(what text, OUT queries bigint, OUT candidates numeric, OUT pages numeric) LANGUAGE plpgsql AS $$
DECLARE
    col text := (SELECT k.col FROM kinds AS k WHERE kind = what LIMIT 1);
BEGIN
    EXECUTE format('SELECT count(*), avg(c.pages) / 32, avg(c.index_pages)
        FROM (SELECT * FROM kinds WHERE kind = $1 ORDER BY i LIMIT 3000) AS k,
            rencoder_candidates(%L, lo::%s, hi::%2$s) AS c', 't_' || col,
        (SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = col))
        INTO queries, candidates, pages USING what;
END $$;
