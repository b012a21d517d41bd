#!/usr/bin/env bash
# Runs test stages against one server, as an unprivileged user (PostgreSQL
# refuses root).  test/run.sh and test/matrix.sh call this; see there for what
# a person runs.
#
#   test/stages.sh --work DIR [--pg-config FILE] STAGE...
#
# DIR/src holds a copy of the tree; everything that is made stays below DIR and
# the results are appended to DIR/results.  Stages: layers static unit build
# regress isolation tap.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=test/lib/results.sh
. "$here/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$here/lib/server.sh"

# Seconds that one stage, or one TAP file, may take before it counts as hung.
STAGE_TIMEOUT=${RENCODER_STAGE_TIMEOUT:-1200}

# timeout(1) kills a program that hangs with all its children.  It runs in the
# background, for the shell takes a signal while it waits, but not while a
# command runs.
job=
run_make()
{
	local status=0

	timeout --kill-after=20 "$STAGE_TIMEOUT" \
		make --no-print-directory -C "$WORK/src" "$@" &
	job=$!
	wait "$job" || status=$?
	job=
	return "$status"
}

# Whatever ends us must not leave a server behind.
clean_up()
{
	if [ -n "$job" ]; then
		kill "$job" 2> /dev/null || true
		wait "$job" || true
	fi
	[ "$major" = none ] || stop_clusters
}

installcheck()
{
	run_make PG_CONFIG="$PG_CONFIG" installcheck "$@"
}

find_clang()
{
	command -v clang ||
		compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -t- -k2n | tail -n 1
}

stage_layers()
{
	local status=0

	heading "include directions, file and function lengths"
	bash "$WORK/src/test/check_layers.sh" > "$WORK/log/layers" 2>&1 || status=$?
	cat "$WORK/log/layers"
	result_tap layers "$WORK/log/layers" "$status"
}

# The build as users get it, every warning an error.  No bitcode: it is the
# same source once more.  static_build TARGET VARIABLES...
static_build()
{
	run_make -s PG_CONFIG="$PG_CONFIG" clean > /dev/null &&
		run_make -s -k -j2 PG_CONFIG="$PG_CONFIG" with_llvm=no "$@"
}

stage_static()
{
	local clang flags

	flags=$(warning_flags)

	heading "builds without a warning, PostgreSQL $major"
	result_of "build with gcc, PostgreSQL $major" "$WORK/log/static-gcc" \
		static_build all CC=gcc WARNFLAGS="$flags" || true
	# The server's flags and header settings are gcc's: that clang does not know
	# one is no fault of the code.  Only compiled: linking with the LTO flags of
	# a server built by gcc would need clang's plugin.
	flags+=" -Wno-unknown-warning-option -Wno-ignored-attributes"
	flags+=" -Wno-ignored-optimization-argument"
	clang=$(find_clang) || clang=
	if [ -z "$clang" ]; then
		result "not ok" "build with clang: there is no clang"
	else
		result_of "build with clang, PostgreSQL $major" "$WORK/log/static-clang" \
			static_build all-static-lib CC="$clang" WARNFLAGS="$flags" || true
	fi
	run_make PG_CONFIG="$PG_CONFIG" clean > /dev/null 2>&1 || true
}

unit_run()
{
	local label=$1 status=0 log

	shift
	log=$WORK/log/unit-${label// /-}
	run_make check-unit SEED="${RENCODER_SEED:-}" "$@" > "$log" 2>&1 || status=$?
	result_tap "unit $label" "$log" "$status"
	if [ "$status" -ne 0 ]; then
		grep -E '^not ok|runtime error|^==.*ERROR|Error [0-9]' -A8 "$log" || true
		show_log "$log" 60
	fi
	grep '^#' "$log" || true
	printf '%s: %s ok, %s not ok\n' "$label" \
		"$(grep -c '^ok' "$log" || true)" "$(grep -c '^not ok' "$log" || true)"
}

stage_unit()
{
	local clang

	heading "unit programs, gcc"
	unit_run gcc CC=gcc
	heading "unit programs, clang with address and undefined behaviour sanitizers"
	clang=$(find_clang) || clang=
	if [ -z "$clang" ]; then
		result "not ok" "unit: there is no clang"
	else
		unit_run "sanitized" CC="$clang" SAN=1
	fi
}

# Builds once, before the first stage that needs it.  $built: yes, no, or
# nothing yet.
stage_build()
{
	if [ -z "$built" ]; then
		heading "build and install into a private copy of PostgreSQL $major"
		built=yes
		result_of "build and install, PostgreSQL $major" "$WORK/log/build" \
			build_extension || built=no
	fi
	[ "$built" = yes ]
}

# pg_regress of 15 has a format of its own; from 16 on it is TAP.
regress_to_tap()
{
	sed -E -e 's/^(test| ) +([^ ]+) +\.\.\. ok\b.*/ok - \2/' \
		-e 's/^(test| ) +([^ ]+) +\.\.\. FAILED\b.*/not ok - \2/' "$1"
}

# regress_run LABEL DIFFS VARIABLES...
regress_run()
{
	local label=$1 diffs=$WORK/src/$2 status=0 log=$WORK/log/$1

	shift 2
	rm -f "$diffs"
	installcheck "$@" > "$log" 2>&1 || status=$?
	regress_to_tap "$log" > "$log.tap"
	result_tap "$label $major" "$log.tap" "$status"
	grep -E '^(ok|not ok)' "$log.tap" || true
	if [ "$status" -ne 0 ]; then
		show_log "$log" 30
		show_log "$diffs" 400
		show_log "$WORK/log/server" 60
	fi
}

stage_regress()
{
	heading "pg_regress, PostgreSQL $major"
	regress_run regress regression.diffs ISOLATION= TAP_TESTS= \
		${RENCODER_REGRESS:+REGRESS="$RENCODER_REGRESS"}
}

stage_isolation()
{
	heading "isolation tests, PostgreSQL $major"
	regress_run isolation test/regression.diffs REGRESS= TAP_TESTS= \
		${RENCODER_ISOLATION:+ISOLATION="$RENCODER_ISOLATION"}
}

# One run of prove a file, so that results and logs are the file's own.
tap_run()
{
	local file=$1 name status=0 log diff

	name=$(basename "$file" .pl)
	log=$WORK/log/tap-$name
	installcheck REGRESS= ISOLATION= PROVE_TESTS="$file" \
		PROVE_FLAGS="-v -I test/perl" > "$log" 2>&1 || status=$?
	result_tap "tap $major $name" "$log" "$status"
	printf '%s - %s: %s ok, %s not ok, %d s\n' \
		"$([ "$status" -eq 0 ] && echo ok || echo not ok)" "$name" \
		"$(grep -cE '^ok [0-9]' "$log" || true)" "$(grep -c '^not ok' "$log" || true)" "$SECONDS"
	grep -E '^# seed' "$log" || true
	if [ "$status" -ne 0 ]; then
		show_log "$log" 60
		for diff in "$WORK"/src/tmp_check/log/*; do
			show_log "$diff" 40
		done
	fi
}

stage_tap()
{
	local file files

	heading "TAP tests, PostgreSQL $major"
	files=$(cd "$WORK/src" && compgen -G "${RENCODER_TAP:-test/t/*.pl}" | sort) || true
	[ -n "$files" ] || result "not ok" "tap $major: no test was run"
	for file in $files; do
		SECONDS=0
		tap_run "$file"
	done
}

# A crash that the test did not notice is still a failure.
check_server_log()
{
	local label="no crash in the server's log, PostgreSQL $major"

	[ -e "$WORK/log/server" ] || return 0
	if grep -E 'TRAP:|PANIC:|was terminated by signal' "$WORK/log/server"; then
		result "not ok" "$label"
		show_log "$WORK/log/server" 60
	else
		result ok "$label"
	fi
}

with_server()
{
	if ! start_cluster; then
		result "not ok" "start a server, PostgreSQL $major"
		show_log "$WORK/log/server" 40
		return
	fi
	"$@"
}

run_stages()
{
	local stage built=

	for stage in "$@"; do
		case $stage in
			layers | unit | static) "stage_$stage" ;;
			build) stage_build || true ;;
			regress | isolation | tap)
				if ! stage_build; then
					result "not ok" "$stage $major: not run, the build failed"
				elif [ "$stage" = tap ]; then
					stage_tap
				else
					with_server "stage_$stage"
				fi
				;;
			*) die "unknown stage \"$stage\"" ;;
		esac
	done
	check_server_log
}

main()
{
	local pg_config=

	WORK=
	while [ $# -gt 0 ]; do
		case $1 in
			--work) WORK=$2; shift 2 ;;
			--pg-config) pg_config=$2; shift 2 ;;
			*) break ;;
		esac
	done
	[ -n "$WORK" ] || die "--work is required"
	RESULTS=$WORK/results
	mkdir -p "$WORK/log"
	# The caller's directory may be closed to this user.
	cd "$WORK"
	# The tests' server and settings are ours, not the caller's.
	unset "${!PG@}"
	export LC_ALL=C.UTF-8 TZ=UTC
	unset MAKEFLAGS MAKELEVEL
	major=none
	trap clean_up EXIT
	trap 'exit 129' HUP INT TERM
	if [ -n "$pg_config" ]; then
		private_server "$pg_config"
		major=$(pg_major "$PG_CONFIG")
	fi
	run_stages "$@"
}

main "$@"
