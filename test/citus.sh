#!/usr/bin/env bash
# Citus: a coordinator and two workers, a distributed table with all kinds of index.  Are
# conditions sent to the shards, used by the indexes there, and answered as by a sequential
# scan of the same rows; what do functions say; do shards move?
#
#   test/citus.sh [--pg-config FILE] [--source DIR] [--keep]
#
# --pg-config  of the server (default: pg_config); without --source it has Citus: its library and
#              its control file
# --source     of Citus, as a release is unpacked: it is built, which takes some minutes.  It wants
#              what the server was built with; on Debian libssl-dev, libkrb5-dev, libxml2-dev,
#              libxslt1-dev, libreadline-dev, and for Citus itself liblz4-dev, libzstd-dev
# --keep       keep the temporary directory, with the logs
#
# Server, Citus and its source are copied, and nothing is installed.  Clusters listen on sockets in
# a temporary directory only.  Not part of test/run.sh: no release of Debian has Citus.  Prints
# each question with its result; the last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/results.sh
. "$top/test/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$top/test/lib/server.sh"

# The coordinator and the workers, by the numbers of their clusters.
NODES=(0 1 2)

# sql NODE COMMANDS: in one session, notices and errors along with the result.  Each is sent by
# itself, as Citus wants it.
sql()
{
	psql -XqAt -v ON_ERROR_STOP=1 -h "$WORK/sock$1" -d postgres <<< "$2" 2>&1
}

# do_sql NODE COMMANDS: what must succeed
do_sql()
{
	local said

	said=$(sql "$@") || die "$said"
}

# check LABEL EXPECTED COMMANDS: on the coordinator; EXPECTED is a pattern (bash, extended) of all
# that they say.
check()
{
	local said

	said=$(sql 0 "$3") || true
	if [[ $said =~ $2 ]]; then
		result ok "$1"
		printf 'ok - %s: %s\n' "$1" "$(sed -E '/^ *(Node|Tasks Shown|-> +Task$)/d; s/^ +//' \
			<<< "$said" | paste -sd ' ' | cut -c1-200)"
	else
		result "not ok" "$1"
		printf 'not ok - %s\n%s\n' "$1" "$said" | head -n 20
	fi
}

# Into the private server.  Not optimized: that is quicker, and Citus is not what is measured.
build_citus()
{
	cd "$WORK/citus"
	./configure PG_CONFIG="$PG_CONFIG" --without-libcurl CFLAGS='-O0 -g0' &&
		make -s -j2 with_llvm=no COPT='-O0 -g0 -fno-lto' extension &&
		make -s with_llvm=no install-extension
}

start_nodes()
{
	local node

	for node in "${NODES[@]}"; do
		start_cluster "$node"
		cat >> "$WORK/data$node/postgresql.conf" <<-CONF
			shared_preload_libraries = 'citus'
			wal_level = logical
			max_prepared_transactions = 50
			citus.shard_count = 6
			citus.node_conninfo = 'sslmode=disable'
			citus.local_hostname = '$WORK/sock$node'
		CONF
		pg_ctl -D "$WORK/data$node" -w -m fast -l "$WORK/log/server$node" restart > /dev/null
		do_sql "$node" 'CREATE EXTENSION citus'
	done
	do_sql 0 "SELECT citus_set_coordinator_host('$WORK/sock0', 5432);
		SELECT citus_add_node('$WORK/sock1', 5432), citus_add_node('$WORK/sock2', 5432)"
}

# The rows lie in a table of the coordinator, too, which has no index.
make_tables()
{
	do_sql 0 "CREATE EXTENSION rencoder;
		CREATE TABLE plain AS
			SELECT i % 97 AS tenant, hashint8extended(i, 1) AS no,
				'https://example.org/' || md5(i::text) AS url,
				'10.0.0.0'::inet + i * 7919 % 60000 AS ip, point(i % 245, i / 245) AS p,
				md5((i / 2)::text)::uuid AS tag, repeat('x', 300) AS note
			FROM generate_series(1, 60000) i;
		CREATE TABLE ev (LIKE plain);
		SELECT create_distributed_table('ev', 'tenant');
		CREATE INDEX ev_no ON ev USING rencoder (no);
		CREATE INDEX ev_url ON ev USING rencoder (url)
			WITH (pages_per_range = 4, bits_per_key = 24, autosummarize = on, storage = filter);
		CREATE INDEX ev_two ON ev USING rencoder (ip, tag) WHERE tenant > 3;
		CREATE INDEX ev_expression ON ev USING rencoder ((no / 1000));
		INSERT INTO ev SELECT * FROM plain"
	do_sql 0 'CREATE INDEX CONCURRENTLY ev_p ON ev USING rencoder (p)'
	do_sql 0 'VACUUM ANALYZE ev'
}

# The functions of a shard's indexes: on_indexes EXPRESSION, of "i"
on_indexes()
{
	cat <<-SQL
		SELECT bool_and(success), min(result), max(result), count(*)
		FROM run_command_on_shards('ev', \$\$
			SELECT sum($1)
			FROM pg_index x JOIN pg_class c ON c.oid = indexrelid
				JOIN pg_am a ON a.oid = relam, CAST(indexrelid AS regclass) i
			WHERE amname = 'rencoder' AND indrelid = '%s'::regclass\$\$)
	SQL
}

# It returns nothing, or fails.
CHECK_ALL="1 + length(rencoder_index_check(i, true)::text)"

# ask INDEX CONDITION: all tasks use the index, and the rows are those of the plain table
ask()
{
	check "$2: plan" "Task Count: ([0-9]+).*Bitmap Index Scan on ${1}_[0-9]+" \
		"SET citus.explain_all_tasks = off; EXPLAIN (COSTS OFF) SELECT no FROM ev WHERE $2"
	check "$2: rows" '^([1-9][0-9]*) rows of \1$' \
		"SELECT format('%s rows of %s', (SELECT count(*) FROM ev WHERE $2),
			(SELECT count(*) FROM plain WHERE $2))"
	check "$2: the same" '^t$' \
		"WITH there AS MATERIALIZED (SELECT no, url FROM ev WHERE $2)
		SELECT (SELECT sum(hashtextextended(q::text, 0)) FROM there q) =
			(SELECT sum(hashtextextended(q::text, 0)) FROM (SELECT no, url FROM plain WHERE $2) q)"
}

ask_all()
{
	local url

	no=$(sql 0 "SELECT no FROM plain WHERE url = 'https://example.org/' || md5('4711')")
	url=$(sql 0 "SELECT 'https://example.org/' || md5('4711')")
	ask ev_no "no BETWEEN $no - 1000000 AND $no"
	ask ev_no "no IN ($no, 5, 6)"
	ask ev_no "no = $no AND tenant = 4711 % 97"
	ask ev_url "url = '$url'"
	ask ev_url "url LIKE '${url:0:26}%'"
	ask ev_two "ip << '10.0.7.0/28' AND tenant > 3"
	ask ev_two "tag = md5('2355')::uuid AND tenant > 3"
	ask ev_expression "no / 1000 = $no / 1000"
	ask ev_p "p <@ box '(17,19),(18,21)'"
}

questions()
{
	local shard='' from='' there='' no=''

	check "versions" 'Citus' "SELECT citus_version()"
	check "the extension is on all nodes" '^t$' "SELECT bool_and(success AND result = '1')
		FROM run_command_on_workers(\$\$SELECT count(*) FROM pg_extension
			WHERE extname = 'rencoder'\$\$)"
	check "each shard has all five indexes, valid" '^t\|5\|5\|6$' "$(on_indexes "1")"
	check "what workers left is indexed" '^t\|' \
		"$(on_indexes "rencoder_maintain_index(i)")"
	check "all are sound" '^t\|5\|5\|6$' "$(on_indexes "$CHECK_ALL")"
	ask_all

	check "SET LOCAL reaches the workers" 'Seq Scan on ev' \
		"SET citus.propagate_set_commands = 'local'; BEGIN; SET LOCAL rencoder.enable_scan = off;
		EXPLAIN (COSTS OFF) SELECT no FROM ev WHERE no = 5; COMMIT"
	check "query samples, added to each shard" '^t\|1\|1\|6$' \
		"SELECT bool_and(success), min(result), max(result), count(*)
		FROM run_command_on_shards('ev', \$\$
			SELECT count(rencoder_add_query_sample(indexrelid::regclass, 5, 9)) FROM pg_index
			WHERE indrelid = '%s'::regclass
				AND pg_get_indexdef(indexrelid) LIKE '%% USING rencoder (no)%%'\$\$)"
	IFS='|' read -r shard from <<< "$(sql 0 "SELECT shardid, nodename FROM citus_shards
		WHERE table_name = 'ev'::regclass ORDER BY 1 LIMIT 1")"
	there=$WORK/sock1
	[ "$from" != "$there" ] || there=$WORK/sock2
	check "a shard moves" '^$' \
		"SELECT citus_move_shard_placement($shard, '$from', 5432, '$there', 5432, 'block_writes')"
	check "it is there" "^$there\$" "SELECT nodename FROM citus_shards WHERE shardid = $shard"
	check "its indexes are sound there" '^t\|5\|5\|6$' "$(on_indexes "$CHECK_ALL")"
	ask ev_no "no BETWEEN $no - 1000000 AND $no"
	do_sql 0 "UPDATE ev SET no = no + 1 WHERE no % 10 = 3; UPDATE plain SET no = no + 1
		WHERE no % 10 = 3; DELETE FROM ev WHERE no % 10 = 4; DELETE FROM plain
		WHERE no % 10 = 4"
	check "all are sound after changes" '^t\|5\|5\|6$' "$(on_indexes "$CHECK_ALL")"
	ask ev_no "no BETWEEN $no - 1000000 AND $no"
	check "maintenance on the shards" '^t\|' "$(on_indexes "CASE
		WHEN pg_get_indexdef(i) LIKE '%%storage%%' THEN rencoder_maintain_index(i)
		ELSE rencoder_compact(i) END")"
	check "REINDEX reaches the shards" '^t\|5\|5\|6$' "REINDEX TABLE ev; $(on_indexes "$CHECK_ALL")"
	ask ev_no "no BETWEEN $no - 1000000 AND $no"
}

inside()
{
	WORK=$1
	RESULTS=$WORK/results
	mkdir -p "$WORK/log"
	unset "${!PG@}" MAKEFLAGS MAKELEVEL
	export LC_ALL=C.UTF-8
	private_server "$2"
	if [ -d "$WORK/citus" ]; then
		echo "building Citus"
		(build_citus) > "$WORK/log/citus" 2>&1 || {
			tail -n 20 "$WORK/log/citus"
			die "Citus could not be built: $WORK/log/citus"
		}
	fi
	cd "$WORK/src"
	build_extension > "$WORK/log/build" 2>&1 || die "the build failed: $WORK/log/build"
	trap stop_clusters EXIT
	start_nodes
	make_tables
	questions
	if grep -hE 'TRAP:|PANIC:|was terminated by signal' "$WORK"/log/server*; then
		result "not ok" "no crash in the servers' logs"
	else
		result ok "no crash in the servers' logs"
	fi
}

main()
{
	local config=pg_config source=''
	local -a run=()

	if [ "${1:-}" = --inside ]; then
		inside "$2" "$3"
		return
	fi
	keep=''
	while [ $# -gt 0 ]; do
		case $1 in
			--pg-config) need_value "$@"; config=$2; shift 2 ;;
			--source) need_value "$@"; source=$2; shift 2 ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	config=$(command -v "$config") || die "there is no $config"
	if [ -n "$source" ]; then
		[ -e "$source/src/backend/distributed/citus.control" ] ||
			die "there is no source of Citus in $source"
	elif [ ! -e "$("$config" --sharedir)/extension/citus.control" ] ||
		[ ! -e "$("$config" --pkglibdir)/citus.so" ]; then
		die "the server of $config has no Citus; --pg-config names one that has, or --source"
	fi
	make_tmp rencoder-citus
	trap_end end_script
	RESULTS=$tmp/results
	touch "$RESULTS"
	copy_tree "$top" "$tmp/src"
	[ -z "$source" ] || copy_tree "$source" "$tmp/citus"
	if [ "$(id -u)" -eq 0 ]; then
		chown -R postgres: "$tmp"
		run=(drop_root postgres)
	fi
	run_job "${run[@]}" bash "$tmp/src/test/citus.sh" --inside "$tmp" "$config" ||
		result "not ok" "did not finish"
	print_totals
}

main "$@"
