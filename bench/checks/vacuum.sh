#!/usr/bin/env bash
# What VACUUM costs with an index on a column of random values:
#
#   bash bench/checks/vacuum.sh [MILLIONS [SEED]]
#
# MILLIONS (default 2) million random int8, 35 rows a page, without an index, with a btree, with
# rencoder: VACUUM when there is nothing to do, after 1 % of the rows were deleted, after 1 % got
# another value, and after a tenth was inserted.  CPU time of the session that vacuums, WAL and the
# pages that it asks for.  The worker is off, so that all is left to VACUUM: the most that it pays.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$(awk -v m="${1:-2}" 'BEGIN { printf "%d", m * 1000000 }')
SEED=${2:-1}

make_table() { # INDEX
    bench_random_table "t_$1" "$ROWS" "$SEED"
    case $1 in
        btree) bench_sql -q -c 'CREATE INDEX t_btree_id ON t_btree (id)' ;;
        rencoder) bench_sql -q -c 'CREATE INDEX t_rencoder_id ON t_rencoder USING rencoder (id)
            WITH (autosummarize = off)' ;;
    esac
    bench_sql -q -c "VACUUM ANALYZE t_$1"
}

# One statement and VACUUM; the statement is that of each index.
work() { # WHAT STATEMENT, with @ for the table
    local index
    for index in none btree rencoder; do
        [[ -z $2 ]] || bench_sql -q -c "${2//@/t_$index}"
        bench_sql -q -c CHECKPOINT
        bench_sql -q -o /dev/null <<SQL
SELECT pg_stat_force_next_flush();
SELECT pg_current_wal_insert_lsn() AS wal, cpu(pg_backend_pid()) AS ms, asked() AS pages \gset
VACUUM t_$index;
SELECT pg_stat_force_next_flush();
INSERT INTO spent SELECT '$1', '$index', cpu(pg_backend_pid()) - :ms,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), :'wal') / 1024, asked() - :pages;
SQL
    done
    bench_sql -F ' ' <<SQL
SELECT format('  %-28s %-9s CPU %6s ms, WAL %7s kB, pages %7s', what, index, round(ms), round(wal), pages)
FROM spent WHERE what = '$1';
SQL
}

main() {
    local index
    bench_machine
    echo "$ROWS rows, seed $SEED."
    for index in none btree rencoder; do make_table "$index"; done
    bench_sql -q <<'SQL'
CREATE UNLOGGED TABLE spent (what text, index text, ms numeric, wal numeric, pages int8);
CREATE FUNCTION cpu(pid int) RETURNS numeric LANGUAGE sql AS $$
    SELECT (f[12]::numeric + f[13]::numeric) * 10
    FROM regexp_split_to_array(regexp_replace(pg_read_file('/proc/' || pid || '/stat', 0, 2000), '.*\) ', ''), ' ') AS f
$$;
-- Pages that were asked for of tables and indexes, by anybody.
CREATE FUNCTION asked() RETURNS int8 LANGUAGE sql AS
    'SELECT blks_read + blks_hit FROM pg_stat_database WHERE datname = current_database()';
SQL
    work 'nothing to do' ''
    work '1 % deleted' "DELETE FROM @ WHERE abs(id % 100) = 7"
    work '1 % updated' "UPDATE @ SET id = hashint8extended(id, 5) WHERE abs(id % 100) = 8"
    work 'a tenth inserted' "INSERT INTO @ SELECT hashint8extended(i, 7), repeat('x', 188) FROM generate_series(1, $ROWS / 10) AS i"
}

bench_run autovacuum=off jit=off max_wal_size=16GB checkpoint_timeout=1h -- "$@"
