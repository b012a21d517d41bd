#!/usr/bin/env bash
# Runs test stages against one server, as an unprivileged user (PostgreSQL
# refuses root).  test/run.sh and test/matrix.sh call this; see there for what
# a person runs.
#
#   test/stages.sh --work DIR [--pg-config FILE] STAGE...
#
# DIR/src holds a copy of the tree; everything that is made stays below DIR and
# the results are appended to DIR/results.  Stages: layers unit sanitized static
# build regress isolation tap.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=test/lib/results.sh
. "$here/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$here/lib/server.sh"

# Files of regress and tap that run at a time; of tap one more, as some of them only wait.
JOBS=${RENCODER_JOBS:-$(nproc | awk '{ print ($1 < 4 ? $1 + 1 : 5) }')}

# Those that take longest are begun first.
LONGEST=(runs_recode nulls differential types_more runs_generations bounds points
	opclass_order arrays strings_random
	test/t/{067_worker_canceled,001_wal,041_make_run,043_runs_pitr}.pl
	test/t/{027_before_rows,055_workers,006_pitr,025_lost_coder,042_runs_crash,039_runs}.pl
	test/t/{022_fuzz_pages}.pl)

# Seconds that one stage, or one file of regress, may take before it counts as hung; and one of tap.
STAGE_TIMEOUT=${RENCODER_STAGE_TIMEOUT:-3600}
TAP_TIMEOUT=${RENCODER_STAGE_TIMEOUT:-600}

# Runs make in the background: start_make VARIABLE=VALUE... TARGET
# timeout(1) kills a program that hangs with all its children.  The shell takes
# a signal while it waits, but not while a command runs.
start_make()
{
	timeout --kill-after=20 "$STAGE_TIMEOUT" \
		make --no-print-directory -C "$WORK/src" "$@" < /dev/null &
	running[$!]=
}

# Status of a job that has ended; 124 where it met the limit, even if it had to
# be killed.
job_status()
{
	echo "$(($1 == 137 ? 124 : $1))"
}

run_make()
{
	local job status=0

	start_make "$@"
	job=$!
	wait "$job" || status=$?
	unset "running[$job]"
	return "$(job_status "$status")"
}

# Whatever ends us must not leave a process or a server behind.  Each job is a
# process group of its own, which timeout(1) made.
clean_up()
{
	local job try

	ignore_signals
	for job in "${!running[@]}"; do
		kill -TERM "$job" 2> /dev/null || true
	done
	for job in "${!running[@]}"; do
		for try in {1..100}; do
			kill -0 -- "-$job" 2> /dev/null || break
			sleep 0.1
			[ "$try" -lt 100 ] || kill -KILL -- "-$job" 2> /dev/null || true
		done
	done
	[ "$major" = none ] || stop_clusters
}

stage_layers()
{
	local script status

	heading "structure of the source and of the tests"
	for script in check_layers check_tests; do
		status=0
		bash "$WORK/src/test/$script.sh" > "$WORK/log/$script" 2>&1 || status=$?
		cat "$WORK/log/$script"
		result_tap "$script" "$WORK/log/$script" "$status"
	done
}

# The build as users get it, every warning an error.  No bitcode: it is the
# same source once more.  static_build TARGET VARIABLES...
static_build()
{
	run_make -s PG_CONFIG="$PG_CONFIG" clean > /dev/null &&
		run_make -s -k -j2 PG_CONFIG="$PG_CONFIG" with_llvm=no "$@"
}

# Out of the tree, as packagers build: below DIR/out, with the sources where they
# are.
out_of_tree()
{
	mkdir -p "$WORK/out"
	run_make -s -C "$WORK/out" -f "$WORK/src/Makefile" PG_CONFIG="$PG_CONFIG" with_llvm=no "$@"
}

# What "make install" and "make installcheck" would take, out of the tree, is
# all that there is, and nothing was written beside the sources.
out_of_tree_complete()
{
	local file listed

	listed=$(out_of_tree -n install installcheck dist) || return 1
	for file in $(cd "$WORK/src" && echo ./*.control sql/*--*.sql); do
		grep -qE "[ /]${file#./}( |\$)" <<< "$listed" ||
			{ echo "$file would not be installed"; return 1; }
	done
	for file in $(cd "$WORK/src" && echo sql/*.sql test/specs/*.spec); do
		[[ $file != *--* ]] || continue
		file=${file##*/}
		grep -qE " ${file%.*}( |\$)" <<< "$listed" || { echo "$file would not be run"; return 1; }
	done
	grep -qE ' --prefix=rencoder-[0-9.]+/' <<< "$listed" || { echo "no version"; return 1; }
	[ -z "$(find "$WORK/src" -name '*.o' -o -name '*.so')" ] ||
		{ echo "objects beside the sources"; return 1; }
}

# Programs of bench/ that no server runs.
bench_programs()
{
	run_make -s -j2 -C "$WORK/src/bench/filter" all &&
		run_make -s -j2 -C "$WORK/src/bench/run" all
}

stage_static()
{
	local clang flags

	flags=$(warning_flags)

	heading "builds without a warning, PostgreSQL $major"
	result_of "build with gcc, out of the tree, PostgreSQL $major" "$WORK/log/static-gcc" \
		out_of_tree -k -j2 all CC=gcc WARNFLAGS="$flags" || true
	result_of "installation and tests out of the tree, PostgreSQL $major" "$WORK/log/static-out" \
		out_of_tree_complete || true
	rm -rf "$WORK/out"
	result_of "programs of bench/, PostgreSQL $major" "$WORK/log/static-bench" \
		bench_programs || true
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
	heading "unit programs, gcc"
	unit_run gcc CC=gcc ${RENCODER_QUICK:+QUICK=1}
}

stage_sanitized()
{
	local clang

	heading "unit programs, clang with address and undefined behaviour sanitizers"
	clang=$(find_clang) || clang=
	if [ -z "$clang" ]; then
		result "not ok" "unit: there is no clang"
	else
		unit_run "sanitized" CC="$clang" SAN=1 QUICK=1
	fi
}

# Belongs to the stage "layers".
texts()
{
	local name status

	heading "the texts, and what releases are made of"
	for name in texts figures release; do
		status=0
		perl "$WORK/src/test/check_$name.pl" > "$WORK/log/$name" 2>&1 || status=$?
		cat "$WORK/log/$name"
		result_tap "$name" "$WORK/log/$name" "$status"
	done
}

# Where the server brings pgindent.
indentation()
{
	local status=0

	[ -x "$("$PG_CONFIG" --bindir)/pgindent" ] || return 0
	bash "$WORK/src/test/check_indent.sh" "$PG_CONFIG" > "$WORK/log/indent" 2>&1 || status=$?
	cat "$WORK/log/indent"
	result_tap "indentation $major" "$WORK/log/indent" "$status"
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
		indentation
	fi
	[ "$built" = yes ]
}

# pg_regress of 15 has a format of its own; from 16 on it is TAP.
regress_to_tap()
{
	sed -E -e 's/^(test| ) +([^ ]+) +\.\.\. ok\b.*/ok - \2/' \
		-e 's/^(test| ) +([^ ]+) +\.\.\. FAILED\b.*/not ok - \2/' "$1"
}

# Results of pg_regress or pg_isolation_regress: regress_results STAGE STATUS LOG DIFFS SERVER-LOG
regress_results()
{
	local stage=$1 status=$2 log=$3

	regress_to_tap "$log" > "$log.tap"
	result_tap "$stage $major" "$log.tap" "$status"
	[ "$status" -ne 0 ] || return 0
	[ "$status" -ne 124 ] || timed_out
	show_log "$log" 30
	show_log "$4" 400
	show_log "$5" 60
}

# The names, those of LONGEST first.
longest_first()
{
	local name

	for name in "${LONGEST[@]}"; do
		[[ " $* " != *" $name "* ]] || echo "$name"
	done
	for name in "$@"; do
		[[ " ${LONGEST[*]} " == *" $name "* ]] || echo "$name"
	done
}

# One job for each name, several at a time: run_beside STAGE NAME...
# STAGE_start NAME begins one, STAGE_report NAME STATUS SECONDS says how it ended.
run_beside()
{
	local stage=$1 name
	local -a names
	local -A started=()

	shift
	mapfile -t names < <(longest_first "$@")
	for name in "${names[@]}"; do
		[ ${#running[@]} -lt "$JOBS" ] || report_one "$stage"
		"${stage}_start" "$name"
		running[$!]=$name
		started[$!]=$SECONDS
	done
	while [ ${#running[@]} -gt 0 ]; do
		report_one "$stage"
	done
}

# Waits for one of those that run, and reports it.
report_one()
{
	local job='' name status=0

	wait -n -p job "${!running[@]}" || status=$?
	name=${running[$job]}
	unset "running[$job]"
	"$1_report" "$name" "$(job_status "$status")" $((SECONDS - ${started[$job]}))
}

# Each file of sql/ has a directory of its own, as if it were built out of the
# tree, and a server for itself while it runs: what a transaction of another
# database does to trust horizons would change what is counted.
regress_start()
{
	local name=$1 dir=$WORK/regress/$1 number=${idle[-1]}

	unset "idle[-1]"
	server_of[$name]=$number
	rm -rf "$dir"
	mkdir -p "$dir"
	PGHOST=$WORK/sock$number start_make -C "$dir" -f "$WORK/src/Makefile" \
		PG_CONFIG="$PG_CONFIG" installcheck REGRESS="$name" ISOLATION= TAP_TESTS= \
		> "$WORK/log/regress-$name" 2>&1
}

# regress_report NAME STATUS SECONDS
regress_report()
{
	local number=${server_of[$1]}

	idle+=("$number")
	printf '%s - %s, %d s\n' "$([ "$2" -eq 0 ] && echo ok || echo not ok)" "$1" "$3"
	regress_results regress "$2" "$WORK/log/regress-$1" "$WORK/regress/$1/regression.diffs" \
		"$WORK/log/server$number"
}

stage_regress()
{
	local number
	local -a files=() idle=()
	local -A server_of=()

	heading "pg_regress, PostgreSQL $major, $JOBS at a time"
	read -r -a files <<< "${RENCODER_REGRESS:-}"
	if [ ${#files[@]} -eq 0 ]; then
		mapfile -t files < <(cd "$WORK/src/sql" && basename -s .sql -- *.sql | grep -v -e --)
	fi
	[ ${#files[@]} -gt 0 ] || result "not ok" "regress $major: no test was run"
	for ((number = 1; number <= JOBS; number++)); do
		with_server "$number" || return 0
		idle+=("$number")
	done
	run_beside regress "${files[@]}"
}

stage_isolation()
{
	local status=0 log=$WORK/log/isolation diffs=$WORK/src/test/regression.diffs

	heading "isolation tests, PostgreSQL $major"
	with_server 1 || return 0
	rm -f "$diffs"
	run_make PG_CONFIG="$PG_CONFIG" installcheck REGRESS= TAP_TESTS= \
		${RENCODER_ISOLATION:+ISOLATION="$RENCODER_ISOLATION"} > "$log" 2>&1 || status=$?
	regress_results isolation "$status" "$log" "$diffs" "$WORK/log/server1"
	grep -E '^(ok|not ok)' "$log.tap" || true
}

# One run of prove a file, so that results and logs are the file's own: most of
# them wait for servers.  Each has a directory of its own, too.
tap_start()
{
	local name dir

	name=$(basename "$1" .pl)
	dir=$WORK/tap/$name
	rm -rf "$dir"
	mkdir -p "$dir"
	# Some seconds to say where it hangs.
	timeout --kill-after=20 $((TAP_TIMEOUT + 20)) bash "$here/tap_file.sh" "$TAP_TIMEOUT" \
		"$PG_CONFIG" "$dir" make --no-print-directory -C "$dir" -f "$WORK/src/Makefile" \
		PG_CONFIG="$PG_CONFIG" installcheck REGRESS= ISOLATION= PROVE_TESTS="$1" \
		PROVE_FLAGS="-v -I test/perl" > "$WORK/log/tap-$name" 2>&1 &
	running[$!]=
}

# tap_report FILE STATUS SECONDS
tap_report()
{
	local status=$2 name log file STAGE_TIMEOUT=$TAP_TIMEOUT

	name=$(basename "$1" .pl)
	log=$WORK/log/tap-$name
	result_tap "tap $major $name" "$log" "$status"
	printf '%s - %s: %s ok, %s not ok, %d s\n' \
		"$([ "$status" -eq 0 ] && echo ok || echo not ok)" "$name" \
		"$(grep -cE '^ok [0-9]' "$log" || true)" "$(grep -c '^not ok' "$log" || true)" "$3"
	grep -E '^# seed' "$log" || true
	if [ "$status" -eq 0 ]; then
		rm -rf "$WORK/tap/$name"
		return
	fi
	[ "$status" -ne 124 ] || timed_out
	show_log "$log" $((status == 124 ? 200 : 60))
	for file in "$WORK/tap/$name"/tmp_check/log/*; do
		show_log "$file" 40
	done
}

stage_tap()
{
	local -a files=()

	[ -n "${RENCODER_JOBS:-}" ] || local JOBS=$((JOBS + 1))
	heading "TAP tests, PostgreSQL $major, $JOBS at a time"
	mapfile -t files < <(cd "$WORK/src" && compgen -G "${RENCODER_TAP:-test/t/*.pl}" | sort)
	[ ${#files[@]} -gt 0 ] || result "not ok" "tap $major: no test was run"
	run_beside tap "${files[@]}"
}

# A crash that the test did not notice is still a failure.
check_server_log()
{
	local label="no crash in the servers' logs, PostgreSQL $major" log
	local -a logs

	mapfile -t logs < <(compgen -G "$WORK/log/server*")
	[ ${#logs[@]} -gt 0 ] || return 0
	if grep -hE 'TRAP:|PANIC:|was terminated by signal' "${logs[@]}"; then
		result "not ok" "$label"
		for log in "${logs[@]}"; do
			show_log "$log" 60
		done
	else
		result ok "$label"
	fi
}

# Starts a cluster: with_server NUMBER
with_server()
{
	start_cluster "$1" && return
	result "not ok" "start a server, PostgreSQL $major"
	show_log "$WORK/log/server$1" 40
	return 1
}

run_stages()
{
	local stage start built=

	for stage in "$@"; do
		[ "$stage" != layers ] || texts
		start=$SECONDS
		case $stage in
			layers | unit | sanitized | static) "stage_$stage" ;;
			build) stage_build || true ;;
			regress | isolation | tap)
				if ! stage_build; then
					result "not ok" "$stage $major: not run, the build failed"
				else
					"stage_$stage"
				fi
				;;
			*) die "unknown stage \"$stage\"" ;;
		esac
		note_time "$stage$([ "$major" = none ] || echo " $major")" $((SECONDS - start))
	done
	check_server_log
}

main()
{
	local pg_config=
	local -A running=()

	WORK=
	while [ $# -gt 0 ]; do
		case $1 in
			--work) need_value "$@"; WORK=$2; shift 2 ;;
			--pg-config) need_value "$@"; pg_config=$2; shift 2 ;;
			--help | -h) usage; exit 0 ;;
			-*) usage_error "unknown option \"$1\"" ;;
			*) break ;;
		esac
	done
	[ -n "$WORK" ] || usage_error "--work is required"
	[ $# -gt 0 ] || usage_error "no stage was named"
	check_words stage "$(IFS=,; echo "$*")" layers unit sanitized static build regress isolation tap
	RESULTS=$WORK/results
	mkdir -p "$WORK/log" "$WORK/tmp"
	# Temporary files of the tests, which vanish with the rest; and the ports that
	# tests which run beside each other take.
	export TMPDIR=$WORK/tmp PG_TEST_PORT_DIR=$WORK/ports
	# The caller's directory may be closed to this user.
	cd "$WORK"
	# The tests' server and settings are ours, not the caller's.
	unset "${!PG@}"
	export LC_ALL=C.UTF-8 TZ=UTC
	unset MAKEFLAGS MAKELEVEL
	major=none
	trap_end clean_up
	if [ -n "$pg_config" ]; then
		private_server "$pg_config"
		major=$(pg_major "$PG_CONFIG")
	fi
	run_stages "$@"
}

main "$@"
