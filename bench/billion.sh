#!/usr/bin/env bash
# A billion rows: build, sizes, cold and warm needles, intervals, inserts.
#
#   bash bench/billion.sh [MILLIONS [UUID [SEED]]]
#
# MILLIONS (default 1,000) million narrow rows of a random int8 (36 GB a billion), or with UUID = 1 of a
# random uuid (44 GB): the question of many who keep a billion uuids and look for one.  rencoder is
# measured; the btree too if there is room for it beside, else its size is calculated.  Queries want
# whole rows: no index-only scan.  60 GB of disk in
# TMPDIR for a billion, in proportion for fewer; it says so and stops if there is less.  Hours.
# Progress is told each 10 million rows.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

MILLIONS=${1:-1000}
UUID=${2:-0}
SEED=${3:-1}
ROWS=$(awk -v m="$MILLIONS" 'BEGIN {printf "%.0f", m * 1000000}')
CHUNK=10000000
NEEDLES=20              # cold; ten times as many warm
INSERTED=100000

# Kilobytes that are free where the cluster is.
free_space() { df -kP "$WORK" | awk 'NR == 2 {print $4}'; }

# Space for so many bytes a row, or the end, without a failure.
require_space() { # BYTES_A_ROW
    local needed
    needed=$(awk -v n="$ROWS" -v b="$1" 'BEGIN {printf "%.0f", n * b / 1024 + 2 * 1024 * 1024}')
    (($(free_space) >= needed)) && return
    echo "$MILLIONS million rows need $((needed / 1048576)) GB in $WORK; $(($(free_space) / 1048576)) GB are free." \
        "Nothing was measured: give fewer millions, or another TMPDIR."
    exit 0
}

# The key of row i, as SQL.
key_of() { ((UUID)) && echo "md5(($1)::text || '-$SEED')::uuid" || echo "hashint8extended($1, $SEED)"; }

load() {
    local first last
    bench_sql -q -c "CREATE TABLE big (k $( ((UUID)) && echo uuid || echo int8)) WITH (autovacuum_enabled = off)"
    for ((first = 1; first <= ROWS; first += CHUNK)); do
        last=$((first + CHUNK - 1 < ROWS ? first + CHUNK - 1 : ROWS))
        bench_sql -q -c "INSERT INTO big SELECT $(key_of i) FROM generate_series($first::int8, $last) AS i"
        ((last % (10 * CHUNK) != 0)) || echo "  $((last / 1000000)) million rows, $(($(date +%s) - bench_started)) s" >&2
    done
    bench_sql -q -c 'VACUUM (FREEZE, ANALYZE) big' -c CHECKPOINT
    bench_sql -c "SELECT format('Table: %s, %s rows a page', pg_size_pretty(pg_relation_size('big')),
        round($ROWS / (pg_relation_size('big') / 8192.0)))"
}

build() { # METHOD
    bench_sql <<SQL
SELECT clock_timestamp() AS started \gset
CREATE INDEX big_$1 ON big USING $1 (k);
INSERT INTO told SELECT '$1', v.* FROM (VALUES ('size', pg_relation_size('big_$1'), 'bytes'),
    ('bits a row', pg_relation_size('big_$1') * 8.0 / $ROWS, 'bits'),
    ('build', extract(epoch FROM clock_timestamp() - :'started'), 's')) AS v;
SELECT format('%s: %s, %s bits a row, built in %s s', '$1', pg_size_pretty(pg_relation_size('big_$1')),
    round(pg_relation_size('big_$1') * 8.0 / $ROWS, 1), round(extract(epoch FROM clock_timestamp() - :'started')));
CHECKPOINT;
SQL
}

# Restarts the server; no page of the table and its indexes is in memory then.
make_cold() {
    local path file
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -m fast stop
    while read -r path; do
        for file in "$WORK/data/$path" "$WORK/data/$path".*; do
            [[ ! -e $file ]] || dd if="$file" iflag=nocache count=0 status=none
        done
    done <"$WORK/files"
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -l "$WORK/log/server" start
}

# Median ms of needles by the one index that is there, by the clock and of CPU time: ask METHOD COUNT COLD WHAT CONDITION,
# which has %s for a number that differs each time.
ask() {
    local method=$1 count=$2 cold=$3 what=$4 condition=$5 i number
    bench_sql -q -c 'TRUNCATE asked'
    bench_sql -c "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relname ~ '^big'" >"$WORK/files"
    for ((i = 1; i <= count; i++)); do
        [[ $cold == warm ]] || make_cold
        number=$((i * 7919))
        bench_sql -q >/dev/null <<SQL
SET enable_seqscan = off;
SELECT count(*) FROM pg_index WHERE indrelid = 'big'::regclass;     -- catalogs and libraries are warm
EXPLAIN SELECT FROM big WHERE k IS NULL;
SELECT clock_timestamp() AS started, bench_cpu() AS spent \gset
SELECT count(big) AS rows FROM big WHERE ${condition//%s/$number} \gset
INSERT INTO asked VALUES (extract(epoch FROM clock_timestamp() - :'started') * 1000, (bench_cpu() - :spent) / 1000, :rows);
SQL
    done
    bench_sql -c "SELECT format('%s, %s, %s: median %s ms (CPU %s), most %s ms, %s rows', '$method', '$cold', '$what',
        round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 2),
        round(percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu)::numeric, 2), round(max(ms), 1), round(avg(rows), 1)) FROM asked"
    bench_sql -q -c "INSERT INTO told SELECT '$method', '$cold, $what' || kind, p[2], 'ms', p[1], p[3], $count
        FROM (SELECT '' AS kind, percentile_cont('{0.25,0.5,0.75}'::float8[]) WITHIN GROUP (ORDER BY ms) AS p FROM asked
            UNION ALL SELECT ': CPU', percentile_cont('{0.25,0.5,0.75}'::float8[]) WITHIN GROUP (ORDER BY cpu) FROM asked) AS s"
}

ask_all() { # METHOD
    local number="(1 + %s::int8 * 104729 % $ROWS)" tens
    ask "$1" "$NEEDLES" cold 'one row' "k = $(key_of "$number")"
    ask "$1" $((NEEDLES * 10)) warm 'one row' "k = $(key_of "$number")"
    ask "$1" $((NEEDLES * 10)) warm 'a row that is not there' "k = $(key_of "-$number")"
    ((UUID)) && return
    for tens in 100 10000; do
        ask "$1" "$NEEDLES" warm "an interval of $tens rows" \
            "k BETWEEN $(key_of "$number") / 2 AND $(key_of "$number") / 2 + (18446744073709551615.0 / $ROWS * $tens)::int8"
    done
}

insert_rows() { # METHOD
    bench_sql <<SQL
SELECT clock_timestamp() AS started \gset
INSERT INTO big SELECT $(key_of "i") FROM generate_series($ROWS::int8 + 1, $ROWS::int8 + $INSERTED) AS i;
INSERT INTO told VALUES ('$1', 'more rows, one statement',
    $INSERTED / extract(epoch FROM clock_timestamp() - :'started'), 'rows/s');
SELECT format('%s: %s more rows at %s a second', '$1', $INSERTED,
    round($INSERTED / extract(epoch FROM clock_timestamp() - :'started')));
SQL
}

main() {
    local bytes=$( ((UUID)) && echo 32.1 || echo 22.5)
    bench_machine
    require_space 60
    bench_cpu_clock
    bench_sql -q -c 'CREATE UNLOGGED TABLE asked (ms numeric, cpu float8, rows bigint)' -c 'CREATE TABLE told (method text,
        what text, value numeric, unit text, least numeric, most numeric, rounds int DEFAULT 1)'
    load
    build rencoder
    ask_all rencoder
    insert_rows rencoder
    # Table and index have their place already; a build sorts as much again.
    if (($(free_space) > $(awk -v n="$ROWS" -v b="$bytes" 'BEGIN {printf "%.0f", n * b * 2.2 / 1024}'))); then
        bench_sql -q -c 'DROP INDEX big_rencoder'
        build btree
        ask_all btree
        insert_rows btree
    else
        echo "btree: $(awk -v n="$ROWS" -v b="$bytes" 'BEGIN {printf "%.1f", n * b / 1e9}') GB, calculated ($bytes bytes a row); there is no room for it"
    fi
    bench_numbers "SELECT what, method, value, unit, least, most, rounds FROM told
        UNION ALL SELECT 'size', 'table', pg_relation_size('big'), 'bytes', NULL, NULL, 1"
    echo "Total time: $(($(date +%s) - bench_started)) s."
}

bench_run jit=off wal_level=minimal max_wal_senders=0 maintenance_work_mem=2GB -- "$@"
