#!/usr/bin/env bash
# pg_upgrade of a cluster with indexes, by default from PostgreSQL 15 to 17: the
# index files are taken over as they are, and must answer as before.
#
#   test/upgrade.sh [--from VERSION] [--to VERSION] [--link] [--before SQL] [--keep]
#
# --before  run in the old cluster before it is upgraded
#
# The new server must be as recent a minor release as the old one, as pg_upgrade
# wants it.  15.20 notes an option of columns, pg_attver, that 17.11 refuses,
# whether there is an index or not; there
# --before "UPDATE pg_attribute SET attoptions = NULL WHERE attoptions IS NOT NULL"
# helps, in a cluster that is only for tests.
#
# Needs root, since the two servers come from different Debian releases: the new
# one runs in its chroot (see test/matrix.sh), the old one, which the machine
# itself must have, is taken along with the libraries that it lacks there.  If the
# machine has both, no chroot is needed.  Not part of test/run.sh: takes a minute,
# and the versions that are on a machine decide whether it can be done.
# The last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/results.sh
. "$top/test/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$top/test/lib/server.sh"
# shellcheck source=test/lib/chroot.sh
. "$top/test/lib/chroot.sh"
# shellcheck source=test/lib/packages.sh
. "$top/test/lib/packages.sh"

# The part that runs as an unprivileged user, perhaps in a chroot.

# A private server with the extension below $1, as PG_CONFIG; $2: its original.
prepare_server()
{
	WORK=$1
	mkdir -p "$WORK/log"
	copy_tree "${SOURCE:?}" "$WORK/src"
	private_server "$2"
	# No bitcode: the same source once more.
	build_extension > "$WORK/log/build" 2>&1 ||
		die "the build failed: $(tail -n 5 "$WORK/log/build")"
}

# Programs of the old server find the libraries that came with them.
old()
{
	local program=$1

	shift
	LD_LIBRARY_PATH=$base/old/libs "$old_bin/$program" "$@"
}

new_cluster()
{
	local run=$1 initdb=$2 data=$3

	"$run" "$initdb" -D "$data" -U postgres -A trust -N --locale=C --encoding=UTF8 \
		${4:+"$4"} > "$base/log/initdb" 2>&1 || die "initdb: $(tail -n 3 "$base/log/initdb")"
	cat >> "$data/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$base/sock'
		fsync = off
		autovacuum = off
	CONF
}

new()
{
	"$new_bin/$1" "${@:2}"
}

# Tables and indexes of all kinds: sealed groups, slices, dictionaries, coders,
# samples, a range in the middle of being summarized, unlogged, partitioned.
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
		SELECT rencoder_summarize_new_values(i) FROM unnest('{t_v,t_s}'::regclass[]) i;
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
		CHECKPOINT;
	SQL
}

# Answers by the index ("on") or the table, one a line.
answers_sql()
{
	cat <<-SQL
		SET enable_seqscan = $([ "$1" = on ] && echo off || echo on);
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
				WHERE v = hashint8extended(i, 1))
		FROM generate_series(1, 8100, 137) i;
		SELECT count(*) FROM t WHERE few IS NULL;
	SQL
}

sql()
{
	"$1" psql -XqAt -v ON_ERROR_STOP=1 -h "$base/sock" -U postgres -d postgres -c "$2"
}

ask()
{
	answers_sql "$2" | "$1" psql -XqAt -v ON_ERROR_STOP=1 -h "$base/sock" -U postgres -d postgres
}

server()
{
	"$1" pg_ctl -D "$2" -w -l "$base/log/server" "$3" > /dev/null
}

# compare LABEL RUN FILE: the same answers by the index as in the file.
compare()
{
	if ask "$2" on > "$base/answers" && cmp -s "$base/answers" "$3" &&
		[ -n "$(sql "$2" "SELECT rencoder_index_check(indexrelid, true) FROM pg_index
			JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam
			WHERE amname = 'rencoder' AND relkind = 'i'" \
			> "$base/log/check" 2>&1 && echo sound)" ]; then
		result ok "$1"
		echo "ok - $1"
	else
		result "not ok" "$1"
		echo "not ok - $1"
		diff "$base/answers" "$3" | head -n 10 || true
		show_log "$base/log/check" 5
	fi
}

inside()
{
	local new_config=$2 how=$3 old_config plan sizes taken_over

	base=$1
	SOURCE=$base/src
	RESULTS=$base/results
	mkdir -p "$base/sock" "$base/log"
	unset "${!PG@}" MAKEFLAGS MAKELEVEL
	export LC_ALL=C.UTF-8
	old_config=$(find "$base/old/server" -name pg_config | head -n 1)
	old_bin=${old_config%/*}
	prepare_server "$base/new" "$new_config"
	new_bin=$("$PG_CONFIG" --bindir)

	new_cluster old initdb "$base/old/data"
	server old "$base/old/data" start
	fill_sql | old psql -XqAt -v ON_ERROR_STOP=1 -h "$base/sock" -U postgres -d postgres \
		> "$base/log/fill"
	ask old off > "$base/truth"
	compare "before, PostgreSQL $(sql old 'SHOW server_version')" old "$base/truth"
	[ -z "${4:-}" ] || sql old "$4" > "$base/log/before"
	# Scans note what they ask for, so only what the test has given can be told.
	taken_over="SELECT indexrelid::regclass, pg_relation_size(indexrelid),
			(SELECT count(*) FROM rencoder_query_samples(indexrelid) WHERE source = 'added')
		FROM pg_index WHERE indexrelid::regclass::text ~ '^t_' ORDER BY 1"
	sizes=$(sql old "$taken_over")
	server old "$base/old/data" stop

	plan=
	[ "$(pg_major "$PG_CONFIG")" -lt 18 ] || plan=--no-data-checksums
	new_cluster new initdb "$base/new/data" "$plan"
	cd "$base/log"
	# The old server's programs are started by pg_upgrade itself.
	if [ -d "$base/old/libs" ]; then
		export LD_LIBRARY_PATH=$base/old/libs
	fi
	if "$new_bin/pg_upgrade" -b "$old_bin" -B "$new_bin" -d "$base/old/data" -D "$base/new/data" \
		-U postgres -s "$base/sock" "$how" > "$base/log/upgrade" 2>&1; then
		result ok "pg_upgrade $how"
		echo "ok - pg_upgrade $how"
	else
		result "not ok" "pg_upgrade $how"
		show_log "$base/log/upgrade" 30
		find "$base/new/data/pg_upgrade_output.d" -name '*.log' -exec tail -n 20 {} + || true
		return
	fi
	unset LD_LIBRARY_PATH
	server new "$base/new/data" start
	compare "after, PostgreSQL $(sql new 'SHOW server_version')" new "$base/truth"
	if [ "$(sql new "$taken_over")" = "$sizes" ]; then
		result ok "the files, and samples of queries, are those of before"
		echo "ok - the files, and samples of queries, are those of before"
	else
		result "not ok" "the files, and samples of queries, are those of before"
		sql new "$taken_over" | diff - <(echo "$sizes") || true
	fi
	# It goes on as if nothing had happened.
	sql new "SELECT fill(8101, 9000); UPDATE t SET v = v - 1, few = few + 1 WHERE id % 10 = 5;
		DELETE FROM u WHERE id % 3 = 1;
		INSERT INTO parts SELECT id, v FROM t WHERE id > 8100" > /dev/null
	sql new "SELECT rencoder_summarize_new_values(i)
		FROM unnest('{t_v,t_few,t_s,t_p,t_n}'::regclass[]) i" > /dev/null
	ask new off > "$base/truth"
	compare 'rows and summaries of the new server' new "$base/truth"
	sql new 'VACUUM t'
	sql new "SELECT rencoder_retune('t_v')" > /dev/null
	compare 'VACUUM and retuning' new "$base/truth"
	sql new 'REINDEX TABLE t'
	compare 'REINDEX' new "$base/truth"
	server new "$base/new/data" stop
}

# The part that a person calls.

clean_up()
{
	local status=$?

	ignore_signals
	stop_jobs
	forget_chroot_part
	if [ -n "$keep" ]; then
		echo "kept: $tmp"
	else
		rm -rf --one-file-system "$tmp"
	fi
	exit "$status"
}

# Libraries of the old server's programs that the root does not have.
copy_libraries()
{
	local root=$1 library

	mkdir -p "$tmp/old/libs"
	# ldd complains of scripts.
	{
		find "$tmp/old/server" -type f \( -perm -100 -o -name '*.so' \) -exec ldd {} + \
			2> /dev/null || true
	} |
		awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
		while read -r library; do
			[ -e "$root$library" ] || [ -e "$root/usr/lib/${library#/lib/}" ] ||
				[ -e "$root/usr$library" ] || cp -L "$library" "$tmp/old/libs/"
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

main()
{
	local from=15 to=17 how=--copy before='' obstacle pg_config root

	if [ "${1:-}" = --inside ]; then
		shift
		inside "$@"
		return
	fi
	if [ "${1:-}" = --build-old ]; then
		SOURCE=$2/src
		prepare_server "$2/old" "$3"
		return
	fi
	keep=''
	while [ $# -gt 0 ]; do
		case $1 in
			--from) need_value "$@"; from=$2; shift 2 ;;
			--to) need_value "$@"; to=$2; shift 2 ;;
			--link) how=--link; shift ;;
			--before) need_value "$@"; before=$2; shift 2 ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	check_words version "$from,$to" 15 16 17 18
	make_tmp rencoder
	trap clean_up EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	RESULTS=$tmp/results
	touch "$RESULTS"
	copy_tree "$top" "$tmp/src"
	mkdir "$tmp/old"

	pg_config=$(native_pg_config "$from") || die "PostgreSQL $from is not here"
	as_postgres bash "$tmp/src/test/upgrade.sh" --build-old "$tmp" "$pg_config"
	if pg_config=$(native_pg_config "$to"); then
		as_postgres bash "$tmp/src/test/upgrade.sh" --inside "$tmp" "$pg_config" "$how" "$before" ||
			result "not ok" "did not finish"
	else
		obstacle=$(chroot_obstacle)
		[ -z "$obstacle" ] || die "PostgreSQL $to is not here, and $obstacle"
		ensure_chroot "$to" || die "no chroot could be made"
		root=$(chroot_of "$to")
		copy_libraries "$root"
		run_job in_chroot "$root" "$tmp" bash /mnt/src/test/upgrade.sh --inside /mnt \
			"/usr/lib/postgresql/$to/bin/pg_config" "$how" "$before" ||
			result "not ok" "did not finish"
	fi
	print_totals
}

main "$@"
