#!/usr/bin/env bash
# How many block ranges a rencoder index lets through on text, points, addresses and other columns, against those
# that truly match:
#
#   bash bench/checks/columns.sh DATADIR [SEED]
#
# DATADIR holds words_en.csv.zst, cities500.csv.zst, asn_ipv4.csv.zst, adsb.csv.zst and ipsum.csv.zst (columns as in
# load_tables below).  Then, on made data: uuid, web addresses beside integers, two columns of which one is correlated,
# and an IN list.  All rows are compared with those of a sequential scan.  Ends with exit code 1 if a limit is exceeded
# or an answer differs.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

DATADIR=${1:?usage: bench/checks/columns.sh DATADIR [SEED]}
SEED=${2:-1}
FILES=(words_en cities500 asn_ipv4 adsb ipsum)

load_tables() {
    local file
    bench_sql -q <<'SQL'
CREATE TABLE words_en (rank int, word text COLLATE "C", logprob float8);
CREATE TABLE cities500 (geonameid int, name text, country text, population int, lon float8, lat float8, tz text);
CREATE TABLE asn_ipv4 (ip_start bigint, ip_end bigint, asn bigint, org text COLLATE "C");
CREATE TABLE adsb (ts timestamp, icao24 text, callsign text, lon float8, lat float8, altitude int, groundspeed int, vertical_rate int);
CREATE TABLE ipsum (ip inet, ip_num bigint, lists int);
SQL
    for file in "${FILES[@]}"; do
        zstd -dcq "$WORK/input/$file.csv.zst" | bench_copy "$file"
    done
    # Rewritten, so that the points stand where they would had they come with their rows.
    bench_sql -q -c 'ALTER TABLE cities500 ADD p point GENERATED ALWAYS AS (point(lon, lat)) STORED' \
        -c 'ALTER TABLE adsb ADD p point GENERATED ALWAYS AS (point(lon, lat)) STORED'
    for file in "${FILES[@]}"; do
        bench_sql -q -c "VACUUM (ANALYZE) $file"
    done
}

define_functions() {
    bench_sql -q <<'SQL'
CREATE TABLE tried (seq int GENERATED ALWAYS AS IDENTITY, query text, rows bigint, same boolean,
    ranges bigint, matching bigint, candidates bigint, most numeric);

-- One condition: truth from the positions of the rows, candidates from the pages that a scan visits.
CREATE FUNCTION try_condition(tab text, condition text, pages_per_range int, most text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    query text := format('SELECT * FROM %I WHERE %s', tab, condition);
    r tried;
BEGIN
    SELECT s.rows, s.same INTO r.rows, r.same FROM bench_same_rows(query, 'tried_index') AS s;
    r.candidates := ceil(bench_heap_blocks(query, 'tried_index') / pages_per_range::numeric);
    SET LOCAL enable_seqscan = on;
    SET LOCAL enable_bitmapscan = off;
    EXECUTE format('SELECT count(DISTINCT (ctid::text::point)[0]::bigint / %s) FROM %I WHERE %s', pages_per_range, tab, condition)
        INTO r.matching;
    r.ranges := ceil(pg_relation_size(tab::regclass) / current_setting('block_size')::numeric / pages_per_range);
    INSERT INTO tried (query, rows, same, ranges, matching, candidates, most)
    VALUES (tab || ': ' || condition, r.rows, r.same, r.ranges, r.matching, r.candidates,
            CASE WHEN most LIKE '%x' THEN rtrim(most, 'x')::numeric * r.matching ELSE most::numeric END);
END $$;

-- Mean share of the ranges that a column lets through for values that are not there.
CREATE FUNCTION false_positives(index regclass, absent anyarray) RETURNS numeric LANGUAGE sql AS $$
    SELECT avg(c.pages::numeric / c.table_pages)
    FROM unnest(absent) AS value, rencoder_candidates(index, value, value) AS c
$$;
SQL
}

# try_column TABLE COLUMN 'CONDITION|LIMIT' ..
try_column() {
    local table=$1 column=$2 condition
    shift 2
    bench_sql -q -c "CREATE INDEX tried_index ON $table USING rencoder ($column) WITH (pages_per_range = 8, bits_per_key = 20, storage = filter)"
    for condition in "$@"; do
        bench_sql -q -v condition="${condition%|*}" -v most="${condition##*|}" >/dev/null <<SQL
SELECT try_condition('$table', :'condition', 8, nullif(:'most', ''));
SQL
    done
    bench_sql -q -c 'DROP INDEX tried_index'
}

try_real_columns() {
    try_column words_en word "word LIKE 'postgre%'|15" "word = 'no-such-word'|"
    try_column cities500 name "name LIKE 'Saint-M%'|12"
    try_column asn_ipv4 org "org LIKE 'University of C%'|"
    try_column adsb callsign "callsign LIKE 'BAW4%'|16"
    try_column adsb p "p <@ box(point(8.50,47.43),point(8.60,47.48))|1.15x"
    try_column cities500 p "p <@ box(point(12.2,51.2),point(12.6,51.5))|"
    try_column ipsum ip "ip << '45.154.0.0/16'|" "ip BETWEEN '45.154.0.0' AND '45.154.255.255'|"
}

# Words that are not there.  One of them alone is a draw: with a mean of 1.1 candidates, one word in ten has more than 2.
try_absent_words() {
    bench_sql -q <<SQL
CREATE TABLE absent_words AS
SELECT CASE WHEN rank % 2 = 0 THEN 'no-' || word ELSE word || '-' || $SEED % 10 END AS word
FROM words_en WHERE word ~ '^[a-z]+$' ORDER BY hashint8extended(rank, $SEED) LIMIT 1100;
DELETE FROM absent_words AS a USING words_en AS w WHERE a.word = w.word;
CREATE INDEX words_word ON words_en USING rencoder (word) WITH (pages_per_range = 8, bits_per_key = 20, storage = filter);
SQL
    bench_limit "words_en: candidates for a word that is not there, mean of 1,000" \
        "$(bench_sql -c "SELECT round(avg(c.pages / 8.0), 2)
            FROM (SELECT word FROM absent_words LIMIT 1000) AS a, rencoder_candidates('words_word', a.word, a.word) AS c")" '<=' 2
}

try_uuid() {
    bench_sql -q <<SQL
CREATE TABLE ids AS
SELECT md5(i || '-$SEED')::uuid AS id, repeat('x', 60) AS filler FROM generate_series(1, 2000000) AS i;
CREATE INDEX ids_id ON ids USING rencoder (id) WITH (pages_per_range = 8, storage = filter);
SQL
    bench_limit "uuid: % of the ranges visited for a value that is not there, mean of 1,000" \
        "$(bench_sql -c "SELECT round(100 * false_positives('ids_id', array(SELECT md5('absent' || i || '-$SEED')::uuid FROM generate_series(1, 1000) i)), 5)")" '<' 0.05
}

try_addresses() {
    local any text numbers
    # As many rows a page, as many distinct values; addresses that share 24 bytes.  Both indexes are made for what is
    # then asked: single values.
    bench_sql -q <<SQL
-- Of the characters that stand in addresses as they are.
CREATE TABLE address_words AS
SELECT word, row_number() OVER (ORDER BY rank) AS rank FROM words_en WHERE word ~ '^[A-Za-z0-9._~-]+$' ORDER BY rank LIMIT 300000;
CREATE INDEX ON address_words (rank);
CREATE TABLE pages AS
SELECT 'https://www.example.com/' || a.word || '/' || b.word AS url, hashint8extended(i, $SEED) AS number, repeat('x', 60) AS filler
FROM generate_series(1, 600000) AS i
    JOIN address_words AS a ON a.rank = 1 + abs(hashint8extended(i, $SEED + 1) % 300000)
    JOIN address_words AS b ON b.rank = 1 + abs(hashint8extended(i, $SEED + 2) % 300000);
CREATE TABLE asked AS
SELECT 'https://www.example.com/' || a.word || '/' || b.word AS url, hashint8extended(-i, $SEED + 6) AS number
FROM generate_series(1, 4000) AS i
    JOIN address_words AS a ON a.rank = 1 + abs(hashint8extended(i, $SEED + 7) % 300000)
    JOIN address_words AS b ON b.rank = 1 + abs(hashint8extended(i, $SEED + 8) % 300000);
CREATE INDEX pages_any_url ON pages USING rencoder (url) WITH (pages_per_range = 8, storage = filter);
CREATE INDEX pages_url ON pages USING rencoder (url) WITH (pages_per_range = 8, storage = filter);
CREATE INDEX pages_number ON pages USING rencoder (number) WITH (pages_per_range = 8, storage = filter);
SELECT count(rencoder_add_query_sample('pages_url', url, url)),
    count(rencoder_add_query_sample('pages_number', number, number)) FROM asked;
SELECT rencoder_compact(i, 0, pg_relation_size('pages') / 8192) FROM unnest('{pages_url,pages_number}'::regclass[]) AS i;
CREATE TABLE absent AS
SELECT 'https://www.example.com/' || a.word || '/' || b.word AS url
FROM generate_series(1, 2000) AS i
    JOIN address_words AS a ON a.rank = 1 + abs(hashint8extended(i, $SEED + 3) % 300000)
    JOIN address_words AS b ON b.rank = 1 + abs(hashint8extended(i, $SEED + 4) % 300000)
EXCEPT SELECT url FROM pages;
SQL
    any=$(bench_sql -c "SELECT round(false_positives('pages_any_url', array(SELECT url FROM absent)), 8)")
    text=$(bench_sql -c "SELECT round(false_positives('pages_url', array(SELECT url FROM absent)), 8)")
    numbers=$(bench_sql -c "SELECT round(false_positives('pages_number', array(SELECT hashint8extended(-i, $SEED + 5) FROM generate_series(1, 2000) i)), 8)")
    cat <<EOF
Share of the ranges visited for a value that is not there, of indexes that know such queries: web
addresses $text, integers $numbers. Web addresses where beginnings of any length are expected as often (the default): $any
EOF
    bench_limit "web addresses: false positives against those of integers" \
        "$(bench_sql -c "SELECT round($text / greatest($numbers, 1e-6), 2)")" '<=' 3
}

try_two_columns() {
    bench_sql -q <<SQL
CREATE TABLE readings AS
SELECT (abs(hashint8extended(i, $SEED)) % 200000)::int AS device_id, timestamp '2024-01-01' + i * interval '1 second' AS ts,
    repeat('x', 100) AS filler
FROM generate_series(1, 1000000) AS i;
CREATE INDEX readings_both ON readings USING rencoder (device_id, ts) WITH (pages_per_range = 8, storage = filter);
CREATE INDEX readings_device ON readings USING rencoder (device_id) WITH (pages_per_range = 8, storage = filter);
CREATE INDEX readings_ts ON readings USING rencoder (ts) WITH (pages_per_range = 8, storage = filter);
VACUUM ANALYZE readings;
-- Pages visited with one index, the others out of the way.
CREATE FUNCTION visited(query text, index text) RETURNS bigint LANGUAGE plpgsql AS \$\$
DECLARE
    blocks bigint;
    other text;
BEGIN
    FOREACH other IN ARRAY '{readings_both,readings_device,readings_ts}'::text[] LOOP
        UPDATE pg_index SET indisvalid = (other = index) WHERE indexrelid = other::regclass;
    END LOOP;
    SET LOCAL enable_seqscan = off;
    blocks := bench_heap_blocks(query, index);
    UPDATE pg_index SET indisvalid = true WHERE indexrelid = ANY ('{readings_both,readings_device,readings_ts}'::regclass[]);
    RETURN blocks;
END \$\$;
CREATE TABLE both_columns AS
SELECT device, visited(query, 'readings_both') AS with_both, visited(query, 'readings_device') AS device_only, visited(query, 'readings_ts') AS ts_only
FROM generate_series(1, 40) AS device, LATERAL (SELECT format(
    'SELECT * FROM readings WHERE device_id = %s AND ts BETWEEN %L AND %L', device,
    timestamp '2024-01-01' + device * 20000 * interval '1 second', timestamp '2024-01-02' + device * 20000 * interval '1 second') AS query) AS q;
SQL
    bench_sql -c "SELECT format('Table pages visited, two columns asked for, mean: both columns in the index %s, the first %s, the second %s',
        round(avg(with_both), 1), round(avg(device_only), 1), round(avg(ts_only), 1)) FROM both_columns"
    bench_limit "two columns: queries that visit more than with the better of the two" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE (with_both <= least(device_only, ts_only)) IS NOT TRUE) FROM both_columns')" '<=' 0
}

try_list() {
    bench_sql -q <<SQL
CREATE FUNCTION index_pages(query text) RETURNS bigint LANGUAGE plpgsql AS \$\$
BEGIN
    SET LOCAL enable_seqscan = off;
    RETURN (bench_pages(bench_explain(query))).index_pages;
END \$\$;
DROP INDEX pages_url, pages_any_url;
CREATE TABLE lists AS
SELECT index_pages('SELECT * FROM pages WHERE number = ' || hashint8extended(-1, $SEED + 5)) AS one,
    index_pages(format('SELECT * FROM pages WHERE number = ANY (%L)', array(SELECT hashint8extended(-i, $SEED + 5) FROM generate_series(1, 100) i))) AS hundred;
SQL
    bench_sql -c "SELECT format('Index pages read: one value %s, an IN list of 100 %s', one, hundred) FROM lists"
    bench_limit "IN list of 100 values: index pages against 100 times those of one" \
        "$(bench_sql -c 'SELECT round(hundred / (100.0 * one), 3) FROM lists')" '<=' 1
}

main() {
    bench_machine
    load_tables
    define_functions
    try_real_columns
    echo "Real columns, 8 pages a range, 20 bits a key, block ranges visited:"
    bench_sql --pset=tuples_only=off --pset=format=aligned --pset=footer=off \
        -c 'SELECT query, rows, ranges, matching, candidates, most AS "limit" FROM tried ORDER BY seq'
    bench_limit "conditions with other rows than a sequential scan" \
        "$(bench_sql -c 'SELECT count(*) FILTER (WHERE same IS NOT TRUE) FROM tried')" '<=' 0
    bench_limit "conditions above their limit" \
        "$(bench_sql -c 'SELECT count(*) FROM tried WHERE candidates > most')" '<=' 0
    try_absent_words
    try_uuid
    try_addresses
    try_two_columns
    try_list
    bench_finish
}

# Parallel plans report the pages of the leader only.
inputs=()
for file in "${FILES[@]}"; do inputs+=(-i "$DATADIR/$file.csv.zst"); done
bench_run -p zstd "${inputs[@]}" \
    wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB max_parallel_workers_per_gather=0 -- "$DATADIR" "$SEED"
