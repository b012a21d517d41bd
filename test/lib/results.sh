# Test results; sourced by the scripts of test/.
#
# Every result is one line "ok|not ok|skip <tab> label" of the file $RESULTS,
# so that stages in other processes, under other users and in other roots can
# report theirs, and the totals are counted, never kept in a variable that
# dies with a subshell.
# shellcheck shell=bash

# The seed of all random tests of this run.
choose_seed()
{
	RENCODER_SEED=${RENCODER_SEED:-$((RANDOM * 32768 + RANDOM))}
	export RENCODER_SEED
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
	if [ "$status" -ne 0 ] && ! grep -q '^not ok' <<< "$lines"; then
		result "not ok" "$label: exit status $status"
	fi
}

# Runs a command as one test: result_of LABEL LOGFILE COMMAND...
# The log is shown when it fails.
result_of()
{
	local label=$1 log=$2

	shift 2
	if "$@" > "$log" 2>&1; then
		result ok "$label"
		printf 'ok - %s\n' "$label"
	else
		result "not ok" "$label"
		printf 'not ok - %s\n' "$label"
		show_log "$log" 60
		return 1
	fi
}

show_log()
{
	[ -s "$1" ] || return 0
	printf -- '---- %s (last %s lines)\n' "$1" "$2"
	tail -n "$2" "$1"
	printf -- '----\n'
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
	sed -n 's/^skip	/skipped: /p; s/^not ok	/FAILED: /p' "$RESULTS"
	if [ "$((passed + failed))" -eq 0 ]; then
		echo "FAILED: no test was run"
		failed=1
	fi
	printf '%d passed, %d failed\n' "$passed" "$failed"
	[ "$failed" -eq 0 ]
}
