#!/usr/bin/env bash
# Pages that queries for nulls read, and those of a partial index without another condition:
#
#   bash bench/checks/nulls.sh [SEED]
#
# A table of 600,000 rows, 40 a page: one in 2,000 has a null in one column, and a value in another.
# A queue of 300,000 rows, all null when they come and when they are indexed, 300 of them in the end;
# after VACUUM, and after rencoder_compact.  Pages of the table are counted, and must be few more
# than those that have such rows.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

SEED=${1:-1}

make_tables() {
    bench_sql -q -o /dev/null <<SQL
SELECT setseed(1 / ($SEED + 1.0));
CREATE TABLE jobs AS SELECT i AS id,
    CASE WHEN random() < 0.9995 THEN now() - random() * interval '10 days' END AS done_at,
    CASE WHEN random() < 0.0005 THEN now() END AS failed_at, repeat('x', 150) AS pad
FROM generate_series(1, 600000) AS i;
CREATE INDEX jobs_done ON jobs USING rencoder (done_at);
CREATE INDEX jobs_failed ON jobs USING rencoder (failed_at);
CREATE TABLE queue (id int8, run_at timestamptz, done_at timestamptz, pad text)
    WITH (fillfactor = 70);
CREATE INDEX queue_done ON queue USING rencoder (done_at);
INSERT INTO queue SELECT i, now(), NULL, repeat('x', 120) FROM generate_series(1, 300000) AS i;
VACUUM queue;
UPDATE queue SET done_at = now() WHERE id % 1000 <> 7;
VACUUM ANALYZE jobs, queue;
SQL
}

# report TABLE CONDITION WHAT: reads the rows by the index, counts pages.
report() {
    local rows on heap index
    read -r rows on < <(bench_sql -F ' ' -c "SET enable_indexscan = off" -c "SET enable_bitmapscan = off" \
        -c "SELECT count(*), count(DISTINCT (ctid::text::point)[0]) FROM $1 WHERE $2" | tail -n 1)
    read -r heap index < <(bench_sql -F ' ' -c "SET enable_seqscan = off" -c "SET enable_indexscan = off" \
        -c "SELECT heap_pages, index_pages
            FROM bench_pages(bench_explain('SELECT * FROM $1 WHERE $2'))" | tail -n 1)
    echo "$3: $rows rows on $on pages of $(bench_sql -c "SELECT pg_relation_size('$1') / 8192"); index pages: $index"
    bench_limit "  pages of the table" "$heap" '<=' "$(awk -v n="$on" 'BEGIN { print int(1.1 * n + 3) }')"
}

main() {
    bench_machine
    echo "Seed: $SEED."
    make_tables
    report jobs 'done_at IS NULL' 'IS NULL'
    report jobs 'failed_at IS NOT NULL' 'IS NOT NULL'
    bench_sql -q -c 'DROP INDEX jobs_done, jobs_failed' \
        -c 'CREATE INDEX jobs_part ON jobs USING rencoder (id) WHERE done_at IS NULL' -c 'ANALYZE jobs'
    report jobs 'done_at IS NULL' 'a partial index, no other condition'
    report queue 'done_at IS NULL' 'a queue, after VACUUM'
    bench_sql -q -o /dev/null -c "SELECT rencoder_compact('queue_done')"
    report queue 'done_at IS NULL' 'the queue, after rencoder_compact'
    bench_finish
}

bench_run autovacuum=off jit=off max_parallel_workers_per_gather=0 -- "$@"
