#!/usr/bin/env bash
# What facts make of queries that are asked again (section 5.11 of the REncoder paper, figure 18):
#
#   bash bench/checks/facts.sh [QUERIES [SEED]] | tee facts.txt
#   bash bench/figures/plot_facts.sh < facts.txt > facts.svg
#
# QUERIES (10,000) intervals of 2 to 32 values anywhere in 64 bits, none of which has a row, are asked in four rounds
# of runs of 14 to 24 bits a row; and of one as it is by default.  Printed for each: pages that a query of each round
# reads in vain, what facts are made of included, and the index pages that it reads.  The same with a tenth of the queries, of
# which facts have room for more.  Then the instructions of queries that are not repeated (valgrind), with facts on and
# off, of an index that has none and of one that is full of them; index pages that they read, and WAL.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

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
CREATE TABLE present AS SELECT i, v AS lo, v AS hi FROM (SELECT row_number() OVER () AS i, v FROM t) AS s;
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

# rounds NAME OPTIONS QUERIES
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
        CALL ask('asked', 1, $3);
        INSERT INTO round SELECT n, scans, pages, saved_pages, index_pages FROM rencoder_index_stats('t_v');
    END LOOP;
END \$\$;
SELECT '$1', $3, (SELECT string_agg(round((f.pages + f.saved - r.saved)::numeric / $3, 5)::text, ' ' ORDER BY n)
        FROM round r),
    (SELECT string_agg(round(index_pages::numeric / $3, 2)::text, ' ' ORDER BY n) FROM round r)
FROM round f WHERE n = 1;
SQL
}

# Instructions of a server that asks queries "$2" to "$3" of table "$1", by setting "$4", in one process.
instructions() {
    echo "CALL ask('$1', $2, $3)" |
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "$(bench_bin)/postgres" --single -D "$WORK/data" \
            -c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan -c rencoder.sample_rate=0 \
            -c rencoder.enable_facts="$4" -c autovacuum=off postgres 2>&1 | sed -n 's/.*Collected : //p'
}

# per_query TABLE FIRST SETTING: a query of 1,000, of which nobody has asked one before.
per_query() {
    local few many
    few=$(instructions "$1" "$2" $(($2 + 99)) "$3")
    many=$(instructions "$1" $(($2 + 100)) $(($2 + 1199)) "$3")
    echo $(((many - few) / 1000))
}

# Buffers of the index that such a query reads, and all bytes of WAL of a thousand: touched TABLE FIRST SETTING
touched() {
    bench_sql -qAt <<SQL
SET client_min_messages = warning;
SET enable_seqscan = off;
SET jit = off;
SET rencoder.sample_rate = 0;
SET plan_cache_mode = force_generic_plan;
SET rencoder.enable_facts = $3;
CALL ask('$1', $2, $2 + 99);
SELECT pg_stat_force_next_flush();
CREATE TEMP TABLE before AS SELECT pg_current_wal_insert_lsn() AS lsn, idx_blks_hit + idx_blks_read AS n
    FROM pg_statio_user_indexes WHERE indexrelname = 't_v';
SELECT pg_current_wal_insert_lsn() AS lsn \\gset
CALL ask('$1', $2 + 100, $2 + 1099);
SELECT pg_current_wal_insert_lsn() - :'lsn'::pg_lsn AS wal \\gset
SELECT pg_stat_force_next_flush();
SELECT round((idx_blks_hit + idx_blks_read - n) / 1000.0, 2) || ' buffers, ' || :wal || ' bytes'
    FROM pg_statio_user_indexes, before WHERE indexrelname = 't_v';
SQL
}

# cost NAME: what facts cost those whose queries do not come again, without a row and with one.
cost() {
    local table on off
    for table in others present; do
        echo "$1, $table, on: $(touched "$table" 20000 on | grep buffers), off: $(touched "$table" 30000 off | grep buffers)"
        "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s stop
        off=$(per_query "$table" 1 off)
        on=$(per_query "$table" 1 on)
        "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -l "$WORK/log/server" start
        awk -v name="$1, $table" -v on="$on" -v off="$off" \
            'BEGIN { printf "%s: %d instructions, %d without facts, %.4f\n", name, on, off, on / off }'
    done
}

main() {
    local bits
    create_table
    echo "# seed $SEED; false pages a query in round 1 .. 4, index pages likewise"
    for bits in 14 16 18 20 22 24; do
        rounds "$bits" "bits_per_key = $bits" "$QUERIES"
    done
    rounds default "storage = run" "$QUERIES"
    for bits in 14 16 18 20; do
        rounds "$bits" "bits_per_key = $bits" $((QUERIES / 10))
    done
    rounds default "storage = run" $((QUERIES / 10))
    echo "# queries that are not repeated: $(bench_machine)"
    rounds default "storage = run" 10 >/dev/null
    bench_sql -q -c 'REINDEX INDEX t_v'
    cost "without facts"
    rounds 14 "bits_per_key = 14" "$QUERIES" >/dev/null
    cost "14 bits a row, full of facts"
}

bench_run -p valgrind -- "$QUERIES" "$SEED"
