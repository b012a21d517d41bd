#!/usr/bin/env bash
# Runs the command that runs a TAP test in a directory of its own.  If it has not ended after so
# many seconds, prints where the test is and what its servers do, for whoever has no more than the
# log; the caller ends it a little later.
#
#   test/tap_file.sh SECONDS PG_CONFIG DIR COMMAND...
set -uo pipefail

seconds=$1 pg_config=$2 dir=$3
shift 3

# The processes of a server, and what its sessions wait for: describe_server PIDFILE
describe_server()
{
	local -a line

	mapfile -t line < "$1"
	printf -- '---- %s\n' "${1%/*}"
	ps -ef | awk -v pid="${line[0]}" '$2 == pid || $3 == pid'
	timeout 5 "$("$pg_config" --bindir)/psql" -X -P pager=off -h "${line[4]}" -p "${line[3]}" \
		-d postgres -c "SELECT pid, backend_type, state, wait_event_type, wait_event,
			left(regexp_replace(query, '\s+', ' ', 'g'), 200) AS query
			FROM pg_stat_activity ORDER BY pid" 2>&1 || echo "psql does not answer within 5 s"
}

describe()
{
	local file

	echo "---- not done after $seconds s: what the test has printed, and its servers"
	for file in "$dir"/tmp_check/log/regress_log_*; do
		[ ! -e "$file" ] || tail -n 20 "$file"
	done
	find "$dir/tmp_check" -name postmaster.pid | sort | while read -r file; do
		describe_server "$file"
	done
	echo "----"
}

# The shell's own way to sleep leaves no process behind.
{
	read -rt "$seconds" <> <(:)
	describe
} &
watcher=$!
"$@" < /dev/null &
status=0
wait $! || status=$?
kill "$watcher" 2> /dev/null
exit "$status"
