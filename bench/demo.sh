#!/usr/bin/env bash
# Shows what a rencoder index does, on real data, in one command:
#
#   bash bench/demo.sh            (as root on a fresh Debian or Ubuntu; without root if the packages are there)
#
# It builds the extension, starts a temporary PostgreSQL cluster of its own, loads the flights of
# bench/data and asks the same questions of rencoder, btree, BRIN minmax, BRIN minmax-multi and a
# sequential scan; then of uuids, web addresses and points, and inserts some.  Every answer is
# compared with that of the sequential scan; a difference ends the demo with exit code 1.  Nothing of the system's PostgreSQL is touched (see lib/bench.sh).
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

COPIES=15               # of the 336,776 real flights: about 5 million rows
PAGES_PER_RANGE=32      # for BRIN; rencoder chooses its own
RUNS=5                  # of each query by each index, in turns
SEED=20130101           # of the synthetic column
INDEXES=(rencoder btree brin_minmax brin_minmax_multi)
TABLE=flights
VISITS=400000           # rows of uuids, addresses and points
INSERTED=10000          # more of these, a round
ROUNDS=5

# On a terminal, questions stand out.
bold='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then bold=$'\e[1;34m' plain=$'\e[0m'; fi

load_flights() {
    bench_sql -q -c "CREATE TABLE nycflights13 (sched_dep timestamp, carrier text, flight int, tailnum text, origin text,
        dest text, dep_delay int, arr_delay int, air_time int, distance int)"
    gzip -dc "$bench_root/bench/data/nycflights13.csv.gz" | bench_copy nycflights13
    bench_sql -q -c "ALTER TABLE nycflights13 ADD n bigint GENERATED ALWAYS AS IDENTITY"
    # Copy k lies k * 364 days back: 52 whole weeks, so that weekdays stay weekdays.
    # Cancelled flights have no departure: NULL.
    bench_sql -q <<SQL
CREATE TABLE flights AS
SELECT sched_dep - k * interval '364 days' AS sched_dep,
       sched_dep - k * interval '364 days' + dep_delay * interval '1 minute' AS departed,
       carrier, flight, tailnum, origin, dest, dep_delay, arr_delay, air_time, distance,
       hashint8extended(n * 100 + k, $SEED) AS booking_ref
FROM nycflights13, generate_series(0, $COPIES - 1) AS k
ORDER BY tailnum, sched_dep, n;
VACUUM (ANALYZE) flights;
SQL
}

describe_data() {
    bench_sql <<'SQL'
SELECT format(E'Data: %s flights in %s pages (%s), %s rows a page, %s to %s.',
              to_char(count(*), 'FM9,999,999'), to_char(pages, 'FM9,999,999'), pg_size_pretty(pg_relation_size('flights')),
              round(count(*) / pages::numeric), min(sched_dep)::date, max(sched_dep)::date)
FROM flights, (SELECT pg_relation_size('flights') / current_setting('block_size')::bigint AS pages) AS size
GROUP BY pages;
SQL
    cat <<TEXT
      The 336,776 flights that left New York in 2013 (nycflights13, real), $COPIES times, each copy 364 days
      before the one above; every other value is the real one.  The table lies in the order of the aircraft
      (tailnum, then time), as when the log of each aircraft is loaded as a whole: so the time of departure
      has next to nothing to do with the place of the row.
      The column booking_ref is synthetic: a random int8, which stands for ids such as orders or traces.
TEXT
}

index_method() {
    local column=$1 type=$2 kind=$3
    case $kind in
        rencoder)          echo "rencoder ($column)$([[ $column != *,* ]] || echo ' WITH (composite = on)')" ;;
        btree)             echo "btree ($column)" ;;
        gist)              echo "gist ($column)" ;;
        brin_minmax)       echo "brin ($column) WITH (pages_per_range = $PAGES_PER_RANGE)" ;;
        brin_minmax_multi) echo "brin ($column ${type}_minmax_multi_ops) WITH (pages_per_range = $PAGES_PER_RANGE)" ;;
    esac
}

# Builds the indexes of one column side by side and keeps the size and the build time of each.
build_indexes() {
    local column=$1 type=$2 kind
    for kind in "${INDEXES[@]}"; do
        printf 'Building %s (%s) .. ' "$kind" "$column"
        bench_sql -q <<SQL
SELECT clock_timestamp() AS started \gset
CREATE INDEX $kind ON $TABLE USING $(index_method "$column" "$type" "$kind");
INSERT INTO built VALUES ('$kind', pg_relation_size('$kind'), extract(epoch FROM clock_timestamp() - :'started') * 1000);
SELECT to_char(build_ms / 1000, 'FM990.0') || ' s' FROM built WHERE index = '$kind';
SQL
    done
}

drop_indexes() {
    local kind
    bench_sql -q -c "INSERT INTO ledger SELECT '$1', index, size FROM built"
    for kind in "${INDEXES[@]}"; do echo "DROP INDEX $kind;"; done | bench_sql -q
    bench_sql -q -c 'TRUNCATE built'
}

# measure_alone KIND RUN: the SQL that measures one index as if it were the only one (or none, for
# seq_scan): the others are dropped in a transaction that is rolled back, so each is built once only.
# Left to the planner first; then with sequential scans off, because the table is to show what each
# index would cost also where the planner rightly leaves it alone.  The first run compares all rows.
measure_alone() {
    local kind=$1 run=$2 other
    echo 'BEGIN;'
    for other in "${INDEXES[@]}"; do [[ $other == "$kind" ]] || echo "DROP INDEX $other;"; done
    cat <<SQL
SELECT bench_choice(:'query') AS choice \gset
SET LOCAL enable_seqscan = $([[ $kind == seq_scan ]] && echo on || echo off);
SELECT jsonb_build_object('index', '$kind', 'run', $run, 'choice', :'choice') || to_jsonb(m) AS answer
FROM bench_measure(:'query', 1) AS m \gset
$( ((run > 1)) || echo "SELECT to_jsonb(c) AS checked FROM bench_checksum(:'query') AS c \\gset")
ROLLBACK;
INSERT INTO answer SELECT * FROM jsonb_populate_record(NULL::answer, :'answer');
SQL
    ((run > 1)) || cat <<SQL
UPDATE answer SET (checked_uses, checked_rows, md5) =
    (:'checked'::jsonb ->> 'uses', (:'checked'::jsonb ->> 'rows')::bigint, :'checked'::jsonb ->> 'md5') WHERE index = '$kind';
SQL
}

# Prints the table of one query and ends the demo if any index gave another answer.
ask() {
    local title=$1 query=$2 kind run wrong
    bench_sql -q -c 'TRUNCATE answer'
    printf '\n%s\n    %s\n    measuring ..\n' "$bold$title$plain" "$query"
    {
        printf '\\set query %s\n' "'${query//\'/\'\'}'"
        for ((run = 1; run <= RUNS; run++)); do
            for kind in seq_scan "${INDEXES[@]}"; do measure_alone "$kind" "$run"; done
        done
    } | bench_sql -q

    wrong=$(bench_sql -c "SELECT format('%s (through %s): %s rows, md5 %s; sequential scan: %s rows, md5 %s',
                a.index, a.checked_uses, a.checked_rows, a.md5, t.checked_rows, t.md5)
            FROM answer a, answer t
            WHERE (t.index, t.run) = ('seq_scan', 1) AND ((a.rows, a.uses) IS DISTINCT FROM (t.rows, a.index)
                OR a.run = 1 AND (a.checked_rows, a.md5, a.checked_uses) IS DISTINCT FROM (t.rows, t.md5, a.index))
            LIMIT 1")
    [[ -z $wrong ]] || die "the answer or the plan is not what it should be: $wrong"
    # The median of the runs; pages are those of the first.
    bench_sql -q -c "UPDATE answer AS a SET ms = m.ms
            FROM (SELECT index, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms FROM answer GROUP BY index) AS m
            WHERE m.index = a.index" -c 'DELETE FROM answer WHERE run > 1' \
        -v title="$title" -f - <<<"INSERT INTO asked SELECT :'title', index, ms FROM answer"
    bench_sql -q <<SQL
SELECT format('    %s rows.  With all of them there the planner takes: %s',
    (SELECT to_char(rows, 'FM9,999,990') FROM answer WHERE index = 'seq_scan'), bench_choice(\$q\$$query\$q\$));
BEGIN;
DROP INDEX ${INDEXES[1]};
SELECT format('    and without ${INDEXES[1]}: %s', bench_choice(\$q\$$query\$q\$));
ROLLBACK;
SQL
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        SELECT replace(index, '_', ' ') AS index,
               coalesce(pg_size_pretty(size), '') AS size,
               coalesce(to_char(build_ms / 1000, 'FM990.0') || ' s', '') AS \"build time\",
               to_char(total_pages, 'FM9,999,990') AS \"pages read\",
               coalesce(to_char(index_pages, 'FM9,999,990'), '-') AS \"of index\",
               coalesce(to_char(heap_pages, 'FM9,999,990'), '-') AS \"of table\",
               to_char(planning_pages, 'FM9,999,990') AS \"to plan\",
               to_char(ms, 'FM99990.00') || ' ms' AS time,
               CASE WHEN index = 'seq_scan' THEN '' WHEN choice = index THEN 'yes' ELSE 'no: ' || choice END AS \"chosen if alone\"
        FROM answer LEFT JOIN built USING (index)
        ORDER BY array_position('{rencoder,btree,gist,brin_minmax,brin_minmax_multi,seq_scan}'::text[], index)"
}

load_visits() {
    echo "Making $VISITS visits: uuids, addresses, points, all random .."
    bench_sql -q <<SQL
CREATE FUNCTION visit(i bigint, OUT id uuid, OUT url text, OUT place point) LANGUAGE sql IMMUTABLE AS \$\$
    SELECT md5('u' || i)::uuid, 'https://www.example.com/shop/' || md5('a' || i) || '?ref=mail',
        point(hashint8extended(i, 1) / 9.3e18, hashint8extended(i, 2) / 9.3e18)
\$\$;
CREATE TABLE visits AS SELECT v.*, repeat('x', 100) AS note FROM generate_series(1, $VISITS) AS i, visit(i) AS v;
VACUUM (ANALYZE) visits;
SQL
}

ask_visits() {
    TABLE=visits INDEXES=(rencoder btree)
    build_indexes id uuid
    ask "7. One uuid" "SELECT * FROM visits WHERE id = md5('u4711')::uuid"
    drop_indexes "uuid"
    echo
    build_indexes 'url COLLATE "C"' text
    ask "8. Addresses by a prefix" "SELECT * FROM visits WHERE url LIKE 'https://www.example.com/shop/a1b2%'"
    drop_indexes "address"
    echo
    INDEXES=(rencoder gist)
    build_indexes place point
    ask "9. A small box of points" "SELECT * FROM visits WHERE place <@ box '(0.5,0.5),(0.502,0.502)'"
    drop_indexes "point"
}

# One turn of single-row inserts in one session into the table of a case: insert_turn KIND ROUND
insert_turn() {
    bench_sql -q <<SQL
SELECT clock_timestamp() AS started, pg_current_wal_insert_lsn() AS lsn \gset
DO \$\$ BEGIN
    FOR i IN $VISITS + ($2 - 1) * $INSERTED + 1 .. $VISITS + $2 * $INSERTED LOOP
        INSERT INTO more_$1 SELECT v.*, repeat('x', 100) FROM visit(i) AS v;
    END LOOP;
END \$\$;
INSERT INTO inserted VALUES ('$1', $2, $INSERTED / extract(epoch FROM clock_timestamp() - :'started'), :'lsn');
-- What rencoder's worker does of these rows belongs to this turn.
DO \$\$ BEGIN
    WHILE EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'rencoder worker') LOOP
        PERFORM pg_sleep(0.1);
    END LOOP;
END \$\$;
UPDATE inserted SET wal = (pg_current_wal_insert_lsn() - lsn) / $INSERTED WHERE (kind, round) = ('$1', $2);
SQL
}

# Rows a second and WAL, with indexes on all three columns.  The cases take turns, in another order
# each round: the machine may have other work, and what is said is a median.
insert_visits() {
    local round i kinds=(none rencoder others)
    printf "\n${bold}10. Inserting %s more visits row by row, in %s turns each$plain\n    measuring ..\n" "$((INSERTED * ROUNDS))" "$ROUNDS"
    bench_sql -q -c 'CREATE TABLE inserted (kind text, round int, rate numeric, lsn pg_lsn, wal numeric)' \
        -c 'CREATE TABLE more_none AS TABLE visits' -c 'CREATE TABLE more_rencoder AS TABLE visits' \
        -c 'CREATE TABLE more_others AS TABLE visits' -c 'CREATE INDEX ON more_rencoder USING rencoder (id, url, place)' \
        -c 'CREATE INDEX ON more_others (id)' -c 'CREATE INDEX ON more_others (url)' \
        -c 'CREATE INDEX ON more_others USING gist (place)' -c CHECKPOINT
    for ((round = 1; round <= ROUNDS; round++)); do
        for i in 0 1 2; do insert_turn "${kinds[(i + round) % 3]}" "$round"; done
    done
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        SELECT CASE kind WHEN 'others' THEN 'btree and GiST' ELSE kind END AS indexes,
            to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY rate), 'FM999,990') AS \"rows a second (median)\",
            to_char(min(rate), 'FM999,990') || ' to ' || to_char(max(rate), 'FM999,990') AS \"of the turns\",
            to_char(avg(wal), 'FM999,990') AS \"bytes of WAL a row\"
        FROM inserted GROUP BY kind ORDER BY array_position('{none,rencoder,others}', kind)"
}

print_sizes() {
    printf '\nSizes, of %s flights and %s visits:\n' "$((336776 * COPIES))" "$VISITS"
    bench_sql -c "SELECT format('    %s rencoder %s, %s %s: %s times smaller', rpad(l.indexed || ':', 19),
            pg_size_pretty(l.size), o.index, pg_size_pretty(o.size), round(o.size::numeric / l.size, 1))
        FROM ledger l JOIN ledger o USING (indexed) WHERE l.index = 'rencoder' AND o.index IN ('btree', 'gist')
        ORDER BY o.size::numeric / l.size"
    printf '\nTimes, ms, medians of %s runs in turns; planning included, all cached:\n' "$RUNS"
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off -c "
        SELECT title AS question, round(max(ms) FILTER (WHERE index = 'rencoder'), 2) AS rencoder,
            round(max(ms) FILTER (WHERE index IN ('btree', 'gist')), 2) AS \"btree or GiST\",
            round(min(ms) FILTER (WHERE index LIKE 'brin%'), 2) AS \"best BRIN\",
            round(max(ms) FILTER (WHERE index = 'seq_scan'), 2) AS \"no index\"
        FROM asked GROUP BY title ORDER BY split_part(title, '.', 1)::int"
}

main() {
    [[ -e $bench_root/bench/data/nycflights13.csv.gz ]] ||
        die "bench/data/nycflights13.csv.gz is missing: a checkout of the repository has it, a release does not"
    bench_machine
    bench_sql -c "SELECT format('Settings: shared_buffers %s, maintenance_work_mem %s, max_parallel_workers_per_gather %s, jit off, fsync on; the planner''s are the defaults.',
        current_setting('shared_buffers'), current_setting('maintenance_work_mem'), current_setting('max_parallel_workers_per_gather'))"
    echo "The demo takes two minutes, on a machine that has other work five."
    echo "Loading .."
    load_flights
    describe_data
    echo "Times are medians of $RUNS runs in turns, each after a warm-up, planning included (all data cached: on a cold disk the pages decide)."
    echo "Pages read are EXPLAIN (ANALYZE, BUFFERS): hit + read; \"to plan\": those of the planner, not included.  BRIN has pages_per_range = $PAGES_PER_RANGE; rencoder has its defaults."
    echo "A dash: a plain index scan does not tell pages of the index and of the table apart."
    bench_sql -q <<'SQL'
CREATE TABLE ledger (indexed text, index text, size bigint);
CREATE TABLE built (index text, size bigint, build_ms numeric);
CREATE TABLE asked (title text, index text, ms numeric);
CREATE TABLE answer (index text, run int, choice text, uses text, rows bigint, total_pages bigint, index_pages bigint, heap_pages bigint,
    planning_pages bigint, ms numeric, checked_uses text, checked_rows bigint, md5 text);
SQL

    echo
    build_indexes departed timestamp
    ask "1. Ten minutes of departures (timestamp, not correlated)" \
        "SELECT * FROM flights WHERE departed BETWEEN '2006-03-01 08:00' AND '2006-03-01 08:10'"
    ask "2. Two years of departures (one in seven rows; each page has a stretch of one aircraft's life)" \
        "SELECT * FROM flights WHERE departed >= '2006-01-01' AND departed < '2008-01-01'"
    drop_indexes departure

    echo
    build_indexes arr_delay int4
    ask "3. Extreme delays, 10 to 11 hours (integer, few distinct values)" \
        "SELECT * FROM flights WHERE arr_delay BETWEEN 600 AND 660"
    drop_indexes delay

    echo
    build_indexes booking_ref int8
    ask "4. One booking (int8, synthetic and random)" \
        "SELECT * FROM flights WHERE booking_ref = $(bench_sql -c "SELECT hashint8extended(168388 * 100 + 7, $SEED)")"
    ask "5. A booking that does not exist" \
        "SELECT * FROM flights WHERE booking_ref BETWEEN 20130101 AND 20130164"
    drop_indexes booking

    echo
    INDEXES=(rencoder btree)
    build_indexes 'flight, sched_dep' ''
    ask "6. The newest 20 of a flight number (composite key, in order)" \
        "SELECT flight, sched_dep FROM flights WHERE flight = 1141 ORDER BY sched_dep DESC LIMIT 20"
    drop_indexes "flight, departure"

    echo
    load_visits
    ask_visits
    insert_visits
    print_sizes

    printf '\nAll answers are identical to those of the sequential scan (number of rows, and md5 of all rows in order).\n'
    printf 'Total time: %s s.\n' $(($(date +%s) - bench_started))
}

# The planner has its defaults; JIT would only add compile time to the sequential scan.
bench_run jit=off maintenance_work_mem=256MB -- "$@"
