#!/usr/bin/env bash
# Can the advice of rencoder_advise() be followed to the letter?
#
#   bash bench/saas.sh [PERCENT [SEED]]
#
# The database of a service (saas.sql): 60 indexes, 50 queries; PERCENT (15) of 1.5 million events,
# 200,000 users and so on.  The queries are measured with btrees.  Then the statements that
# rencoder_advise() gives for its verdict "replace" are executed as they stand, and measured again;
# then, with pg_stat_statements to tell what is sorted, those of "replace unless sorted" and "add",
# too.  The table says of each query the processor time of the server process before, after both
# steps, and the ratios.  Ends with exit code 1 if an answer differs; if of the queries without
# count(*) whose indexes have been replaced the median takes more than 1.5 times, or the 90th
# percentile more than 4; if an index has not the size that was told by more than a fifth (and two
# pages; but for what CONCURRENTLY has left free); or if the advice takes more than 5 s.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

PERCENT=${1:-15}
SEED=${2:-1}

print_table() { bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off "$@"; }

# advise STEP: asks for the advice.
advise() {
    bench_sql -q -v step="$1" <<'SQL'
SET client_min_messages = warning;
SELECT pg_stat_force_next_flush() \gset ignored_
SELECT cpu_ns() AS began \gset
INSERT INTO advice (step, index, verdict, size, told, reason, ddl)
    SELECT :'step', index::text, verdict, size, rencoder_size, reason, ddl FROM rencoder_advise('public');
INSERT INTO advice (step, verdict, told) SELECT :'step', 'ms', (cpu_ns() - :began) / 1000000;
SQL
}

# Rencoder's indexes that are there, as an array of their OIDs.
indexes_there() {
    bench_sql -c "SELECT coalesce(array_agg(c.oid), '{}') FROM pg_class AS c JOIN pg_am AS m ON m.oid = c.relam
        WHERE m.amname = 'rencoder' AND c.relkind = 'i'"
}

# follow STEP VERDICTS: executes the statements that belong to such verdicts.
follow() {
    local number before
    while read -r number; do
        before=$(indexes_there)
        bench_sql -c "SELECT ddl FROM advice WHERE number = $number" >"$WORK/ddl"
        bench_sql -q -f "$WORK/ddl"
        bench_sql -q -c "UPDATE advice SET made =
            (SELECT sum(pg_relation_size(i) - 8192 * m.free_pages)
            FROM unnest('$(indexes_there)'::oid[]) AS i, rencoder_metapage(i::regclass) AS m WHERE i <> ALL ('$before'::oid[])) WHERE number = $number"
    done < <(bench_sql -c "SELECT number FROM advice WHERE step = '$1' AND verdict IN ($2) AND ddl IS NOT NULL ORDER BY number")
    bench_sql -q -c 'VACUUM ANALYZE'
}

print_results() {
    print_table -c "SELECT index, verdict, size / 1024 AS kb, told / 1024 AS told, made / 1024 AS made, reason
        FROM advice WHERE step = 'replace' AND verdict <> 'ms' ORDER BY number" \
        -c "SELECT verdict, count(*), pg_size_pretty(sum(size)) AS size, pg_size_pretty(sum(told)) AS told,
            pg_size_pretty(sum(made)) AS made FROM advice WHERE step = 'sorted' AND verdict <> 'ms' GROUP BY verdict ORDER BY 1" \
        -c "SELECT number, left(q, 58) AS query, round(b.us::numeric) AS \"us, btree\", round(r.us::numeric) AS replace,
            round((r.us / b.us)::numeric, 2) AS times, round(s.us::numeric) AS sorted, round((s.us / b.us)::numeric, 2) AS times,
            CASE WHEN r.uses = b.uses AND s.uses = b.uses THEN 'as before' END AS plan
        FROM queries JOIN (SELECT * FROM measured WHERE step = 'btree') AS b USING (number)
        JOIN (SELECT * FROM measured WHERE step = 'replace') AS r USING (number)
        JOIN (SELECT * FROM measured WHERE step = 'sorted') AS s USING (number) ORDER BY s.us / b.us DESC"
}

# times STEP: of queries with another plan in it, without count(*): how many, the median and the 90th
# percentile of the times of the btrees' processor time, and how many take more than 1.5 times.
times() {
    bench_sql -F ' ' -c "SELECT count(*), round(percentile_cont(0.5) WITHIN GROUP (ORDER BY r.us / b.us)::numeric, 2),
            round(percentile_cont(0.9) WITHIN GROUP (ORDER BY r.us / b.us)::numeric, 2),
            count(*) FILTER (WHERE r.us > 1.5 * b.us)
        FROM queries JOIN (SELECT * FROM measured WHERE step = 'btree') AS b USING (number)
        JOIN (SELECT * FROM measured WHERE step = '$1') AS r USING (number)
        WHERE r.uses <> b.uses AND q NOT LIKE '%count(*)%'"
}

finish() {
    print_results
    local step n median p90 slow
    for step in replace sorted; do
        read -r n median p90 slow < <(times $step)
        echo "Step \"$step\": $n queries with another plan, median $median, 90th percentile $p90 times; $slow above 1.5."
    done
    bench_numbers "SELECT 'step ' || r.step, v.* FROM (SELECT r.step, count(*) AS n,
                percentile_cont('{0.5,0.25,0.75,0.9}'::float8[]) WITHIN GROUP (ORDER BY r.us / b.us) AS p, min(r.us / b.us) AS least, max(r.us / b.us) AS most
            FROM queries JOIN measured AS b USING (number) JOIN measured AS r USING (number)
            WHERE b.step = 'btree' AND r.step IN ('replace', 'sorted') AND r.uses <> b.uses AND q NOT LIKE '%count(*)%' GROUP BY r.step) AS r,
        LATERAL (VALUES ('queries with another plan', n, 'queries', NULL, NULL, n), ('CPU, times the btrees'', median', p[1], 'times', p[2], p[3], n),
            ('90th percentile', p[4], 'times', NULL, NULL, n), ('least', least, 'times', NULL, NULL, n), ('most', most, 'times', NULL, NULL, n)) AS v
        UNION ALL SELECT 'advice', 'CPU', max(told) / 1000.0, 's', NULL, NULL, 1 FROM advice WHERE verdict = 'ms'
        UNION ALL SELECT 'advice', 'indexes', count(*), 'indexes', NULL, NULL, 1 FROM advice WHERE step = 'replace' AND index IS NOT NULL"
    bench_limit 'answers that differ' "$(bench_sql -c "SELECT count(*) FROM measured AS b JOIN measured AS r USING (number)
        WHERE b.step = 'btree' AND r.answer IS DISTINCT FROM b.answer")" '<=' 0
    bench_limit 'times of the btrees, median after all steps' "$median" '<=' 1.5
    bench_limit 'times of the btrees, 90th percentile' "$p90" '<=' 4
    bench_limit 'sizes told wrong by more than a fifth' "$(bench_sql -c "SELECT count(*) FROM advice
        WHERE made IS NOT NULL AND told IS NOT NULL AND abs(told - made) > greatest(made / 5, 16384)")" '<=' 0
    bench_limit 'processor time of the advice, s' \
        "$(bench_sql -c "SELECT round(max(told) / 1000.0, 1) FROM advice WHERE verdict = 'ms'")" '<=' 5
    bench_finish
}

main() {
    bench_machine
    bench_sql -q -v n="$(awk -v p="$PERCENT" 'BEGIN {printf "%d", 15 * p}')" -v seed="$SEED" -f "$WORK/src/bench/saas.sql"
    bench_sql -q -c "CALL measure('btree')"
    advise replace
    follow replace "'replace'"
    bench_sql -q -c "CALL measure('replace')"
    # Once more, so that what is sorted is recorded.
    bench_sql -q -c 'CREATE EXTENSION pg_stat_statements' -c "SET pg_stat_statements.track = 'all'" -c "CALL measure('recorded')"
    advise sorted
    follow sorted "'replace', 'replace unless sorted', 'add'"
    bench_sql -q -c "CALL measure('sorted')"
    finish
}

bench_run shared_preload_libraries=pg_stat_statements maintenance_work_mem=256MB \
    max_parallel_workers_per_gather=0 jit=off autovacuum=off random_page_cost=1.1 -- "$@"
