#!/usr/bin/env bash
# How many instructions does a query take, beside a btree?
#
#   bash bench/checks/instructions.sh [THOUSANDS [SEED]]
#
# THOUSANDS (default 600) thousand rows of uniform int8, some 45 a page, all in shared buffers, in a
# server of one process below valgrind.  Queries are in PL/pgSQL, with generic plans: an absent
# value, one match, a list of ten, a row of a nested loop (found, and absent), 10 and 100 rows.
# By a composite key, one of two of the table: the newest 20 of a tenant, and a code of a tenant, also planned anew
# each time.
# Each is the difference of two calls, 50 and 150 queries, of other values, so that what is done once
# does not count, without the loop and the making of values; so it is exact, the same on a busy
# machine.  Ends with exit code 1 if a limit is exceeded.
# CALLGRIND_OUT names a directory where the profiles are left.
set -euo pipefail
# shellcheck source=bench/lib/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/bench.sh"

ROWS=$((${1:-600} * 1000))
SEED=${2:-1}
# What is asked: name, limit of rencoder in thousands (0: none).
QUESTIONS=('absent 0' 'one 52' 'list 250' 'loop 20' 'loop_absent 0' 'ten 0' 'hundred 0' 'newest 0' 'code 0' 'code_planned 0')
[[ -z ${ONLY:-} ]] || QUESTIONS=("$ONLY 0")

make_objects() {
    local name
    bench_sql -q <<SQL
CREATE EXTENSION pg_prewarm;
CREATE TABLE a (u int8, ub int8, f text);
ALTER TABLE a ALTER f SET STORAGE plain;
INSERT INTO a SELECT hashint8extended(i, $SEED), hashint8extended(i, $SEED), repeat('x', 130)
    FROM generate_series(1, $ROWS::int8) i;
CREATE INDEX a_rencoder ON a USING rencoder (u);
CREATE INDEX a_btree ON a (ub);
CREATE FUNCTION there(i int8) RETURNS int8 LANGUAGE sql IMMUTABLE AS
    'SELECT hashint8extended(1 + abs(hashint8(i)) % $ROWS::int8, $SEED)';
-- A range of so many rows, from a value on.
CREATE FUNCTION upto(a int8, n int) RETURNS int8 LANGUAGE sql IMMUTABLE AS
    'SELECT least(a + n * 1.8446744e19 / $ROWS, 9e18)::int8';
-- Values are made before: each call asks for those of one row.
CREATE TABLE asked AS SELECT call, array_agg(there(i)) AS there, array_agg(hashint8extended(i, 77)) AS absent
    FROM generate_series(0, 3) call, generate_series(call * 8000 + 1, call * 8000 + 8000) i GROUP BY call;
CREATE TABLE keys AS SELECT call, n, unnest(there[:n]) AS there, unnest(absent[:n]) AS absent
    FROM asked, unnest('{50,150}'::int[]) n;
-- Tenants of unequal size, in the order of time.  Tenant and code of one of the rows.
CREATE FUNCTION tenant(key int8) RETURNS int8 LANGUAGE sql IMMUTABLE AS
    'SELECT (100000 ^ (abs(key) / 9.223372036854775807e18))::int8 * 7919 % 100003';
CREATE FUNCTION code(key int8) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$SELECT 'c' || substr(md5(key::text), 1, 12)\$\$;
CREATE TABLE a_tenant (u int8, ub int8, at timestamptz, atb timestamptz, code text COLLATE "C", codeb text COLLATE "C",
    f text);
INSERT INTO a_tenant SELECT r, r, t, t, code(h), code(h), repeat('x', 40) FROM
    (SELECT tenant(h) AS r, h, i, timestamptz '2026-01-01' + i * interval '1 s' AS t
        FROM (SELECT i, hashint8extended(i, $SEED) AS h FROM generate_series(1, $ROWS::int8) i) i) s;
CREATE INDEX a_tenant_rencoder ON a_tenant USING rencoder (u, at) WITH (composite = on);
CREATE INDEX a_tenant_btree ON a_tenant (ub, atb);
CREATE INDEX a_tenant_code_rencoder ON a_tenant USING rencoder (u, code) WITH (composite = on);
CREATE INDEX a_tenant_code_btree ON a_tenant (ub, codeb);
VACUUM ANALYZE a_tenant;
VACUUM ANALYZE a;
VACUUM ANALYZE keys;
SQL
    functions absent 'SELECT count(f) INTO found FROM a WHERE C = key' 'key := absent[i]'
    functions one 'SELECT count(f) INTO found FROM a WHERE C = key' 'key := there[i]'
    functions list 'SELECT count(f) INTO found FROM a WHERE C = ANY (list)' 'list := there[i * 10 - 9 : i * 10]'
    functions ten 'SELECT count(f) INTO found FROM a WHERE C BETWEEN key AND hi' 'key := there[i]; hi := upto(key, 10)'
    functions hundred 'SELECT count(f) INTO found FROM a WHERE C BETWEEN key AND hi' 'key := there[i]; hi := upto(key, 100)'
    functions newest 'SELECT count(f) INTO found FROM (SELECT f FROM a_tenant WHERE C = key ORDER BY at DESC LIMIT 20) s' \
        'key := tenant(there[i])'
    for name in code code_planned; do
        functions "$name" 'SELECT count(f) INTO found FROM a_tenant WHERE C = key AND code = c' \
            'key := tenant(there[i]); c := code(there[i])'
    done
    bench_sql -q -c "ALTER FUNCTION code_planned_rencoder SET plan_cache_mode = force_custom_plan" \
        -c "ALTER FUNCTION code_planned_btree SET plan_cache_mode = force_custom_plan"
    loops loop there
    loops loop_absent absent
}

# functions NAME QUERY BEFORE: NAME_rencoder(call, n), NAME_btree and NAME_nothing ask n times; what
# the last one takes, without the query, is taken off.
functions() {
    local way column query
    for way in rencoder btree nothing; do
        column=u
        [[ $way != btree ]] || column=ub
        query=${2/ C / $column }
        [[ $way != btree ]] || query=${query/ BY at / BY atb } query=${query/ code = / codeb = }
        [[ $way != nothing ]] || query=NULL
        bench_sql -q <<SQL
CREATE FUNCTION $1_$way(which int, n int) RETURNS text LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS \$\$
DECLARE
    there int8[]; absent int8[]; list int8[]; key int8; hi int8; found text; c text;
BEGIN
    SELECT q.there, q.absent INTO there, absent FROM asked q WHERE q.call = which;
    FOR i IN 1 .. n LOOP
        $3;
        $query;
    END LOOP;
    RETURN found;
END \$\$;
SQL
    done
}

# loops NAME COLUMN: the same of a nested loop.
loops() {
    local way column
    bench_sql -q -c "CREATE FUNCTION $1_nothing(which int, many int) RETURNS text LANGUAGE sql AS 'SELECT NULL'"
    for way in rencoder btree; do
        column=u
        [[ $way != btree ]] || column=ub
        bench_sql -q <<SQL
CREATE FUNCTION $1_$way(which int, many int) RETURNS int8 LANGUAGE sql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_material = off
SET enable_memoize = off AS
    'SELECT count(f) FROM keys JOIN a ON $column = $2 WHERE call = which AND n = many';
SQL
    done
}

# Statements of the server of one process: a profile begins and ends at each pg_backend_pid().
statements() {
    local question name way n
    echo "SELECT sum(pg_prewarm(relname::text)) FROM pg_class WHERE relname LIKE 'a\_%' OR relname IN ('a', 'keys', 'asked')"
    for question in "${QUESTIONS[@]}"; do
        name=${question% *}
        for way in rencoder btree nothing; do
            echo "SELECT ${name}_$way(0, 50)"
            for n in 50 150; do
                echo "SELECT pg_backend_pid()"
                echo "SELECT ${name}_$way($((n == 50 ? 1 : 2)), $n)"
            done
            echo "SELECT pg_backend_pid()"
        done
    done
}

# Instructions of a part of the profile.
part() { awk '$1 == "totals:" || $1 == "summary:" { n = $2 } END { print n }' "$WORK/profile/out.$1"; }

main() {
    local question name limit way part=1 rencoder btree nothing
    bench_machine
    make_objects
    bench_sql -c "SELECT format('%s rows, %s a page', reltuples, round(reltuples / relpages)) FROM pg_class WHERE relname = 'a'"
    statements | bench_below_valgrind
    for question in "${QUESTIONS[@]}"; do
        read -r name limit <<<"$question"
        for way in rencoder btree nothing; do
            # What is before the two calls, of 50 and of 150, are parts of their own.
            printf -v "$way" %d $((($(part $((part + 2))) - $(part $((part + 1)))) / 100))
            part=$((part + 3))
        done
        rencoder=$((rencoder - nothing)) btree=$((btree - nothing))
        printf '  %-12s rencoder %7d, btree %7d: %5.2f times\n' "$name" "$rencoder" "$btree" \
            "$(awk "BEGIN { print $rencoder / $btree }")"
        ((limit == 0)) || bench_limit "  $name, thousands" "$(awk "BEGIN { print $rencoder / 1000 }")" '<=' "$limit"
    done
    bench_finish
}

bench_run -p valgrind shared_buffers=512MB autovacuum=off jit=off max_parallel_workers_per_gather=0 -- "$@"
