-- Draws the queries of a column.  A btree (of points, GiST) counts what they match.

SET search_path = made, public;

-- Values that are there and hardly there, as functions of a row number i; a value a little above
-- v; a hash of the value.
CREATE TABLE results.columns (
    col text PRIMARY KEY, there text, missing text, above text, hash text);
INSERT INTO results.columns VALUES
    ('id', '2 * i', '2 * i + 1', 'v', NULL),
    ('at', 'made.at(i)', $$made.at(i) + interval '1 us'$$, $$v + interval '10 us'$$, NULL),
    ('uniform', 'made.uniform(i)', 'made.uniform(-i)', 'v + 63', 'hashint8extended(%s, 0)'),
    ('dense', 'made.dense(i)', 'made.dense(-i)', 'v', NULL),
    ('clustered', 'made.clustered(i)', 'made.clustered(-i)', 'v + 1', NULL),
    ('skewed', 'made.skewed(i)', 'made.skewed(-i)', 'v', NULL),
    ('thousand', 'made.thousand(i)', 'made.thousand(i) + 500', 'v + 100', NULL),
    ('uuid', 'made.uuid(i)', 'made.uuid(-i)', $$(left(v::text, 23) || '-ffffffffffff')::uuid$$,
        'uuid_hash_extended(%s, 0)'),
    ('domain', 'made.domain(i)', 'made.domain(-i)', $$v || '~'$$, 'hashtextextended(%s, 0)');

-- Keeps those of drawn conditions that match as often as is wanted.
CREATE FUNCTION results.keep(c text, k text, n int, low int8, high int8, conditions text[],
    hashed text[] DEFAULT '{}')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found int8;
    kept int := 0;
BEGIN
    FOR i IN 1 .. cardinality(conditions) LOOP
        EXIT WHEN kept >= n;
        EXECUTE 'SELECT count(*) FROM made.wide WHERE ' || conditions[i] INTO found;
        CONTINUE WHEN found NOT BETWEEN low AND high;
        kept := kept + 1;
        INSERT INTO results.queries VALUES (c, k, kept, found, conditions[i], hashed[i]);
    END LOOP;
END $$;

-- Values of a column as literals, and those a little above.
CREATE FUNCTION results.literals(expression text, above text, n int)
RETURNS TABLE (literal text, beyond text) LANGUAGE plpgsql AS $$
DECLARE
    total float8 := (SELECT r.n FROM results.rows AS r);
BEGIN
    RETURN QUERY EXECUTE format('SELECT quote_literal(v), quote_literal(%s)
        FROM (SELECT 1 + floor(made.part(j, 20) * %s)::int8 AS i
            FROM generate_series(1::int8, %s) AS j) AS drawn, LATERAL (SELECT %s) AS s (v)',
        above, total, n, expression);
END $$;

CREATE FUNCTION results.equal(c text, hash text, literals text[],
    OUT plain text[], OUT hashed text[])
LANGUAGE sql AS $$
    SELECT array_agg(format('%I = %s', c, v)),
        array_agg(format(hash, quote_ident(c)) || ' = ' || format(hash, v)
            || format(' AND %I = %s', c, v))
    FROM unnest(literals) AS v
$$;

CREATE FUNCTION results.draw(c text, n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    own record;
    there text[];
    missing text[];
    beyond text[];
    conditions text[];
    hashed text[];
    hi text;
BEGIN
    SELECT * INTO STRICT own FROM results.columns WHERE col = c;
    SELECT array_agg(literal) INTO there FROM results.literals(own.there, own.above, 4 * n);
    SELECT array_agg(l.literal), array_agg(l.beyond) INTO missing, beyond
        FROM results.literals(own.missing, own.above, 8 * n) AS l;
    SELECT e.plain, e.hashed INTO conditions, hashed FROM results.equal(c, own.hash, there) AS e;
    PERFORM results.keep(c, 'one', n, 1, CASE c WHEN 'thousand' THEN 1000000 ELSE 1 END, conditions,
        hashed);
    SELECT e.plain, e.hashed INTO conditions, hashed FROM results.equal(c, own.hash, missing) AS e;
    PERFORM results.keep(c, 'absent', n, 0, 0, conditions, hashed);
    PERFORM results.keep(c, 'empty', n, 0, 0, ARRAY(SELECT format('%I BETWEEN %s AND %s', c, lo, up)
        FROM unnest(missing, beyond) AS s (lo, up)));
    PERFORM results.keep(c, 'in', n, 1, 1000, ARRAY(
        SELECT format('%I IN (%s, %s)', c, string_agg(there[1 + i % (4 * n)], ', '),
            string_agg(missing[i], ', '))
        FROM generate_series(1, 8 * n) AS i GROUP BY i % (8 * n / 10)));
    FOREACH hi IN ARRAY '{10,100,1000}'::text[] LOOP
        PERFORM results.keep(c, hi, n, hi::int, hi::int * 6 / 5,
            results.intervals(c, there, hi::int));
    END LOOP;
END $$;

-- Intervals from the values given that match m rows.
CREATE FUNCTION results.intervals(c text, los text[], m int) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    hi text;
    conditions text[] := '{}';
BEGIN
    FOR i IN 1 .. cardinality(los) LOOP
        EXECUTE format('SELECT quote_literal(%1$I) FROM made.wide WHERE %1$I >= %2$s ORDER BY %1$I
            OFFSET %3$s LIMIT 1', c, los[i], m - 1) INTO hi;
        CONTINUE WHEN hi IS NULL;
        conditions := conditions || format('%I BETWEEN %s AND %s', c, los[i], hi);
    END LOOP;
    RETURN conditions;
END $$;

CREATE FUNCTION results.draw_like(n int) RETURNS void LANGUAGE sql AS $$
    SELECT results.keep('domain', 'like', n, 2, 10000, ARRAY(
        SELECT format('domain LIKE %L', left(made.domain(i), 5) || '%')
        FROM generate_series(1::int8, 4 * n) AS i))
$$;

-- Boxes around points (one match) or anywhere, of the area that as many points are expected in.
CREATE FUNCTION results.draw_boxes(n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    total float8 := (SELECT r.n FROM results.rows AS r);
    m record;
BEGIN
    FOR m IN VALUES ('one', 1, 0.01, 1, 1), ('empty', -1, 0.01, 0, 0), ('10', -1, 10, 8, 12),
        ('100', -1, 100, 85, 115), ('1000', -1, 1000, 920, 1080)
    LOOP
        PERFORM results.keep('p', m.column1, n, m.column4, m.column5, ARRAY(
            SELECT format('p <@ %L::box', box(point(c[0] - side, c[1] - side),
                point(c[0] + side, c[1] + side)))
            FROM (SELECT made.p(m.column2 * i) AS c, sqrt(m.column3 / total) / 2 AS side
                FROM generate_series(1::int8, 4 * n) AS i) AS s));
    END LOOP;
END $$;
