#!/usr/bin/env bash
# Sizes of indexes by type, and whether rencoder_advise() knew that of rencoder before.
#
#   bash bench/types.sh [MILLIONS [SEED]]
#
# A million rows (or MILLIONS) of all types in one table: a btree on each column, GiST on the points;
# rencoder_advise() looks at these, then CREATE INDEX .. USING rencoder makes what it told.  Bits a
# row of both, how many times smaller, and told / made.  Ends with exit code 1 if a size is told
# wrong by more than a fifth.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

ROWS=$(awk -v m="${1:-1}" 'BEGIN {printf "%.0f", m * 1000000}')
SEED=${2:-1}

make_typed() {
    bench_sql -q <<SQL
CREATE FUNCTION rnd(i bigint, n int) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    'SELECT hashint8extended(i, $SEED + n) & 9223372036854775807';
BEGIN;
CREATE TABLE typed (i4 int, i8 int8, num numeric, f8 float8, at timestamptz, day date, u uuid, ip inet,
    url text, md5 text, p point, few int, seq timestamptz);
INSERT INTO typed SELECT (rnd(i, 1) % 4294967296 - 2147483648)::int, rnd(i, 2), (rnd(i, 3) % 100000000) / 100.0,
    rnd(i, 4)::float8, timestamptz '2026-01-01' + rnd(i, 5) % 31536000000 * interval '1 ms',
    date '2000-01-01' + (rnd(i, 6) % 10000)::int, md5(rnd(i, 7)::text)::uuid,
    inet '10.0.0.0' + rnd(i, 8) % 16777216, 'https://www.example.com/shop/items/' || rnd(i, 9),
    md5(rnd(i, 10)::text), point(rnd(i, 11) / 9.2e18, rnd(i, 12) / 9.2e18), rnd(i, 13) % 1000,
    timestamptz '2026-01-01' + i * interval '1 s'
FROM generate_series(1, $ROWS) AS i;
COMMIT;
SQL
    local column
    for column in i4 i8 num f8 at day u ip url md5 few seq; do
        bench_sql -q -c "CREATE INDEX typed_$column ON typed ($column)"
    done
    bench_sql -q -c 'CREATE INDEX typed_p ON typed USING gist (p)' \
        -c 'CREATE INDEX typed_three ON typed (u, at, i8)' -c 'VACUUM ANALYZE typed'
}

# What the texts call a column.
column() {
    case $1 in
        i4) echo int ;; i8) echo bigint ;; num) echo numeric ;; f8) echo double precision ;; at) echo timestamptz ;;
        day) echo date, 10,000 of them ;; u) echo uuid ;; ip) echo inet, IPv4 ;; p) echo point ;; md5) echo text, md5 ;;
        url) echo text, 48 to 54 characters that begin alike ;; few) echo int, 1,000 values ;;
        seq) echo "timestamptz in the table''s order" ;; three) echo uuid, timestamptz, bigint: one composite index ;;
    esac
}

main() {
    local index method size told made
    bench_machine
    make_typed
    bench_sql -c "SELECT format('%s rows in %s pages', $ROWS, pg_relation_size('typed') / 8192)"
    printf '%-14s %-8s %12s %12s %8s %8s\n' column index 'its bits' rencoder smaller told/made
    bench_sql -F ' ' -c "SELECT index, method, size, rencoder_size FROM rencoder_advise('public')
        WHERE \"table\" = 'typed'::regclass ORDER BY index::text" >"$WORK/advice"
    while read -r index method size told; do
        bench_sql -q -c "SELECT regexp_replace(regexp_replace(pg_get_indexdef('$index'::regclass),
            'INDEX \\S+', 'INDEX made'), 'USING \\w+', 'USING rencoder') ||
            CASE (SELECT indnatts FROM pg_index WHERE indexrelid = '$index'::regclass) WHEN 1 THEN '' ELSE ' WITH (composite = on)' END" | bench_sql -q
        made=$(bench_sql -q -c "SELECT pg_relation_size('made')" -c 'DROP INDEX made')
        awk -v c="${index#typed_}" -v m="$method" -v s="$size" -v t="$told" -v d="$made" -v n="$ROWS" 'BEGIN {
            printf "%-14s %-8s %12.1f %12.1f %8.1f %8.3f\n", c, m, s * 8 / n, d * 8 / n, s / d, t / d
            exit t < 0.8 * d || t > 1.2 * d }' || bench_failures=$((bench_failures + 1))
        bench_numbers "SELECT '$(column "${index#typed_}")', v.* FROM (VALUES ('$method', $size, 'bytes', NULL, NULL, 1), ('rencoder', $made, 'bytes', NULL, NULL, 1),
            ('$method, bits a row', $size * 8.0 / $ROWS, 'bits', NULL, NULL, 1), ('rencoder, bits a row', $made * 8.0 / $ROWS, 'bits', NULL, NULL, 1),
            ('times smaller', $size::numeric / $made, 'times', NULL, NULL, 1), ('told, of what was made', $told::numeric / $made, 'times', NULL, NULL, 1)) AS v"
    done <"$WORK/advice"
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB -- "$@"
