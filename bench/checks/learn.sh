#!/usr/bin/env bash
# What rencoder_compact() makes of queries that an index has seen, against an index made for the right sample:
#
#   bash bench/checks/learn.sh [MILLIONS [SEED [QUERIES]]]
#
# Three workloads, each on an index built without sample: 20,000 queries are run while scans record their intervals,
# then rencoder_compact() makes all matrices again while pgbench inserts rows and looks for others.  Counted are the
# ranges of 10,000 other empty queries of the same workload: before, after, and of an index made for a sample of it.
# Ends with exit code 1 if the index made again has more than 1.3 times the pages of the latter, if a client met an
# error, or if an answer differs from that of a sequential scan.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

MILLIONS=${1:-1.5}
SEED=${2:-$RANDOM}
QUERIES=${3:-20000}
JUDGES=10000

# Sparse keys, and points that crowd around a thousand places.  Of the latter there are a tenth as many: an index that
# serves badly lets half of the table through.
create_table() {
    bench_sql -q <<SQL
BEGIN;
CREATE TABLE t (id int8, v int8, p point, filler text);
ALTER TABLE t ALTER filler SET STORAGE plain;
CREATE FUNCTION place(i int8) RETURNS point LANGUAGE sql IMMUTABLE AS \$\$
    SELECT point(mod(hashint8extended(c, 3), 1000000) / 1000.0 + exp(mod(hashint8extended(i, 4), 500) / 100.0) / 30,
                 mod(hashint8extended(c, 5), 1000000) / 1000.0 + exp(mod(hashint8extended(i, 6), 500) / 100.0) / 30)
    FROM (SELECT mod(abs(hashint8extended(i, 7) / 2), 1000)) AS x (c)
\$\$;
INSERT INTO t SELECT i, hashint8extended(i, $SEED), place(i + $SEED), repeat('x', 160)
FROM generate_series(1, ($MILLIONS * 1000000)::int8) AS i;
COMMIT;
CREATE TABLE b (LIKE t INCLUDING STORAGE);
INSERT INTO b SELECT * FROM t ORDER BY id LIMIT $MILLIONS * 100000;
VACUUM (ANALYZE) t, b;
CREATE SEQUENCE new_id START 1000000000;
SQL
}

# The workloads: an interval or box from a row, so that users ask for things like those that are there.
define_workloads() {
    bench_sql -q <<SQL
CREATE FUNCTION near(i int8, OUT lo int8, OUT hi int8) LANGUAGE sql AS
    'SELECT x + 5, x + 12 FROM (SELECT hashint8extended(1 + i % ($MILLIONS * 1000000)::int8, $SEED)) AS h (x)';
CREATE FUNCTION long(i int8, OUT lo int8, OUT hi int8) LANGUAGE sql AS
    'SELECT x, x + (1 << 20) FROM (SELECT hashint8extended(i, 99) / 2) AS h (x)';
CREATE FUNCTION box(i int8, OUT lo point, OUT hi point) LANGUAGE sql AS \$\$
    SELECT q, q + point(0.02, 0.02)
    FROM (SELECT place(1 + i % ($MILLIONS * 100000)::int8 + $SEED) + point(mod(hashint8extended(i, 97), 100) / 400.0, mod(hashint8extended(i, 98), 100) / 400.0)) AS h (q)
\$\$;
SQL
}

# run_queries WORKLOAD CONDITION TABLE: with recording as it is by default.
run_queries() {
    bench_sql -q <<SQL
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
DO \$\$
DECLARE
    found int8;
BEGIN
    FOR i IN 1 .. $QUERIES LOOP
        EXECUTE 'SELECT count(*) FROM $3 AS t, $1(\$1) AS q WHERE $2' INTO found USING i * 7919::int8;
    END LOOP;
END \$\$;
SQL
}

# draw_judges WORKLOAD CONDITION TABLE TRUTH: other queries of the workload, which find nothing.
draw_judges() {
    bench_sql -q <<SQL
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 0;
SET client_min_messages = warning;
SET rencoder.enable_scan = off;
DROP TABLE IF EXISTS judges, sample;
CREATE INDEX truth ON $3 USING $4;
CREATE TABLE judges AS SELECT q.* FROM generate_series(1::int8, $JUDGES * 3) AS i, LATERAL $1(i * 104729 + 17) AS q
    WHERE (SELECT count(*) FROM $3 AS t WHERE $2) = 0 LIMIT $JUDGES;
DROP INDEX truth;
CREATE TABLE sample AS SELECT q.* FROM generate_series(1::int8, 1300) AS i, LATERAL $1(i * 15485863 + 5) AS q;
SQL
}

# candidates INDEX
candidates() { bench_sql -c "SELECT round(avg(c.pages), 3) FROM judges, rencoder_candidates('$1', lo, hi) AS c"; }

# What clients do meanwhile.
write_scripts() {
    cat >"$WORK/insert.pgbench" <<'SQL'
INSERT INTO TABLE_NAME SELECT nextval('new_id'), hashint8extended((random() * 1e15)::int8, 1), place((random() * 1e15)::int8), repeat('x', 160) FROM generate_series(1, 5);
SQL
    cat >"$WORK/select.pgbench" <<'SQL'
\set n random(1, 5000)
SELECT 1 / count(*) FROM known k, TABLE_NAME t WHERE k.n = :n AND CONDITION AND t.id = k.id;
SQL
}

# clients CONDITION TABLE: as long as the file "go" is there.
clients() {
    local condition=$1 table=$2 status=0
    sed "s/CONDITION/$condition/; s/TABLE_NAME/$table/" "$WORK/select.pgbench" >"$WORK/select.now"
    sed "s/TABLE_NAME/$table/" "$WORK/insert.pgbench" >"$WORK/insert.now"
    while [[ -e $WORK/go ]]; do
        PGOPTIONS='-c enable_seqscan=off -c synchronous_commit=off' pgbench -n -c 2 -t 100 -f "$WORK/insert.now@1" \
            -f "$WORK/select.now@3" postgres >>"$WORK/log/pgbench" 2>&1 || status=1
        echo >>"$WORK/rounds"
    done
    return "$status"
}

# try_workload NAME WORKLOAD TABLE COLUMN CONDITION LOOK TRUTH OPTIONS
try_workload() {
    local name=$1 workload=$2 table=$3 column=$4 condition=$5 look=$6 truth=$7 options=$8
    local same='t.v BETWEEN %s - 1000000000000 AND %s'
    [[ $column == v ]] || same='t.p <@ box(%L::point, %L::point + point(0.1, 0.1))'
    local before after right seconds rebuilt pid errors=0
    bench_sql -q -c "CREATE INDEX learned ON $table USING rencoder ($column) WITH (autosummarize = on, storage = filter$options)"
    # Rows that clients look for.
    bench_sql -q -c "DROP TABLE IF EXISTS known" -c "CREATE TABLE known AS
        SELECT row_number() OVER () AS n, id, v, p FROM (SELECT * FROM $table TABLESAMPLE bernoulli (20) REPEATABLE ($SEED) LIMIT 5000) AS r" \
        -c "CREATE UNIQUE INDEX ON known (n)" -c "ANALYZE known" 2>/dev/null
    draw_judges "$workload" "$condition" "$table" "$truth"
    before=$(candidates learned)
    run_queries "$workload" "$condition" "$table"
    echo
    echo "$name: $(bench_sql -c "SELECT count(*) FROM rencoder_query_samples('learned') WHERE source = 'scan'") of $QUERIES queries were recorded"
    touch "$WORK/go"
    rm -f "$WORK/rounds"
    clients "$look" "$table" &
    pid=$!
    seconds=$(date +%s.%N)
    rebuilt=$(bench_sql -c "SELECT rencoder_compact('learned', 0, pg_relation_size('$table') / 8192)")
    seconds=$(awk -v a="$seconds" -v b="$(date +%s.%N)" 'BEGIN {printf "%.1f", b - a}')
    rm "$WORK/go"
    wait "$pid" || errors=1
    bench_sql -q -c "SELECT rencoder_maintain_index('learned')" >/dev/null
    # What the clients inserted may lie in the way.
    draw_judges "$workload" "$condition" "$table" "$truth"
    after=$(candidates learned)
    bench_sql -q -c "SELECT rencoder_index_check('learned', true)" >/dev/null || errors=2
    [[ $(bench_sql -q -c "SET rencoder.sample_rate = 0" -c "SELECT bool_and((bench_same_rows(format('SELECT t.id FROM $table AS t WHERE $same', $column, $column), 'learned')).same)
        FROM known WHERE n <= 5") == t ]] || errors=3
    bench_sql -q -c "DROP INDEX learned" \
        -c "CREATE INDEX taught ON $table USING rencoder ($column) WITH (storage = filter$options)" \
        -c "SELECT count(rencoder_add_query_sample('taught', lo, hi)) FROM sample" \
        -c "SELECT rencoder_compact('taught', 0, pg_relation_size('$table') / 8192)" >/dev/null
    right=$(candidates taught)
    echo "pages of an empty query: $before at first, $after made again, $right with the right sample" \
        "($rebuilt pages read in $seconds s, $(($(wc -l <"$WORK/rounds") * 200)) transactions meanwhile)"
    bench_sql -q -c "DROP INDEX taught"
    bench_limit "$name: errors of clients or answers" "$errors" '<=' 0
    bench_limit "$name: made again / right sample" "$(awk -v a="$after" -v b="$right" 'BEGIN {print (b > 0) ? a / b : (a > 0 ? 99 : 1)}')" '<=' 1.3
}

main() {
    bench_machine
    echo "Seed: $SEED.  $MILLIONS million rows, pages_per_range and bits_per_key as they are by default."
    create_table
    define_workloads
    write_scripts
    try_workload "8 values from key + 5" near t v 't.v BETWEEN q.lo AND q.hi' 't.v = k.v' 'btree (v)' ''
    try_workload "boxes" box b p 't.p <@ box(q.lo, q.hi)' 't.p ~= k.p' 'gist (p)' ', pages_per_range = 8'
    try_workload "2^20 values" long t v 't.v BETWEEN q.lo AND q.hi' 't.v = k.v' 'btree (v)' ''
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB -- "$MILLIONS" "$SEED" "$QUERIES"
