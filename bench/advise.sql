-- Five sets of tables as applications have them, with their btrees; :rows is how many the largest
-- table of each has, :seed the seed.  No column but ids goes with the order of the table unless it
-- does in such applications, too.

CREATE FUNCTION r(i bigint, n int) RETURNS bigint LANGUAGE sql IMMUTABLE
    RETURN hashint8extended(i, :seed + n) & 9223372036854775807;
-- Evenly in [0, 1).
CREATE FUNCTION part(i bigint, n int) RETURNS float8 LANGUAGE sql IMMUTABLE
    RETURN (r(i, n) >> 10) / 9007199254740992.0::float8;

-- Orders and their lines, as of TPC-H.
CREATE SCHEMA tpch;
SET search_path = tpch, public;
CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name text, c_phone text, c_acctbal numeric,
    c_comment text);
INSERT INTO customer SELECT i, 'Customer#' || lpad(i::text, 9, '0'),
    format('%s-%s-%s', 10 + r(i, 1) % 25, 100 + r(i, 2) % 900, 1000 + r(i, 3) % 9000),
    (r(i, 4) % 1099998) / 100.0 - 999.99, repeat('x', 70)
FROM generate_series(1, :rows / 10) AS i;
CREATE TABLE orders (o_orderkey bigint PRIMARY KEY, o_custkey int REFERENCES customer,
    o_totalprice numeric, o_orderdate date, o_clerk text, o_comment text);
INSERT INTO orders SELECT i, 1 + r(i, 5) % (:rows / 10), (r(i, 6) % 50000000) / 100.0,
    date '1992-01-01' + (r(i, 7) % 2405)::int, 'Clerk#' || lpad((r(i, 8) % 1000)::text, 9, '0'),
    repeat('x', 50)
FROM generate_series(1, :rows / 4) AS i;
CREATE TABLE lineitem (l_orderkey bigint REFERENCES orders, l_linenumber int, l_partkey int,
    l_suppkey int, l_quantity int, l_extendedprice numeric, l_shipdate date, l_receiptdate date,
    l_comment text, PRIMARY KEY (l_orderkey, l_linenumber));
INSERT INTO lineitem SELECT (i + 3) / 4, i % 4, r(i, 9) % 200000, r(i, 10) % 10000, r(i, 11) % 50,
    (r(i, 12) % 10000000) / 100.0, d, d + (r(i, 13) % 30)::int, repeat('x', 30)
FROM (SELECT i, date '1992-01-01' + (r((i + 3) / 4, 7) % 2405 + r(i, 14) % 121)::int AS d
    FROM generate_series(1, :rows) AS i) AS s;
CREATE INDEX ON customer (c_phone);
CREATE INDEX ON customer (c_acctbal);
CREATE INDEX ON orders (o_custkey);
CREATE INDEX ON orders (o_orderdate);
CREATE INDEX ON orders (o_totalprice);
CREATE INDEX ON orders (o_clerk);
CREATE INDEX ON lineitem (l_shipdate);
CREATE INDEX ON lineitem (l_receiptdate);
CREATE INDEX ON lineitem (l_extendedprice);
CREATE INDEX ON lineitem (l_partkey, l_suppkey);
CREATE INDEX ON lineitem (l_suppkey);

-- Hits of web pages, as of ClickBench.
CREATE SCHEMA hits;
SET search_path = hits, public;
CREATE TABLE hits (watchid bigint, eventtime timestamp, userid bigint, counterid int, regionid int,
    clientip inet, url text, referer text, searchphrase text, urlhash bigint, title text);
INSERT INTO hits SELECT r(i, 1), timestamp '2013-07-01' + i * interval '2 seconds' +
        r(i, 2) % 600 * interval '1 second',
    r(floor(200000 * part(i, 3) ^ 3)::bigint, 4), floor(5000 * part(i, 5) ^ 2)::int,
    floor(300 * part(i, 6) ^ 2)::int, inet '5.0.0.0' + r(floor(300000 * part(i, 3) ^ 3)::bigint, 7) % 100000000,
    'http://' || (ARRAY['irr.ru', 'mail.ru', 'yandex.ru', 'example.com'])[1 + r(i, 8) % 4]
        || '/catalog/item/' || page,
    CASE WHEN r(i, 9) % 3 > 0 THEN 'http://yandex.ru/search?text=' || md5((r(i, 10) % 100000)::text)
        ELSE '' END,
    CASE WHEN r(i, 11) % 10 = 0 THEN 'phrase ' || r(i, 12) % 50000 ELSE '' END,
    r(page, 13), repeat('x', 60)
FROM (SELECT i, floor(400000 * part(i, 14) ^ 2)::bigint AS page
    FROM generate_series(1, :rows) AS i) AS s;
CREATE INDEX ON hits (watchid);
CREATE INDEX ON hits (eventtime);
CREATE INDEX ON hits (userid);
CREATE INDEX ON hits (counterid, eventtime);
CREATE INDEX ON hits (regionid);
CREATE INDEX ON hits (clientip);
CREATE INDEX ON hits (url);
CREATE INDEX ON hits (referer);
CREATE INDEX ON hits (searchphrase) WHERE searchphrase <> '';
CREATE INDEX ON hits (urlhash);

-- Readings of hosts, as of TSBS.
CREATE SCHEMA tsbs;
SET search_path = tsbs, public;
CREATE TABLE tags (id int PRIMARY KEY, hostname text UNIQUE, region text);
INSERT INTO tags SELECT i, 'host_' || i, 'region-' || i % 9 FROM generate_series(1, 1000) AS i;
CREATE TABLE cpu (time timestamptz NOT NULL, tags_id int REFERENCES tags, usage_user float8,
    usage_system float8, usage_idle float8, labels text);
INSERT INTO cpu SELECT timestamptz '2026-01-01' + i / 1000 * interval '10 seconds', 1 + i % 1000,
    100 * part(i, 1), floor(100 * part(i, 2)), 100 * part(i, 3) ^ 4, repeat('x', 40)
FROM generate_series(0, :rows - 1) AS i;
CREATE INDEX ON cpu (time);
CREATE INDEX ON cpu (tags_id, time DESC);
CREATE INDEX ON cpu (usage_user);
CREATE INDEX ON cpu (usage_system);
CREATE INDEX ON cpu (usage_idle) WHERE usage_idle < 1;

-- Films and their people, as of the join order benchmark.
CREATE SCHEMA imdb;
SET search_path = imdb, public;
CREATE TABLE title (id int PRIMARY KEY, title text, kind_id int, production_year int,
    phonetic_code text);
INSERT INTO title SELECT i, initcap(translate(md5(r(i, 1)::text), '0123456789', 'aeioutnsrl')),
    1 + r(i, 2) % 7, CASE WHEN r(i, 3) % 20 > 0 THEN 2013 - floor(120 * part(i, 4) ^ 3)::int END,
    chr(65 + (r(i, 5) % 26)::int) || r(i, 6) % 1000
FROM generate_series(1, :rows / 3) AS i;
CREATE TABLE name (id int PRIMARY KEY, name text, name_pcode text);
INSERT INTO name SELECT i, initcap(translate(md5(r(i / 3, 7)::text), '0123456789', 'aeioutnsrl'))
        || ', ' || r(i, 8) % 500, chr(65 + (r(i, 9) % 26)::int) || r(i, 10) % 1000
FROM generate_series(1, :rows / 3) AS i;
CREATE TABLE cast_info (id int PRIMARY KEY, person_id int REFERENCES name,
    movie_id int REFERENCES title, note text, nr_order int, role_id int);
INSERT INTO cast_info SELECT i, 1 + floor(:rows / 3 * part(i, 11) ^ 2)::int,
    1 + floor(:rows / 3 * part(i, 12) ^ 1.5)::int,
    CASE WHEN r(i, 13) % 3 = 0 THEN '(as ' || r(i, 14) % 20000 || ')' END,
    CASE WHEN r(i, 15) % 2 = 0 THEN 1 + r(i, 16) % 60 END, 1 + r(i, 17) % 11
FROM generate_series(1, :rows) AS i;
CREATE INDEX ON title (title);
CREATE INDEX ON title (production_year);
CREATE INDEX ON title (phonetic_code);
CREATE INDEX ON name (name);
CREATE INDEX ON name (name_pcode);
CREATE INDEX ON cast_info (person_id);
CREATE INDEX ON cast_info (movie_id);
CREATE INDEX ON cast_info (note);
CREATE INDEX ON cast_info (nr_order);
CREATE INDEX ON cast_info (role_id);

-- Accounts, statuses and jobs, as of Mastodon, Discourse and delayed_job.
CREATE SCHEMA social;
SET search_path = social, public;
CREATE TABLE accounts (id bigint PRIMARY KEY, username text, domain text, email text UNIQUE,
    last_sign_in_at timestamp, created_at timestamp, current_ip inet);
INSERT INTO accounts SELECT i, 'user' || r(i, 1),
    CASE WHEN r(i, 2) % 4 > 0 THEN 'server' || floor(3000 * part(i, 3) ^ 3)::int || '.social' END,
    md5(r(i, 4)::text) || '@example.org',
    CASE WHEN r(i, 5) % 3 > 0 THEN timestamp '2026-01-01' - part(i, 6) ^ 2 * interval '900 days' END,
    timestamp '2020-01-01' + i * interval '300 seconds', inet '10.0.0.0' + r(i, 7) % 16777216
FROM generate_series(1, :rows / 5) AS i;
CREATE UNIQUE INDEX ON accounts (lower(username), domain);
CREATE TABLE statuses (id bigint PRIMARY KEY, uri text, account_id bigint REFERENCES accounts,
    in_reply_to_id bigint, conversation uuid, created_at timestamp, deleted_at timestamp, body text);
INSERT INTO statuses SELECT i * 65536::bigint + r(i, 8) % 65536,
    'https://server' || r(i, 9) % 3000 || '.social/users/' || r(i, 10) % 100000 || '/statuses/' || r(i, 11),
    1 + floor(:rows / 5 * part(i, 12) ^ 2)::bigint,
    CASE WHEN r(i, 13) % 3 = 0 THEN greatest(i - r(i, 14) % 5000, 1) * 65536::bigint END,
    md5((i / 3)::text)::uuid, timestamp '2024-01-01' + i * interval '20 seconds',
    CASE WHEN r(i, 15) % 50 = 0 THEN timestamp '2025-01-01' + i * interval '20 seconds' END,
    repeat('x', (r(i, 16) % 200)::int)
FROM generate_series(1, :rows) AS i;
CREATE UNIQUE INDEX ON statuses (uri);
CREATE TABLE jobs (id uuid PRIMARY KEY, queue text, priority int, run_at timestamptz,
    locked_at timestamptz, failed_at timestamptz, handler text);
INSERT INTO jobs SELECT md5(i::text)::uuid, 'queue' || r(i, 17) % 5, r(i, 18) % 4,
    timestamptz '2026-01-01' + r(i, 19) % 86400 * interval '1 second', NULL,
    CASE WHEN r(i, 20) % 1000 = 0 THEN timestamptz '2026-01-02' END, repeat('x', 100)
FROM generate_series(1, :rows / 2) AS i;
CREATE INDEX ON accounts (domain, username);
CREATE INDEX ON accounts (last_sign_in_at);
CREATE INDEX ON accounts (current_ip);
CREATE INDEX ON accounts (created_at);
CREATE INDEX ON statuses (account_id, id DESC);
CREATE INDEX ON statuses (in_reply_to_id) WHERE in_reply_to_id IS NOT NULL;
CREATE INDEX ON statuses (conversation);
CREATE INDEX ON statuses (created_at);
CREATE INDEX ON statuses (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX ON jobs (run_at);
CREATE INDEX ON jobs (priority, run_at);
CREATE INDEX ON jobs (failed_at);

VACUUM ANALYZE;
RESET search_path;

CREATE TABLE public.advice (set text, "table" regclass, index text, method name, size bigint,
    told bigint, made bigint, saves bigint, reason text);

-- What constraints and identities want, as the catalogs say it, but for rencoder_advise().
CREATE FUNCTION public.is_needed(i regclass) RETURNS boolean LANGUAGE sql STABLE RETURN (
    SELECT indisunique OR indisexclusion OR indisclustered OR indisreplident
        OR EXISTS (SELECT FROM unnest(indoption::int2[]) AS o WHERE o IN (1, 2))
        OR EXISTS (SELECT FROM pg_constraint WHERE conindid = i)
    FROM pg_index WHERE indexrelid = i);
