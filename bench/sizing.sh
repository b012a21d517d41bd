#!/usr/bin/env bash
# The sizes that docs/sizing.md and docs/tuning.md tell: what nulls, equal values, options and filters make of
# them, and what queries read then.
#
#   bash bench/sizing.sh [THOUSANDS [SEED]]
#
# A table of THOUSANDS (default 1,000) thousand rows at 37 a page, and one of four times as many at 226.  Of each
# index its pages, bits a row, and pages that a query reads (rencoder_candidates; means of 200 queries): of a value
# that is not there, or of one that is.  Builds of "batches" by one process, CPU time, the middle of three.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

ROWS=$((${1:-1000} * 1000))
SEED=${2:-1}

# make_table NAME ROWS VALUE [FILLER]
make_table() {
    bench_sql -q <<SQL
CREATE TABLE $1 (v int8${4:+, note text});
INSERT INTO $1 SELECT $3 ${4:+, repeat('x', $4)} FROM generate_series(1, $2::int8) AS i;
VACUUM ANALYZE $1;
INSERT INTO told SELECT 'table $1', what, value, unit FROM (VALUES ('pages', pg_relation_size('$1') / 8192, 'pages'),
    ('rows a page', round($2 / (pg_relation_size('$1') / 8192.0)), 'rows')) AS t (what, value, unit);
SQL
}

# index LABEL TABLE DEFINITION [VALUE WIDTH]: an index and what it reads for VALUE, which has i for the number of
# the query, to VALUE + WIDTH.
index() {
    local value=${4:-hashint8extended(-i, 77) / 2} width=${5:-0} round
    for round in 1 2 3; do
        [[ $round == 1 || $1 == batches* ]] || continue
        bench_sql -q <<SQL
SET client_min_messages = warning;
DROP INDEX IF EXISTS sized;
SET max_parallel_maintenance_workers = 0;
SELECT bench_cpu() AS began \gset
CREATE INDEX sized ON $2 USING $3;
INSERT INTO builds SELECT '$1', (bench_cpu() - :began) / 1000;
SQL
    done
    bench_sql -q <<SQL
INSERT INTO told SELECT '$1', what, value, unit FROM
    (SELECT pg_relation_size('sized') AS size, (SELECT reltuples FROM pg_class WHERE oid = '$2'::regclass)::numeric AS n) AS s,
    LATERAL (VALUES ('pages', size / 8192, 'pages'), ('bits a row', size * 8 / n, 'bits')) AS t (what, value, unit);
INSERT INTO told SELECT '$1', 'build, CPU', percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), 'ms', min(ms), max(ms), 3
FROM builds WHERE name = '$1' HAVING count(*) > 1;
SQL
    [[ $3 == rencoder* ]] || return 0
    bench_sql -q <<SQL
INSERT INTO told SELECT '$1', what, value, 'pages', NULL, NULL, 200 FROM (SELECT avg(pages) AS pages, avg(index_pages) AS index_pages
    FROM (SELECT $value AS lo FROM generate_series(1, 200) AS i) AS q, rencoder_candidates('sized', lo, lo + $width)) AS c,
    LATERAL (VALUES ('table pages of a query', pages), ('index pages of a query', index_pages)) AS t (what, value);
INSERT INTO told SELECT '$1', what, value, unit FROM (SELECT max(bits_per_entry) AS bits, sum(false_pages) AS false_pages,
        count(DISTINCT (from_page, to_page)) FILTER (WHERE kind = 'matrix') AS matrices FROM rencoder_runs('sized')) AS r,
    LATERAL (VALUES ('bits an entry of the run', bits::numeric, 'bits'), ('false pages, predicted', false_pages::numeric, 'pages'))
        AS t (what, value, unit) WHERE value IS NOT NULL AND matrices = 0;
SQL
}

main() {
    local random="hashint8extended(i, $SEED)" gap bits
    bench_machine
    bench_cpu_clock
    bench_sql -q -c 'CREATE TABLE told (name text, what text, value numeric, unit text, least numeric, most numeric, rounds int DEFAULT 1, n serial)' \
        -c 'CREATE TABLE builds (name text, ms float8)'
    make_table wide "$ROWS" "$random" 180
    make_table narrow $((4 * ROWS)) "$random"
    index 'wide, default' wide 'rencoder (v)'
    index 'wide, false_pages = 0.1' wide 'rencoder (v) WITH (false_pages = 0.1)'
    for bits in 25 1 0.01; do
        index "wide, resolution = pages, false_pages = $bits" wide "rencoder (v) WITH (resolution = pages, false_pages = $bits)"
    done
    index 'narrow, default' narrow 'rencoder (v)'
    index 'narrow, resolution = pages, false_pages = 1' narrow 'rencoder (v) WITH (resolution = pages, false_pages = 1)'
    index 'wide, filters' wide 'rencoder (v) WITH (storage = filter)'
    index 'wide, filters, bits_per_key = 12' wide 'rencoder (v) WITH (storage = filter, bits_per_key = 12)'
    index 'narrow, filters' narrow 'rencoder (v) WITH (storage = filter)'
    # An eighth of the mean distance of values, and twice the distance.
    gap=$(awk -v n="$ROWS" 'BEGIN { printf "%.0f", 2 ^ 64 / n }')
    index 'wide, filters, interval of an eighth' wide 'rencoder (v) WITH (storage = filter)' '' $((gap / 8))
    index 'wide, filters, interval of two' wide 'rencoder (v) WITH (storage = filter)' '' $((gap * 2))
    index 'wide, interval of an eighth' wide 'rencoder (v)' '' $((gap / 8))
    index 'wide, interval of two' wide 'rencoder (v)' '' $((gap * 2))
    make_nulls
    make_equal
    # Six rows of 32 pages have each value.
    make_table batches $((2 * ROWS)) "$SEED + (i / 7232) * 1000003 + hashint8extended(i % 1205, $SEED) / 4096 * 4096"
    for bits in 'filters rencoder(v)WITH(storage=filter)' 'runs rencoder(v)' 'btree btree(v)'; do
        index "batches, ${bits%% *}" batches "${bits#* }" "(SELECT v FROM batches WHERE ctid = format('(%s,5)', i * (2 * $ROWS / 226 / 201))::tid)" 0
    done
    bench_sql -F '  ' -c "SELECT rpad(name, 50), rpad(what, 26), round(value, 2), unit, least, most FROM told ORDER BY n"
    bench_numbers "SELECT name, what, value, unit, least, most, rounds FROM told
        WHERE name !~ '^table (nulls|thousand|ordered|mostly)$' ORDER BY n"
    echo "Total time: $(($(date +%s) - bench_started)) s."
}

# The first table, where a part of the rows is null.
make_nulls() {
    local part
    for part in '1 in 2000' '1 in 100' '1 in 2' '99 in 100'; do
        make_table nulls "$ROWS" "CASE WHEN hashint8extended(i, 9) & 1048575 >= 1048576.0 * ${part/ in / / } THEN hashint8extended(i, $SEED) END" 180
        index "nulls, $part" nulls 'rencoder (v)'
        bench_sql -q -c 'DROP TABLE nulls'
    done
}

# Equal and ordered values, as wide as the first table.
make_equal() {
    make_table thousand "$ROWS" "hashint8extended(abs(hashint8extended(i, 5) % 1000), $SEED)" 180
    make_table ordered "$ROWS" i 180
    make_table mostly "$ROWS" "CASE WHEN i % 10 > 0 THEN 7 ELSE hashint8extended(i, $SEED) END" 180
    index 'a thousand values' thousand 'rencoder (v)'
    index 'a thousand values, btree' thousand 'btree (v)'
    index 'in order' ordered 'rencoder (v)'
    index 'in order, resolution = rows' ordered 'rencoder (v) WITH (resolution = rows)'
    index 'one value in nine of ten rows' mostly 'rencoder (v)'
}

bench_run autovacuum=off jit=off maintenance_work_mem=256MB -- "$@"
