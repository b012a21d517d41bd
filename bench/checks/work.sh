#!/usr/bin/env bash
# The work of one query that finds nothing, exactly, from EXPLAIN (ANALYZE, BUFFERS):
#
#   bash bench/checks/work.sh [SEED]
#
# 5 million random int8, 35 rows a page; 1,000 random empty intervals of length 64.  How many index pages
# does a scan read for each block of 128 ranges, and what share of the table's pages?
# Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

SEED=${1:-$RANDOM}
QUERIES=1000
LENGTH=64
PAGES_PER_RANGE=32
BITS_PER_KEY=20

# Intervals that are known to be empty, by a btree that is dropped again: an interval that held a row
# would be no false positive.
draw_intervals() {
    bench_sql -q <<SQL
CREATE INDEX random5m_b ON random5m USING btree (id);
ANALYZE random5m;
SET enable_seqscan = off;
CREATE TABLE intervals AS
SELECT lo, lo + $LENGTH - 1 AS hi
FROM (SELECT hashint8extended(i, $SEED + 1) / 2 * 2 AS lo FROM generate_series(1, 2 * $QUERIES) AS i) AS drawn
WHERE lo <= 9223372036854775807 - $LENGTH
  AND NOT EXISTS (SELECT FROM random5m WHERE id BETWEEN lo AND lo + $LENGTH - 1)
LIMIT $QUERIES;
DROP INDEX random5m_b;
SQL
    [[ $(bench_sql -c 'SELECT count(*) FROM intervals') == "$QUERIES" ]] || die "too few empty intervals were found"
}

# Runs all queries in one session, with the index forced, and keeps what each read.
run_queries() {
    bench_sql -q <<'SQL'
CREATE TABLE work (index_pages bigint, heap_pages bigint, planning_pages bigint, rows bigint, ms numeric);
SET enable_seqscan = off;
DO $$
DECLARE
    i record;
    query text;
    plan jsonb;
BEGIN
    FOR i IN SELECT lo, hi FROM intervals LOOP
        query := format('SELECT * FROM random5m WHERE id BETWEEN %s AND %s', i.lo, i.hi);
        plan := bench_explain(query);
        IF bench_plan_uses(plan) <> 'random5m_r' THEN
            RAISE EXCEPTION 'the plan of "%" uses %', query, bench_plan_uses(plan);
        END IF;
        INSERT INTO work
        SELECT p.index_pages, p.heap_pages, bench_node_pages(plan -> 'Planning'),
               (plan -> 'Plan' ->> 'Actual Rows')::numeric, (plan ->> 'Execution Time')::numeric
        FROM bench_pages(plan) AS p;
    END LOOP;
END $$;
SQL
}

of_work() { bench_sql -c "SELECT $1 FROM work"; }

main() {
    local pages ranges blocks
    bench_machine
    echo "Seed: $SEED.  Options: pages_per_range = $PAGES_PER_RANGE, bits_per_key = $BITS_PER_KEY."
    bench_random_table random5m 5000000 "$SEED"
    draw_intervals
    bench_sql -q -c "CREATE INDEX random5m_r ON random5m USING rencoder (id)
        WITH (pages_per_range = $PAGES_PER_RANGE, bits_per_key = $BITS_PER_KEY, storage = filter)" -c 'VACUUM random5m'
    run_queries

    pages=$(bench_sql -c "SELECT pg_relation_size('random5m') / current_setting('block_size')::bigint")
    ranges=$(((pages + PAGES_PER_RANGE - 1) / PAGES_PER_RANGE))
    blocks=$(((ranges + 127) / 128))
    echo "Table: $pages pages, $ranges block ranges, $blocks blocks of 128.  $QUERIES empty intervals of length $LENGTH."
    echo "A query reads $(of_work "format('%s index pages on average (%s to %s), %s table pages on average (%s to %s), %s pages while planning; median time %s ms',
        round(avg(index_pages), 1), min(index_pages), max(index_pages), round(avg(heap_pages), 1), min(heap_pages), max(heap_pages),
        round(avg(planning_pages), 1), round((percentile_cont(0.5) WITHIN GROUP (ORDER BY ms))::numeric, 3))")."
    bench_limit "rows found in all queries" "$(of_work "sum(rows)")" '<=' 0
    bench_limit "index pages per block of 128 ranges, average" "$(of_work "round(avg(index_pages) / $blocks, 2)")" '<=' 5
    # One stage with kw = 2: where the interval has two roots, 2 kw windows for each block, and the page of
    # descriptions, which a scan reads again for each; and the metapage and the run's info page for the scan.
    bench_limit "index pages of the worst query" "$(of_work "max(index_pages)")" '<=' $((blocks * 5 + 3))
    bench_limit "share of the table's pages read, %" "$(of_work "round(avg(heap_pages) * 100 / $pages, 4)")" '<' 0.05
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB -- "$SEED"
