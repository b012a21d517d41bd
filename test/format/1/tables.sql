-- The tables and indexes whose files lie beside this text.
CREATE TABLE runs (id int, v int8, s text COLLATE "C", few int, filler text)
	WITH (fillfactor = 60, autovacuum_enabled = off);
CREATE TABLE filters (id int, v int8, few int, n numeric, s text, p point, ip inet, filler text)
	WITH (fillfactor = 90, autovacuum_enabled = off);
CREATE TABLE tenants (id int, tenant int, code text COLLATE "C", at timestamptz, filler text)
	WITH (fillfactor = 60, autovacuum_enabled = off);
CREATE TABLE types (id int, c_int2 int2, c_int4 int4, c_int8 int8, c_float4 float4, c_float8 float8,
	c_numeric numeric, c_money money, c_date date, c_time time, c_timestamp timestamp,
	c_timestamptz timestamptz, c_timetz timetz, c_interval interval, c_uuid uuid, c_macaddr macaddr,
	c_macaddr8 macaddr8, c_inet inet, c_cidr cidr, c_lsn pg_lsn, c_xid8 xid8, c_oid oid,
	c_char "char", c_tid tid, c_bit bit(16), c_varbit varbit, c_text text, c_text_c text COLLATE "C",
	c_bpchar char(12), c_name name, c_bytea bytea, c_point point, filler text)
	WITH (autovacuum_enabled = off);
ALTER TABLE runs ALTER filler SET STORAGE plain;
ALTER TABLE tenants ALTER filler SET STORAGE plain;
ALTER TABLE types ALTER filler SET STORAGE plain;
ALTER TABLE filters ALTER filler SET STORAGE plain;

-- Fails when told to, so that a reading is given up.
CREATE FUNCTION half(n numeric) RETURNS numeric IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('format.fail', true) = 'yes' THEN
		RAISE EXCEPTION 'told to fail';
	END IF;
	RETURN n / 2;
END $$;

CREATE INDEX runs_all ON runs USING rencoder (v, s, few)
	WITH (autosummarize = off, pages_per_range = 1, storage = run);
CREATE INDEX runs_auto ON runs USING rencoder (v, few)
	WITH (autosummarize = off, pages_per_range = 2);
CREATE INDEX filters_v ON filters USING rencoder (v, few)
	WITH (autosummarize = off, pages_per_range = 1, bits_per_key = 24, storage = filter);
CREATE INDEX filters_few ON filters USING rencoder (few)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
CREATE INDEX filters_s ON filters USING rencoder (s)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
CREATE INDEX filters_p ON filters USING rencoder (p)
	WITH (autosummarize = off, pages_per_range = 1, storage = filter);
CREATE INDEX filters_ip ON filters USING rencoder (ip)
	WITH (autosummarize = off, pages_per_range = 4, bits_per_key = 12, storage = filter);
CREATE INDEX filters_n ON filters USING rencoder (half(n))
	WITH (autosummarize = off, pages_per_range = 1, storage = filter) WHERE id > 100;
CREATE INDEX tenants_key ON tenants USING rencoder (tenant, code, at)
	WITH (autosummarize = off, pages_per_range = 1, composite = on);
-- Of all operator classes but that of enums, whose values differ from cluster to cluster.
CREATE INDEX types_all ON types USING rencoder (c_int2, c_int4, c_int8, c_float4, c_float8, c_numeric,
	c_money, c_date, c_time, c_timestamp, c_timestamptz, c_timetz, c_interval, c_uuid, c_macaddr,
	c_macaddr8, c_inet, c_cidr, c_lsn, c_xid8, c_oid, c_char, c_tid, c_bit, c_varbit, c_text, c_text_c,
	c_bpchar, c_name, c_bytea, c_point)
	WITH (autosummarize = off, pages_per_range = 1, storage = run);

CREATE FUNCTION fill_runs(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO runs SELECT i, hashint8extended(i, 1) >> 20,
		'https://example.org/' || left(md5((i / 6)::text), 16),
		nullif(abs(hashint4(i)) % 30, 7), repeat('x', 130)
	FROM generate_series(first, last) i
$$;
CREATE FUNCTION fill_filters(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO filters SELECT i, hashint8extended(i, 1), nullif(i % 29, 7), i / 7.0,
		'https://www.example.com/' || left(md5(i::text), 12), point(i % 50, i / 50),
		CASE WHEN i % 3 > 0 THEN '10.0.0.0'::inet + i * 7919 % 60000 END, repeat('x', 900)
	FROM generate_series(first, last) i
$$;
CREATE FUNCTION fill_tenants(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO tenants SELECT i, abs(hashint4(i)) % 40,
		'code-' || left(md5(i::text), 10), timestamptz '2026-01-01' + i * interval '7 min',
		repeat('x', 100)
	FROM generate_series(first, last) i
$$;
-- Three numbers decide all values; some rows of a hundred have special ones, and each 17th has nulls.
CREATE FUNCTION fill_types(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO types SELECT i, h % 30000, h, h8, h / 1000.0, CASE i % 100 WHEN 1 THEN 'NaN'
			WHEN 2 THEN '-Infinity' ELSE h8 / 1e9 END,
		CASE i % 100 WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' ELSE h8 / 1000000.0 END,
		(h / 100.0)::numeric::money, CASE i % 100 WHEN 3 THEN 'infinity'
			ELSE date '2026-01-01' + h % 20000 END,
		time '00:00' + (abs(h) % 86400) * interval '1 s',
		CASE i % 100 WHEN 3 THEN '-infinity' ELSE timestamp '2026-01-01' + h * interval '1 s' END,
		CASE i % 100 WHEN 3 THEN 'infinity' ELSE timestamptz '2026-01-01 UTC' + h * interval '1 s' END,
		timetz '00:00+02' + (abs(h) % 86400) * interval '1 s', h * interval '1 min',
		m::uuid, left(m, 12)::macaddr, left(m, 16)::macaddr8,
		CASE WHEN i % 5 > 0 THEN inet '0.0.0.0' + u ELSE inet '2001:db8::' + u END,
		set_masklen(inet '10.0.0.0' + (i * 256) % 16000000, 24)::cidr,
		(left(m, 6) || '/' || right(m, 8))::pg_lsn, u::text::xid8, u::oid,
		chr(33 + i % 90)::"char", format('(%s,%s)', i % 9999, 1 + i % 50)::tid,
		i::bit(16), left(h::bit(32)::text, i % 32)::varbit, m, left(m, 1 + i % 32),
		left(m, 1 + i % 12), left(m, 9), decode(left(m, 2 * (i % 16)), 'hex'),
		CASE i % 100 WHEN 1 THEN point 'NaN,0' ELSE point(h / 1000.0, h8 / 1e12) END,
		repeat('x', 200)
	FROM (SELECT i, hashint4(i) AS h, hashint4(i) + 2147483648 AS u, hashint8extended(i, 1) AS h8,
			md5(i::text) AS m
		FROM generate_series(first, last) i WHERE i % 17 > 0) q;
	INSERT INTO types (id) SELECT i FROM generate_series(first, last) i WHERE i % 17 = 0
$$;
CREATE FUNCTION change_runs(k int) RETURNS void LANGUAGE sql AS $$
	UPDATE runs SET v = hashint8extended(id, k) >> 20, few = (few + 1) % 30 WHERE id % 41 = k
$$;

-- What an index says of itself, which must not change: one line each.
CREATE FUNCTION state_of(i regclass) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('%s %s pages of %s a range, %s bits, version %s, frontier %s, entries to %s, %s runs, '
		'%s pending, %s free', i, pg_relation_size(i) / 8192, pages_per_range, bits_per_key,
		catalog_version, frontier, entries_to, runs, pending_pages, free_pages)
	FROM rencoder_metapage(i)
	UNION ALL
	SELECT format('%s run %s.%s %s %s, rank %s, %s to %s, cut %s, %s entries, %s rows, %s pages, %s nulls',
		i, run, attnum, kind, state, rank, from_page, to_page, cut, entries, rows, pages, nulls)
	FROM rencoder_runs(i)
	UNION ALL
	SELECT format('%s sample %s %s [%s, %s]', i, attnum, source, lo_key, hi_key)
	FROM rencoder_query_samples(i) WHERE source = 'added'
$$;

-- Conditions for each column of the types, by the values of a row.
CREATE FUNCTION type_conditions(number int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	col name;
	type text;
	value text;
BEGIN
	FOR col, type IN SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
		WHERE attrelid = 'types'::regclass AND attname LIKE 'c\_%' ORDER BY attnum
	LOOP
		EXECUTE format('SELECT quote_literal(%I::text) || %L FROM types WHERE id = %s', col, '::' || type,
			number) INTO value;
		IF value IS NULL THEN
			RETURN NEXT format('%I IS NULL', col);
		ELSIF type = 'point' THEN
			RETURN NEXT format('%I ~= %s', col, value);
			RETURN NEXT format('%1$I <@ box(%2$s, point((%2$s)[0] + 9000, (%2$s)[1] + 90000))', col,
				value);
		ELSE
			RETURN NEXT format('%I = %s', col, value);
			IF type = 'inet' THEN
				RETURN NEXT format('%I <<= set_masklen(%s, 8)', col, value);
			ELSIF type = 'text' THEN
				RETURN NEXT format('%I LIKE left(%s, 2) || %L', col, value, '%');
			END IF;
			IF type NOT IN ('text', 'character(12)', 'name') OR col = 'c_text_c' THEN
				RETURN NEXT format('%I >= %s', col, value);
			END IF;
		END IF;
	END LOOP;
END $$;

-- What queries would visit.
CREATE FUNCTION visited(index regclass, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	tab regclass := (SELECT indrelid FROM pg_index WHERE indexrelid = index);
	name regclass;
	plan json;
BEGIN
	-- Without the other indexes.
	FOR name IN SELECT indexrelid FROM pg_index WHERE indrelid = tab AND indexrelid <> index LOOP
		EXECUTE 'DROP INDEX ' || name;
	END LOOP;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = off; -- which does not say how many
	EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT json) SELECT * FROM %s WHERE %s',
		tab, condition) INTO plan;
	RAISE EXCEPTION 'back';
EXCEPTION WHEN raise_exception THEN
	RETURN format('%s %s: %s pages', index, condition,
		(plan -> 0 -> 'Plan' ->> 'Exact Heap Blocks')::int +
		(plan -> 0 -> 'Plan' ->> 'Lossy Heap Blocks')::int);
END $$;
CREATE FUNCTION all_visited() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT visited(i::regclass, replace(condition, '$', number::text))
	FROM generate_series(100, 2500, 400) number,
		(VALUES
			('runs_all', 'v = hashint8extended($, 1) >> 20'),
			('runs_all', 'v BETWEEN hashint8extended($, 1) AND hashint8extended($, 1) + 1000000'),
			('runs_all', 's LIKE ''https://example.org/'' || left(md5(''$''), 5) || ''%'''),
			('runs_all', 'few = $ % 30 AND v < 0'),
			('runs_auto', 'v = hashint8extended($, 1) >> 20'),
			('filters_v', 'v = hashint8extended($, 1)'),
			('filters_v', 'v BETWEEN $ AND $ * 100000000000000'),
			('filters_v', 'few IS NULL AND v > 0'),
			('filters_few', 'few = $ % 31'),
			('filters_s', 's = ''https://www.example.com/'' || left(md5(''$''), 12)'),
			('filters_p', 'p <@ box(point($ % 50, $ / 50), point($ % 50 + 1, $ / 50 + 1))'),
			('filters_ip', 'ip << inet ''10.0.0.0/28'' + $ * 16'),
			('tenants_key', 'tenant = $ % 40'),
			('tenants_key', 'tenant = $ % 40 AND code >= ''code-c'''),
			('filters_n', 'id > 100 AND half(n) BETWEEN $ / 14.0 AND $ / 14.0 + 0.2'))
		AS asked (i, condition)
	UNION ALL
	SELECT visited('types_all', condition)
	FROM generate_series(101, 113, 6) number, type_conditions(number) condition
$$;
