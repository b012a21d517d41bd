#!/usr/bin/env bash
# The size of a rencoder index, from pg_relation_size, in three situations:
#
#   bash bench/size.sh [SEED]
#
# 1. 5 million random int8, 35 rows a page, beside a btree;  2. a table of 384 pages, 150 rows a page;
# 3. one block range with ten times the distinct keys of the others.
# Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

SEED=${1:-1}
PAGES_PER_RANGE=32
BITS_PER_KEY=20
WITH="pages_per_range = $PAGES_PER_RANGE, bits_per_key = $BITS_PER_KEY, storage = filter"

# Prints one expression over the sizes of a table, of its rencoder index r and its btree b.
size_of() { bench_sql -c "SELECT $1"; }

report_table() {
    bench_sql -c "SELECT format('%s: %s rows in %s pages, %s rows a page', '$1', count(*), pages, round(count(*) / pages::numeric, 1))
        FROM $1, (SELECT pg_relation_size('$1') / current_setting('block_size')::bigint AS pages) AS size GROUP BY pages"
}

large_table() {
    bench_random_table random5m 5000000 "$SEED"
    bench_sql -q -c "CREATE INDEX random5m_b ON random5m USING btree (id)" \
        -c "CREATE INDEX random5m_r ON random5m USING rencoder (id) WITH ($WITH)"
    report_table random5m
    local bits_b
    bits_b=$(size_of "round(pg_relation_size('random5m_b') * 8 / 5e6, 2)")
    echo "  btree: $bits_b bits a row"
    bench_limit "  rencoder, bits a row" "$(size_of "round(pg_relation_size('random5m_r') * 8 / 5e6, 2)")" '<=' 22
    bench_limit "  times smaller than the btree" \
        "$(size_of "round(pg_relation_size('random5m_b') / pg_relation_size('random5m_r')::numeric, 2)")" '>=' 8
    bench_sql -q -c 'DROP TABLE random5m'
}

small_table() {
    # Three int8 make 157 rows a page; the fillfactor leaves 150.
    bench_sql -q -c "CREATE TABLE pages384 (id int8, a int8, b int8) WITH (fillfactor = 96)" \
        -c "INSERT INTO pages384 SELECT hashint8extended(i, $SEED), i, i FROM generate_series(1, 384 * 150) AS i" \
        -c "CREATE INDEX pages384_r ON pages384 USING rencoder (id) WITH ($WITH)"
    report_table pages384
    local pages
    pages=$(size_of "pg_relation_size('pages384') / 8192")
    [[ $pages == 384 ]] || die "the small table has $pages pages instead of 384: this server lays rows out differently"
    bench_limit "  rencoder, bits a row" "$(size_of "round(pg_relation_size('pages384_r') * 8 / (384 * 150.0), 2)")" '<=' 35
}

# 128 block ranges (one block of a matrix) of 4,800 rows.  Each key stands in ten rows of its range; in the table
# with the heavy range, range 60 has all different keys: 4,800 instead of 480.
skewed_table() {
    local name=$1 heavy=$2
    bench_sql -q -c "CREATE TABLE $name (id int8, a int8, b int8) WITH (fillfactor = 96)" \
        -c "INSERT INTO $name SELECT hashint8extended(CASE WHEN i / 4800 = $heavy THEN -i ELSE i / 10 END, $SEED), i, i
            FROM generate_series(0, 128 * 4800 - 1) AS i" \
        -c "CREATE INDEX ${name}_r ON $name USING rencoder (id) WITH ($WITH)"
    report_table "$name"
    # What the test is about must be in the table, or it proves nothing.
    bench_sql -c "SELECT format('  distinct keys a range: median %s, most %s', percentile_cont(0.5) WITHIN GROUP (ORDER BY n), max(n))
        FROM (SELECT count(DISTINCT id) AS n FROM $name GROUP BY (ctid::text::point)[0]::int8 / $PAGES_PER_RANGE) AS ranges"
    echo "  rencoder: $(size_of "pg_size_pretty(pg_relation_size('${name}_r'))")"
}

main() {
    bench_machine
    echo "Seed: $SEED.  Options: $WITH."
    large_table
    small_table
    skewed_table even -1
    skewed_table heavy 60
    bench_limit "  size with the heavy range, times the size without" \
        "$(size_of "round(pg_relation_size('heavy_r') / pg_relation_size('even_r')::numeric, 2)")" '<=' 1.6
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB -- "$SEED"
