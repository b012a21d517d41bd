-- Operator classes, their families and support functions.
SET client_min_messages = warning;
SET enable_indexscan = off;

-- Our own are valid.
SELECT opcname, opcintype::regtype AS type, opfname AS family, opcdefault AS is_default,
	amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod JOIN pg_opfamily f ON f.oid = opcfamily
WHERE amname = 'rencoder' ORDER BY opfname, opcintype;

-- They have the cross-type operators of btree's families, and no others.
SELECT opfname, amoplefttype::regtype, amoprighttype::regtype,
	string_agg(amopopr::regoper::text, ' ' ORDER BY amopstrategy) AS operators
FROM pg_amop o JOIN pg_am a ON a.oid = amopmethod JOIN pg_opfamily f ON f.oid = amopfamily
WHERE amname = 'rencoder'
GROUP BY opfname, amoplefttype, amoprighttype ORDER BY opfname, amoplefttype, amoprighttype;
SELECT count(*) AS unlike_btree
FROM (SELECT opfname, amoplefttype, amoprighttype, amopstrategy, amopopr,
	array_agg(amname ORDER BY amname) ams
	  FROM pg_amop o JOIN pg_am a ON a.oid = amopmethod JOIN pg_opfamily f ON f.oid = amopfamily
	  WHERE amname IN ('rencoder', 'btree')
	  	AND opfname IN ('integer_ops', 'oid_ops', 'datetime_ops')
	  GROUP BY opfname, amoplefttype, amoprighttype, amopstrategy, amopopr) x
WHERE ams <> '{btree,rencoder}';

SELECT opfname, amprocnum, amproclefttype::regtype, amprocrighttype::regtype, amproc
FROM pg_amproc p JOIN pg_opfamily f ON f.oid = amprocfamily JOIN pg_am a ON a.oid = opfmethod
WHERE amname = 'rencoder' ORDER BY opfname, amprocnum, amproclefttype, amprocrighttype;

-- Every object of the extension has a comment, but the row type of a view.
SELECT pg_describe_object(classid, objid, objsubid) AS without_comment
FROM pg_depend d
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'rencoder')
	AND classid <> 'pg_type'::regclass
	AND obj_description(objid, classid::regclass::name) IS NULL;

--
-- Keys.  In the order of the values, as unsigned numbers.
--
CREATE FUNCTION unsigned(int8) RETURNS numeric LANGUAGE sql IMMUTABLE
RETURN CASE WHEN $1 < 0 THEN $1 + 18446744073709551616::numeric ELSE $1 END;

SELECT v, unsigned(rencoder_int2_key(v)) AS key, rencoder_int2_key(v) = rencoder_int4_key(v)
	AND rencoder_int2_key(v) = rencoder_int8_key(v) AS same_in_all_widths
FROM unnest('{-32768,-1,0,1,32767}'::int2[]) v;
SELECT v, unsigned(rencoder_int8_key(v)) AS key
FROM unnest('{-9223372036854775808,-2147483649,0,2147483648,9223372036854775807}'::int8[]) v;
SELECT v, unsigned(rencoder_oid_key(v)) AS key
FROM unnest('{0,1,2147483647,2147483648,4294967295}'::oid[]) v;
SET datestyle = 'ISO';
SET timezone = 'UTC';
SELECT v, unsigned(rencoder_date_key(v)) AS key
FROM unnest('{-infinity,4713-01-01 BC,1999-12-31,2000-01-01,294276-12-31,294277-01-01,'
	'5874897-12-31,infinity}'::date[]) v;
SELECT v, unsigned(rencoder_timestamp_key(v)) AS key
FROM unnest('{-infinity,4713-01-01 00:00 BC,1999-12-31 23:59:59.999999,2000-01-01,'
	'294276-12-31 23:59:59.999999,infinity}'::timestamp[]) v;
SELECT v, unsigned(rencoder_timestamptz_key(v)) AS key
FROM unnest('{-infinity,4713-01-01 00:00+00 BC,2000-01-01 00:00+00,'
	'294276-12-31 23:59:59.999999+00,infinity}'::timestamptz[]) v;

-- Monotone, over edges and random values, also from type to type.
SELECT setseed(0.1);
CREATE TEMP TABLE ints AS
	SELECT (random() * 65535 - 32768)::int8 AS v FROM generate_series(1, 1000)
	UNION ALL SELECT (random() * 4294967295 - 2147483648)::int8 FROM generate_series(1, 1000)
	UNION ALL SELECT ((random()::numeric - 0.5) * 18446744073709551614)::int8
		FROM generate_series(1, 1000)
	UNION ALL
		SELECT unnest('{-9223372036854775808,-9223372036854775807,-1,0,1,9223372036854775806,'
			'9223372036854775807}'::int8[]);
SELECT count(*) AS wrong_order
FROM (SELECT v, unsigned(rencoder_int8_key(v)) AS key, lag(v) OVER w AS pv,
		unsigned(rencoder_int8_key(lag(v) OVER w)) AS pkey FROM ints WINDOW w AS (ORDER BY v)) x
WHERE (pv = v) <> (pkey = key) OR (pv < v) <> (pkey < key);
SELECT count(*) FILTER (WHERE v BETWEEN -32768 AND 32767) > 1000 AS some_int2,
	bool_and(rencoder_int2_key(v::int2) = rencoder_int8_key(v)) FILTER (WHERE v BETWEEN -32768
	AND 32767) AS int2,
	bool_and(rencoder_int4_key(v::int4) = rencoder_int8_key(v)) FILTER (WHERE v BETWEEN -2147483648
	AND 2147483647) AS int4
FROM ints;

-- (Days of the whole range of dates, and instants of that of timestamps.)
CREATE TEMP TABLE times AS
	SELECT d, NULL::timestamp AS t
	FROM (SELECT date '2000-01-01' + (random() * 2147483493 - 2451545)::int
		FROM generate_series(1, 1000)
		  UNION ALL SELECT date '2000-01-01' + (random() * 1000)::int FROM generate_series(1, 300)
		  UNION ALL
		  	SELECT unnest('{-infinity,4713-01-01 BC,2000-01-01,294276-12-31,294277-01-01,'
		  		'5874897-12-31,infinity}'::date[])) x(d)
	UNION ALL
	SELECT NULL, t
	FROM (SELECT timestamp '2000-01-01' + (random() * 106700000 - 2451544) * interval '1 day'
		FROM generate_series(1, 1000)
		  UNION ALL SELECT timestamp '2000-01-01' + random() * interval '1000 days'
		  	FROM generate_series(1, 300)
		  UNION ALL
		  	SELECT unnest('{-infinity,4713-01-01 00:00 BC,2000-01-01,'
		  		'294276-12-31 23:59:59.999999,infinity}'::timestamp[])) x(t);
SELECT count(*) AS compared, count(*) FILTER (WHERE (a.t < b.d)
	AND unsigned(rencoder_timestamp_key(a.t)) >= unsigned(rencoder_date_key(b.d))
		OR (a.t > b.d) AND unsigned(rencoder_timestamp_key(a.t)) <= unsigned(rencoder_date_key(b.d))
		OR (a.t = b.d) AND rencoder_timestamp_key(a.t) <> rencoder_date_key(b.d)) AS wrong_order
FROM times a, times b WHERE a.t IS NOT NULL AND b.d IS NOT NULL;
SELECT count(*) AS wrong_order
FROM (SELECT d, unsigned(rencoder_date_key(d)) AS key, lag(d) OVER w AS pd,
		unsigned(rencoder_date_key(lag(d) OVER w)) AS pkey FROM times
		WHERE d IS NOT NULL WINDOW w AS (ORDER BY d)) x
WHERE (pd = d) <> (pkey = key) OR (pd < d) <> (pkey < key);

--
-- Invalid operator classes and what is said of them.
--
CREATE FUNCTION opc_validate(name text) RETURNS bool LANGUAGE sql AS $$
	SELECT amvalidate(c.oid) FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
	WHERE amname = 'rencoder' AND opcname = name
$$;
-- Nothing at all.
CREATE OPERATOR CLASS opc_empty FOR TYPE int4 USING rencoder AS STORAGE int4;
SELECT opc_validate('opc_empty');
-- An operator is missing, and the key function.
CREATE OPERATOR CLASS opc_few FOR TYPE int4 USING rencoder AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 5 >;
SELECT opc_validate('opc_few');
-- Key functions of wrong result, argument and registration.
CREATE OPERATOR CLASS opc_functions FOR TYPE int4 USING rencoder AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 int4(int2),
	FUNCTION 1 (int4, int8) rencoder_int4_key(int4),
	FUNCTION 2 rencoder_int8_key(int8),
	FUNCTION 2 (int4, int2) rencoder_int4_key(int4),
	FUNCTION 6 rencoder_int4_key(int4);
SELECT opc_validate('opc_functions');
-- A right-hand type that keys cannot be made of, and half of its operators.
CREATE OPERATOR CLASS opc_cross FOR TYPE int4 USING rencoder AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	OPERATOR 1 < (int4, int8), OPERATOR 3 = (int4, int8),
	FUNCTION 1 rencoder_int4_key(int4);
SELECT opc_validate('opc_cross');
-- An operator that is no predicate does not get so far.
CREATE OPERATOR CLASS opc_operators FOR TYPE int4 USING rencoder AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 + (int4, int4),
	FUNCTION 1 rencoder_int4_key(int4);
-- Nothing is missing here.
CREATE OPERATOR CLASS opc_whole FOR TYPE int4 USING rencoder AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 rencoder_int4_key(int4);
SELECT opc_validate('opc_whole');
-- Operators beyond btree's do alone, but not without a function of their own.
CREATE OPERATOR CLASS opc_subnets FOR TYPE inet USING rencoder AS
	OPERATOR 6 <<, OPERATOR 10 &&,
	FUNCTION 1 rencoder_inet_key(inet), FUNCTION 3 rencoder_inet_intervals(inet, int2, internal);
SELECT opc_validate('opc_subnets');
CREATE OPERATOR CLASS opc_other FOR TYPE int4 USING rencoder AS
	OPERATOR 6 <>, FUNCTION 1 rencoder_int4_key(int4);
SELECT opc_validate('opc_other');
CREATE OPERATOR CLASS opc_other_function FOR TYPE int4 USING rencoder AS
	OPERATOR 6 <>, FUNCTION 1 rencoder_int4_key(int4), FUNCTION 3 rencoder_int4_key(int4);
SELECT opc_validate('opc_other_function');
-- So do such operators with other types, which need no key.
CREATE OPERATOR CLASS opc_points FOR TYPE point USING rencoder AS
	OPERATOR 17 <@ (point, box), OPERATOR 18 ~=,
	FUNCTION 3 (point, box) rencoder_point_box_intervals(box, int2, internal),
	FUNCTION 3 rencoder_point_intervals(point, int2, internal),
	FUNCTION 4 rencoder_point_key(point, internal);
SELECT opc_validate('opc_points');
CREATE OPERATOR CLASS opc_boxless FOR TYPE point USING rencoder AS
	OPERATOR 17 <@ (point, box), OPERATOR 18 ~=,
	FUNCTION 3 rencoder_point_intervals(point, int2, internal),
	FUNCTION 4 rencoder_point_key(point, internal);
SELECT opc_validate('opc_boxless');
-- Numbers and purposes that the access method does not have.
CREATE OPERATOR CLASS opc_number FOR TYPE int4 USING rencoder AS OPERATOR 20 <>;
CREATE OPERATOR CLASS opc_number FOR TYPE int4 USING rencoder AS FUNCTION 7 rencoder_int4_key(int4);
CREATE OPERATOR CLASS opc_order FOR TYPE int4 USING rencoder AS
	OPERATOR 1 < (int4, int4) FOR ORDER BY integer_ops;
DROP OPERATOR FAMILY opc_empty USING rencoder;
DROP OPERATOR FAMILY opc_few USING rencoder;
DROP OPERATOR FAMILY opc_functions USING rencoder;
DROP OPERATOR FAMILY opc_cross USING rencoder;
DROP OPERATOR FAMILY opc_subnets USING rencoder;
DROP OPERATOR FAMILY opc_points USING rencoder;
DROP OPERATOR FAMILY opc_boxless USING rencoder;
DROP OPERATOR FAMILY opc_other USING rencoder;
DROP OPERATOR FAMILY opc_other_function USING rencoder;

--
-- A user-defined operator class is used: integers in tens.
--
CREATE FUNCTION tens_key(int4) RETURNS int8 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN rencoder_int4_key($1 - ($1 % 10 + 10) % 10);
CREATE OPERATOR CLASS tens_ops FOR TYPE int4 USING rencoder AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 tens_key(int4);
SELECT opc_validate('tens_ops');
CREATE TABLE opc (v int4, filler text);
INSERT INTO opc SELECT i * 7 % 1000 - 500, repeat('x', 500) FROM generate_series(1, 1000) i;
CREATE INDEX opc_v ON opc USING rencoder (v tens_ops) WITH (pages_per_range = 1);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM opc WHERE v > -3 AND v < 4;
SELECT count(*), min(v), max(v) FROM opc WHERE v > -3 AND v < 4;
SELECT count(*), min(v), max(v) FROM opc WHERE v = 33;
RESET enable_seqscan;
-- Its family has no operators of int8.
EXPLAIN (COSTS OFF) SELECT count(*) FROM opc WHERE v = 33::int8;

--
-- The extension may live in any schema.
--
CREATE SCHEMA elsewhere;
CREATE INDEX opc_moved ON opc USING rencoder (v) WITH (pages_per_range = 1);
ALTER EXTENSION rencoder SET SCHEMA elsewhere;
SET enable_seqscan = off;
DROP INDEX opc_v;
EXPLAIN (COSTS OFF) SELECT count(*) FROM opc WHERE v = 33::int8;
SELECT count(*) FROM opc WHERE v = 33::int8;
INSERT INTO opc VALUES (1033);
SELECT count(*) FROM opc WHERE v = 1033;
RESET enable_seqscan;
ALTER EXTENSION rencoder SET SCHEMA public;

DROP TABLE opc;
DROP OPERATOR FAMILY tens_ops USING rencoder;
DROP OPERATOR FAMILY opc_whole USING rencoder;
DROP FUNCTION tens_key, opc_validate, unsigned;
DROP SCHEMA elsewhere;
