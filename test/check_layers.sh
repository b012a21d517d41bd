#!/usr/bin/env bash
# The structure that the compiler does not check: who may include whom, words
# that belong to one file, lengths.  Prints TAP; needs only gcc, which strips
# the comments.
#
#   test/check_layers.sh [SOURCE-TREE]
set -euo pipefail

case ${1:-} in
	--help | -h) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
	-*) echo "${0##*/}: unknown option \"$1\"" >&2; exit 2 ;;
esac
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

MAX_FILE_LINES=600
MAX_FUNCTION_LINES=80

# Layers of src/, lowest first, by file name without suffix.  A file may
# include headers of its own layer and of those above it in this list.
# Everything may include the filter core and the run core, which stand below all.
LAYERS='
compat boxes collect intervals rencoder request subtransaction
page
wal entry
meta options
directory space
coder samples trainer heapread
group groupcopy horizon
probe format format_dict format_filter
key encode encode_geometry encode_net encode_number encode_point encode_text
planshare
plan
train
rangescan
sampling samplekeep sampletable
groupbuild
parallelbuild
build summarize summarize_state summarize_steps summarize_whole rebuild retune desummarize interleave autosummarize insert scan bitmap vacuum costindex costlook costheap cost validate handler
target bounds worker maintenance inspect samplefuncs check check_state check_blocks check_heap
'

# Words (extended regular expressions) that only the files named may use.
WORDS='
PG_VERSION_NUM                     src/compat.h
GenericXLog|generic_xlog\.h        src/wal.c src/wal.h
log_newpage                        src/wal.c src/wal.h
xxhash\.h                          src/filter/renc_hash.c
'

# What the filter core and the run core may include besides their own headers.
CORE_MAY='<(stdbool|stddef|stdint|string|assert|limits|math|stdio|stdlib)\.h>|"xxhash\.h"|<xxhash\.h>'

tests=0

ok()
{
	tests=$((tests + 1))
	echo "ok $tests - $1"
}

# not_ok DESCRIPTION DETAILS
not_ok()
{
	tests=$((tests + 1))
	failed=yes
	echo "not ok $tests - $1"
	printf '#   %s\n' "${2//$'\n'/$'\n'#   }"
}

# verdict DESCRIPTION DETAILS: details mean failure.
verdict()
{
	if [ -z "$2" ]; then
		ok "$1"
	else
		not_ok "$1" "$2"
	fi
}

strip_comments()
{
	gcc -fpreprocessed -dD -E -P -x c "$1" 2> /dev/null
}

includes()
{
	sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]+([<"][^>"]+[>"]).*/\1/p' "$1"
}

layer_of()
{
	awk -v name="$1" '{ for (i = 1; i <= NF; i++) if ($i == name) print NR }' \
		<<< "$LAYERS"
}

check_filter()
{
	local file include bad=

	for file in src/filter/*.[ch]; do
		while read -r include; do
			[[ $include =~ ^\"(renc_[a-z0-9_]+\.h)\"$ && -e src/filter/${BASH_REMATCH[1]} ]] && continue
			[[ $include =~ ^($CORE_MAY)$ ]] || bad+="$file includes $include"$'\n'
		done < <(includes "$file")
	done
	verdict "the filter core includes its own and standard headers only" "${bad%$'\n'}"
}

# The run core stands above the filter core and uses little of it.
check_run()
{
	local file include bad=

	for file in src/run/*.[ch]; do
		while read -r include; do
			[[ $include =~ ^\"(renc_run[a-z0-9_]*\.h)\"$ && -e src/run/${BASH_REMATCH[1]} ]] && continue
			[[ $include =~ ^\"renc_(config|query)\.h\"$ ]] && continue
			[[ $include =~ ^($CORE_MAY)$ ]] || bad+="$file includes $include"$'\n'
		done < <(includes "$file")
	done
	verdict "the run core includes its own, the filter core's small and standard headers only" "${bad%$'\n'}"
}

check_layers()
{
	local file name include layer other bad=

	for file in src/*.[ch]; do
		name=$(basename "$file" | sed 's/\.[ch]$//')
		layer=$(layer_of "$name")
		if [ -z "$layer" ]; then
			bad+="$file has no layer in ${BASH_SOURCE[0]##*/}"$'\n'
			continue
		fi
		while read -r include; do
			include=$(tr -d '"' <<< "$include")
			[ -e "src/$include" ] || continue
			other=$(layer_of "${include%.h}")
			[ -n "$other" ] && [ "$other" -le "$layer" ] ||
				bad+="$file includes $include"$'\n'
		done < <(includes "$file" | grep '^"')
	done
	verdict "includes point down the layers" "${bad%$'\n'}"
}

check_words()
{
	local word owners file bad

	while read -r word owners; do
		[ -n "$word" ] || continue
		bad=
		for file in src/*.[ch] src/filter/*.[ch] src/run/*.[ch]; do
			[[ " $owners " != *" $file "* ]] || continue
			if strip_comments "$file" | grep -qE "$word"; then
				bad+="$file"$'\n'
			fi
		done
		verdict "$word stands only in $owners" "${bad%$'\n'}"
	done <<< "$WORDS"
}

check_file_lengths()
{
	local file bad=

	for file in $(find . -name '*.[ch]' -o -name '*.sh' -o -name '*.p[lm]' | sort); do
		[ "$(wc -l < "$file")" -le "$MAX_FILE_LINES" ] ||
			bad+="$file: $(wc -l < "$file") lines"$'\n'
	done
	verdict "no file is longer than $MAX_FILE_LINES lines" "${bad%$'\n'}"
}

# A report: lengths are advice.  A function's body starts and ends with a brace
# in the first column.
report_function_lengths()
{
	awk -v max="$MAX_FUNCTION_LINES" '
		FNR == 1 { start = 0; name = "" }
		/^[A-Za-z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
		/^\{/ { start = FNR }
		/^\}/ {
			if (start && FNR - start - 1 > max)
				printf "# long: %s:%d %s, %d lines\n", FILENAME, start, name, FNR - start - 1
			start = 0
		}' src/*.c src/filter/*.c src/run/*.c
}

main()
{
	failed=
	check_filter
	check_run
	check_layers
	check_words
	check_file_lengths
	report_function_lengths
	echo "1..$tests"
	[ -z "$failed" ]
}

main
