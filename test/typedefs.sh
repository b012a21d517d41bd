#!/usr/bin/env bash
# Writes src/typedefs.list, which pgindent wants: the names of all types that the
# source uses, as the debugging information of the object files has them.  Call it
# after "make".  What another version of PostgreSQL has brought into the list stays
# as long as the source has the word.
#
#   test/typedefs.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
	--help | -h) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
	-*) echo "${0##*/}: unknown option \"$1\"" >&2; exit 2 ;;
esac
mapfile -t objects < <(find src -name '*.o')
[ ${#objects[@]} -gt 0 ] || { echo "${0##*/}: no object files, call make first" >&2; exit 1; }

list=src/typedefs.list
{
	objdump -Wi "${objects[@]}" |
		awk '/DW_TAG_typedef/ { here = 1; next }
			here && /DW_AT_name/ { print $NF }
			{ here = 0 }' |
		grep -v '^_'
	grep -rohwFf "$list" src --include='*.[ch]' || true
} | LC_ALL=C sort -u > "$list.new"
mv "$list.new" "$list"
