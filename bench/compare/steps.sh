# shellcheck shell=bash
# What bench/compare.sh does for each figure; sourced by it.  A step that is begun again skips what
# is in the tables of schema "results" already.

# ---------------------------------------------------------------- the indexes of a column

declare -A TYPE=([id]=int8 [at]=timestamptz [uniform]=int8 [dense]=int4 [clustered]=int8
    [skewed]=int8 [thousand]=int4 [uuid]=uuid [domain]=text [p]=point)

# What stands behind USING; nothing where the index has no operators for the column, or where it
# makes no sense.
definition() { # COLUMN INDEX
    local c=$1 type=${TYPE[$1]}
    case $2:$type:$c in
        rencoder:*) echo "rencoder ($c)" ;;
        btree:point:* | lsm3:point:* | brin*:point:*) ;;
        btree:* | lsm3:*) echo "$2 ($c)" ;;
        btree_hash:*:uniform) echo "btree (hashint8extended($c, 0))" ;;
        btree_hash:uuid:*) echo "btree (uuid_hash_extended($c, 0))" ;;
        btree_hash:text:*) echo "btree (hashtextextended($c, 0))" ;;
        brin32:*) echo "brin ($c) WITH (pages_per_range = 32)" ;;
        brin128:*) echo "brin ($c) WITH (pages_per_range = 128)" ;;
        brin_multi:text:*) ;;
        brin_multi:*) echo "brin ($c ${type}_minmax_multi_ops) WITH (pages_per_range = 32)" ;;
        brin_bloom:*:id | brin_bloom:*:at) ;;
        brin_bloom:*) echo "brin ($c ${type}_bloom_ops) WITH (pages_per_range = 32)" ;;
        bloom:int4:* | bloom:text:*) echo "bloom ($c)" ;;
        hash:*:uniform | hash:*:dense | hash:uuid:* | hash:text:*) echo "hash ($c)" ;;
        gin:*:thousand | gin:*:skewed) echo "gin ($c)" ;;
        gist:point:* | spgist:point:*) echo "$2 ($c)" ;;
    esac
}

# Not by a function: an index built within a function's query ends the server that has lsm3.
build() { # COLUMN INDEX DEFINITION
    [[ $(bench_sql -c "SELECT count(*) FROM results.build WHERE (col, what) = ('$1', '$2')") == 0 ]] ||
        return 0
    bench_sql -q <<SQL
SELECT clock_timestamp() AS start, results.cpu_ms() AS cpu \gset
BEGIN;
CREATE INDEX $1_$2 ON made.wide USING $3;
INSERT INTO results.build VALUES ('$1', '$2', '$3', pg_relation_size('made.$1_$2'),
    results.ms_since(:'start'), results.cpu_ms() - nullif(:'cpu', '')::numeric);
COMMIT;
SQL
}

step_indexes() {
    local column index definition
    for column in "${COLUMNS[@]}"; do
        for index in "${INDEXES[@]}"; do
            definition=$(definition "$column" "$index")
            [[ -n $definition ]] || continue
            say "build: $column, $index"
            build "$column" "$index" "$definition"
        done
        draw_queries "$column"
        measure_column "$column"
        # Later figures need those of one column.
        [[ $column == uniform ]] || drop_indexes "$column"
    done
}

drop_indexes() { # COLUMN
    bench_sql -q -c "DO 'DECLARE i regclass; BEGIN
        FOR i IN SELECT indexrelid FROM pg_index, pg_class
            WHERE pg_class.oid = indexrelid AND starts_with(relname, ''$1_'') LOOP
            EXECUTE ''DROP INDEX '' || i;
        END LOOP; END'"
}

draw_queries() { # COLUMN
    local index=btree
    [[ $(bench_sql -c "SELECT count(*) FROM results.queries WHERE col = '$1'") == 0 ]] || return 0
    [[ $1 != p ]] || index=gist
    bench_sql -q >/dev/null <<SQL
BEGIN;
SET LOCAL enable_seqscan = off;
SELECT results.only('made.wide', '$1_$index');
$(case $1 in
    p) echo "SELECT results.draw_boxes($QUERIES);" ;;
    domain) echo "SELECT results.draw('domain', $QUERIES); SELECT results.draw_like($QUERIES);" ;;
    *) echo "SELECT results.draw('$1', $QUERIES);" ;;
esac)
COMMIT;
SQL
}

# Indexes take turns in being first.  Of most columns a few kinds of queries and one round are
# enough.
measure_column() { # COLUMN
    local column=$1 round rounds=1 kind index
    local kinds=(one absent empty 100)
    local what=("${INDEXES[@]}" seq parallel)
    [[ $column != uniform && $column != domain && $column != p ]] ||
        rounds=$ROUNDS kinds=("${KINDS[@]}")
    for ((round = 1; round <= rounds; round++)); do
        say "latency: $column, round $round of $rounds"
        for kind in "${kinds[@]}"; do
            for index in "${what[@]}"; do
                [[ $index == seq || $index == parallel || -n $(definition "$column" "$index") ]] ||
                    continue
                echo "SELECT results.latency('wide', 'warm', '$column', '$kind', '$index', $round,
                    $BUDGET);"
            done | bench_sql -q >/dev/null
        done
        what=("${what[@]:4}" "${what[@]:0:4}")
    done
}

# Latency of one column's queries of some kinds with some indexes, for a setting.
measure_some() { # TABLE SETTING COLUMN "KIND .." INDEX..
    local tab=$1 setting=$2 column=$3 wanted=$4 round kind index
    shift 4
    for ((round = 1; round <= ROUNDS; round++)); do
        for kind in $wanted; do
            for index; do
                echo "SELECT results.latency('$tab', '$setting', '$column', '$kind', '$index',
                    $round, $BUDGET);"
            done
        done
        set -- "${@:2}" "$1"
    done | bench_sql -q >/dev/null
}

note() { # FIGURE WHAT X Y ROUND VALUE
    bench_sql -q -c "INSERT INTO results.figures VALUES ('$1', '$2', $3, '$4', $5, $6)"
}

noted() { # FIGURE WHAT X Y ROUND
    [[ $(bench_sql -c "SELECT count(*) FROM results.figures
        WHERE (figure, what, x, y, round) = ('$1', '$2', $3, '$4', $5)") != 0 ]]
}

# ---------------------------------------------------------------- bits a row

step_bits() {
    local wanted no=0
    need_queries uniform
    for wanted in 64 16 4 1 0.25 0.06 0.015 0.004; do
        no=$((no + 1))
        say "false_pages = $wanted"
        build uniform "bits$no" "rencoder (uniform) WITH (false_pages = $wanted)"
        bench_sql -q >/dev/null <<SQL
INSERT INTO results.figures SELECT 'bits', v.what, $no, '', 1, v.value
FROM (SELECT avg(pages) AS pages, avg(index_pages) AS index_pages
      FROM generate_series(1::int8, 2000) AS i,
          rencoder_candidates('uniform_bits$no', uniform(-i), uniform(-i) + 63)) AS c,
    LATERAL (SELECT pg_relation_size('uniform_bits$no') * 8.0 / $ROWS AS bits) AS b,
    LATERAL (VALUES ('wanted', $wanted), ('bits a row', b.bits), ('false pages', c.pages),
        ('index pages', c.index_pages), ('law', (SELECT relpages * ceil(reltuples / relpages / 4)
            FROM pg_class WHERE oid = 'wide'::regclass) / 2.0 ^ (b.bits - 2))) AS v (what, value)
ON CONFLICT DO NOTHING;
SQL
        measure_some wide warm uniform 'empty one' "bits$no"
        bench_sql -q -c "DROP INDEX uniform_bits$no"
    done
}

# The queries of a column, where its indexes are not measured in this run.
need_queries() { # COLUMN
    [[ $(bench_sql -c "SELECT count(*) FROM results.queries WHERE col = '$1'") == 0 ]] || return 0
    build "$1" btree "btree ($1)"
    draw_queries "$1"
}

# ---------------------------------------------------------------- growth

step_growth() {
    local millions rows index
    need_queries uniform
    # These values are in the first 100,000 rows.
    bench_sql -q <<SQL
INSERT INTO results.queries SELECT 'grown', 'one', i, 1, format('uniform = %s', uniform(i)), NULL
FROM generate_series(1, $QUERIES) AS i ON CONFLICT DO NOTHING;
INSERT INTO results.queries SELECT 'grown', 'empty', no, 0, condition, NULL
FROM results.queries WHERE (col, kind) = ('uniform', 'empty') ON CONFLICT DO NOTHING;
SQL
    for millions in 0.05 0.1 0.3 1 3 10 30 "$MILLIONS"; do
        rows=$(awk -v m="$millions" 'BEGIN { printf "%d", m * 1e6 }')
        ((rows <= ROWS)) || continue
        ! noted growth complete "$rows" '' 1 || continue
        say "growth: $millions million rows, 185 a page"
        bench_sql -q -c 'DROP TABLE IF EXISTS grown' \
            -c "CREATE TABLE grown AS SELECT * FROM narrow WHERE id <= 2 * $rows" \
            -c 'VACUUM ANALYZE grown' \
            -c "DELETE FROM results.latency WHERE col = 'grown' AND setting = '$rows'" \
            -c 'CREATE INDEX grown_rencoder ON grown USING rencoder (uniform)' \
            -c 'CREATE INDEX grown_btree ON grown (uniform)' \
            -c 'CREATE INDEX grown_brin32 ON grown USING brin (uniform) WITH (pages_per_range = 32)'
        measure_some grown "$rows" grown 'one empty' rencoder btree brin32 seq
        for index in rencoder btree brin32; do
            note growth "$index" "$rows" bytes 1 "pg_relation_size('grown_$index')"
        done
        note growth complete "$rows" '' 1 1
    done
    bench_sql -q -c 'DROP TABLE IF EXISTS grown'
}

# ---------------------------------------------------------------- updates

# Each share on top of those before.
step_updates() {
    local share setting index
    need_queries uniform
    bench_sql -q <<SQL
DELETE FROM results.latency WHERE col = 'updated';
DELETE FROM results.figures WHERE figure = 'updates';
DROP TABLE IF EXISTS updated;
CREATE TABLE updated WITH (fillfactor = 90, autovacuum_enabled = off) AS SELECT * FROM narrow;
VACUUM ANALYZE updated;
CREATE INDEX updated_rencoder ON updated USING rencoder (uniform);
CREATE INDEX updated_btree ON updated (uniform);
INSERT INTO results.queries SELECT 'updated', kind, no, matches, condition, NULL
FROM results.queries WHERE (col, kind) = ('uniform', 'empty') ON CONFLICT DO NOTHING;
SQL
    for share in 0 0.01 0.1 1 10; do
        say "updates of $share % of the rows"
        [[ $share == 0 ]] || bench_sql -q -c "UPDATE updated SET uniform = uniform(id + 1000000000)
            WHERE ctid = ANY (ARRAY(SELECT ctid
                FROM updated TABLESAMPLE bernoulli ($share) REPEATABLE ($SEED)))"
        for setting in "$share" "$share vacuumed"; do
            [[ $setting == "$share" ]] || bench_sql -q -c 'VACUUM updated'
            measure_some updated "$setting" updated empty rencoder btree
            for index in rencoder btree; do
                note updates "$index" "$share" "$setting" 1 "pg_relation_size('updated_$index')"
            done
        done
    done
    bench_sql -q -c 'DROP TABLE updated'
}

# ---------------------------------------------------------------- writing

COPY_INDEXES=(none rencoder btree brin32 brin_bloom hash)

copy_table() { # TABLE PAYLOAD INDEX
    local definition filler=''
    definition=$(definition uniform "$3")
    [[ $2 != 35 ]] || filler=", repeat('x', 187) AS filler"
    bench_sql -q -c "DROP TABLE IF EXISTS $1" \
        -c "CREATE TABLE $1 AS SELECT *$filler FROM narrow" -c "VACUUM ANALYZE $1" \
        -c "${definition:+CREATE INDEX $1_i ON $1 USING $definition}"
}

# Time, CPU time of the session, and WAL of a COPY, the worker's included.
copy_once() { # FIGURE TABLE PAYLOAD INDEX ROUND ROWS
    bench_sql -q >/dev/null <<SQL
SELECT clock_timestamp() AS start, results.cpu_ms() AS cpu, pg_current_wal_insert_lsn() AS lsn \gset
COPY $2 FROM '$WORK/copy$3';
SELECT results.ms_since(:'start') AS ms, results.cpu_ms() - :'cpu' AS cpu_ms \gset
DO 'BEGIN
    WHILE ''$4'' = ''rencoder'' AND (
        SELECT unindexed >= 16
        FROM rencoder_candidates(to_regclass(''$2_i''), 0::int8, 0::int8))
        OR EXISTS (SELECT FROM pg_stat_activity
            WHERE backend_type = ''rencoder worker'' AND state <> ''idle'') LOOP
        PERFORM pg_sleep(0.1);
    END LOOP;
END';
INSERT INTO results.figures SELECT '$1', '$4', $3, y, $5, value
FROM (VALUES ('rows/s', $6 / :ms * 1000), ('rows/s of CPU time', $6 / :cpu_ms * 1000),
    ('WAL a row', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'lsn') / $6)) AS v (y, value);
SQL
}

# Each index has a table of its own, all of which grow alike.
copy_all() { # FIGURE PAYLOAD INDEX..
    local figure=$1 payload=$2 round index rows=$((ROWS / 5))
    shift 2
    ! noted "$figure" "$1" "$payload" 'rows/s' "$ROUNDS" || return 0
    bench_sql -q -c "DELETE FROM results.figures WHERE figure = '$figure' AND x = $payload"
    for index; do copy_table "copy_$index" "$payload" "$index"; done
    for ((round = 0; round <= ROUNDS; round++)); do
        say "COPY of $rows rows, $payload a page, round $round of $ROUNDS"
        bench_sql -q -c "COPY (SELECT *$(if ((payload == 35)); then echo ", repeat('x', 187)"; fi)
            FROM narrow_rows($ROWS + $round * $rows + 1, $ROWS + ($round + 1) * $rows))
            TO '$WORK/copy$payload'"
        for index; do copy_once "$figure" "copy_$index" "$payload" "$index" "$round" "$rows"; done
    done
    rm "$WORK/copy$payload"
    for index; do bench_sql -q -c "DROP TABLE copy_$index"; done
}

[[ -z $LSM3 ]] || COPY_INDEXES+=(lsm3)

step_writes() {
    copy_all writes 185 "${COPY_INDEXES[@]}"
    copy_all writes 35 none rencoder btree
}

# ---------------------------------------------------------------- pgbench

declare -A LOAD_INDEXES=([read]='rencoder btree hash' [insert]='none rencoder btree brin32'
    [mixed]='rencoder btree')
declare -A LOAD_FILES=([read]='-f equal.sql' [insert]='-f insert.sql'
    [mixed]='-f equal.sql@90 -f insert.sql@10')

step_pgbench() {
    local index work clients round
    for index in none rencoder btree brin32 hash; do
        [[ $(bench_sql -c "SELECT to_regclass('pgbench_$index')") == '' ]] || continue
        say "pgbench: table with $index"
        bench_sql -q <<SQL
BEGIN;
CREATE TABLE pgbench_$index AS
    SELECT dense(i) AS key, i AS other FROM generate_series(1::int8, $ROWS) AS i;
$(definition dense "$index" |
    sed "s/(dense)/(key)/; s/^./CREATE INDEX ON pgbench_$index USING &/; s/.$/&;/")
COMMIT;
VACUUM ANALYZE pgbench_$index;
SQL
    done
    # Queries first, while there are no rows that came late: mixed is about those.
    for work in read insert mixed; do
        for ((round = 1; round <= LOAD_ROUNDS; round++)); do
            for clients in "${CLIENTS[@]}"; do
                say "pgbench: $work, $clients clients, round $round of $LOAD_ROUNDS"
                for index in ${LOAD_INDEXES[$work]}; do
                    pgbench_once "$work" "$clients" "$index" "$round"
                done
            done
        done
    done
    for index in none rencoder btree brin32 hash; do
        bench_sql -q -c "DROP TABLE pgbench_$index"
    done
}

# All indexes get the same values, and each load others, or queries would be for the rows that the
# load before has inserted.
pgbench_once() { # WORK CLIENTS INDEX ROUND
    local lsn wal tps count
    local -A nth=([read]=1 [insert]=2 [mixed]=3)
    local seed=$((SEED * 10000 + $4 * 1000 + $2 * 10 + ${nth[$1]}))
    ! noted pgbench "$1 $3" "$2" tps "$4" || return 0
    lsn=$(bench_sql -c 'SELECT pg_current_wal_insert_lsn()')
    # shellcheck disable=SC2086  # several words
    (cd "$WORK/src/bench/pgbench" && PGOPTIONS='-c synchronous_commit=off' pgbench -n -c "$2" -j 2 \
        -T "$LOAD_SECONDS" --random-seed="$seed" -D table="pgbench_$3" -D column=key -D min=0 \
        -D max="$((ROWS - 1))" ${LOAD_FILES[$1]} postgres) >"$WORK/log/pgbench" 2>&1 ||
        { show_log "$WORK/log/pgbench" 20; die 'pgbench failed'; }
    tps=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$WORK/log/pgbench")
    count=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' \
        "$WORK/log/pgbench")
    wal=$(bench_sql -c "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$lsn')")
    note pgbench "$1 $3" "$2" tps "$4" "$tps"
    note pgbench "$1 $3" "$2" 'WAL a transaction' "$4" "$wal / $count.0"
}

# ---------------------------------------------------------------- little memory, cold

set_buffers() {
    bench_sql -q -c "ALTER SYSTEM SET shared_buffers = '$1'"
    restart
}

restart() {
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -m fast -l "$WORK/log/server" restart 9>&- ||
        { show_log "$WORK/log/server" 20; die 'the temporary server did not start again'; }
}

need_indexes() { # INDEX..  of the column "uniform"
    local index definition
    need_queries uniform
    for index; do
        definition=$(definition uniform "$index")
        build uniform "$index" "$definition"
    done
}

step_buffers() {
    need_indexes rencoder btree hash brin32
    set_buffers 128MB
    say 'shared_buffers = 128 MB: latency'
    measure_some wide 128MB uniform 'one empty 10 100 1000' rencoder btree hash brin32
    copy_all buffers 185 none rencoder btree hash
    set_buffers "$(bench_shared_buffers)"
}

# The kernel forgets the files of the table and the index, and the server has just been started: the
# first query of a session that has asked another table before.
step_cold() {
    local index round kind path query truth
    need_indexes rencoder btree hash
    bench_sql -q -c CHECKPOINT
    for ((round = 1; round <= 2 * ROUNDS; round++)); do
        say "cold: round $round of $((2 * ROUNDS))"
        for index in rencoder btree hash; do
            for kind in one empty; do
                [[ $index != hash || $kind != empty ]] || continue
                ! noted cold "$index" 0 "$kind" "$round" || continue
                bench_sql -q -c "SELECT results.only('wide', 'uniform_$index')" >/dev/null
                IFS='|' read -r truth query < <(bench_sql -c "
                    SELECT matches, 'SELECT * FROM wide WHERE ' || condition
                    FROM results.queries WHERE (col, kind, no) = ('uniform', '$kind', $round)")
                mapfile -t path < <(bench_sql -c "SELECT pg_relation_filepath(r)
                    FROM unnest('{wide,uniform_$index}'::regclass[]) AS r")
                restart
                forget "${path[@]}"
                bench_sql -q -c "SET enable_seqscan = off; INSERT INTO results.figures
                    SELECT 'cold', '$index', 0, '$kind', $round, CASE WHEN warm > 0 THEN
                        results.run_once(\$q\$$query\$q\$, $truth) END
                    FROM (SELECT results.run_once('SELECT FROM narrow LIMIT 1', 1)) AS s (warm)"
            done
        done
    done
    bench_sql -q -c "SELECT results.only('wide', NULL)" >/dev/null
}

forget() { # FILE..  and its further segments, of the data directory
    local path file
    for path; do
        for file in "$WORK/data/$path" "$WORK/data/$path".[0-9]*; do
            [[ ! -e $file ]] ||
                dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none
        done
    done
}
