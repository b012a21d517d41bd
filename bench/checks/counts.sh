#!/usr/bin/env bash
# What does count(*) of many rows cost, beside a btree's index-only scan?  And what would be left
# without the table?
#
#   bash bench/checks/counts.sh [THOUSANDS [SEED [MEGABYTES [INSTRUCTIONS]]]]
#
# THOUSANDS (default 3000) thousand rows of a random int, 47 a page, all visible.  count(*) of an
# interval of 1,000, 100,000 and a million of them: by a btree's index-only scan, by rencoder's bitmap
# and plain scans, by a btree's bitmap scan, by a sequential scan; the CPU time of the session, the
# best of seven intervals.  Beside it that of rencoder_candidates, the index's part of a bitmap scan.
# With MEGABYTES (default 1024) of shared buffers below the size of the table, its pages come from the
# kernel's cache.
#
# Then, unless INSTRUCTIONS is 0, instructions for each row (of 10,000, in a server of one process below valgrind), and how many
# of them are spent below the call of the index.  An index-only scan by rencoder would take its own
# part, and what the executor takes for each row of the btree's.
#
# Ends with exit code 1 if a plan is not the one that is to be measured, or an answer is wrong.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$((${1:-3000} * 1000))
SEED=${2:-1}
# A way: its name, the column, the plan's node, what is switched off, the index's function.
WAYS=('btree_only b Index.Only.Scan seqscan,bitmapscan btgettuple'
    'btree_bitmap b Bitmap.Heap.Scan seqscan,indexscan,indexonlyscan btgetbitmap'
    'rencoder_bitmap r Bitmap.Heap.Scan seqscan,indexscan,indexonlyscan rencodergetbitmap'
    'rencoder_plain r Index.Scan seqscan,bitmapscan rencodergettuple'
    'sequential r Seq.Scan indexscan,bitmapscan,indexonlyscan none')

make_objects() {
    bench_sql -q <<SQL
CREATE EXTENSION pg_prewarm;
CREATE TABLE t (r int, b int, f text);
ALTER TABLE t ALTER f SET STORAGE plain;
-- Each number of 0 .. rows - 1 about once, in random order.
INSERT INTO t SELECT v, v, repeat('x', 130) FROM (SELECT
    (abs(hashint8extended(i, $SEED)::numeric) % $ROWS)::int AS v FROM generate_series(1, $ROWS::int8) AS i) AS s;
CREATE INDEX t_rencoder ON t USING rencoder (r);
CREATE INDEX t_btree ON t (b);
VACUUM (ANALYZE, FREEZE) t;
SELECT sum(pg_prewarm(c)) FROM unnest('{t,t_rencoder,t_btree}'::regclass[]) AS c \g /dev/null
CREATE TABLE measured (way text, matches int, lo int, us float8, answer bigint);
SQL
    local way name column node off
    for way in "${WAYS[@]}"; do
        read -r name column node off _ <<<"$way"
        bench_sql -q <<SQL
CREATE FUNCTION q_$name(lo int, hi int) RETURNS bigint LANGUAGE plpgsql
SET enable_${off//,/ = off SET enable_} = off SET work_mem = '64MB' AS \$\$
DECLARE
    found bigint;
BEGIN
    SELECT count(*) INTO found FROM t WHERE $column BETWEEN lo AND hi;
    RETURN found;
END \$\$;
CREATE FUNCTION plan_$name() RETURNS boolean LANGUAGE sql
SET enable_${off//,/ = off SET enable_} = off AS
    \$\$ SELECT bench_plan_text('SELECT count(*) FROM t WHERE $column BETWEEN 1 AND 10000') ~ '-> +$node' \$\$;
SQL
        [[ $(bench_sql -c "SELECT plan_$name()") == t ]] || die "$name has another plan"
    done
    bench_sql -q -c "CREATE FUNCTION q_rencoder_search(lo int, hi int) RETURNS bigint LANGUAGE sql
        SET work_mem = '64MB' AS \$\$ SELECT pages FROM rencoder_candidates('t_rencoder', lo, hi) \$\$"
}

# Seven intervals by each way, each another one: none finds what its predecessor has warmed.
measure() {
    local matches=$1 name lo=0 answer
    {
        # Each page once before: a process pays for its first touch of shared memory.
        for name in sequential btree_only rencoder_search; do echo "SELECT q_$name(0, $ROWS) \\g /dev/null"; done
        for name in $(printf '%s\n' "${WAYS[@]}" | cut -d ' ' -f 1) rencoder_search; do
            answer=:found
            [[ $name != rencoder_search ]] || answer=NULL
            for _ in 1 2 3 4 5 6 7; do
                echo "SELECT bench_cpu() AS began, q_$name($lo, $((lo + matches - 1))) AS found, bench_cpu() AS ended \\gset"
                echo "INSERT INTO measured VALUES ('$name', $matches, $lo, :ended - :began, $answer);"
                lo=$((lo + 1000))
            done
        done
    } | bench_sql -q
}

print_times() {
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        WITH best AS (SELECT way, matches, min(us) AS us FROM measured GROUP BY way, matches)
        SELECT b.way, b.matches, round(b.us::numeric) AS us, round((b.us / o.us)::numeric, 1) AS \"times btree_only\",
            round((1000 * b.us / b.matches)::numeric) AS \"ns a row\"
        FROM best AS b JOIN best AS o ON o.way = 'btree_only' AND o.matches = b.matches ORDER BY b.matches, b.us"
    bench_numbers "WITH t AS (SELECT way, matches, min(us) AS us, max(us) AS most FROM measured GROUP BY way, matches)
        SELECT t.matches || ' rows', replace(t.way, '_', ', ') || w.what, CASE unit WHEN 'us' THEN t.us ELSE t.us / b.us END, unit,
            CASE unit WHEN 'us' THEN t.us ELSE t.us / b.most END, CASE unit WHEN 'us' THEN t.most ELSE t.most / b.us END, 7
        FROM t JOIN t AS b ON b.way = 'btree_only' AND b.matches = t.matches,
            (VALUES (': CPU', 'us'), (': times', 'times')) AS w (what, unit)
        WHERE t.way <> 'rencoder_search' AND (unit = 'us' OR t.way <> 'btree_only') ORDER BY t.matches, unit, t.us"
    # The truth: how many rows there are up to each number, by a sequential scan.
    bench_limit 'answers that are wrong' "$(bench_sql -q -c "SET work_mem = '512MB'; SET enable_indexscan = off" \
        -c "SET enable_indexonlyscan = off; SET enable_bitmapscan = off" \
        -c "CREATE TEMP TABLE upto AS SELECT i, sum(count(r)) OVER (ORDER BY i) AS n
            FROM generate_series(-1, $ROWS) AS i LEFT JOIN t ON r = i GROUP BY i" \
        -c "SELECT count(*) FROM measured JOIN upto AS a ON a.i = lo - 1
            JOIN upto AS b ON b.i = least(lo + matches - 1, $ROWS) WHERE answer <> b.n - a.n")" '<=' 0
}

# A profile begins and ends at each pg_backend_pid(): of 10,000 rows, then of 20,000.
statements() {
    local name
    echo "SELECT sum(pg_prewarm(c)) FROM unnest('{t,t_rencoder,t_btree}'::regclass[]) AS c"
    while read -r name; do
        echo "SELECT q_$name(1, 10000)"
        echo "SELECT pg_backend_pid()"
        echo "SELECT q_$name(20001, 30000)"
        echo "SELECT pg_backend_pid()"
        echo "SELECT q_$name(40001, 60000)"
        echo "SELECT pg_backend_pid()"
    done < <(printf '%s\n' "${WAYS[@]}" | grep -v sequential | cut -d ' ' -f 1)
}

# below PART FUNCTION: instructions of a part of the profile, in the function and what it calls.
below() {
    callgrind_annotate --inclusive=yes --threshold=100 "$WORK/profile/out.$1" |
        awk -v f="$2" '$0 ~ "[:]" f "([^a-zA-Z_]|$)" { gsub(",", "", $1); if ($1 + 0 > n) n = $1 + 0 } END { print n + 0 }'
}

count_instructions() {
    local way name function part=1 all index executor
    statements | bench_below_valgrind
    echo 'Instructions for each row of 10,000 more: all, in the index, beside it'
    for way in "${WAYS[@]}"; do
        read -r name _ _ _ function <<<"$way"
        [[ $function != none ]] || continue
        all=$((($(part $((part + 2))) - $(part $((part + 1)))) / 10000))
        index=$((($(below $((part + 2)) "$function") - $(below $((part + 1)) "$function")) / 10000))
        ((index > 0)) || die "$function is not in the profile"
        [[ $name != btree_only ]] || executor=$((all - index))
        printf '  %-16s %5d %5d %5d\n' "$name" "$all" "$index" "$((all - index))"
        [[ $name != rencoder_* ]] || printf '    index-only, with the same executor: %d\n' "$((index + executor))"
        part=$((part + 3))
    done
}

# Instructions of a part of the profile.
part() { awk '$1 == "totals:" || $1 == "summary:" { n = $2 } END { print n }' "$WORK/profile/out.$1"; }

main() {
    local matches
    bench_machine
    bench_cpu_clock
    make_objects
    bench_sql -c "SELECT format('%s rows, %s a page', reltuples, round(reltuples / relpages)) FROM pg_class WHERE relname = 't'"
    for matches in 1000 100000 1000000; do
        ((matches >= ROWS)) || measure $matches
    done
    print_times
    ((${4:-1} == 0)) || count_instructions
    bench_finish
}

bench_run -p valgrind "shared_buffers=${3:-1024}MB" autovacuum=off jit=off max_parallel_workers_per_gather=0 -- "$@"
