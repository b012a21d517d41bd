#!/usr/bin/env bash
# Regression and isolation tests with the extension built with the address and
# undefined behaviour sanitizers (gcc).  The server stays as it is and gets the
# sanitizers' library by LD_PRELOAD.
#
#   test/sanitize.sh [--pg-config FILE] [--only STAGES] [--seed N] [--keep]
#
# --pg-config   a server; best one built with --enable-cassert, which notices
#               writes behind memory of its own allocator (MEMORY_CONTEXT_CHECKING);
#               default: pg_config
# --only        comma-separated: regress isolation (default: both)
#
# Memory of PostgreSQL's allocator is nothing the address sanitizer knows of: it
# sees the stack, variables and blocks of malloc().  Takes about three times as
# long as the tests themselves.  The last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/results.sh
. "$top/test/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$top/test/lib/server.sh"

# Every report ends the process like a crash, which the stages notice.
sanitizer_settings()
{
	local library

	library=$(gcc -print-file-name=libasan.so)
	[ -e "$library" ] || die "gcc has no libasan"
	RENCODER_OPTFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined"
	RENCODER_OPTFLAGS+=" -fno-sanitize-recover=all"
	RENCODER_PRELOAD=$(readlink -f "$library")
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:disable_coredump=0
	UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1
	RENCODER_STAGE_TIMEOUT=${RENCODER_STAGE_TIMEOUT:-7200}
	export RENCODER_OPTFLAGS RENCODER_PRELOAD ASAN_OPTIONS UBSAN_OPTIONS RENCODER_STAGE_TIMEOUT
}

# On some kernels a server hangs before its first line when the library is there.
check_preload()
{
	timeout --kill-after=5 120 env LD_PRELOAD="$RENCODER_PRELOAD" "$("$1" --bindir)/postgres" -V \
		> /dev/null ||
		die "the server of $1 does not run with $RENCODER_PRELOAD on this machine"
}

main()
{
	local pg_config=pg_config only=regress,isolation
	local -a stages run=()

	keep=
	while [ $# -gt 0 ]; do
		case $1 in
			--pg-config) need_value "$@"; pg_config=$2; shift 2 ;;
			--only) need_value "$@"; only=$2; shift 2 ;;
			--seed) need_value "$@"; RENCODER_SEED=$2; shift 2 ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	check_words stage "$only" regress isolation
	IFS=, read -r -a stages <<< "$only"
	pg_config=$(command -v "$pg_config") || die "no such program: $pg_config"
	choose_seed
	echo "seed $RENCODER_SEED"
	sanitizer_settings
	check_preload "$pg_config"
	make_tmp rencoder
	trap_end end_script
	RESULTS=$tmp/results
	copy_tree "$top" "$tmp/src"
	if [ "$(id -u)" -eq 0 ]; then
		chown -R postgres: "$tmp"
		run=(drop_root postgres)
	fi
	run_job "${run[@]}" bash "$tmp/src/test/stages.sh" --work "$tmp" --pg-config "$pg_config" \
		"${stages[@]}" || true
	grep -A12 -E 'ERROR: AddressSanitizer|runtime error:' "$tmp"/log/server* || true
	print_totals
}

main "$@"
