#!/usr/bin/env bash
# Rows in order beside btrees on the same columns: pages and CPU time.
#
#   bash bench/checks/order.sh [MILLIONS [SEED]]
#
# 3 (or MILLIONS) million rows in the order of time, of 100,000 tenants, the r-th of which has 1 / r of the
# rows of the first.  Indexes on (tenant, at), id, random and status, which has five values.  Of each kind 100
# queries, for tenants of rows drawn at random: pages of index and table, those that are read twice counted
# twice, and CPU time of the session, the least of five rounds, by one kind of index after the other.  The same
# while 1 % of the rows are new and 1 % changed, without maintenance.  At last 1,000 single rows come a second, by
# four clients, and 400 queries, 20 a second, ask for the newest 20 of a tenant: the median.  Ends with exit code 1 if
# a limit is passed.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

MILLIONS=${1:-3}
SEED=${2:-1}
ROWS=$(awk -v m="$MILLIONS" 'BEGIN {printf "%.0f", m * 1000000}')

make_table() {
    bench_sql -q -o /dev/null <<SQL
SELECT setseed(1 / ($SEED + 1.0));
CREATE TABLE t (id int8, tenant int4, at timestamptz, random int8, status text COLLATE "C", filler text);
CREATE FUNCTION fill(first int8, n int8) RETURNS void LANGUAGE sql AS \$\$
    INSERT INTO t SELECT i, r * 7919 % 100003, timestamptz '2026-01-01' + i * interval '1 s',
        hashint8extended(i, 1), (ARRAY['closed', 'open', 'paid', 'refunded', 'sent'])[i % 5 + 1], repeat('x', 40)
    FROM (SELECT i, power(100000, random())::int8 AS r FROM generate_series(first, first + n - 1) i) s
\$\$;
SELECT fill(1, $ROWS);
VACUUM ANALYZE t;
CREATE INDEX at_b ON t (tenant, at);
CREATE INDEX id_b ON t (id);
CREATE INDEX random_b ON t (random);
CREATE INDEX status_b ON t (status);
CREATE INDEX at_r ON t USING rencoder (tenant, at) WITH (composite = on, autosummarize = off);
CREATE INDEX id_r ON t USING rencoder (id) WITH (autosummarize = off);
CREATE INDEX random_r ON t USING rencoder (random) WITH (autosummarize = off);
CREATE INDEX status_r ON t USING rencoder (status) WITH (autosummarize = off);
CREATE FUNCTION cpu() RETURNS numeric LANGUAGE sql AS
    'SELECT bench_cpu()::numeric / 1000';
CREATE TABLE kinds (n serial, kind text, query text, pages numeric, times numeric);
INSERT INTO kinds (kind, query, pages, times) VALUES
    ('newest 20 of a tenant', 'SELECT * FROM t WHERE tenant = %1\$s ORDER BY at DESC LIMIT 20', 40, 2),
    ('20 before', 'SELECT * FROM t WHERE tenant = %1\$s AND at < %2\$L ORDER BY at DESC LIMIT 20', 40, 2),
    ('latest of a tenant', 'SELECT max(at) FROM t WHERE tenant = %1\$s', 12, NULL),
    ('latest of 100 tenants', 'SELECT l.* FROM (SELECT %1\$s + n AS d FROM generate_series(1, 100) n) d,
        LATERAL (SELECT * FROM t WHERE tenant = d ORDER BY at DESC LIMIT 1) l', 500, NULL),
    ('id DESC LIMIT 10', 'SELECT * FROM t ORDER BY id DESC LIMIT 10', 30, NULL),
    ('random LIMIT 20', 'SELECT * FROM t ORDER BY random LIMIT 20', 50, NULL),
    ('min and max of random', 'SELECT min(random), max(random) FROM t', 24, NULL),
    ('status LIMIT 10', 'SELECT * FROM t ORDER BY status LIMIT 10', 40, NULL),
    ('range of 100, in order', 'SELECT * FROM t WHERE random BETWEEN %3\$s AND %3\$s + 18446744073709 / $MILLIONS * 100
        ORDER BY random', NULL, NULL);
CREATE TABLE asked (n int, query text);
CREATE TABLE measured (n int, method text, pages numeric, us numeric, result text, most numeric);
CREATE PROCEDURE draw() LANGUAGE sql AS \$\$
    DELETE FROM asked;
    DELETE FROM measured;
    INSERT INTO asked SELECT k.n, format(query, tenant, at, random / 2)
    FROM (SELECT * FROM t ORDER BY random() LIMIT 100) s, kinds k;
\$\$;
CREATE FUNCTION measure(m text) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
    k int;
    q text;
    pages numeric;
    since numeric;
    least_ms numeric;
    most_ms numeric;
    result text;
    one text;
BEGIN
    FOR k IN SELECT kinds.n FROM kinds LOOP
        pages := 0;
        result := '';
        least_ms := NULL;
        most_ms := NULL;
        FOR q IN SELECT query FROM asked WHERE n = k LOOP
            pages := pages + bench_node_pages(bench_explain(q) -> 'Plan');
            EXECUTE format('SELECT md5(string_agg(x::text, '' '')) FROM (%s) x', q) INTO one;
            result := md5(result || coalesce(one, ''));
        END LOOP;
        FOR round IN 1 .. 5 LOOP
            since := cpu();
            FOR q IN SELECT query FROM asked WHERE n = k LOOP
                EXECUTE q;
            END LOOP;
            since := cpu() - since;
            least_ms := least(least_ms, since);
            most_ms := greatest(most_ms, since);
        END LOOP;
        INSERT INTO measured VALUES (k, m, pages / 100, least_ms * 10, result, most_ms * 10);
    END LOOP;
END \$\$;
SQL
}

# Queries by one kind of index: those of the other are hidden.
measure() {
    local method
    bench_sql -q -o /dev/null -c "SELECT setseed(1 / ($SEED + 7.0))" -c 'CALL draw()'
    for method in b r; do
        bench_sql -q -c "UPDATE pg_index SET indisvalid = indexrelid::regclass::text LIKE '%\\_$method' WHERE indrelid = 't'::regclass"
        bench_sql -q -o /dev/null -c 'SET enable_indexonlyscan = off' -c 'SET enable_seqscan = off' \
            -c "SELECT measure('$method')"
    done
    bench_sql -q -c "UPDATE pg_index SET indisvalid = true WHERE indrelid = 't'::regclass"
    bench_sql -F ' ' -c "SELECT rpad('  ' || kind, 26), 'pages', round(r.pages, 1), 'btree', round(b.pages, 1), 'us', round(r.us, 1),
        'btree', round(b.us, 1), 'times', round(r.us / b.us, 2)
        FROM measured r JOIN measured b USING (n) JOIN kinds USING (n) WHERE r.method = 'r' AND b.method = 'b' ORDER BY n"
    [[ $(bench_sql -c "SELECT count(*) FROM measured r JOIN measured b USING (n) JOIN kinds USING (n)
        WHERE r.method = 'r' AND b.method = 'b' AND r.result <> b.result AND kind <> 'status LIMIT 10'") == 0 ]] ||
        die "the indexes find different rows"
    [[ $1 != fresh ]] || bench_numbers "WITH m AS (SELECT m.*, kind, CASE method WHEN 'r' THEN 'rencoder' ELSE 'btree' END AS name
            FROM measured m JOIN kinds USING (n))
        SELECT kind, w.* FROM (SELECT kind, n, r.pages AS rp, b.pages AS bp, r.us AS r, r.most AS rm, b.us AS b, b.most AS bm
            FROM m r JOIN m b USING (n, kind) WHERE r.method = 'r' AND b.method = 'b') AS s,
        LATERAL (VALUES ('rencoder, pages', rp, 'pages', NULL, NULL, 1), ('btree, pages', bp, 'pages', NULL, NULL, 1),
            ('rencoder, CPU', r, 'us', r, rm, 5), ('btree, CPU', b, 'us', b, bm, 5),
            ('CPU, times the btree''s', r / b, 'times', r / bm, rm / b, 5)) AS w ORDER BY n, 2 DESC"
    local kind pages most times limit
    while IFS='|' read -r kind pages most times limit; do
        [[ -z $most ]] || bench_limit "$1, $kind: pages" "$pages" '<=' "$most"
        [[ -z $limit ]] || bench_limit "$1, $kind: CPU, times the btree's" "$times" '<=' "$limit"
    done < <(bench_sql -c "SELECT kind, round(r.pages, 1), kinds.pages, round(r.us / b.us, 2), times
        FROM measured r JOIN measured b USING (n) JOIN kinds USING (n) WHERE r.method = 'r' AND b.method = 'b' ORDER BY n")
}

# While rows come: pages and CPU time of single queries by one kind of index, in the middle.
make_stream() {
    bench_sql -q <<SQL
ALTER INDEX at_r SET (autosummarize = on);
ALTER INDEX id_r SET (autosummarize = on);
ALTER INDEX random_r SET (autosummarize = on);
ALTER INDEX status_r SET (autosummarize = on);
CREATE TABLE live (method text, pages int, us numeric);
CREATE SEQUENCE ids START 100000000;
CREATE PROCEDURE live(m text, n int) LANGUAGE plpgsql AS \$\$
DECLARE
    q text;
    since numeric;
BEGIN
    FOR i IN 1 .. n LOOP
        SELECT a.query INTO q FROM asked a JOIN kinds k ON k.n = a.n WHERE k.kind = 'newest 20 of a tenant' ORDER BY random() LIMIT 1;
        COMMIT;
        PERFORM pg_sleep(0.05);
        since := cpu();
        EXECUTE q;
        since := cpu() - since;
        INSERT INTO live VALUES (m, bench_node_pages(bench_explain(q) -> 'Plan'), since * 1000);
        COMMIT;
    END LOOP;
END \$\$;
SQL
    cat >"$WORK/stream.sql" <<'SQL'
INSERT INTO t SELECT nextval('ids'), power(100000, random())::int8 * 7919 % 100003, clock_timestamp() + interval '3 years',
    hashint8extended(nextval('ids'), 1), 'open', repeat('x', 40);
SQL
}

measure_stream() {
    local method stream status=0
    make_stream
    PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 4 -j 1 -R 1000 -T 60 -f "$WORK/stream.sql" postgres \
        >"$WORK/log/pgbench" 2>&1 & stream=$!
    for method in b r; do
        bench_sql -q -c "UPDATE pg_index SET indisvalid = indexrelid::regclass::text LIKE '%\\_$method' WHERE indrelid = 't'::regclass"
        bench_sql -q -o /dev/null -c 'SET enable_indexonlyscan = off' -c 'SET enable_seqscan = off' \
            -c "CALL live('$method', 400)"
    done
    wait "$stream" || status=$?
    ((status == 0)) || { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    bench_sql -q -c "UPDATE pg_index SET indisvalid = true WHERE indrelid = 't'::regclass"
    bench_sql -F ' ' -c "SELECT '  ' || CASE method WHEN 'b' THEN 'btree   ' ELSE 'rencoder' END, 'pages', round(avg(pages), 1), 'median',
        percentile_cont(0.5) WITHIN GROUP (ORDER BY pages), 'us', round(avg(us), 1), 'median',
        round((percentile_cont(0.5) WITHIN GROUP (ORDER BY us))::numeric, 1) FROM live GROUP BY method ORDER BY method"
    bench_numbers "SELECT 'newest 20, beside 1,000 rows/s', CASE method WHEN 'r' THEN 'rencoder' ELSE 'btree' END || w.what,
            p[2], unit, p[1], p[3], 400
        FROM (VALUES (', pages', 'pages'), (', CPU', 'us')) AS w (what, unit), (VALUES ('r'), ('b')) AS m (method), LATERAL (
            SELECT percentile_cont('{0.25,0.5,0.75}'::float8[]) WITHIN GROUP (ORDER BY CASE unit WHEN 'us' THEN us ELSE pages END) AS p
            FROM live WHERE live.method = m.method) AS s"
    bench_limit 'beside 1,000 rows/s, newest 20 of a tenant: median of CPU, times the btree'"'s" "$(bench_sql -c "SELECT round((r.us / b.us)::numeric, 2)
        FROM (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY us) AS us FROM live WHERE method = 'r') r,
             (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY us) AS us FROM live WHERE method = 'b') b")" '<=' 3
}

main() {
    bench_machine
    echo "$MILLIONS million rows, seed $SEED."
    bench_cpu_clock
    make_table
    echo "fresh"
    measure fresh
    bench_sql -q -o /dev/null -c "SELECT fill($ROWS + 1, $ROWS / 100)" \
        -c "UPDATE t SET at = at + interval '1 year' WHERE id % 100 = 7" -c 'ANALYZE t' \
        -c "SELECT rencoder_maintain_index(i) FROM unnest('{at_r,id_r,random_r,status_r}'::regclass[]) i" \
        -c "SELECT fill($ROWS + $ROWS / 100 + 1, 2000)"
    echo "1 % new, 1 % changed, 2,000 rows behind all runs"
    bench_sql -q -c "UPDATE kinds SET pages = CASE WHEN kind = 'latest of 100 tenants' THEN 1300 END, times = NULL"
    measure grown
    echo '1,000 rows a second'
    measure_stream
    bench_finish
}

bench_run autovacuum=off synchronize_seqscans=off jit=off max_parallel_workers_per_gather=0 maintenance_work_mem=256MB -- "$@"
