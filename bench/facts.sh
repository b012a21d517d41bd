#!/usr/bin/env bash
# What facts make of queries that are asked again (section 5.11 of the REncoder paper, figure 18):
#
#   bash bench/facts.sh [QUERIES [SEED]] | tee facts.txt
#   bash bench/plot_facts.sh < facts.txt > facts.svg
#
# QUERIES (10,000) intervals of 2 to 32 values anywhere in 64 bits, none of which has a row, are asked in four rounds
# of filters of 14 to 24 bits a key; and of a run.  Printed for each: block ranges that a query of each round reads in
# vain, what facts are made of included, and the index pages that it reads.  The same with a tenth of the queries, of
# which facts have room for more.  Then the time of queries that are not repeated, with facts on and off, and with
# pages full of facts.
set -euo pipefail
# shellcheck source=bench/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

QUERIES=${1:-10000}
SEED=${2:-$RANDOM}

create_table() {
    bench_sql -q <<SQL
CREATE TABLE t (v int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE t ALTER filler SET STORAGE plain;
INSERT INTO t SELECT hashint8extended(i, $SEED), repeat('x', 188) FROM generate_series(1, 45000::int8) AS i;
VACUUM (ANALYZE) t;
CREATE TABLE asked AS SELECT i, lo, lo + 1 + i % 31 AS hi
    FROM generate_series(1, $QUERIES::int8) AS i, LATERAL (SELECT hashint8extended(i, $SEED + 1) / 2 AS lo) AS l;
CREATE TABLE others AS SELECT i, lo, lo + 1 + i % 31 AS hi
    FROM generate_series(1, 400000::int8) AS i, LATERAL (SELECT hashint8extended(i, $SEED + 2) / 2 AS lo) AS l;
-- Asks the queries of a table once.
CREATE PROCEDURE ask(queries regclass, first int8, last int8) LANGUAGE plpgsql AS \$\$
DECLARE
    q record;
BEGIN
    FOR q IN EXECUTE format('SELECT lo, hi FROM %s WHERE i BETWEEN %s AND %s', queries, first, last) LOOP
        PERFORM FROM t WHERE v BETWEEN q.lo AND q.hi;
    END LOOP;
END \$\$;
SQL
}

# rounds NAME OPTIONS PAGES QUERIES: PAGES is pages of a range.
rounds() {
    bench_sql -qAt -F ' ' <<SQL
SET client_min_messages = warning;
SET enable_seqscan = off;
SET jit = off;
SET rencoder.sample_rate = 0;
SET plan_cache_mode = force_generic_plan;
DROP INDEX IF EXISTS t_v;
CREATE INDEX t_v ON t USING rencoder (v) WITH ($2, autosummarize = off);
CREATE TEMP TABLE round (n int, scans int8, pages int8, saved int8, index_pages int8);
DO \$\$
BEGIN
    FOR n IN 1 .. 4 LOOP
        PERFORM rencoder_index_stats_reset('t_v');
        CALL ask('asked', 1, $4);
        INSERT INTO round SELECT n, scans, pages, saved_pages, index_pages FROM rencoder_index_stats('t_v');
    END LOOP;
END \$\$;
SELECT '$1', $4, (SELECT string_agg(round((f.pages + f.saved - r.saved)::numeric / $3 / $4, 5)::text, ' ' ORDER BY n)
        FROM round r),
    (SELECT string_agg(round(index_pages::numeric / $4, 2)::text, ' ' ORDER BY n) FROM round r)
FROM round f WHERE n = 1;
SQL
}

# Milliseconds that 20,000 queries take that nobody has asked before, from number "$1" on, by setting "$2".
once() {
    bench_sql -qAt <<SQL
SET client_min_messages = warning;
SET enable_seqscan = off;
SET jit = off;
SET rencoder.sample_rate = 0;
SET plan_cache_mode = force_generic_plan;
SET rencoder.enable_facts = $2;
CALL ask('others', 399000, 400000);
CREATE TEMP TABLE begun AS SELECT clock_timestamp() AS at;
CALL ask('others', $1, $1 + 19999);
SELECT round(1000 * extract(epoch FROM clock_timestamp() - at)) FROM begun;
SQL
}

# The median of nine quotients, on by off, each pair in turn.
compare_times() {
    local number=1 pair on off
    for pair in 1 2 3 4 5 6 7 8 9; do
        if ((pair % 2)); then
            on=$(once $number on)
            off=$(once $number off)
        else
            off=$(once $number off)
            on=$(once $number on)
        fi
        awk -v on="$on" -v off="$off" 'BEGIN { printf "%.3f\n", on / off }'
        number=$((number + 20000))
    done | sort -n | sed -n 5p
}

main() {
    local bits
    create_table
    echo "# seed $SEED; false ranges a query in round 1 .. 4, index pages likewise; of a run, false pages"
    for bits in 14 16 18 20 22 24; do
        rounds "$bits" "storage = filter, bits_per_key = $bits, pages_per_range = 8" 8 "$QUERIES"
    done
    rounds run "storage = run" 1 "$QUERIES"
    for bits in 14 16 18 20; do
        rounds "$bits" "storage = filter, bits_per_key = $bits, pages_per_range = 8" 8 $((QUERIES / 10))
    done
    rounds run "storage = run" 1 $((QUERIES / 10))
    echo "# time of queries that are not repeated, facts on / off"
    rounds 20 "storage = filter, bits_per_key = 20, pages_per_range = 8" 8 10 > /dev/null
    echo "filter, no facts: $(compare_times)"
    rounds 14 "storage = filter, bits_per_key = 14, pages_per_range = 8" 8 "$QUERIES" > /dev/null
    echo "filter, pages of facts full: $(compare_times)"
    rounds run "storage = run" 1 10 > /dev/null
    echo "run, no facts: $(compare_times)"
    rounds run "storage = run" 1 "$QUERIES" > /dev/null
    echo "run, pages of facts full: $(compare_times)"
}

bench_run -- "$QUERIES" "$SEED"
