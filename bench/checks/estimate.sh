#!/usr/bin/env bash
# What rencoder_estimate() says before an index exists, beside the indexes that are then created:
#
#   bash bench/checks/estimate.sh DATADIR [SEED] [ROWS]
#
# DATADIR holds flights3m.csv.zst, asn_ipv4.csv.zst, cities500.csv.zst and words_en.csv.zst.  The real tables
# are small enough to be sampled whole, but for flights3m.  That and the generated table have ROWS rows (3
# million at most of flights; by default 1 million) and are sampled in part: 400,000 rows.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

DATADIR=${1:?usage: bench/checks/estimate.sh DATADIR [SEED] [ROWS]}
SEED=${2:-1}
ROWS=${3:-1000000}
FILES=(flights3m asn_ipv4 cities500 words_en)

# The first lines, or with 0 all, of what is read to its end either way.
head_of() { awk -v n="$1" 'n < 1 || NR <= n'; }

load_tables() {
    bench_sql -q <<'SQL'
CREATE TABLE flights3m (dep_time timestamp, delay_min int, distance_mi int, origin text, destination text);
CREATE TABLE asn_ipv4 (ip_start bigint, ip_end bigint, asn bigint, org text COLLATE "C");
CREATE TABLE cities500 (geonameid int, name text COLLATE "C", country text, population int, lon float8, lat float8,
    tz text, p point GENERATED ALWAYS AS (point(lon, lat)) STORED);
CREATE TABLE words_en (rank int, word text COLLATE "C", logprob float8);
SQL
    local file columns rows
    for file in "${FILES[@]}"; do
        columns=
        [[ $file != cities500 ]] || columns='(geonameid, name, country, population, lon, lat, tz)'
        # Its rows are in the order of time: the first of them are a table, too.
        rows=0
        [[ $file != flights3m ]] || rows=$((ROWS + 1))
        zstd -dcq "$WORK/input/$file.csv.zst" | head_of "$rows" | bench_sql -q -c "COPY $file $columns FROM STDIN (FORMAT csv, HEADER)"
    done
    bench_sql -q <<SQL > /dev/null
SELECT setseed($SEED / 2147483647.0);
CREATE TABLE made AS SELECT hashint8extended(i, $SEED) AS uniform, (1e9 * random() ^ 5)::int8 AS skewed,
    (random() * 999)::int AS thousand, (random() * 30000)::int AS more, (random() * 400000)::int AS many,
    (i / 100000::int8 << 50) + (random() * 1e5)::int8 AS clustered,
    timestamp '2020-01-01' + i * interval '1 s' AS sorted, (i / 7 + random() * 3)::int AS nearly,
    'key ' || md5((i % ($ROWS / 3))::text) COLLATE "C" AS string, point(random(), random()) AS p
FROM generate_series(1, $ROWS) AS i;
VACUUM (ANALYZE);
SQL
}

define_functions() {
    bench_sql -q <<'SQL'
-- Pages that a bitmap scan reads, the second time.
CREATE FUNCTION pages_of(condition text, OUT index_pages bigint, OUT heap_pages bigint) LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    FOR i IN 1 .. 2 LOOP
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT FROM ' || condition INTO plan;
    END LOOP;
    plan := plan -> 0 -> 'Plan';
    IF plan ->> 'Node Type' <> 'Bitmap Heap Scan' THEN
        RAISE 'not a bitmap scan: %', plan;
    END IF;
    index_pages := (plan #>> '{Plans,0,Shared Hit Blocks}')::bigint + (plan #>> '{Plans,0,Shared Read Blocks}')::bigint;
    heap_pages := (plan ->> 'Exact Heap Blocks')::bigint + (plan ->> 'Lossy Heap Blocks')::bigint;
END $$;

-- A line of the table for each kind of index.
CREATE FUNCTION compare(tab text, col text, lo anycompatible, hi anycompatible, condition text DEFAULT NULL)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    e record;
    p record;
    size bigint;
BEGIN
    condition := coalesce(condition, format('%I BETWEEN %L AND %L', col, lo, hi));
    FOR e IN SELECT * FROM rencoder_estimate(tab::regclass, col::name, lo, hi) LOOP
        CONTINUE WHEN e.size IS NULL;
        EXECUTE format('CREATE INDEX compared ON %I USING %I (%I)', tab, e.method, col);
        size := pg_relation_size('compared');
        p := pages_of(format('%I WHERE %s', tab, condition));
        DROP INDEX compared;
        RETURN NEXT format('| %s.%s | %s | %s / %s | %s | %s / %s | %s / %s |', tab, col, e.method, e.size / 1024,
            size / 1024, round(e.size / size::numeric, 2), e.index_pages, p.index_pages, e.heap_pages, p.heap_pages);
    END LOOP;
END $$;
SQL
}

main() {
    bench_machine
    echo "Seed: $SEED.  Estimate / truth.  Index pages: read by the query."
    load_tables
    define_functions
    echo "| column | index | kB | ratio | index pages | heap pages |"
    echo "|---|---|---|---|---|---|"
    bench_sql -q <<'SQL'
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET work_mem = '64MB';
SELECT compare('flights3m', 'dep_time', timestamp '2001-02-01', '2001-02-01 01:00');
SELECT compare('flights3m', 'delay_min', 400, 405);
SELECT compare('flights3m', 'distance_mi', 2000, 2010);
SELECT compare('flights3m', 'origin', 'LIT'::text, 'LIT'::text, 'origin = ''LIT''');
SELECT compare('asn_ipv4', 'ip_start', 3000000000::bigint, 3000100000);
SELECT compare('asn_ipv4', 'asn', 20000::bigint, 20010);
SELECT compare('cities500', 'population', 50000, 50100);
SELECT compare('cities500', 'name', 'Berlin'::text, 'Bern'::text);
SELECT compare('cities500', 'p', point '(13,52)', point '(14,53)', 'p <@ box ''(13,52),(14,53)''');
SELECT compare('words_en', 'word', 'tree'::text, 'trek'::text);
SELECT compare('made', 'uniform', 1000000::bigint, 1000100);
SELECT compare('made', 'uniform', 0::bigint, 1000000000000000);
SELECT compare('made', 'skewed', 100000::bigint, 100100);
SELECT compare('made', 'thousand', 100, 100);
SELECT compare('made', 'more', 100, 101);
SELECT compare('made', 'many', 100, 110);
SELECT compare('made', 'many', 200000, 200010);
SELECT compare('made', 'clustered', 100::bigint, 110);
SELECT compare('made', 'sorted', timestamp '2020-01-02', '2020-01-02 00:01');
SELECT compare('made', 'nearly', 1000, 1001);
SELECT compare('made', 'string', 'key ' || md5('77'), 'key ' || md5('77'));
SELECT compare('made', 'p', point '(0.5,0.5)', point '(0.52,0.52)', 'p <@ box ''(0.5,0.5),(0.52,0.52)''');
SQL
    bench_finish
}

inputs=()
for file in "${FILES[@]}"; do inputs+=(-i "$DATADIR/$file.csv.zst"); done
bench_run -p zstd "${inputs[@]}" \
    wal_level=minimal max_wal_senders=0 maintenance_work_mem=256MB max_parallel_workers_per_gather=0 -- "$DATADIR" "$SEED" "$ROWS"
