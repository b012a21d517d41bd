#!/usr/bin/env bash
# Is rencoder_advise() right of a whole database?
#
#   bash bench/advise.sh [THOUSANDS [SEED]]
#
# Tables as five applications have them (TPC-H, ClickBench, TSBS, the join order benchmark, and
# Mastodon with delayed_job; advise.sql), the largest of each of a million rows (or THOUSANDS
# thousand), with their primary keys, foreign keys and 60 indexes.  rencoder_advise() tells of each
# that has a megabyte how large rencoder's would be; CREATE INDEX makes it.  One line for each set,
# then the indexes of which told / made is farthest from 1.  Ends with exit code 1 if a size is told
# wrong by more than a fifth (and two pages), or if an index is advised away that the catalogs say is
# needed: for uniqueness, as the target of foreign keys, nulls at the other end of the order, a replica
# identity, CLUSTER.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

ROWS=$((${1:-1000} * 1000))
SEED=${2:-1}

make_advised() {
    local index
    bench_sql -q -c "INSERT INTO advice SELECT relnamespace::regnamespace, a.\"table\", a.index::text, a.method,
        a.size, a.rencoder_size, NULL, a.saves, a.reason
        FROM rencoder_advise() AS a JOIN pg_class ON pg_class.oid = a.index
        WHERE relnamespace::regnamespace::text IN ('tpch', 'hits', 'tsbs', 'imdb', 'social')"
    bench_sql -c 'SELECT index FROM advice WHERE told IS NOT NULL' >"$WORK/advised"
    while read -r index; do
        bench_sql -q -c "SELECT regexp_replace(regexp_replace(regexp_replace(
                pg_get_indexdef('$index'::regclass), '^CREATE( UNIQUE)? INDEX \S+', 'CREATE INDEX made'),
                'USING \w+', 'USING rencoder'), ' DESC| INCLUDE.*', '', 'g')
                || CASE WHEN indnkeyatts > 1 THEN ' WITH (composite = on)' ELSE '' END
            FROM pg_index WHERE indexrelid = '$index'::regclass" | bench_sql -q
        bench_sql -q -c "UPDATE advice SET made = (SELECT pg_relation_size(oid) FROM pg_class
                WHERE relname = 'made') WHERE index = '$index'" \
            -c "DO 'BEGIN EXECUTE (SELECT format(''DROP INDEX %I.made'', relnamespace::regnamespace)
                FROM pg_class WHERE relname = ''made''); END'"
    done <"$WORK/advised"
}

main() {
    local wrong away
    bench_machine
    bench_sql -q -v rows="$ROWS" -v seed="$SEED" -f "$WORK/src/bench/advise.sql"
    make_advised
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        SELECT set, count(*) AS indexes, count(told) AS told, pg_size_pretty(sum(size)) AS size,
            pg_size_pretty(sum(made)) AS rencoder, round(min(told::numeric / made), 3) AS \"least told/made\",
            round((percentile_cont(0.5) WITHIN GROUP (ORDER BY told::float8 / made))::numeric, 3) AS median,
            round(max(told::numeric / made), 3) AS most, count(*) FILTER (WHERE saves > 0) AS \"advised away\",
            count(*) FILTER (WHERE is_needed(index::regclass)) AS needed
        FROM advice GROUP BY set ORDER BY set" \
        -c "SELECT index, told, made, round(told::numeric / made, 3) AS \"told/made\", reason
        FROM advice WHERE told IS NOT NULL ORDER BY abs(ln(told::float8 / made)) DESC LIMIT 10" \
        -c "SELECT index, size, reason FROM advice WHERE told IS NULL AND size >= 1048576"
    wrong=$(bench_sql -c 'SELECT count(*) FROM advice WHERE abs(told - made) > greatest(made / 5, 16384)')
    away=$(bench_sql -c 'SELECT count(*) FROM advice WHERE saves > 0 AND is_needed(index::regclass)')
    bench_limit 'sizes told wrong by more than a fifth' "$wrong" '<=' 0
    bench_limit 'needed indexes advised away' "$away" '<=' 0
    echo "Total time: $(($(date +%s) - bench_started)) s."
    bench_finish
}

bench_run maintenance_work_mem=256MB autovacuum=off -- "$@"
