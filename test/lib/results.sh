# Test results, and how scripts start and end; sourced by the scripts of test/
# and bench/.
#
# Every result is one line "ok|not ok|skip <tab> label" of the file $RESULTS,
# so that stages in other processes, under other users and in other roots can
# report theirs, and the totals are counted, never kept in a variable that
# dies with a subshell.
# shellcheck shell=bash

# The comment at the beginning of a script is what it says of itself.
usage()
{
	sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
}

# What was typed is not understood: usage_error MESSAGE
usage_error()
{
	warn "$*"
	usage >&2
	exit 2
}

# need_value OPTION [VALUE]: the value, or the usage if there is none.
need_value()
{
	[ -n "${2:-}" ] || usage_error "$1 needs a value"
}

# check_words WHAT LIST KNOWN...: each word of a comma-separated list is known.
check_words()
{
	local what=$1 list=$2 word
	local -a words

	shift 2
	IFS=, read -r -a words <<< "$list"
	[ ${#words[@]} -gt 0 ] || usage_error "no $what was named"
	for word in "${words[@]}"; do
		[[ " $* " == *" $word "* ]] || usage_error "unknown $what \"$word\"; there are: $*"
	done
}

# The seed of all random tests of this run: the same each time, so that a test
# that passes passes tomorrow, too.  "random" draws one.
choose_seed()
{
	RENCODER_SEED=${RENCODER_SEED:-1}
	[ "$RENCODER_SEED" != random ] || RENCODER_SEED=$((RANDOM * 32768 + RANDOM))
	[[ $RENCODER_SEED =~ ^[0-9]{1,9}$ ]] ||
		usage_error "the seed \"$RENCODER_SEED\" is neither a number of up to 9 digits" \
			'nor "random"'
	export RENCODER_SEED
}

# A temporary directory for builds and servers, as $tmp: make_tmp NAME
# Other users read it.
make_tmp()
{
	local place=${TMPDIR:-/tmp}

	# make knows no such file names.
	[[ $place =~ ^[-A-Za-z0-9/._+@,]+$ ]] ||
		die "TMPDIR has a blank or another character that make does not take:" \
			"\"$place\"; set another"
	# Sockets have short names.
	[ ${#place} -le 55 ] || die "TMPDIR is too long for a unix socket: \"$place\"; set another"
	tmp=$(mktemp -d "$place/$1.XXXXXX") ||
		die "nothing can be made in TMPDIR, \"$place\"; set another"
	chmod 755 "$tmp"
}

# Begins a command in a process group of its own, whose id is $started_job then.
declare -A jobs=()
started_job=
start_job()
{
	set -m
	"$@" < /dev/null &
	started_job=$!
	set +m
	jobs[$started_job]=running
}

# Waits for a job and returns its status: wait_job ID
# A shell takes a signal while it waits, but not while a command runs.
wait_job()
{
	local status=0

	wait "$1" || status=$?
	unset "jobs[$1]"
	return "$status"
}

run_job()
{
	start_job "$@"
	wait_job "$started_job"
}

# Ends the jobs that run, with all their processes, when we are ended.  They have
# half a minute to stop their servers.
stop_jobs()
{
	local group try

	for group in "${!jobs[@]}"; do
		kill -TERM -- "-$group" 2> /dev/null || unset "jobs[$group]"
	done
	for try in {1..300}; do
		for group in "${!jobs[@]}"; do
			if ! kill -0 -- "-$group" 2> /dev/null; then
				wait "$group" 2> /dev/null || true
				unset "jobs[$group]"
			elif [ "$try" -eq 300 ]; then
				kill -KILL -- "-$group" 2> /dev/null || true
			fi
		done
		[ ${#jobs[@]} -gt 0 ] || return 0
		sleep 0.1
	done
}

# What "trap .. EXIT" of a script is to call before anything else when it has
# such jobs.  Later signals find nothing to end.
ignore_signals()
{
	trap - EXIT
	trap '' HUP INT TERM
}

# trap_end COMMAND...: what is done when the script ends, whatever ends it.
trap_end()
{
	# shellcheck disable=SC2064 # the command as it is now
	trap "$*" EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

# end_script [COMMAND...]: for trap_end, of a script that has jobs and $tmp, which stays
# if $keep says so.  The command comes before that is removed.
end_script()
{
	local status=$?

	ignore_signals
	stop_jobs
	"$@"
	if [ -n "$keep" ]; then
		echo "kept: $tmp"
	else
		rm -rf --one-file-system "$tmp"
	fi
	exit "$status"
}

heading()
{
	printf '\n== %s ==\n' "$*"
}

warn()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die()
{
	warn "$*"
	exit 1
}

result()
{
	printf '%s\t%s\n' "$1" "$2" >> "$RESULTS"
}

# Results of one program from its TAP output: result_tap LABEL LOGFILE STATUS.
# A program that fails without saying which test (it crashed, it did not even
# build) is one more failed test, and one without any test line has failed.
result_tap()
{
	local label=$1 log=$2 status=$3 lines

	lines=$(sed -nE -e 's/^ok\b.*# *(SKIP|skip).*/skip\t&/p; t' \
		-e 's/^not ok\b.*# *TODO.*/ok\t&/p; t' \
		-e 's/^1\.\.0 # *(SKIP|skip).*/skip\t&/p; t' \
		-e 's/^(ok|not ok) +([0-9]+|-)( *[-+] *| +|$)(.*)/\1\t\4/p' "$log" |
		sed -E "s|\t|\t$label: |; s/ +[0-9]+ ms\$//")
	if [ -n "$lines" ]; then
		printf '%s\n' "$lines" >> "$RESULTS"
	elif [ "$status" -eq 0 ]; then
		result "not ok" "$label: no test was run"
	fi
	if [ "$status" -eq 124 ]; then
		result "not ok" "$label: $(timed_out)"
	elif [ "$status" -ne 0 ] && ! grep -q '^not ok' <<< "$lines"; then
		result "not ok" "$label: exit status $status"
	fi
}

timed_out()
{
	echo "stopped after ${STAGE_TIMEOUT:-?} s; RENCODER_STAGE_TIMEOUT sets the limit"
}

# Runs a command as one test: result_of LABEL LOGFILE COMMAND...
# The log is shown when it fails.
result_of()
{
	local label=$1 log=$2 status=0

	shift 2
	"$@" > "$log" 2>&1 || status=$?
	if [ "$status" -eq 0 ]; then
		result ok "$label"
		printf 'ok - %s\n' "$label"
		return
	fi
	[ "$status" -ne 124 ] || label+=": $(timed_out)"
	result "not ok" "$label"
	printf 'not ok - %s\n' "$label"
	show_log "$log" 60
	return 1
}

show_log()
{
	[ -s "$1" ] || return 0
	printf -- '---- %s (last %s lines)\n' "$1" "$2"
	tail -n "$2" "$1"
	printf -- '----\n'
}

# note_time STAGE SECONDS
note_time()
{
	result time "$(awk -v s="$2" -v stage="$1" 'BEGIN { printf "%s %.1f", stage, s / 60 }')"
}

count_results()
{
	grep -c "^$1	" "$RESULTS" || true
}

# The closing lines; the exit status says whether all is well.
print_totals()
{
	local passed failed

	passed=$(count_results ok)
	failed=$(count_results "not ok")
	heading "results"
	sed -n 's/^time	//p' "$RESULTS" | paste -sd, | sed -E 's/,/, /g; s/.+/minutes: &/; /^$/d'
	sed -n 's/^skip	/skipped: /p; s/^not ok	/FAILED: /p' "$RESULTS"
	if [ "$((passed + failed))" -eq 0 ]; then
		echo "FAILED: no test was run"
		failed=1
	fi
	printf '%d passed, %d failed\n' "$passed" "$failed"
	[ "$failed" -eq 0 ]
}
