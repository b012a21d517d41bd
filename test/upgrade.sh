#!/usr/bin/env bash
# pg_upgrade of a cluster with indexes, by default from PostgreSQL 15 to 17 and from there to
# 18: the index files are taken over as they are, and must answer as before.
#
#   test/upgrade.sh [--from VERSION] [--to VERSIONS] [--how HOW] [--before SQL] [--keep]
#
# --to      comma-separated: 17,18 goes from one to the next
# --how     copy,link: how pg_upgrade takes the files over; default: first one, then the other
# --before  run in the first cluster before it is upgraded
#
# The new server must be as recent a minor release as the old one, as pg_upgrade
# wants it.  15.20 notes an option of columns, pg_attver, that 17.11 refuses,
# whether there is an index or not; it is taken away first, which only tests may do.
#
# Needs root where the servers come from different Debian releases: all run in the chroot of
# the last one (see test/matrix.sh), those from elsewhere with the libraries that it lacks.
# Not part of test/run.sh: takes some minutes, and the versions that are on a machine decide
# whether it can be done.
# The last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/all.sh
. "$top/test/lib/all.sh"

# The part that runs as an unprivileged user, perhaps in a chroot.

# A private server with the extension below $1, as PG_CONFIG; $2: its original.  Libraries that
# its programs use are copied to libs/, for roots that have others.
prepare_server()
{
	local library link

	WORK=$1
	mkdir -p "$WORK/log" "$WORK/libs"
	copy_tree "${SOURCE:?}" "$WORK/src"
	private_server "$2"
	# PostGIS's are links to /etc/alternatives, which another root does not have.
	find "$WORK/server" -path '*/extension/*' -type l | while read -r link; do
		cp --remove-destination "$(readlink -f "$link")" "$link"
	done
	# No bitcode: the same source once more.
	build_extension > "$WORK/log/build" 2>&1 ||
		die "the build failed: $(tail -n 5 "$WORK/log/build")"
	# ldd complains of scripts.
	{
		find "$WORK/server" -type f \( -perm -100 -o -name '*.so' \) -exec ldd {} + \
			2> /dev/null || true
	} |
		awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
		while read -r library; do
			mkdir -p "$WORK/libs${library%/*}"
			cp -L "$library" "$WORK/libs$library"
		done
}

# Where the programs of a version are: they find libraries that came with them.
bin_of()
{
	local config

	config=$(find "$base/$1/server" -name pg_config | head -n 1)
	echo "${config%/*}"
}

# A program of a version: program VERSION NAME ARGUMENT...
program()
{
	local version=$1 name=$2

	shift 2
	LD_LIBRARY_PATH=$base/libs "$(bin_of "$version")/$name" "$@"
}

# new_cluster VERSION
new_cluster()
{
	local data=$base/$1/data
	local -a options=()

	[ "$1" -lt 18 ] || options=(--no-data-checksums)
	program "$1" initdb -D "$data" -U postgres -A trust -N --locale=C --encoding=UTF8 \
		"${options[@]}" > "$base/log/initdb" 2>&1 || die "initdb: $(tail -n 3 "$base/log/initdb")"
	cat >> "$data/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$base/sock'
		fsync = off
		autovacuum = off
	CONF
}

# Tables and indexes of all kinds: filters, coders, samples, unlogged, partitioned; base runs with
# deltas, a pending list and pages behind the frontier; rows in order, by a column and by two.
fill_sql()
{
	cat <<-'SQL'
		CREATE EXTENSION rencoder;
		CREATE TABLE t (id int, v int8, few int4, n numeric, s text, p point, filler text);
		ALTER TABLE t ALTER filler SET STORAGE plain;
		CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
			INSERT INTO t SELECT i, hashint8extended(i, 1), nullif(i % 29, 7), i / 7.0,
				'https://www.example.com/' || md5(i::text), point(i % 100, i / 100),
				repeat('x', 300)
			FROM generate_series(first, last) i
		$$;
		SELECT fill(1, 6000);
		CREATE INDEX t_v ON t USING rencoder (v, few)
			WITH (autosummarize = off, pages_per_range = 1, bits_per_key = 24, storage = filter);
		CREATE INDEX t_few ON t USING rencoder (few)
			WITH (autosummarize = off, pages_per_range = 1, storage = filter);
		CREATE INDEX t_s ON t USING rencoder (s)
			WITH (autosummarize = off, pages_per_range = 1, storage = filter);
		CREATE INDEX t_p ON t USING rencoder (p)
			WITH (autosummarize = off, pages_per_range = 1, storage = filter);
		CREATE INDEX t_n ON t USING rencoder ((n + 1))
			WITH (autosummarize = off, pages_per_range = 1, storage = filter) WHERE id > 100;
		SELECT rencoder_add_query_sample('t_v', 17, 19);
		SELECT fill(6001, 8000);
		SELECT rencoder_maintain_index(i) FROM unnest('{t_v,t_s}'::regclass[]) i;
		UPDATE t SET v = v + 1, s = s || 'x' WHERE id % 10 = 3;
		DELETE FROM t WHERE id % 10 = 4;
		SELECT fill(8001, 8100);
		CREATE UNLOGGED TABLE u AS SELECT id, v FROM t;
		CREATE INDEX u_v ON u USING rencoder (v) WITH (pages_per_range = 1, storage = filter);
		CREATE TABLE parts (id int, v int8) PARTITION BY RANGE (id);
		CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100000);
		CREATE INDEX parts_v ON parts USING rencoder (v)
			WITH (pages_per_range = 1, storage = filter);
		INSERT INTO parts SELECT id, v FROM t;
		CREATE TABLE r AS SELECT id, v, s, filler FROM t WHERE id <= 6000 ORDER BY id;
		CREATE INDEX r_v ON r USING rencoder (v, s) WITH (autosummarize = off, pages_per_range = 1);
		UPDATE r SET v = v + 1 WHERE id % 60 = 1;
		VACUUM r;
		INSERT INTO r SELECT id, v, s, filler FROM t WHERE id > 6000;
		SELECT rencoder_maintain_index('r_v');
		UPDATE r SET v = v + 1, s = s || 'y' WHERE id % 60 = 2;
		CREATE TABLE o AS SELECT id, few, v, filler FROM t WHERE id <= 6000 ORDER BY id;
		CREATE INDEX o_v ON o USING rencoder (v) WITH (autosummarize = off);
		CREATE INDEX o_few_v ON o USING rencoder (few, v)
			WITH (composite = on, autosummarize = off);
		UPDATE o SET v = v + 1 WHERE id % 60 = 1;
		VACUUM ANALYZE o;
		INSERT INTO o SELECT id, few, v, filler FROM t WHERE id > 6000;
		SELECT rencoder_maintain_index(i) FROM unnest('{o_v,o_few_v}'::regclass[]) i;
		UPDATE o SET few = few + 1, v = v + 1 WHERE id % 60 = 2;
		CHECKPOINT;
	SQL
}

# Queries for rows in order, by which index, one a line.
ordered_queries()
{
	cat <<-'SQL'
		o_v SELECT v FROM o WHERE v > hashint8extended(i, 1) ORDER BY v LIMIT 20
		o_v SELECT v FROM o ORDER BY v DESC OFFSET i LIMIT 3
		o_few_v SELECT v FROM o WHERE few = i % 31 ORDER BY v DESC LIMIT 20
		o_few_v SELECT v FROM o WHERE few IN (i % 31, 3) ORDER BY few, v OFFSET 5 LIMIT 20
	SQL
}

# Answers by the index ("on") or the table, one a line.
answers_sql()
{
	cat <<-SQL
		SET enable_seqscan = $([ "$1" = on ] && echo off || echo on);
		SET enable_sort = $([ "$1" = on ] && echo off || echo on);
		SET enable_indexscan = $1;
		SET enable_bitmapscan = $1;
		SET max_parallel_workers_per_gather = 0;
		SELECT i, (SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t
				WHERE v BETWEEN hashint8extended(i, 1)
					AND hashint8extended(i, 1) + 1000000000000000),
			(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t WHERE few = i % 31),
			(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t
				WHERE s LIKE 'https://www.example.com/' || left(md5(i::text), 4) || '%'),
			(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t
				WHERE p <@ box(point(i % 100, i / 100), point(i % 100 + 1, i / 100 + 1))),
			(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM t
				WHERE n + 1 BETWEEN i AND i + 1 AND id > 100),
			(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM u
				WHERE v = hashint8extended(i, 1)),
			(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM parts
				WHERE v = hashint8extended(i, 1)),
			(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM r
				WHERE v BETWEEN hashint8extended(i, 1)
					AND hashint8extended(i, 1) + 1000000000000000),
			(SELECT count(*) || ' ' || coalesce(sum(id), 0) FROM r
				WHERE s LIKE 'https://www.example.com/' || left(md5(i::text), 4) || '%')
			$(ordered_queries |
				sed -E 's/^[a-z_]+ (.*)/, (SELECT string_agg(v::text, $$ $$) FROM (\1) q)/')
		FROM generate_series(1, 8100, 137) i;
		SELECT count(*) FROM t WHERE few IS NULL;
	SQL
}

# sql VERSION COMMANDS
sql()
{
	program "$1" psql -XqAt -v ON_ERROR_STOP=1 -h "$base/sock" -U postgres -d postgres -c "$2"
}

# ask VERSION on|off
ask()
{
	answers_sql "$2" |
		program "$1" psql -XqAt -v ON_ERROR_STOP=1 -h "$base/sock" -U postgres -d postgres
}

# server VERSION start|stop
server()
{
	program "$1" pg_ctl -D "$base/$1/data" -w -l "$base/log/server" "$2" > /dev/null
}

# verdict LABEL DIFFERENCES: none are well.
verdict()
{
	if [ -z "$2" ]; then
		result ok "$1"
		echo "ok - $1"
	else
		result "not ok" "$1"
		printf 'not ok - %s\n%s\n' "$1" "$2"
	fi
}

# Plans of ordered queries that sort, or do not ask their index: sorting VERSION
sorting()
{
	local index query plan

	ordered_queries | while read -r index query; do
		plan=$(sql "$1" "SET enable_seqscan = off; SET enable_sort = off; EXPLAIN
			SELECT (SELECT string_agg(v::text, ' ') FROM ($query) q)
			FROM generate_series(1, 9) i" 2>&1)
		[[ $plan == *"Index Scan"*" using $index "* && $plan != *Sort* ]] ||
			echo "$query: $plan"
	done
}

# The answers by the index are those of the file "truth", and all indexes are sound:
# compare LABEL VERSION
compare()
{
	local bad

	bad=$(ask "$2" on 2>&1 | diff - "$base/truth" | head -n 10 || true)
	bad+=$(sql "$2" "SELECT rencoder_index_check(indexrelid, true) FROM pg_index
		JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
		WHERE amname = 'rencoder' AND relkind = 'i'" 2>&1 | sed '/^$/d' || true)
	bad+=$(sorting "$2")
	verdict "$1" "$bad"
}

# What must be the same in the new cluster.  Scans note what they ask for, so only those samples
# can be told that the test has given.
taken_over()
{
	sql "$1" "SELECT indexrelid::regclass, pg_relation_size(indexrelid),
			(SELECT count(*) FROM rencoder_query_samples(indexrelid) WHERE source = 'added')
		FROM pg_index WHERE indexrelid::regclass::text ~ '^(t|r|o)_' ORDER BY 1;
		SELECT i, r.* FROM unnest('{t_v,r_v,o_v,o_few_v}'::regclass[]) i, rencoder_runs(i) r;
		SELECT i, frontier, entries_to, catalog_version, runs, pending_pages
		FROM unnest('{t_v,r_v,o_v,o_few_v}'::regclass[]) i, rencoder_metapage(i)"
}

# Rows, changes and all maintenance in the new cluster: go_on VERSION FIRST
go_on()
{
	local indexes="unnest('{t_v,t_few,t_s,t_p,t_n,r_v,o_v,o_few_v}'::regclass[]) i"

	sql "$1" "SELECT fill($2, $2 + 900); UPDATE t SET v = v - 1, few = few + 1 WHERE id % 10 = 5;
		DELETE FROM u WHERE id % 3 = 1;
		UPDATE r SET v = v - 1, s = s || 'z' WHERE id % 60 = $1;
		INSERT INTO parts SELECT id, v FROM t WHERE id >= $2;
		UPDATE o SET few = few - 1, v = v - 1 WHERE id % 60 = $1;
		INSERT INTO o SELECT id, few, v, filler FROM t WHERE id >= $2;
		INSERT INTO r SELECT id, v, s, filler FROM t WHERE id >= $2" > /dev/null
	sql "$1" "SELECT rencoder_maintain_index(i) FROM $indexes" > /dev/null
	ask "$1" off > "$base/truth"
	compare "rows and runs of PostgreSQL $1" "$1"
	sql "$1" 'VACUUM t, r, o'
	sql "$1" "SELECT rencoder_compact('t_v')" > /dev/null
	compare 'VACUUM, and new filters of all' "$1"
}

# upgrade OLD NEW HOW: by --HOW of pg_upgrade
upgrade()
{
	local before

	before=$(taken_over "$1")
	sql "$1" "UPDATE pg_attribute SET attoptions = NULL
		WHERE attoptions::text LIKE '%pg_attver%'" > /dev/null
	server "$1" stop
	new_cluster "$2"
	cd "$base/log"
	if ! program "$2" pg_upgrade -b "$(bin_of "$1")" -B "$(bin_of "$2")" -d "$base/$1/data" \
		-D "$base/$2/data" -U postgres -s "$base/sock" "--$3" > "$base/log/upgrade" 2>&1; then
		verdict "pg_upgrade --$3 from $1 to $2" "$(tail -n 30 "$base/log/upgrade")"
		find "$base/$2/data/pg_upgrade_output.d" -name '*.log' -exec tail -n 20 {} + || true
		return 1
	fi
	verdict "pg_upgrade --$3 from $1 to $2" ''
	server "$2" start
	compare "after, PostgreSQL $(sql "$2" 'SHOW server_version')" "$2"
	verdict 'the files, runs, and samples of queries, are those of before' \
		"$(taken_over "$2" | diff - <(echo "$before") || true)"
}

# Servers that still run, whatever has ended us.
stop_servers()
{
	local pidfile version

	for pidfile in "$base"/*/data/postmaster.pid; do
		[ -e "$pidfile" ] || continue
		version=${pidfile%/data/*}
		program "${version##*/}" pg_ctl -D "${pidfile%/*}" -m immediate stop > /dev/null 2>&1 ||
			true
	done
}

# A new cluster, upgraded from one version to the next: one_way HOW BEFORE VERSION...
one_way()
{
	local how=$1 before=$2 old=$3 version first=9001

	shift 3
	new_cluster "$old"
	server "$old" start
	fill_sql |
		program "$old" psql -XqAt -v ON_ERROR_STOP=1 -h "$base/sock" -U postgres -d postgres \
			> "$base/log/fill"
	ask "$old" off > "$base/truth"
	compare "before, PostgreSQL $(sql "$old" 'SHOW server_version')" "$old"
	[ -z "$before" ] || sql "$old" "$before" > "$base/log/before"
	verdict 'there are base runs, deltas, filters, a pending list, and pages behind the frontier' \
		"$(sql "$old" "SELECT 'only: ' || m::text FROM rencoder_metapage('r_v') m
			WHERE pending_pages = 0 OR frontier >= pg_relation_size('r') / 8192
			OR (SELECT array_agg(DISTINCT kind ORDER BY kind) FROM rencoder_runs('r_v'))
				IS DISTINCT FROM '{base,delta}'
			OR NOT EXISTS (SELECT FROM rencoder_runs('t_v') WHERE kind = 'matrix')")"
	for version in "$@"; do
		upgrade "$old" "$version" "$how" || return 0
		go_on "$version" "$first"
		first=$((first + 1000))
		old=$version
	done
	sql "$old" "REINDEX TABLE t; REINDEX INDEX o_few_v; SELECT rencoder_compact('r_v'),
		rencoder_compact('o_v')" > /dev/null
	compare 'REINDEX and rencoder_compact' "$old"
}

# inside BASE HOW[,HOW] BEFORE VERSION...
inside()
{
	local before=$3 how
	local -a ways

	base=$1
	IFS=, read -r -a ways <<< "$2"
	shift 3
	RESULTS=$base/results
	mkdir -p "$base/sock" "$base/log"
	unset "${!PG@}" MAKEFLAGS MAKELEVEL
	export LC_ALL=C.UTF-8
	trap_end stop_servers
	for how in "${ways[@]}"; do
		heading "pg_upgrade --$how"
		one_way "$how" "$before" "$@"
		stop_servers
		rm -rf "$base"/*/data
	done
}

# The part that a person calls.

# Libraries of the servers that the root does not have; of the newest, where several have one.
choose_libraries()
{
	local root=$1 version library

	shift
	mkdir -p "$tmp/libs"
	for version in "$@"; do
		(cd "$tmp/$version/libs" && find . -type f -printf '/%P\n') |
			while read -r library; do
				[ -e "$root$library" ] || [ -e "$root/usr/lib/${library#/lib/}" ] ||
					[ -e "$root/usr$library" ] || cp "$tmp/$version/libs$library" "$tmp/libs/"
			done
	done
}

as_postgres()
{
	if [ "$(id -u)" -eq 0 ]; then
		chown -R postgres: "$tmp"
		run_job drop_root postgres "$@"
	else
		run_job "$@"
	fi
}

# Where a version is: nothing if the machine has it itself, else its chroot.
root_of()
{
	native_pg_config "$1" > /dev/null || chroot_of "$1"
}

# Builds the extension for a version, in its own root.
build_for()
{
	local root obstacle

	root=$(root_of "$1")
	if [ -z "$root" ]; then
		as_postgres bash "$tmp/src/test/upgrade.sh" --build "$tmp" "$1" "$(native_pg_config "$1")"
		return
	fi
	obstacle=$(chroot_obstacle)
	[ -z "$obstacle" ] || die "PostgreSQL $1 is not here, and $obstacle"
	ensure_chroot "$1" || die "no chroot could be made"
	run_job in_chroot "$root" "$tmp" bash /mnt/src/test/upgrade.sh --build /mnt "$1" \
		"/usr/lib/postgresql/$1/bin/pg_config"
}

parse_options()
{
	from=15 to=17,18 how=copy,link before='' keep=''
	while [ $# -gt 0 ]; do
		case $1 in
			--from) need_value "$@"; from=$2; shift 2 ;;
			--to) need_value "$@"; to=$2; shift 2 ;;
			--how) need_value "$@"; how=$2; shift 2 ;;
			--before) need_value "$@"; before=$2; shift 2 ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	check_words version "$from,$to" 15 16 17 18
	check_words way "$how" copy link
	IFS=, read -r -a versions <<< "$from,$to"
	[ "$(printf '%s\n' "${versions[@]}" | sort -nu)" = "$(printf '%s\n' "${versions[@]}")" ] ||
		usage_error "versions must rise: ${versions[*]}"
}

main()
{
	local from to how before version root
	local -a versions

	if [ "${1:-}" = --inside ]; then
		shift
		inside "$@"
		return
	fi
	if [ "${1:-}" = --build ]; then
		SOURCE=$2/src
		prepare_server "$2/$3" "$4"
		return
	fi
	parse_options "$@"
	make_tmp rencoder
	trap_end end_script forget_chroot_part
	RESULTS=$tmp/results
	touch "$RESULTS"
	copy_tree "$top" "$tmp/src"

	for version in "${versions[@]}"; do
		mkdir "$tmp/$version"
		build_for "$version"
	done
	root=$(root_of "${versions[-1]}")
	choose_libraries "$root" "${versions[@]}"
	if [ -z "$root" ]; then
		as_postgres bash "$tmp/src/test/upgrade.sh" --inside "$tmp" "$how" "$before" \
			"${versions[@]}" || result "not ok" "did not finish"
	else
		run_job in_chroot "$root" "$tmp" bash /mnt/src/test/upgrade.sh --inside /mnt "$how" \
			"$before" "${versions[@]}" || result "not ok" "did not finish"
	fi
	print_totals
}

main "$@"
