#!/usr/bin/env bash
# What the first query after a restart takes, when neither the server nor the kernel has a page of
# table or index, beside btree and GiST:
#
#   bash bench/checks/cold.sh [MILLIONS [SEED [ROUNDS]]]
#
# MILLIONS (default 2.5) million random int8 and as many points, 35 rows a page: an interval of 64
# values without a row, one row, a list of 1,000 absent values, a box of some 1,000 points, 100 rows of
# some 1,000, in order and as they come.  Before each query the server is restarted and the files are
# dropped from the kernel's cache.  Planning and execution together, the median of ROUNDS (default 5), in
# turn; system catalogs are warm; effective_io_concurrency is 16, as PostgreSQL 18 has it.  Ends with exit
# code 1 if rencoder takes more than five times as long as the other, and of 100 rows, which it fetches
# ahead, more than 0.7 times.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$(awk -v m="${1:-2.5}" 'BEGIN { printf "%d", m * 1000000 }')
SEED=${2:-1}
ROUNDS=${3:-5}
LENGTH=64
VALUES=1000
BOX_POINTS=1000
RELATIONS="'t', 't_r', 't_b', 'p', 'p_r', 'p_g'"

make_tables() {
    bench_random_table t "$ROWS" "$SEED"
    bench_sql -q <<SQL
CREATE FUNCTION unit(i bigint, seed bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT ((hashint8extended(i, seed) >> 12) & 4503599627370495)::float8 / 4503599627370496';
BEGIN;
CREATE TABLE p (p point, filler text);
ALTER TABLE p ALTER filler SET STORAGE plain;
INSERT INTO p SELECT point(unit(i, $SEED), unit(i, $SEED + 1)), repeat('x', 180)
FROM generate_series(1, $ROWS) AS i;
COMMIT;
-- Of the same kind, for the catalogs and the library.
CREATE TABLE warm_t (id int8);
CREATE TABLE warm_p (p point);
CREATE INDEX ON warm_t USING rencoder (id);
CREATE INDEX ON warm_t (id);
CREATE INDEX ON warm_p USING rencoder (p);
CREATE INDEX ON warm_p USING gist (p);
CREATE INDEX t_r ON t USING rencoder (id);
CREATE INDEX t_b ON t (id);
CREATE INDEX p_r ON p USING rencoder (p);
CREATE INDEX p_g ON p USING gist (p);
VACUUM (ANALYZE);
CREATE TABLE cold (query text, index text, ms numeric);
SELECT format('%s: %s pages', relname, relpages) FROM pg_class WHERE relname IN ($RELATIONS)
ORDER BY relname;
SQL
}

# The condition of a query, other in each round.
condition() { # QUERY ROUND
    case $1 in
        empty) bench_sql -c "SELECT format('id BETWEEN %s AND %s', lo, lo + $LENGTH - 1)
            FROM (SELECT hashint8extended($2, $SEED + 2) / 2 AS lo) AS s" ;;
        one) bench_sql -c "SELECT format('id = %s', hashint8extended(1 + $2 * 7919 % $ROWS, $SEED))" ;;
        list) bench_sql -c "SELECT format('id = ANY (%L::int8[])',
            array_agg(hashint8extended($2 * $VALUES + i, $SEED + 3)))
            FROM generate_series(1, $VALUES) AS i" ;;
        in_order | limit) bench_sql -c "SELECT format('id BETWEEN %s AND %s %s LIMIT 100', lo,
            lo + 18446744073709551616 * 1000 / $ROWS, CASE '$1' WHEN 'in_order' THEN 'ORDER BY id' END)
            FROM (SELECT hashint8extended($2, $SEED + 6) / 2 AS lo) AS s" ;;
        box) bench_sql -c "SELECT format('p <@ box ''(%s,%s),(%s,%s)''', x, y, x + side, y + side)
            FROM (SELECT sqrt($BOX_POINTS / $ROWS::float8) AS side, unit($2, $SEED + 4) * 0.9 AS x,
                unit($2, $SEED + 5) * 0.9 AS y) AS s" ;;
    esac
}

# Restarts the server; no page of the tables and their indexes is in memory then.
make_cold() {
    local file
    bench_sql -q -c CHECKPOINT
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -m fast stop
    while read -r file; do
        for file in "$WORK/data/$file" "$WORK/data/$file".*; do
            [[ ! -e $file ]] || { sync -d "$file"; dd if="$file" iflag=nocache count=0 status=none; }
        done
    done <"$WORK/files"
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -l "$WORK/log/server" start
}

# A query by one of the two indexes of its table.
measure() { # QUERY TABLE INDEX OTHER CONDITION
    local ms
    # For the planner there is only one of the two; this cluster is thrown away.
    bench_sql -q -c "UPDATE pg_index SET indisvalid = indexrelid <> '$4'::regclass
        WHERE indexrelid IN ('$3'::regclass, '$4'::regclass)"
    make_cold
    bench_sql -q >"$WORK/plan" <<SQL
SET enable_seqscan = off;
SELECT FROM warm_$2 WHERE $5;
EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF, SUMMARY ON) SELECT * FROM $2 WHERE $5;
SQL
    grep -q "Scan.* on $3\|using $3 " "$WORK/plan" || die "the plan does not use $3"
    ms=$(awk '$2 == "Time:" { sum += $3 } END { print sum }' "$WORK/plan")
    bench_sql -q -c "INSERT INTO cold VALUES ('$1', '$3', $ms)"
}

median() { # QUERY INDEX
    bench_sql -c "SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 2)
        FROM cold WHERE (query, index) = ('$1', '$2')"
}

main() {
    local round query where own other most
    bench_machine
    echo "Seed: $SEED.  Rows: $ROWS.  effective_io_concurrency: $(bench_sql -c 'SHOW effective_io_concurrency')"
    make_tables
    bench_sql -c "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname IN ($RELATIONS)" >"$WORK/files"
    for ((round = 1; round <= ROUNDS; round++)); do
        for query in empty one list in_order limit; do
            where=$(condition "$query" "$round")
            measure "$query" t t_r t_b "$where"
            measure "$query" t t_b t_r "$where"
        done
        where=$(condition box "$round")
        measure box p p_r p_g "$where"
        measure box p p_g p_r "$where"
    done
    for query in empty one list in_order limit box; do
        if [[ $query == box ]]; then own=p_r other=p_g; else own=t_r other=t_b; fi
        case $query in in_order | limit) most=0.7 ;; *) most=5 ;; esac
        printf '%s: %s ms, %s ms\n' "$query" "$(median "$query" "$own")" "$(median "$query" "$other")"
        bench_limit "$query, cold: rencoder / $([[ $query == box ]] && echo GiST || echo btree)" \
            "$(bench_sql -c "SELECT round($(median "$query" "$own") / $(median "$query" "$other"), 2)")" '<=' "$most"
    done
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB effective_io_concurrency=16 \
    max_parallel_workers_per_gather=0 -- "$@"
