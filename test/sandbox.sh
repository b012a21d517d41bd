#!/usr/bin/env bash
# A server to develop with: builds the tree as it is, installs it into a
# private copy of PostgreSQL, starts a cluster there, and keeps it all for the
# next call, which builds only what changed.
#
#   test/sandbox.sh [--pg VERSION] COMMAND [ARGUMENT...]
#
#   up                 build, install, start
#   psql [ARG...]      up, then psql (database postgres, extension created)
#   run PROGRAM ...    up, then a program with the server's PATH and PG* set
#   regress [NAME...]  build and run all or some of sql/
#   isolation [NAME..] all or some of test/specs
#   tap [FILE]         all or one of test/t
#   accept [NAME...]   take the results of the last regress and isolation runs,
#                      all or some, as the expected ones (look at git diff)
#   log                the end of the server's log
#   stop               stop the server; clean: also remove everything
#
# VERSION is 15 to 20 (default: the machine's own).  What the machine
# does not have runs in a chroot (as root; see test/matrix.sh).
# Everything is below $RENCODER_SANDBOX (default: a directory of /tmp, one for
# each user and source tree).  One command at a time: two would build in it.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/all.sh
. "$top/test/lib/all.sh"

# The part that runs as an unprivileged user, perhaps in a chroot.

# PGXS knows nothing of headers: a new one rebuilds all.
build_changed()
{
	local src=$WORK/src so=$WORK/src/rencoder.so log=$WORK/log/build

	# Nor of objects that a build left which then failed.
	if [ ! -e "$so" ] || [ -n "$(find "$src" "$src/Makefile" -name '*.h' -newer "$so" \
		-o -name Makefile -newer "$so")" ]; then
		make -C "$src" PG_CONFIG="$PG_CONFIG" clean > /dev/null
	fi
	if ! build_extension > "$log" 2>&1; then
		grep -E 'error|warning|\*\*\*' -A6 "$log" || tail -n 30 "$log"
		die "the build failed: $log"
	fi
}

inside_up()
{
	local before

	before=$(stat -c %Y "$WORK/src/rencoder.so" 2> /dev/null || true)
	build_changed
	[ "$before" = "$(stat -c %Y "$WORK/src/rencoder.so")" ] || stop_clusters
	start_cluster ''
	psql -qX -d postgres -c "SET client_min_messages = warning" \
		-c "CREATE EXTENSION IF NOT EXISTS rencoder"
}

# inside WORK PG_CONFIG COMMAND ARGUMENT...
inside()
{
	local pg_config=$2 command=$3

	WORK=$1
	shift 3
	mkdir -p "$WORK/log"
	unset "${!PG@}" MAKEFLAGS MAKELEVEL
	private_server "$pg_config"
	cd "$WORK/src"
	case $command in
		up) inside_up ;;
		psql) inside_up; exec psql -d postgres "$@" ;;
		run) inside_up; exec "$@" ;;
		stop) stop_clusters ;;
		log) tail -n 100 "$WORK/log/server" ;;
		regress) RENCODER_REGRESS=$* inside_stage regress ;;
		isolation) RENCODER_ISOLATION=$* inside_stage isolation ;;
		tap) RENCODER_TAP=${1:-} inside_stage tap ;;
	esac
}

# The stages stop the cluster at their end.
inside_stage()
{
	export RENCODER_REGRESS RENCODER_ISOLATION RENCODER_TAP
	build_changed
	stop_clusters
	RESULTS=$WORK/results
	rm -f "$RESULTS" "$WORK"/log/server*
	bash "$WORK/src/test/stages.sh" --work "$WORK" --pg-config "$pg_config" "$1"
	print_totals
}

# The part that a person calls.

# The tree as it is now, without removing what was built from it.
sync_tree()
{
	mkdir -p "$work/src"
	find "$work/src" -type f ! -name '*.o' ! -name '*.bc' ! -name '*.so' \
		! -path '*/results/*' -delete
	copy_tree "$top" "$work/src"
}

# What is kept is the sandbox.
end_sandbox()
{
	local status=$?

	ignore_signals
	stop_jobs
	forget_chroot_part
	exit "$status"
}

call_inside()
{
	local pg_config run=

	# The others may want what is typed.
	case $1 in
		regress | isolation | tap) run=run_job ;;
	esac
	trap_end end_sandbox
	if pg_config=$(native_pg_config "$version"); then
		if [ "$(id -u)" -eq 0 ]; then
			chown -R postgres: "$work"
			$run drop_root postgres bash "$work/src/test/sandbox.sh" \
				--inside "$work" "$pg_config" "$@"
		else
			$run bash "$work/src/test/sandbox.sh" --inside "$work" "$pg_config" "$@"
		fi
		return
	fi
	[ -z "$(chroot_obstacle)" ] || die "PostgreSQL $version is not here, and $(chroot_obstacle)"
	ensure_chroot "$version" || die "no chroot could be made"
	CHROOT_LASTING=1 $run in_chroot "$(chroot_of "$version")" "$work" \
		bash /mnt/src/test/sandbox.sh --inside /mnt \
		"/usr/lib/postgresql/$version/bin/pg_config" "$@"
}

accept_results()
{
	local file name to

	for file in "$work"/regress/*/results/*.out "$work"/src/test/results/*.out \
		"$work"/src/test/output_iso/results/*.out; do
		name=$(basename "$file" .out)
		[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
		to=test/expected
		[[ $file != "$work"/regress/* ]] || to=expected
		[ ! -e "$file" ] || cp -v --no-preserve=ownership,mode "$file" "$top/$to/"
	done
}

main()
{
	local command

	version=
	case ${1:-} in
		--inside) shift; inside "$@"; exit ;;
		--pg)
			need_value "$@"
			version=$2
			check_words version "$version" 15 16 17 18 19 20
			shift 2
			;;
		--help | -h) usage; exit 0 ;;
	esac
	command=${1:-}
	[[ " up psql run regress isolation tap accept log stop clean " == *" ${command:-none} "* ]] ||
		usage_error "unknown command \"$command\""
	[ $# -eq 0 ] || shift
	choose_seed
	[ -n "$version" ] || version=$(pg_major pg_config)
	of_tree=$(id -u)-$(cksum <<< "$top" | cut -d' ' -f1)
	work=${RENCODER_SANDBOX:-/tmp/rencoder-sandbox-$of_tree}/$version
	mkdir -p "$work"
	case $command in
		up | psql | run | regress | isolation | tap)
			sync_tree
			call_inside "$command" "$@"
			;;
		log | stop) call_inside "$command" ;;
		accept) accept_results "$@" ;;
		clean) call_inside stop; rm -rf --one-file-system "$work" ;;
	esac
}

main "$@"
