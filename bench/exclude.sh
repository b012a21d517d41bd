#!/usr/bin/env bash
# No value twice: an exclusion constraint beside a unique btree.
#
#   bash bench/exclude.sh [THOUSANDS [SEED]]
#
# A table of 1,000 (or THOUSANDS) thousand random int8.  Then single rows come with ON CONFLICT DO NOTHING, a tenth
# as many as there are, four times, and 40 % of these once more, which are left out: processor time of the session
# for each row, and bytes of WAL, the background worker at work.  Ends with exit code 1 if a row takes more than 2.5
# times as long as with the btree, or if a value is there twice.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/bench.sh"

ROWS=$((${1:-1000} * 1000))
SEED=${2:-1}

make_tables() {
    bench_sql -q <<SQL
CREATE TABLE r (id int8, filler text);
INSERT INTO r SELECT hashint8extended(i, $SEED), 'x' FROM generate_series(1, $ROWS::int8) i;
CREATE TABLE b (LIKE r);
INSERT INTO b SELECT * FROM r;
ALTER TABLE b ADD CONSTRAINT b_id UNIQUE (id);
CREATE TABLE came (part text, method text, us numeric, wal numeric);
-- Each row is a statement.
CREATE PROCEDURE come(p text, m text, first int8, last int8) LANGUAGE plpgsql AS \$\$
DECLARE
    since float8;
    lsn pg_lsn := pg_current_wal_insert_lsn();
BEGIN
    since := bench_cpu();
    IF m = 'r' THEN
        FOR i IN first .. last LOOP
            INSERT INTO r VALUES (hashint8extended(i, $SEED), 'x') ON CONFLICT DO NOTHING;
        END LOOP;
    ELSE
        FOR i IN first .. last LOOP
            INSERT INTO b VALUES (hashint8extended(i, $SEED), 'x') ON CONFLICT DO NOTHING;
        END LOOP;
    END IF;
    INSERT INTO came VALUES (p, m, (bench_cpu() - since) / (last - first + 1),
        (pg_current_wal_insert_lsn() - lsn) / (last - first + 1));
END \$\$;
SQL
}

main() {
    local part first
    bench_machine
    echo "$ROWS rows, seed $SEED."
    bench_cpu_clock
    make_tables
    bench_sql -q -c "ALTER TABLE r ADD CONSTRAINT r_id EXCLUDE USING rencoder (id WITH =)"
    bench_sql -q -c CHECKPOINT
    for part in 0 1 2 3; do
        first=$((ROWS + part * ROWS / 10 + 1))
        bench_sql -q -c "CALL come('new', 'b', $first, $((first + ROWS / 10 - 1)))"
        bench_sql -q -c "CALL come('new', 'r', $first, $((first + ROWS / 10 - 1)))"
    done
    for part in 0 1; do
        first=$((ROWS + part * ROWS / 5 + 1))
        bench_sql -q -c "CALL come('there', 'b', $first, $((first + ROWS / 25 - 1)))"
        bench_sql -q -c "CALL come('there', 'r', $first, $((first + ROWS / 25 - 1)))"
    done
    bench_sql -F ' ' -c "SELECT rpad(part, 6), method, 'us a row', round(avg(us), 1), 'bytes of WAL', round(avg(wal)) FROM came
        GROUP BY part, method ORDER BY part, method"
    echo "bits a row: $(bench_sql -F ', ' -c "SELECT round(pg_relation_size('r_id') * 8.0 / count(*), 1), round(pg_relation_size('b_id') * 8.0 / count(*), 1) FROM b")"
    bench_numbers "WITH c AS (SELECT 'a row that is ' || part AS part, method, avg(us) AS us, min(us) AS least, max(us) AS most,
                avg(wal) AS wal, min(wal) AS wal_least, max(wal) AS wal_most, count(*) AS n FROM came GROUP BY part, method)
        SELECT part, CASE method WHEN 'r' THEN 'rencoder, ' ELSE 'btree, ' END || v.column1, column2, column3, column4, column5, n
        FROM c, LATERAL (VALUES ('CPU', us, 'us', least, most), ('WAL', wal, 'bytes', wal_least, wal_most)) AS v
        UNION ALL SELECT part, 'CPU, times the btree''s', r.us / b.us, 'times', r.least / b.most, r.most / b.least, r.n
        FROM c r JOIN c b USING (part) WHERE r.method = 'r' AND b.method = 'b'
        UNION ALL SELECT 'at the end', name, pg_relation_size(index::regclass) * 8.0 / (SELECT count(*) FROM b), 'bits', NULL, NULL, 1
        FROM (VALUES ('rencoder, bits a row', 'r_id'), ('btree, bits a row', 'b_id')) AS i (name, index)"
    for part in new there; do
        bench_limit "rows that are $part: CPU, times the btree's" "$(bench_sql -c "SELECT round(avg(us) FILTER (WHERE method = 'r') / avg(us) FILTER (WHERE method = 'b'), 2)
            FROM came WHERE part = '$part'")" '<=' 2.5
    done
    bench_limit 'rows that are there twice' "$(bench_sql -c 'SELECT count(*) - count(DISTINCT id) FROM r')" '<=' 0
    bench_limit 'rows that differ' "$(bench_sql -c 'SELECT count(*) FROM (SELECT id FROM b EXCEPT ALL SELECT id FROM r) d')" '<=' 0
    bench_finish
}

bench_run max_wal_size=16GB checkpoint_timeout=1h autovacuum=off jit=off -- "$@"
