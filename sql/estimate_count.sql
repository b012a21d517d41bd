-- About how many rows lie between two values: rencoder_estimate_count() beside count(*).
SET client_min_messages = warning;
CREATE TABLE ec (i int8, n numeric, s text COLLATE "C", few int4, t timestamptz, p point,
	tenant int4) WITH (autovacuum_enabled = off);
INSERT INTO ec SELECT (hashint8extended(g, 1) >> 20), (hashint8extended(g, 2) >> 30) / 1000.0,
		'k' || md5(g::text), abs(hashint4(g)) % 5, timestamptz '2026-01-01' + g * interval '1 min',
		point(abs(hashint8extended(g, 3) % 100000) / 100.0,
			abs(hashint8extended(g, 4) % 100000) / 100.0), abs(hashint4(g)) % 100
	FROM generate_series(1, 40000) g;
CREATE INDEX ec_i ON ec USING rencoder (i);
CREATE INDEX ec_n ON ec USING rencoder (n);
CREATE INDEX ec_s ON ec USING rencoder (s);
CREATE INDEX ec_few ON ec USING rencoder (few);
CREATE INDEX ec_t ON ec USING rencoder (t);
CREATE INDEX ec_p ON ec USING rencoder (p);
CREATE INDEX ec_tenant ON ec USING rencoder (tenant, t) WITH (composite = on);

-- Beyond 5 % and 100 rows: what was counted.
CREATE FUNCTION ec_off(index regclass, condition text, lo text, hi text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	rows int8;
	told int8;
BEGIN
	EXECUTE format('SELECT count(*), rencoder_estimate_count(%L, %s, %s) FROM ec WHERE ', index,
		lo, hi) || condition INTO rows, told;
	IF told IS NULL OR abs(rows - told) > 100 + rows * 0.05 THEN
		RETURN NEXT format('%s, %s to %s: %s rows, told %s', index, lo, hi, rows, told);
	END IF;
END $$;
CREATE FUNCTION ec_all() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT o FROM generate_series(0, 1000000, 250000) a, generate_series(0, 1000000, 250000) b,
		LATERAL (VALUES ('ec_i', 'i', a::int8 * 17592186 - 8796093022208,
				b::int8 * 17592186 - 8796093022208),
			('ec_n', 'n', a::int8 * 17180 - 8589934592, b::int8 * 17180 - 8589934592),
			('ec_few', 'few', a / 200000, b / 200000),
			('ec_tenant', 'tenant', a / 10000, b / 10000)) v (index, col, lo, hi),
		ec_off(index, col || ' BETWEEN ' || lo || ' AND ' || hi, lo::text, hi::text) o
	UNION ALL SELECT o FROM unnest('{0,3,a}'::text[]) a, unnest('{0,7,b,g}'::text[]) b,
		ec_off('ec_s', format('s BETWEEN %L AND %L', 'k' || a, 'k' || b), quote_literal('k' || a),
			quote_literal('k' || b)) o
	UNION ALL SELECT o FROM (
		SELECT quote_literal(timestamptz '2026-01-01' + a * interval '1 min') AS a,
			quote_literal(timestamptz '2026-01-01' + b * interval '1 min') AS b
		FROM generate_series(0, 40000, 16000) a, generate_series(0, 40000, 9000) b) t,
		ec_off('ec_t', format('t BETWEEN %s AND %s', a, b), a, b) o
$$;
SELECT * FROM ec_all();
SELECT o FROM generate_series(0, 900, 300) x, generate_series(0, 900, 300) y,
	ec_off('ec_p', format('p <@ box(point(%s,%s), point(%s,%s))', x, y, x + 250, y + 180),
		format('point(%s,%s)', x, y), format('point(%s,%s)', x + 250, y + 180)) o;

-- Rows of the table's end, which nothing covers, are taken to be like the others; late ones are
-- in deltas.
INSERT INTO ec SELECT i + 1, n, s, few, t, p, tenant FROM ec WHERE abs(hashint8(i)) % 20 = 0;
SELECT * FROM ec_all();
SELECT count(*) > 0 AS maintained FROM rencoder_maintain('ec');
UPDATE ec SET few = few WHERE abs(hashint8(i)) % 10 = 0;
VACUUM ec;
SELECT * FROM ec_all();

-- Entries of a frequent value name a row each, those of values in the order of the table several.
CREATE TABLE ec_heavy (f float8) WITH (autovacuum_enabled = off);
INSERT INTO ec_heavy SELECT CASE WHEN i % 3 = 0 THEN 'NaN'::float8 ELSE i / 20 END
	FROM generate_series(1, 300000) i;
CREATE INDEX ec_heavy_f ON ec_heavy USING rencoder (f);
SELECT bool_or(entries * 1.1 < rows) AS fewer_entries FROM rencoder_runs('ec_heavy_f');
SELECT lo, hi, c BETWEEN rows * 0.95 AND rows * 1.05 AS about
FROM (VALUES (float8 'NaN', float8 'NaN', 100000), (0, 12000, 160000), (0, 'NaN', 300000))
		v (lo, hi, rows),
	rencoder_estimate_count('ec_heavy_f', lo, hi) c;

-- Nothing is known of an empty table and of filters; between bounds the wrong way round is nothing.
CREATE TABLE ec_empty (i int8);
CREATE INDEX ec_empty_i ON ec_empty USING rencoder (i);
CREATE INDEX ec_filter ON ec USING rencoder (i) WITH (storage = filter);
SELECT rencoder_estimate_count('ec_empty_i', 1, 2) IS NULL AS empty,
	rencoder_estimate_count('ec_filter', 1, 2) IS NULL AS filter,
	rencoder_estimate_count('ec_i', 2, 1) AS wrong_way,
	rencoder_estimate_count(NULL, 1, 2) IS NULL AS no_index;
SELECT rencoder_estimate_count('ec_i', NULL, 1);
SELECT rencoder_estimate_count('ec_i', 'a'::text, 'b');
SELECT rencoder_estimate_count('ec', 1, 2);
CREATE ROLE regress_ec;
SET ROLE regress_ec;
SELECT rencoder_estimate_count('ec_i', 1, 2);
RESET ROLE;
DROP ROLE regress_ec;
DROP TABLE ec, ec_empty;
DROP FUNCTION ec_off, ec_all;
