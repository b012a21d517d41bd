# shellcheck shell=bash
# What bench/compare.sh writes: one function for each figure; sourced by it.  Rounds become their
# median.

# What a file begins with: how the numbers came about.
csv_head() { # FIGURE WHAT-IT-SAYS
    echo "# $2"
    echo "# bash bench/compare.sh --rows $MILLIONS --only $1 --seed $SEED${LIST:+ --columns $LIST}"
    echo "# $(bench_machine)"
    echo "# rencoder $BENCH_COMMIT; $ROWS rows; seed $SEED"
    bench_sql -c "SELECT '# ' || string_agg(name || ' ' || current_setting(name), ', ')
        FROM unnest('{shared_buffers,work_mem,maintenance_work_mem,wal_level,fsync,autovacuum,jit,
            max_parallel_maintenance_workers}'::text[]) AS name"
    bench_sql -c "SELECT format('# begun %s at load %s; written %s at load %s',
        to_char(begun, 'YYYY-MM-DD HH24:MI'), load, to_char(now(), 'YYYY-MM-DD HH24:MI'), '$(bench_load)')
        FROM results.steps WHERE figure = '$1'"
}

# csv FILE FIGURE WHAT-IT-SAYS QUERY
csv() {
    {
        csv_head "$2" "$3"
        bench_sql -q -c "COPY ($4) TO STDOUT (FORMAT csv, HEADER)"
    } >"$WORK/figures/$1.csv.new"
    mv "$WORK/figures/$1.csv.new" "$WORK/figures/$1.csv"
}

# Columns of latencies, of rows of results.latency that a condition selects.
latencies() { # CONDITION
    echo "SELECT setting, col, kind, what, max(queries) AS queries,
        round(max(matches), 1) AS matches, round(median(ms), 4) AS median_ms,
        round(median(p95_ms), 4) AS p95_ms,
        round(median(cpu_ms), 4) AS cpu_ms, round(max(index_pages), 2) AS index_pages,
        round(max(pages), 2) AS pages
    FROM results.latency WHERE $1
    GROUP BY setting, col, kind, what
    ORDER BY setting, array_position('{${COLUMNS[*]// /,}}'::text[], col), col, kind, what"
}

csv_indexes() {
    csv build indexes 'size and build of each index, one process; times in ms' "
        SELECT col, what, bytes, round(bytes * 8.0 / $ROWS, 2) AS bits_a_row, round(ms) AS ms,
            round(cpu_ms) AS cpu_ms, definition
        FROM results.build WHERE what NOT LIKE 'bits%' ORDER BY col, what"
    csv latency indexes 'queries of each kind by each index; pages are of index and table' \
        "$(latencies "setting = 'warm' AND what NOT LIKE 'bits%' AND col <> 'grown'")"
    csv size_latency indexes 'size of each index and latency of one match' "
        SELECT l.col, l.what, coalesce(b.bytes, 0) AS bytes, round(median(l.ms), 4) AS median_ms,
            round(median(l.p95_ms), 4) AS p95_ms, round(median(l.cpu_ms), 4) AS cpu_ms,
            round(max(l.pages), 2) AS pages
        FROM results.latency AS l LEFT JOIN results.build AS b USING (col, what)
        WHERE setting = 'warm' AND kind = 'one' AND what NOT LIKE 'bits%'
            AND (b.bytes IS NOT NULL OR what IN ('seq', 'parallel'))
        GROUP BY l.col, l.what, b.bytes ORDER BY l.col, b.bytes NULLS FIRST"
    bench_numbers "WITH b AS (SELECT col, what, bytes, cpu_ms FROM results.build WHERE what NOT LIKE 'bits%')
        SELECT col, v.* FROM b AS r JOIN b AS o USING (col), LATERAL (VALUES ('rencoder, size', r.bytes, 'bytes', NULL, NULL, 1),
            (o.what || ', size', o.bytes, 'bytes', NULL, NULL, 1), ('times smaller than ' || o.what, o.bytes::numeric / r.bytes, 'times', NULL, NULL, 1)) AS v
        WHERE r.what = 'rencoder' AND o.what IN ('btree', 'gist', 'spgist') ORDER BY 1, 2"
    # Of the rounds, CPU times; of all columns together the least and the most.
    bench_numbers "WITH l AS (SELECT col, kind, what, median(cpu_ms) AS cpu, min(cpu_ms) AS least, max(cpu_ms) AS most, count(*) AS n,
                max(pages) AS pages FROM results.latency WHERE setting = 'warm' GROUP BY col, kind, what),
            t AS (SELECT r.col, r.kind, o.what, r.cpu, r.least, r.most, o.cpu AS ocpu, o.least AS oleast, o.most AS omost, r.n, r.pages, o.pages AS opages
                FROM l AS r JOIN l AS o USING (col, kind) WHERE r.what = 'rencoder' AND o.what IN ('btree', 'gist', 'spgist', 'hash'))
        SELECT col || ', ' || kind, v.* FROM t, LATERAL (VALUES ('rencoder, CPU', cpu * 1000, 'us', least * 1000, most * 1000, n),
            (what || ', CPU', ocpu * 1000, 'us', oleast * 1000, omost * 1000, n),
            ('times ' || what, cpu / ocpu, 'times', least / omost, most / oleast, n),
            ('rencoder, pages', pages, 'pages', NULL, NULL, n), (what || ', pages', opages, 'pages', NULL, NULL, n)) AS v
        WHERE col IN ('uniform', 'domain', 'p')
        UNION ALL SELECT 'all columns, ' || kind, 'times the btree''s, or GiST''s: ' || w.column1, w.column2, 'times', NULL, NULL, 1
        FROM (SELECT kind, min(cpu / ocpu) AS least, max(cpu / ocpu) AS most FROM t WHERE what IN ('btree', 'gist') GROUP BY kind) AS s,
            LATERAL (VALUES ('least', least), ('most', most)) AS w ORDER BY 1, 2"
}

csv_bits() {
    csv bits bits 'bits a row against false pages of an empty interval; law: parts of pages / 2^(bits - 2)' "
        SELECT t.value AS wanted, round(a.value, 2) AS bits_a_row,
            round(f.value, 4) AS false_pages, round(w.value, 4) AS law,
            round(i.value, 2) AS index_pages, round(median(l.cpu_ms), 4) AS empty_cpu_ms
        FROM results.figures AS f
            JOIN results.figures AS t ON t.figure = 'bits' AND t.x = f.x AND t.what = 'wanted'
            JOIN results.figures AS a ON a.figure = 'bits' AND a.x = f.x AND a.what = 'bits a row'
            JOIN results.figures AS w ON w.figure = 'bits' AND w.x = f.x AND w.what = 'law'
            JOIN results.figures AS i ON i.figure = 'bits' AND i.x = f.x AND i.what = 'index pages'
            JOIN results.latency AS l ON l.kind = 'empty' AND l.what = 'bits' || f.x
        WHERE f.figure = 'bits' AND f.what = 'false pages'
        GROUP BY f.x, t.value, a.value, f.value, w.value, i.value ORDER BY f.x"
}

csv_growth() {
    csv growth growth 'the same values in tables of different size, 185 rows a page' "
        SELECT l.setting::int8 AS rows, l.what, l.kind, coalesce(f.value, 0) AS bytes,
            round(median(l.ms), 4) AS median_ms, round(median(l.cpu_ms), 4) AS cpu_ms,
            round(max(l.index_pages), 2) AS index_pages, round(max(l.pages), 2) AS pages
        FROM results.latency AS l LEFT JOIN results.figures AS f
            ON f.figure = 'growth' AND f.what = l.what AND f.x = l.setting::int8
        WHERE l.col = 'grown' GROUP BY 1, 2, 3, 4 ORDER BY 3, 2, 1"
}

csv_updates() {
    csv updates updates 'an interval without a row, after updates of a share of all rows' "
        SELECT f.x AS percent, (f.y LIKE '%vacuumed')::int AS vacuumed, f.what, f.value AS bytes,
            round(median(l.ms), 4) AS median_ms, round(max(l.index_pages), 2) AS index_pages,
            round(max(l.pages), 2) AS pages
        FROM results.figures AS f
            JOIN results.latency AS l ON l.col = 'updated' AND l.setting = f.y AND l.what = f.what
        WHERE f.figure = 'updates' GROUP BY 1, 2, 3, 4 ORDER BY 3, 1, 2"
}

# Ratios are taken within a round.
csv_copy() { # FILE FIGURE TITLE
    csv "$1" "$2" "$3" "
        SELECT f.x AS rows_a_page, f.what,
            round(median(f.value) FILTER (WHERE f.y = 'rows/s')) AS rows_a_second,
            round(median(f.value / n.value) FILTER (WHERE f.y = 'rows/s'), 3) AS times_no_index,
            round(median(f.value / n.value) FILTER (WHERE f.y = 'rows/s of CPU time'), 3)
                AS cpu_times_no_index,
            round(median(f.value) FILTER (WHERE f.y = 'WAL a row'), 1) AS wal_bytes_a_row
        FROM results.figures AS f
            JOIN results.figures AS n USING (figure, x, y, round)
        WHERE f.figure = '$2' AND n.what = 'none' AND round > 0
        GROUP BY 1, 2 ORDER BY 1 DESC, 3 DESC"
}

csv_writes() {
    csv_copy writes writes 'COPY into a table that has rows; WAL of the worker included'
}

csv_pgbench() {
    csv pgbench pgbench 'transactions a second; mixed: nine queries to one insert' "
        SELECT split_part(what, ' ', 1) AS work, split_part(what, ' ', 2) AS what, x AS clients,
            round(median(value) FILTER (WHERE y = 'tps')) AS tps,
            round(min(value) FILTER (WHERE y LIKE 'WAL%')) AS wal_bytes_a_transaction
        FROM results.figures WHERE figure = 'pgbench' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
}

csv_buffers() {
    csv buffers buffers 'latency with shared_buffers = 128 MB; the kernel caches the files' \
        "$(latencies "setting = '128MB'")"
    csv_copy buffers_copy buffers 'COPY with shared_buffers = 128 MB'
}

csv_cold() {
    csv cold cold 'first query after a restart, files of table and index not cached' "
        SELECT y AS kind, what, count(*) AS rounds, round(median(value), 3) AS median_ms,
            round(min(value), 3) AS min_ms, round(max(value), 3) AS max_ms
        FROM results.figures WHERE figure = 'cold' GROUP BY 1, 2 ORDER BY 1, 2"
}
