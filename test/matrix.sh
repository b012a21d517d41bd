#!/usr/bin/env bash
# Builds and tests on PostgreSQL versions that this machine does not have, in
# chroots of the Debian releases that ship them.  Needs root (chroot, mount);
# without it the versions are skipped.
#
#   test/matrix.sh [--pg 15|17|18|19]... [--only STAGES] [--seed N]
#
# --pg      a version; may be repeated; default 17
# --only    comma-separated: static regress isolation tap; default the last three
# --seed    of the random tests; default: 1; random: a new one, printed
#
# The chroots are kept in $RENCODER_CHROOTS (default
# /var/cache/rencoder-chroots): remove the folder when you no longer need it.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/all.sh
. "$top/test/lib/all.sh"

test_version()
{
	local pg=$1 root work=$tmp/$1 obstacle

	shift
	obstacle=$(chroot_obstacle)
	if [ -n "$obstacle" ]; then
		echo "skipping PostgreSQL $pg: $obstacle"
		result skip "PostgreSQL $pg: $obstacle"
		return
	fi
	heading "PostgreSQL $pg in a chroot of Debian $(suite_of "$pg")"
	root=$(chroot_of "$pg")
	if ! ensure_chroot "$pg"; then
		result "not ok" "PostgreSQL $pg: no chroot could be made"
		return
	fi
	mkdir -p "$work"
	copy_tree "$top" "$work/src"
	if ! run_job in_chroot "$root" "$work" bash /mnt/src/test/stages.sh --work /mnt \
		--pg-config "/usr/lib/postgresql/$pg/bin/pg_config" "$@"; then
		result "not ok" "PostgreSQL $pg: the stages did not finish"
	fi
	collect_results
	rm -rf --one-file-system "$work"
}

collect_results()
{
	local file

	for file in "$tmp"/*/results; do
		[ ! -e "$file" ] || cat "$file" >> "$RESULTS"
	done
}

# The end, whatever the reason.  Stages that were stopped have left what they
# had counted.
finish()
{
	local status=$?

	ignore_signals
	stop_jobs
	forget_chroot_part
	[ -z "$tmp" ] || collect_results
	if [ -z "${RENCODER_RESULTS:-}" ]; then
		if [ -z "$tmp" ]; then
			echo '0 passed, 1 failed'
		else
			[ -n "$finished" ] ||
				result "not ok" "the run was stopped before its end, exit status $status"
			print_totals || status=1
		fi
	fi
	[ -z "$tmp" ] || rm -rf --one-file-system "$tmp"
	exit "$status"
}

main()
{
	local -a versions=() stages=()
	local only=regress,isolation,tap pg

	while [ $# -gt 0 ]; do
		case $1 in
			--pg) need_value "$@"; versions+=("$2"); shift 2 ;;
			--only) need_value "$@"; only=$2; shift 2 ;;
			--seed) need_value "$@"; RENCODER_SEED=$2; shift 2 ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	[ ${#versions[@]} -gt 0 ] || versions=(17)
	check_words version "$(IFS=,; echo "${versions[*]}")" 15 17 18 19
	check_words stage "$only" static regress isolation tap
	choose_seed
	[ -n "${RENCODER_RESULTS:-}" ] || echo "seed $RENCODER_SEED"
	IFS=, read -r -a stages <<< "$only"

	tmp='' finished=''
	trap_end finish
	make_tmp rencoder
	if [ -n "${RENCODER_RESULTS:-}" ]; then
		RESULTS=$RENCODER_RESULTS
	else
		RESULTS=$tmp/results
	fi
	touch "$RESULTS"
	for pg in "${versions[@]}"; do
		test_version "$pg" "${stages[@]}"
	done
	finished=yes
}

main "$@"
