-- Planning does not look at the data of rows that row security or a view with
-- security_barrier hides: EXPLAIN for a value that only hidden rows have is that
-- for a value that no row has.
SET client_min_messages = warning;
SET enable_indexscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE ROLE regress_rencoder_tenant;
CREATE ROLE regress_rencoder_viewer;
CREATE ROLE regress_rencoder_auditor BYPASSRLS;
CREATE ROLE regress_rencoder_landlord;

-- Multiples of a million have 10 rows each, in as many places, which most often
-- are not the tenant's; other values none.  All are equally common, so statistics
-- cannot tell.  d and e have all their values at the beginning of each million, which
-- the ten buckets of a histogram do not tell either.  Keys of e are made by a coder.
CREATE TABLE sec (who name, a int8, s text, u uuid, n int8, d int8, e text COLLATE "C", filler text)
	WITH (autovacuum_enabled = off);
INSERT INTO sec SELECT CASE WHEN i % 100 = 1 THEN 'regress_rencoder_tenant' ELSE 'other' END,
	i % 2000 * 1000000, 'value ' || i % 2000 * 1000000,
	md5((i % 2000 * 1000000)::text)::uuid, i / 2944 * 3 % 7 * 100000 + i % 2944,
	i % 10 * 1000000 + i % 997, 'e' || i % 10 * 1000000 + i % 997, repeat('x', 200)
FROM generate_series(1, 20000) i WHERE i % 100 = 1 OR i % 2000 > 0;
CREATE INDEX sec_a ON sec USING rencoder (a, n)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE INDEX sec_s ON sec USING rencoder (s)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE INDEX sec_d ON sec USING rencoder (d)
	WITH (pages_per_range = 1, autosummarize = off);
CREATE INDEX sec_e ON sec USING rencoder (e)
	WITH (pages_per_range = 1, autosummarize = off);
ALTER TABLE sec ALTER d SET STATISTICS 10, ALTER e SET STATISTICS 10;
CREATE INDEX sec_u ON sec USING rencoder (u)
	WITH (pages_per_range = 1, autosummarize = off);
VACUUM ANALYZE sec;
ALTER TABLE sec OWNER TO regress_rencoder_landlord;
GRANT SELECT, UPDATE ON sec TO regress_rencoder_tenant, regress_rencoder_auditor;
CREATE POLICY own ON sec USING (who = current_user);
ALTER TABLE sec ENABLE ROW LEVEL SECURITY;

CREATE VIEW sec_barrier WITH (security_barrier) AS SELECT * FROM sec WHERE who <> 'viewer';
CREATE VIEW sec_plain AS SELECT * FROM sec WHERE who <> 'viewer';
CREATE VIEW sec_both WITH (security_barrier) AS SELECT a, d FROM sec WHERE who <> 'viewer' UNION ALL
	SELECT a, d FROM sec WHERE who <> 'viewer too';
CREATE VIEW sec_invoker WITH (security_invoker) AS SELECT * FROM sec;
ALTER VIEW sec_barrier OWNER TO regress_rencoder_landlord;
ALTER VIEW sec_plain OWNER TO regress_rencoder_landlord;
ALTER VIEW sec_both OWNER TO regress_rencoder_landlord;
GRANT SELECT, UPDATE ON sec_barrier, sec_plain, sec_both, sec_invoker TO regress_rencoder_viewer,
	regress_rencoder_auditor, regress_rencoder_tenant;

-- The plan with its costs, but for the constants.
CREATE FUNCTION sec_plan(query text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || format(query, value) LOOP
		plan := plan || regexp_replace(replace(line, value, 'X'), '\d{6,}', 'N', 'g') || E'\n';
	END LOOP;
	RETURN plan;
END $$;
-- "{d}": d in the interval of four tenths of a million.
CREATE FUNCTION sec_alike(from_where text, there text DEFAULT '5000000',
	nowhere text DEFAULT '5500000', OUT by_index boolean, OUT alike boolean) LANGUAGE plpgsql AS $$
DECLARE
	query text := replace(from_where, '{d}', 'd BETWEEN %1$s AND %1$s + 400000');
BEGIN
	IF query !~ '^UPDATE' THEN
		query := 'SELECT * FROM ' || query;
	END IF;
	by_index := sec_plan(query, there) ~ 'Bitmap Index Scan on sec'
		AND sec_plan(query, nowhere) ~ 'Bitmap Index Scan on sec';
	alike := sec_plan(query, there) = sec_plan(query, nowhere);
END $$;
CREATE TABLE sec_queries (source text, there text, nowhere text);
INSERT INTO sec_queries VALUES ('sec WHERE a = %s', '500000000', '500500000'),
	('sec WHERE s = ''value %s''', '500000000', '500500000'),
	('sec WHERE u = %L', md5('500000000')::uuid, md5('500500000')::uuid),
	('sec WHERE n = %s AND a = (SELECT 500000000::int8)', '501234', '577777'),
	('sec WHERE {d}', '5000000', '5500000'),
	('sec WHERE e BETWEEN ''e%1$s'' AND ''e'' || (%1$s + 400000)::text', '5000000', '5500000'),
	('(SELECT a FROM sec WHERE a = %s LIMIT 5) x', '500000000', '500500000'),
	('sec x JOIN sec_queries y ON y.there = x.s WHERE x.a = %s', '500000000', '500500000');
GRANT SELECT ON sec_queries TO PUBLIC;

-- The owner sees that intervals of d and e differ, and so does a role above row security.
SET ROLE regress_rencoder_landlord;
SELECT q.source, e.* FROM sec_queries q, sec_alike(source, there, nowhere) e;
SET ROLE regress_rencoder_auditor;
SELECT q.source, e.* FROM sec_queries q, sec_alike(source, there, nowhere) e;
SET ROLE regress_rencoder_tenant;
SELECT q.source, e.* FROM sec_queries q, sec_alike(source, there, nowhere) e;
SELECT sec_alike('UPDATE sec SET filler = NULL WHERE {d}'),
	sec_alike('sec_invoker WHERE {d}');
-- The plan is one that finds the tenant's rows.
SELECT count(*) FROM sec WHERE a = 201000000;
SELECT count(*) FROM sec WHERE a = 500000000;
RESET ROLE;
ALTER TABLE sec FORCE ROW LEVEL SECURITY;
SET ROLE regress_rencoder_landlord;
SELECT q.source, e.* FROM sec_queries q, sec_alike(source, there, nowhere) e;
RESET ROLE;
ALTER TABLE sec DISABLE ROW LEVEL SECURITY;

-- Views: with security_barrier, for whom the table is closed, not for others.
SET ROLE regress_rencoder_viewer;
SELECT 'sec_barrier', sec_alike('sec_barrier WHERE {d}'),
	sec_alike('UPDATE sec_barrier SET filler = NULL WHERE {d}'),
	sec_alike('(SELECT max(n) FROM sec_barrier WHERE {d}) x'),
	sec_alike('sec_both WHERE {d}');
SELECT 'sec_plain', sec_alike('sec_plain WHERE {d}');
SET ROLE regress_rencoder_auditor;
SELECT 'sec_barrier', sec_alike('sec_barrier WHERE {d}');
RESET ROLE;

-- Rights on columns, asked of the owner of the view.
REVOKE ALL ON sec FROM regress_rencoder_tenant;
GRANT SELECT (a, n, d, e, who, s, u, filler) ON sec TO regress_rencoder_tenant;
ALTER VIEW sec_plain OWNER TO regress_rencoder_tenant;
SET ROLE regress_rencoder_viewer;
SELECT 'column', sec_alike('(SELECT d FROM sec_plain WHERE {d}) x');
RESET ROLE;

-- Policies of the table that is named hold for its partitions.
CREATE TABLE secp (LIKE sec) PARTITION BY RANGE (n);
CREATE TABLE secp_1 (e text COLLATE "C", filler text, d int8, n int8, a int8, who name, s text,
	u uuid);
ALTER TABLE secp_1 ALTER d SET STATISTICS 10;
ALTER TABLE secp ALTER d SET STATISTICS 10;
ALTER TABLE secp ATTACH PARTITION secp_1 FOR VALUES FROM (0) TO (1000000);
INSERT INTO secp SELECT * FROM sec;
CREATE INDEX secp_d ON secp USING rencoder (d)
	WITH (pages_per_range = 1, autosummarize = off);
VACUUM ANALYZE secp, secp_1;
GRANT SELECT ON secp TO regress_rencoder_tenant;
GRANT SELECT (d, who) ON secp TO regress_rencoder_viewer;
CREATE POLICY own ON secp USING (who = current_user);
SET ROLE regress_rencoder_tenant;
SELECT 'open', sec_alike('secp WHERE {d}');
SET ROLE regress_rencoder_viewer;
SELECT 'columns open', sec_alike('(SELECT d FROM secp WHERE {d}) x');
RESET ROLE;
ALTER TABLE secp ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rencoder_tenant;
SELECT 'closed', sec_alike('secp WHERE {d}');
RESET ROLE;

DROP TABLE sec, secp, sec_queries CASCADE;
DROP FUNCTION sec_plan, sec_alike;
DROP ROLE regress_rencoder_tenant, regress_rencoder_viewer, regress_rencoder_auditor,
	regress_rencoder_landlord;
