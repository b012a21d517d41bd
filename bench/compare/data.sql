-- The tables of bench/compare.sh; :rows and :seed are given.  A row depends on its number and the
-- seed.

CREATE SCHEMA made;
SET search_path = made, public;

CREATE FUNCTION h(i int8, stream int8) RETURNS int8 LANGUAGE sql IMMUTABLE
    RETURN hashint8extended(i, :seed * 1000 + stream);

-- Evenly in [0, 1).
CREATE FUNCTION part(i int8, stream int8) RETURNS float8 LANGUAGE sql IMMUTABLE
    RETURN (h(i, stream) >> 11 & 9007199254740991) / 9007199254740992.0::float8;

CREATE FUNCTION uniform(i int8) RETURNS int8 LANGUAGE sql IMMUTABLE RETURN h(i, 1);

-- Each integer below :rows once on average; a third of them never.
CREATE FUNCTION dense(i int8) RETURNS int4 LANGUAGE sql IMMUTABLE
    RETURN (h(i, 2) & 9223372036854775807) % :rows;

-- 20,000 places of 2^4 to 2^50 integers each, the first more often than the last.
CREATE FUNCTION place(i int8, c int8) RETURNS int8 LANGUAGE sql IMMUTABLE
    RETURN h(c, 3) / 2 + (2 ^ (4 + 46 * part(c, 4)) * part(i, 5))::int8;
CREATE FUNCTION clustered(i int8) RETURNS int8 LANGUAGE sql IMMUTABLE
    RETURN place(i, floor(20000 * part(i, 6) ^ 2)::int8);

-- The frequency of a value is about the inverse of it, as in Zipf's law; 1 to 1e9.
CREATE FUNCTION skewed(i int8) RETURNS int8 LANGUAGE sql IMMUTABLE
    RETURN floor(exp(part(i, 7) * ln(1e9::float8)))::int8;

CREATE FUNCTION thousand(i int8) RETURNS int4 LANGUAGE sql IMMUTABLE
    RETURN 1000 * floor(1000 * part(i, 8))::int4;

CREATE FUNCTION uuid(i int8) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN md5(h(i, 9)::text)::uuid;

-- Letters that are not equally frequent, and one of four endings.
CREATE FUNCTION domain(i int8) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN left(translate(md5(h(i, 10)::text), '0123456789abcdef', 'eeeaaoottinnsrhl'),
            8 + (h(i, 11) & 7)::int4)
        || ('{.com,.com,.org,.net,.info}'::text[])[1 + (h(i, 12) & 1048575) % 5];

CREATE FUNCTION p(i int8) RETURNS point LANGUAGE sql IMMUTABLE
    RETURN point(part(i, 13), part(i, 14));

-- Two events in three seconds, up to a minute late.
CREATE FUNCTION at(i int8) RETURNS timestamptz LANGUAGE sql IMMUTABLE
    RETURN timestamptz '2026-01-01 00:00:00+00'
        + (i * 1.5 + 60 * part(i, 15) ^ 8) * interval '1 second';

-- "wide" has 35 rows a page, "narrow" 185.
CREATE TABLE wide (
    id int8, at timestamptz, uniform int8, clustered int8, skewed int8, uuid uuid, p point,
    dense int4, thousand int4, domain text COLLATE "C", filler text);
CREATE TABLE narrow (id int8, uniform int8);

CREATE FUNCTION wide_rows(first int8, last int8) RETURNS SETOF wide LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT 2 * i, at(i), uniform(i), clustered(i), skewed(i), uuid(i), p(i), dense(i), thousand(i),
        domain(i), repeat('x', 98)
    FROM generate_series(first, last) AS i;
END;
CREATE FUNCTION narrow_rows(first int8, last int8) RETURNS SETOF narrow LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT 2 * i, uniform(i) FROM generate_series(first, last) AS i;
END;

INSERT INTO wide SELECT * FROM wide_rows(1, :rows);
INSERT INTO narrow SELECT * FROM narrow_rows(1, :rows);
VACUUM (FREEZE, ANALYZE) wide, narrow;
