#!/usr/bin/env bash
# What analytical queries cost by rencoder in place of btrees: the 22 of TPC-H.
#
#   bash bench/tpch.sh [SCALE [SEED [ROUNDS]]]
#
# Tables of TPC-H, SCALE (default 0.3) times its 1 GB, made by tpch.sql; primary keys have btrees.  20
# columns and pairs, the foreign keys and what queries filter by, have a btree and a rencoder index.
# Each query is asked with three sets of parameters, in ROUNDS (default 3) rounds, with the secondary
# btrees alone, with rencoder alone and with neither, in turn; the others are hidden from the planner.
# With ROUNDS = 0 sizes alone are told.
# CPU time of the session, without parallel workers; of each set the least of the rounds, and the sum
# of the three sets.  Answers have to be equal.  What neither can do within 20 times the time of
# rencoder is given up.
# Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

SCALE=${1:-0.3}
SEED=${2:-1}
ROUNDS=${3:-3}
MEDIAN=1.2 MOST=1.5
# Times that differ by less are equal.
NONE=1.1

INDEXES=(
    'nation n_regionkey' 'supplier s_nationkey' 'customer c_nationkey' 'customer c_mktsegment'
    'customer c_acctbal' 'part p_brand' 'part p_type' 'part p_size' 'part p_container'
    'partsupp ps_partkey' 'partsupp ps_suppkey' 'orders o_custkey' 'orders o_orderdate'
    'lineitem l_orderkey' 'lineitem l_partkey' 'lineitem l_suppkey' 'lineitem l_partkey,l_suppkey'
    'lineitem l_shipdate' 'lineitem l_commitdate' 'lineitem l_receiptdate'
)

make_tables() {
    bench_sql -q -v scale="$SCALE" -v seed="$SEED" -f "$bench_root/bench/tpch.sql"
    bench_sql -q <<SQL
SET max_parallel_maintenance_workers = 0;
SET maintenance_work_mem = '256MB';
CREATE TABLE tpch_sizes (tab regclass, cols text, name text, plain_btree int8);
$(for index in "${INDEXES[@]}"; do
    read -r tab cols <<< "$index"
    name=${cols//,/_}
    echo "CREATE INDEX ${name}_btree ON $tab ($cols) WITH (deduplicate_items = off);
        INSERT INTO tpch_sizes VALUES ('$tab', '$cols', '$name', pg_relation_size('${name}_btree'));
        DROP INDEX ${name}_btree;
        CREATE INDEX ${name}_btree ON $tab ($cols);
        CREATE INDEX ${name}_rencoder ON $tab USING rencoder ($cols);"
done)
VACUUM ANALYZE;
CHECKPOINT;
SELECT format('%s: %s rows, %s MB', relname, reltuples::int8, round(pg_relation_size(c.oid) / 1048576.0))
FROM pg_class AS c WHERE oid IN (SELECT tab FROM tpch_sizes) ORDER BY relname;
SQL
}

# The cases take turns in being first.  Each change of pg_index leaves old rows there, which would
# make planning slow.
measure() {
    bench_sql -q -o /dev/null <<SQL
SET max_parallel_workers_per_gather = 0;
SELECT format('SELECT tpch_show(%L)', way),
    CASE WHEN way = 'none' THEN format('SELECT set_config(''statement_timeout'', (1000 + 20 * (
        SELECT max(ms) FROM tpch_times WHERE (q, set) = (%s, %s)))::int::text, false)', q, set) END,
    format('SELECT tpch_ask(%s, %s, %L, %s)', q, set, way, round),
    CASE WHEN way = 'none' THEN 'RESET statement_timeout' END,
    'VACUUM pg_catalog.pg_index'
FROM tpch_parameters, generate_series(1, $ROUNDS) AS round,
    LATERAL (VALUES ('btree', round % 2), ('rencoder', 1 - round % 2), ('none', 2)) AS t (way, turn)
ORDER BY round, q, set, turn
\gexec
SQL
}

report() {
    bench_sql -q <<SQL
CREATE VIEW tpch_best AS
SELECT q, set, way, min(ms) AS ms, bool_or(answer IS NULL) AS given_up, min(plan) AS plan
FROM tpch_times GROUP BY q, set, way;
CREATE TABLE tpch_result AS
SELECT *, rencoder / btree AS times,
    -- The same plan takes the same time.
    CASE WHEN NOT same_as_none AND NOT given_up THEN rencoder / none END AS to_none,
    CASE WHEN q IN (9, 20) THEN 'pairs' WHEN q IN (16, 22) THEN 'index-only' END AS excuse
FROM (SELECT q, sum(ms) FILTER (WHERE way = 'btree') AS btree, sum(ms) FILTER (WHERE way = 'rencoder') AS rencoder,
        sum(ms) FILTER (WHERE way = 'none') AS none, bool_or(given_up) AS given_up,
        count(DISTINCT (set, plan)) FILTER (WHERE way <> 'btree') = 3 AS same_as_none
    FROM tpch_best GROUP BY q) AS sums,
    LATERAL (SELECT count(*) - 3 AS wrong FROM (SELECT DISTINCT set, answer FROM tpch_times AS t
        WHERE t.q = sums.q AND answer IS NOT NULL) AS answers) AS w,
    LATERAL (SELECT string_agg(DISTINCT name, ' ') AS uses FROM tpch_times AS t,
        regexp_split_to_table(uses, ' ') AS name WHERE t.q = sums.q AND way = 'rencoder') AS u;
\pset tuples_only off
\pset format aligned
\pset border 0
\pset footer off
\echo
SELECT q, round(btree, 1) AS "btree, ms", round(rencoder, 1) AS "rencoder, ms", round(times, 2) AS times,
    CASE WHEN given_up THEN '> ' ELSE '' END || round(none / btree, 2) AS "none, times btree",
    concat_ws(', ', CASE WHEN wrong > 0 THEN 'WRONG ANSWER' END,
        CASE WHEN to_none > $NONE THEN 'SLOWER THAN NONE' || CASE WHEN btree > none * $NONE THEN ' (btrees too)' ELSE '' END END,
        CASE WHEN times <= $MOST THEN 'ok' ELSE coalesce(excuse, 'ABOVE $MOST') END) AS verdict,
    uses AS "indexes of rencoder"
FROM tpch_result ORDER BY q;
SELECT tab AS "table", cols AS columns, pg_size_pretty(pg_relation_size((name || '_btree')::regclass)) AS btree,
    pg_size_pretty(pg_relation_size((name || '_rencoder')::regclass)) AS rencoder,
    round(8.0 * pg_relation_size((name || '_btree')::regclass) / reltuples::numeric, 1) AS "bits a row, btree",
    round(8.0 * plain_btree / reltuples::numeric, 1) AS "not deduplicated",
    round(8.0 * pg_relation_size((name || '_rencoder')::regclass) / reltuples::numeric, 1) AS "rencoder"
FROM tpch_sizes JOIN pg_class ON oid = tab ORDER BY reltuples DESC, tab, cols;
\pset tuples_only on
SELECT format('In all: btrees %s MB, rencoder %s MB, 1/%s.  A btree keeps equal values once, 6 bytes for each row; '
    'if it did not (deduplicate_items = off), btrees would take %s MB, and rencoder 1/%s.',
    round(btree / 1048576), round(rencoder / 1048576), round(btree / rencoder, 1),
    round(plain / 1048576), round(plain / rencoder, 1))
FROM (SELECT sum(pg_relation_size((name || '_btree')::regclass)) AS btree,
    sum(pg_relation_size((name || '_rencoder')::regclass)) AS rencoder, sum(plain_btree) AS plain FROM tpch_sizes) AS s;
SELECT format('CPU time in sum: %s times the btrees''.', round(sum(rencoder) / sum(btree), 2)) FROM tpch_result;
SQL
}

number() { bench_sql -c "SELECT $1 FROM tpch_result"; }

main() {
    bench_machine
    echo "Scale $SCALE, seed $SEED, $ROUNDS rounds, shared_buffers $(bench_sql -c 'SHOW shared_buffers'), work_mem $(bench_sql -c 'SHOW work_mem')."
    make_tables
    measure
    report
    bench_numbers "SELECT name, v.* FROM (SELECT name, plain_btree AS plain, pg_relation_size((name || '_btree')::regclass) AS b,
            pg_relation_size((name || '_rencoder')::regclass) AS r, reltuples::numeric AS n FROM tpch_sizes JOIN pg_class ON oid = tab
            UNION ALL SELECT 'all 20', sum(plain_btree), sum(pg_relation_size((name || '_btree')::regclass)),
                sum(pg_relation_size((name || '_rencoder')::regclass)), NULL FROM tpch_sizes) AS s,
        LATERAL (VALUES ('btree', b, 'bytes', NULL, NULL, 1), ('btree, not deduplicated', plain, 'bytes', NULL, NULL, 1),
            ('rencoder', r, 'bytes', NULL, NULL, 1), ('btree, bits a row', b * 8 / n, 'bits', NULL, NULL, 1),
            ('not deduplicated, bits a row', plain * 8 / n, 'bits', NULL, NULL, 1),
            ('rencoder, bits a row', r * 8 / n, 'bits', NULL, NULL, 1)) AS v WHERE v.column2 IS NOT NULL"
    ((ROUNDS > 0)) || return 0
    bench_limit 'queries with different answers' "$(number 'count(*) FILTER (WHERE wrong > 0)')" '<=' 0
    bench_limit 'median of the queries, times a btree' \
        "$(number 'round((percentile_cont(0.5) WITHIN GROUP (ORDER BY times))::numeric, 2)')" '<=' "$MEDIAN"
    bench_limit "queries above $MOST times, but pairs and index-only" \
        "$(number "count(*) FILTER (WHERE times > $MOST AND excuse IS NULL)")" '<=' 0
    bench_limit 'queries slower than without secondary indexes' \
        "$(number "count(*) FILTER (WHERE to_none > $NONE)")" '<=' 0
    bench_finish
}

bench_run shared_buffers=3GB autovacuum=off jit=off -- "$@"
