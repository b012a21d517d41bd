#!/usr/bin/env bash
# clang's static analyser over src/, as a server with assertions compiles it.
#
#   test/analyze.sh [--pg-config FILE]
#
# A source file passes if the analyser finds nothing but what test/analyze_explained.txt explains:
# file, checker, reason, with tabs between them.  Versions of clang find different things: the list
# names the version that it was made with, and with that version each explanation must be needed.
# Some ten minutes of CPU.  The last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/results.sh
. "$top/test/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$top/test/lib/server.sh"
# shellcheck source=test/lib/packages.sh
. "$top/test/lib/packages.sh"

# analyze FILE: what the analyser says of a file, in a log.  A file that does not compile ends in
# an error that nothing explains.
analyze()
{
	"$CLANG" --analyze --analyzer-output text -DUSE_ASSERT_CHECKING -Isrc -I"$SERVER" "$1" \
		> "$LOGS/${1//\//:}" 2>&1 || true
}

# findings LOG: file and checker of each
findings()
{
	sed -nE -e 's/^([^: ]+):[0-9]+:[0-9]+: warning: .*\[([A-Za-z.]+)\]$/\1\t\2/p; t' \
		-e 's/^.*error: .*/&\tcompiler/p' "$1" | sort -u
}

# judge FILE
judge()
{
	local log=$LOGS/${1//\//:} unexplained

	findings "$log" >> "$tmp/found"
	unexplained=$(findings "$log" | grep -vxFf "$tmp/explained" || true)
	if [ -z "$unexplained" ]; then
		result ok "$1"
	else
		result "not ok" "$1: $(tr '\t' ' ' <<< "$unexplained" | paste -sd,)"
		show_log "$log" 40
	fi
}

main()
{
	local keep='' pg_config=pg_config list=$top/test/analyze_explained.txt tmp RESULTS file entry

	while [ $# -gt 0 ]; do
		case $1 in
			--pg-config) need_value "$@"; pg_config=$2; shift 2 ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	make_tmp rencoder-analyze
	trap_end rm -rf --one-file-system "$tmp"
	RESULTS=$tmp/results
	install_packages tools || true
	CLANG=$(find_clang)
	SERVER=$("$pg_config" --includedir-server)
	LOGS=$tmp
	export CLANG SERVER LOGS
	export -f analyze
	touch "$RESULTS" "$tmp/found"
	sed -n '/^#/!p' "$list" | cut -f 1,2 | sort > "$tmp/explained"
	cd "$top"
	find src -name '*.c' | sort > "$tmp/files"
	xargs -P "$(nproc)" -I '{}' bash -c 'analyze "{}"' < "$tmp/files"
	while read -r file; do
		judge "$file"
	done < "$tmp/files"
	if grep -qxF "# $("$CLANG" -dumpversion | cut -d. -f 1)" "$list"; then
		while read -r entry; do
			grep -qxF "$entry" "$tmp/found" || result "not ok" "explained, but not found: $entry"
		done < "$tmp/explained"
	fi
	print_totals
}

main "$@"
