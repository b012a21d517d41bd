#!/usr/bin/env bash
# Points without query samples: heap pages that an empty small box visits, in parts of the table.
#
#   bash bench/checks/points.sh [MILLIONS [SEED]]
#
# MILLIONS (default 2) million points spread evenly over a square, 35 rows a page, 32 pages a range.  Boxes of some sides
# at random places, a few of which have a point in them.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$((${1:-2} * 1000000))
SEED=${2:-1}

make_points() {
    bench_sql -q <<SQL
CREATE FUNCTION unit(i bigint, seed bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT ((hashint8extended(i, seed) >> 12) & 4503599627370495)::float8 / 4503599627370496';
BEGIN;
CREATE TABLE points (p point, filler text);
ALTER TABLE points ALTER filler SET STORAGE plain;
INSERT INTO points SELECT point(unit(i, $SEED), unit(i, $SEED + 1)), repeat('x', 180) FROM generate_series(1, $ROWS) AS i;
COMMIT;
CREATE INDEX points_p ON points USING rencoder (p) WITH (pages_per_range = 32, storage = filter);
-- Share of the ranges that boxes visit.
CREATE FUNCTION visited(side float8, boxes int) RETURNS numeric LANGUAGE sql AS \$\$
    SELECT avg(c.pages::numeric / c.table_pages) FROM generate_series(1, boxes) AS i,
        rencoder_candidates('points_p', point(unit(i, $SEED + 2), unit(i, $SEED + 3)),
            point(unit(i, $SEED + 2) + side, unit(i, $SEED + 3) + side)) AS c
\$\$;
SQL
}

main() {
    local parts
    bench_machine
    make_points
    # The mean distance of points is one over the root of their number.
    for parts in 0 0.05 0.25; do
        bench_limit "boxes of $parts of the distance between points: % of the table visited, mean of 1,000" \
            "$(bench_sql -c "SELECT round(100 * visited($parts / sqrt($ROWS), 1000), 4)")" '<=' 0.2
    done
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB -- "$@"
