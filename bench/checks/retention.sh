#!/usr/bin/env bash
# What the file of an index becomes where rows come and go:
#
#   bash bench/checks/retention.sh [ROWS [SEED]]
#
# Tables of ROWS (default 600000) random int8, 35 rows a page, without an index, with a btree, with
# rencoder.  Retention: 20 rounds of "the oldest 5 % deleted, VACUUM, as many rows inserted".  Then
# others: 5, 20, 100 % of the rows updated at random while autovacuum is on; half of the rows deleted
# and put again; a table that grows by half; an index that is compacted three times.  Each time: the
# file beside that of an index that is created then, index pages of a query of an absent value, and
# the WAL that the index has caused.  Ends with exit code 1 if a limit is exceeded.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=${1:-600000}
SEED=${2:-1}
STEP=$((ROWS / 20))

# random_rows FROM TO: their values, by number
random_rows() {
    echo "SELECT i, hashint8extended(i, $SEED), repeat('x', 180) FROM generate_series($1::int8, $2::int8) AS i"
}

make_table() { # NAME KIND
    bench_sql -q <<SQL
CREATE TABLE $1 (n int8, id int8, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE $1 ALTER filler SET STORAGE plain;
INSERT INTO $1 $(random_rows 1 "$ROWS");
SQL
    case $2 in
        btree) bench_sql -q -c "CREATE INDEX $1_id ON $1 (id)" ;;
        rencoder) bench_sql -q -c "CREATE INDEX $1_id ON $1 USING rencoder (id)" ;;
    esac
    bench_sql -q -c "VACUUM ANALYZE $1"
}

wal() { bench_value "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"; }

wait_for_autovacuum() { # TABLE
    for _ in $(seq 1200); do
        [[ $(bench_value "autovacuum_count > 0 FROM pg_stat_user_tables WHERE relname = '$1'") == f ]] || return 0
        sleep 0.5
    done
    die "autovacuum does not come to $1"
}

# The file's size beside that of a fresh index on the same column.
times_fresh() { # TABLE KIND
    local size
    size=$(bench_value "pg_relation_size('$1_id')")
    bench_sql -q -c "CREATE INDEX fresh ON $1 USING $2 (id)"
    bench_value "round($size::numeric / pg_relation_size('fresh'), 2)"
    bench_sql -q -c 'DROP INDEX fresh'
}

# Index pages of a query of an absent value, the mean of 200: a session reads the root of a run once.
absent_pages() { # TABLE
    bench_sql -q -c 'SET enable_seqscan = off; SET enable_indexscan = off' -c "SELECT round(avg((bench_pages(bench_explain(
        'SELECT * FROM $1 WHERE id = ' || hashint8extended(i, 77)))).index_pages), 1)
        FROM generate_series(1, 200) AS i"
}

report() { # WHAT TABLE
    echo "  $1: $(bench_value "format('%s runs, %s deltas, %s pages, %s free', count(*), count(*) FILTER (WHERE kind = 'delta'),
        pg_relation_size('$2_id') / 8192, (SELECT free_pages FROM rencoder_metapage('$2_id')))
        FROM rencoder_runs('$2_id')"), absent $(absent_pages "$2")"
}

# One round of retention of a table; prints the WAL of all of it, and that of VACUUM.
retention_round() { # TABLE KIND ROUND
    local before middle
    before=$(wal)
    bench_sql -q -c "DELETE FROM $1 WHERE n <= $(($3 * STEP))"
    middle=$(wal)
    bench_sql -q -c "VACUUM $1"
    [[ $2 != rencoder ]] || bench_settle "$1_id"
    middle=$(($(wal) - middle))
    bench_sql -q -c "INSERT INTO $1 $(random_rows $((ROWS + ($3 - 1) * STEP + 1)) $((ROWS + $3 * STEP)))"
    [[ $2 != rencoder ]] || bench_settle "$1_id"
    echo "$(($(wal) - before)) $middle"
}

retention() {
    local round kind line fresh absent limit most=0 size maintenance
    local -A sum=([none]=0 [btree]=0 [rencoder]=0)
    for kind in none btree rencoder; do make_table "old_$kind" "$kind"; done
    report 'fresh' old_rencoder
    absent=$(absent_pages old_rencoder)
    for round in $(seq 20); do
        [[ $round -ne 11 ]] || maintenance=$(bench_value "maintenance_wal FROM rencoder_index_stats('old_rencoder_id')")
        size=$(bench_value "pg_relation_size('old_rencoder_id')")
        for kind in none btree rencoder; do
            line=$(retention_round "old_$kind" "$kind" "$round")
            ((round <= 10)) || sum[$kind]=$((sum[$kind] + ${line% *}))
            if [[ $kind == rencoder && $((100 * ${line#* } / size)) -gt $most ]]; then
                most=$((100 * ${line#* } / size))
            fi
        done
        report "round $round" old_rencoder
    done
    bench_sql -q -c 'VACUUM old_rencoder'
    bench_settle old_rencoder_id
    fresh=1.5
    ((ROWS < 20000000)) || fresh=1.35
    bench_limit '20 rounds: file, times fresh' "$(times_fresh old_rencoder rencoder)" '<=' "$fresh"
    echo "  of a btree: $(times_fresh old_btree btree)"
    limit=$(awk -v a="$absent" 'BEGIN { print a + 3 }')
    bench_limit '20 rounds: index pages, absent' "$(absent_pages old_rencoder)" '<=' "$limit"
    bench_limit 'WAL a row, rounds 11 to 20' "$(((sum[rencoder] - sum[none]) / (10 * STEP)))" '<=' 130
    echo "  of a btree: $(((sum[btree] - sum[none]) / (10 * STEP)))"
    maintenance=$(($(bench_value "maintenance_wal FROM rencoder_index_stats('old_rencoder_id')") - maintenance))
    bench_limit 'of it maintenance, for a row inserted' "$((maintenance / (10 * STEP)))" '<=' 60
    bench_limit 'WAL of a VACUUM and what follows, % of the index' "$most" '<=' 150
}

# A part of the rows of a table that autovacuum looks after.
updates() {
    local part
    for part in 5 20 100; do
        make_table "u$part" rencoder
        bench_sql -q -c "ALTER TABLE u$part SET (autovacuum_enabled = on)" \
            -c "UPDATE u$part SET id = hashint8extended(n, 9) WHERE abs(hashint8extended(n, 5)) % 100 < $part"
        ((part <= 20)) || wait_for_autovacuum "u$part"
        bench_settle "u${part}_id"
        report "$part % updated" "u$part"
        bench_limit "$part % updated: file, times fresh" "$(times_fresh "u$part" rencoder)" '<=' 1.4
    done
}

half_again() {
    make_table half rencoder
    bench_sql -q -c 'DELETE FROM half WHERE abs(hashint8extended(n, 5)) % 2 = 0' -c 'VACUUM half'
    bench_settle half_id
    report 'half deleted' half
    echo "  file, times fresh: $(times_fresh half rencoder)"
    bench_sql -q -c "INSERT INTO half $(random_rows $((ROWS + 1)) $((ROWS + ROWS / 2)))" -c 'VACUUM half'
    bench_settle half_id
    report 'half put again' half
    bench_limit 'half deleted and put again: file, times fresh' "$(times_fresh half rencoder)" '<=' 1.4
}

growth() {
    make_table grown rencoder
    bench_sql -q -c "INSERT INTO grown $(random_rows $((ROWS + 1)) $((ROWS + ROWS / 2)))"
    bench_settle grown_id
    report 'grown by half' grown
    bench_limit 'grown by half: file, times fresh' "$(times_fresh grown rencoder)" '<=' 1.25
}

compact() {
    local size i
    for i in 1 2 3; do
        bench_sql -q -c "SELECT rencoder_compact('grown_id', 0, pg_relation_size('grown') / 8192)" >/dev/null
        [[ $i -gt 1 ]] || size=$(bench_value "pg_relation_size('grown_id')")
    done
    bench_limit 'compacted three times: file, times that after the first' \
        "$(bench_value "round(pg_relation_size('grown_id')::numeric / $size, 2)")" '<=' 1
    bench_settle grown_id
    report 'compacted' grown
}

main() {
    bench_machine
    echo "$ROWS rows, seed $SEED."
    retention
    updates
    half_again
    growth
    compact
    bench_sql -q -o /dev/null -c "SELECT rencoder_index_check(c.oid, true) FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam
        WHERE a.amname = 'rencoder'"
    echo 'Checked: the indexes are sound and have every row.'
    bench_finish
}

bench_run max_wal_size=16GB autovacuum=on autovacuum_naptime=2s checkpoint_timeout=1h -- "$ROWS" "$SEED"
