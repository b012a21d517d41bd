#!/usr/bin/env bash
# Is the C code of src/ as pgindent leaves it?  Prints TAP.  PostgreSQL's server
# development packages bring pgindent from version 17 on; with older ones the
# check is skipped, and from 19 on, whose pgindent has other rules.
#
#   test/check_indent.sh [PG_CONFIG [SOURCE-TREE]]
#
# To mend what it finds: pgindent with the same options but --check and --diff.
set -euo pipefail

case ${1:-} in
	--help | -h) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
	-*) echo "${0##*/}: unknown option \"$1\"" >&2; exit 2 ;;
esac
pg_config=$(command -v "${1:-pg_config}") || { echo "${0##*/}: no $1" >&2; exit 2; }
cd "${2:-$(dirname "${BASH_SOURCE[0]}")/..}"
bin=$("$pg_config" --bindir)

if "$pg_config" --version | grep -Eq '^PostgreSQL (19|[2-9][0-9])'; then
	echo "ok 1 - src/ is indented # SKIP the rules are those of 17 and 18"
	echo "1..1"
	exit 0
fi
if [ ! -x "$bin/pgindent" ]; then
	echo "ok 1 - src/ is indented # SKIP $bin has no pgindent"
	echo "1..1"
	exit 0
fi

status=0
diff=$("$bin/pgindent" --check --diff --typedefs=src/typedefs.list \
	--indent="$bin/pg_bsd_indent" src 2>&1) || status=$?
if [ "$status" -eq 0 ]; then
	echo "ok 1 - src/ is indented"
else
	echo "not ok 1 - src/ is indented"
	printf '#   %s\n' "${diff//$'\n'/$'\n'#   }"
fi
echo "1..1"
exit "$status"
