#!/usr/bin/env bash
# Regression and isolation tests with the extension built with the address and
# undefined behaviour sanitizers (gcc).
#
#   test/sanitize.sh [--source DIR | --pg-config FILE] [--only STAGES] [--seed N] [--keep]
#
# --source      a source tree of PostgreSQL, not configured: the server is built from
#               it with the sanitizers, too, and tells them of memory of its own
#               allocators and of buffers that are not pinned (lib/asan).  With --keep
#               it stays, as --pg-config TMP/server-san/bin/pg_config for the next run
# --pg-config   a server.  One built without the sanitizers gets their library by
#               LD_PRELOAD, and they see the stack, variables and blocks of malloc()
#               only; default: pg_config
# --only        comma-separated: regress isolation tap (default: the first two)
#
# Takes about three times as long as the tests themselves, and the server's build some
# ten minutes of CPU.  The last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/results.sh
. "$top/test/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$top/test/lib/server.sh"

# Every report ends the process like a crash, which the stages notice.
sanitizer_settings()
{
	FLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined"
	FLAGS+=" -fno-sanitize-recover=all"
	# PostgreSQL has signed numbers wrap around; we do not rely on it.
	RENCODER_COPT="$FLAGS -fno-wrapv"
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:disable_coredump=0
	ASAN_OPTIONS+=:detect_stack_use_after_return=0
	UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1
	RENCODER_STAGE_TIMEOUT=${RENCODER_STAGE_TIMEOUT:-7200}
	export RENCODER_COPT ASAN_OPTIONS UBSAN_OPTIONS RENCODER_STAGE_TIMEOUT
}

# build_server SOURCE: as $tmp/server-san
build_server()
{
	local name

	mkdir -p "$tmp/build"
	cd "$tmp/build"
	"$1/configure" --quiet --prefix="$tmp/server-san" --enable-cassert --enable-debug \
		--enable-tap-tests --with-icu CFLAGS="$FLAGS" \
		CPPFLAGS="-DUSE_VALGRIND -I$tmp/src/test/lib/asan" &&
		make -s -j2 && make -s install || return 1
	for name in pageinspect pg_buffercache pg_stat_statements pg_surgery pg_trgm pg_walinspect \
		postgres_fdw; do
		make -s -j2 -C "contrib/$name" install || return 1
	done
}

# A server without the sanitizers is to load their library first.  On some kernels it hangs
# before its first line then.
choose_preload()
{
	local library postgres

	postgres=$("$1" --bindir)/postgres
	! grep -q __asan_init "$postgres" || return 0
	library=$(gcc -print-file-name=libasan.so)
	[ -e "$library" ] || die "gcc has no libasan"
	RENCODER_PRELOAD=$(readlink -f "$library")
	export RENCODER_PRELOAD
	timeout --kill-after=5 120 env LD_PRELOAD="$RENCODER_PRELOAD" "$postgres" -V > /dev/null ||
		die "the server of $1 does not run with $RENCODER_PRELOAD on this machine"
}

main()
{
	local pg_config=pg_config source='' only=regress,isolation
	local -a stages run=()

	keep=
	while [ $# -gt 0 ]; do
		case $1 in
			--pg-config) need_value "$@"; pg_config=$2; shift 2 ;;
			--source) need_value "$@"; source=$2; shift 2 ;;
			--only) need_value "$@"; only=$2; shift 2 ;;
			--seed) need_value "$@"; RENCODER_SEED=$2; shift 2 ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	check_words stage "$only" regress isolation tap
	IFS=, read -r -a stages <<< "$only"
	choose_seed
	echo "seed $RENCODER_SEED"
	sanitizer_settings
	make_tmp rencoder
	trap_end end_script
	RESULTS=$tmp/results
	copy_tree "$top" "$tmp/src"
	if [ -n "$source" ]; then
		heading "building the server of $source"
		run_job build_server "$(cd "$source" && pwd)" > "$tmp/build.log" 2>&1 ||
			{ tail -n 20 "$tmp/build.log"; die "the build failed"; }
		pg_config=$tmp/server-san/bin/pg_config
	fi
	if [ "$(id -u)" -eq 0 ]; then
		chown -R postgres: "$tmp"
		run=(drop_root postgres)
	fi
	pg_config=$(command -v "$pg_config") || die "no such program: $pg_config"
	choose_preload "$pg_config"
	run_job "${run[@]}" bash "$tmp/src/test/stages.sh" --work "$tmp" --pg-config "$pg_config" \
		"${stages[@]}" || true
	grep -A12 -E 'ERROR: AddressSanitizer|runtime error:' "$tmp"/log/server* || true
	print_totals
}

main "$@"
