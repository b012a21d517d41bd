#!/usr/bin/env bash
# What an index makes of a change in what is asked of it (the situation of figures 7 and 8 of the Proteus paper):
#
#   bash bench/checks/shift.sh [MILLIONS [SEED]] | tee shift.txt
#   bash bench/figures/plot_shift.sh < shift.txt > shift.svg
#
# The mix of queries moves from long intervals anywhere to short ones close to the keys, and back, while scans record
# their intervals and VACUUM runs after each step.  Printed for each step: the share of short queries, candidate
# ranges of an empty query of either kind and of the mix, groups that VACUUM rebuilt; and the same of an index on
# which VACUUM never runs.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

MILLIONS=${1:-1}
SEED=${2:-$RANDOM}
# Short queries of each step, in percent.
STEPS=(0 0 0 0 25 50 75 100 100 100 100 75 50 25 0 0 0 0)
QUERIES=1500
JUDGES=400

create_table() {
    bench_sql -q <<SQL
BEGIN;
CREATE TABLE t (v int8, filler text);
ALTER TABLE t ALTER filler SET STORAGE plain;
INSERT INTO t SELECT hashint8extended(i, $SEED), repeat('x', 188) FROM generate_series(1, ($MILLIONS * 1000000)::int8) AS i;
COMMIT;
VACUUM (ANALYZE) t;
CREATE TABLE twin AS SELECT * FROM t;
ALTER TABLE twin ALTER filler SET STORAGE plain, SET (autovacuum_enabled = off);
VACUUM (ANALYZE) twin;
-- A query near a row, or of 2^42 values anywhere; lo is where a random number puts it.
CREATE FUNCTION asked(short boolean, r int8, OUT lo int8, OUT hi int8) LANGUAGE sql AS \$\$
    SELECT CASE WHEN short THEN hashint8extended(1 + mod(abs(r / 2), ($MILLIONS * 1000000)::int8), $SEED) + 5 ELSE r / 2 END,
           CASE WHEN short THEN hashint8extended(1 + mod(abs(r / 2), ($MILLIONS * 1000000)::int8), $SEED) + 12 ELSE r / 2 + (1::int8 << 42) END
\$\$;
CREATE INDEX t_v ON t USING rencoder (v) WITH (storage = filter);
CREATE INDEX twin_v ON twin USING rencoder (v) WITH (storage = filter);
CREATE TABLE judges (short boolean, lo int8, hi int8);
SET enable_seqscan = off;
SET rencoder.sample_rate = 0;
SET max_parallel_workers_per_gather = 0;
INSERT INTO judges SELECT short, q.* FROM unnest('{f,t}'::boolean[]) AS short,
    LATERAL (SELECT q.* FROM generate_series(1::int8, $JUDGES * 2) AS i, LATERAL asked(short, hashint8extended(i, 77)) AS q
             WHERE (SELECT count(*) FROM t WHERE v BETWEEN q.lo AND q.hi) = 0 LIMIT $JUDGES) AS q;
SQL
}

# step PERCENT NUMBER: one step of the mix; prints a line.
step() {
    local percent=$1 number=$2 rebuilt
    bench_sql -q <<SQL
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET rencoder.sample_rate = 1;
DO \$\$
DECLARE
    found int8;
    q record;
BEGIN
    FOR i IN 1 .. $QUERIES LOOP
        q := asked(mod(i, 100) < $percent, hashint8extended(i, $number + 1000));
        EXECUTE 'SELECT count(*) FROM t WHERE v BETWEEN \$1 AND \$2' INTO found USING q.lo, q.hi;
    END LOOP;
END \$\$;
SQL
    # Each switch of a group to another matrix has an epoch of its own.
    rebuilt=$(bench_sql -c "SELECT epoch FROM rencoder_metapage('t_v')")
    bench_sql -q -c 'VACUUM t'
    rebuilt=$(($(bench_sql -c "SELECT epoch FROM rencoder_metapage('t_v')") - rebuilt))
    bench_sql -F ' ' -c "SELECT $number, $percent, long, short, round(short * $percent / 100 + long * (100 - $percent) / 100, 2), $rebuilt,
            round(tshort * $percent / 100 + tlong * (100 - $percent) / 100, 2)
        FROM (SELECT round(avg(c.candidates) FILTER (WHERE short), 2), round(avg(c.candidates) FILTER (WHERE NOT short), 2),
                     avg(w.candidates) FILTER (WHERE short), avg(w.candidates) FILTER (WHERE NOT short)
              FROM judges, rencoder_candidates('t_v', lo, hi) AS c, rencoder_candidates('twin_v', lo, hi) AS w) AS j (short, long, tshort, tlong)"
}

main() {
    local number=0 percent
    bench_machine
    echo "Seed: $SEED.  $MILLIONS million rows; $QUERIES queries and a VACUUM a step."
    create_table
    echo "step  short %  candidates: long  short  mix  groups rebuilt  mix without retuning"
    for percent in "${STEPS[@]}"; do
        number=$((number + 1))
        step "$percent" "$number" | tee -a "$WORK/steps" | awk '{printf "%4d %8d %17s %6s %4s %15s %21s\n", $1, $2, $3, $4, $5, $6, $7}'
    done
    bench_sql -q -c "SELECT rencoder_index_check('t_v', true)" >/dev/null
    # The last step of each mix, when the index has come to rest.
    bench_limit "short queries at rest / without retuning" "$(awk '$1 == 11 {print ($7 > 0) ? $5 / $7 : 99}' "$WORK/steps")" '<=' 1
    bench_limit "long queries at the end / before the shift" "$(awk '$1 == 4 {a = $5} END {print (a > 0.05 ? $5 / a : $5 / 0.05)}' "$WORK/steps")" '<=' 1.5
    bench_finish
}

bench_run wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB -- "$MILLIONS" "$SEED"
