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

# The folders of src/, lowest first, stand in the map of src/README.md, section 2.
# "." are the files of src/ itself.
MAP=src/README.md

# Words (extended regular expressions) that only the files named may use.  Pages are
# changed by what is in store/ (INV-8).
WORDS='
PG_VERSION_NUM                     src/base/compat.h
GenericXLog|generic_xlog\.h        src/store/wal.c src/store/wal.h
log_newpage                        src/store/wal.c src/store/wal.h
rencoder_wal_begin                 src/store/*.[ch] src/key/coder.c
rencoder_space_(prepare_)?release  src/store/*.[ch]
xxhash\.h                          src/filter/renc_hash.h
renc_shape                         src/format/* src/design/* src/filter/* src/store/matrix_pages.h
'

# What the filter core and the run core may include besides their own headers.
CORE_MAY='<(stdbool|stddef|stdint|string|assert|limits|math|stdio|stdlib)\.h>'
CORE_MAY+='|"xxhash\.h"|<xxhash\.h>'

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

# All sources without comments, below $scratch, and what they include: "FILE INCLUDE" a line.
prepare()
{
	sources=(src/*.[ch] src/*/*.[ch])
	mkdir -p "$scratch"/src $(printf '%s\n' src/*/ | sed "s,^,$scratch/,")
	printf '%s\n' "${sources[@]}" |
		xargs -P 2 -I{} gcc -fpreprocessed -dD -E -P -x c {} -o "$scratch/{}" 2> /dev/null
	awk 'match($0, /^[ \t]*#[ \t]*include[ \t]+[<"][^>"]+[>"]/) {
			include = substr($0, 1, RLENGTH)
			sub(/^[^<"]*/, "", include)
			print FILENAME, include
		}' "${sources[@]}" > "$scratch/includes"
}

# The folders, one a line, in the order of the map.
folders()
{
	sed -nE '/^## 2\. /,/^## 3\. /s,^\| `([a-z]+|\.)/?` .*,\1,p' "$MAP"
}

# Sets "folder" to that of a file of src/, "." for those that are in none.
set_folder()
{
	folder=${1#src/}
	[[ $folder == */* ]] && folder=${folder%/*} || folder=.
}

# What the pure C folders include.  check_core FOLDER OTHER-FOLDER...
check_core()
{
	local folder=$1 file include name dir bad=

	while read -r file include; do
		[[ $file == src/$folder/* ]] || continue
		[[ ! $include =~ ^($CORE_MAY)$ ]] || continue
		name=${include//\"/}
		for dir in "$@"; do
			[ ! -e "src/$dir/${name#"$dir"/}" ] || continue 2
		done
		bad+="$file includes $include"$'\n'
	done < "$scratch/includes"
	verdict "$folder/ includes only $* and standard headers" "${bad%$'\n'}"
}

# Own headers are named by their path below src/, but in the pure C folders.
check_layers()
{
	local file include folder other order bad='' missing='' names
	local -A rank=()

	order=$(folders)
	for folder in $order; do
		rank[$folder]=${#rank[@]}
	done
	for file in "${sources[@]}"; do
		set_folder "$file"
		[ -n "${rank[$folder]:-}" ] ||
			missing+="$file is in a folder that the map does not name"$'\n'
	done
	while read -r file include; do
		include=${include//\"/}
		[ -e "src/$include" ] || continue
		set_folder "$file"
		other=${rank[$folder]:-}
		set_folder "src/$include"
		[ -n "$other" ] && [ -n "${rank[$folder]:-}" ] && [ "${rank[$folder]}" -le "$other" ] ||
			bad+="$file includes $include"$'\n'
	done < "$scratch/includes"
	for include in $order; do
		compgen -G "src/$include/*.c" > /dev/null ||
			missing+="the map names $include, where no source is"$'\n'
	done
	verdict "the map of $MAP names the folders there are" "${missing%$'\n'}"
	verdict "includes point down the folders" "${bad%$'\n'}"

	names=$(find src -name '*.[ch]' -printf '%f\n' | sort | uniq -d)
	verdict "file names are unique over all folders" "$names"
}

# A unit is a .c file with its header.  Private headers (*_work.h) belong to all who
# include them.  tsort names what is in a circle.
check_circles()
{
	local file unit include

	while read -r file include; do
		[[ $file != *_work.h && $include == \"* ]] || continue
		unit=${file#src/}
		include=${include//\"/}
		[ -e "src/$include" ] || include=${unit%/*}/$include
		[ ! -e "src/$include" ] || echo "${unit%.?} ${include%.h}"
	done < "$scratch/includes" > "$scratch/pairs"
	verdict "no file includes itself in a circle" \
		"$(tsort "$scratch/pairs" 2>&1 > /dev/null || true)"
}

check_words()
{
	local word owners owner file bad

	while read -r word owners; do
		[ -n "$word" ] || continue
		bad=
		while read -r file; do
			for owner in $owners; do
				[ "$owner" != "$file" ] || continue 2
			done
			bad+="$file"$'\n'
		done < <(cd "$scratch" && grep -rlE "$word" src | sort)
		verdict "$word stands only in $owners" "${bad%$'\n'}"
	done <<< "$WORDS"
}

# Static functions may share a name with those of other files.
check_function_names()
{
	verdict "names of public functions are unique over all files" "$(awk '
		/^renc(oder)?_?[a-z0-9_]*\(/ {
			name = $0
			sub(/\(.*/, "", name)
			if (!((FILENAME, name) in seen))
				print name
			seen[FILENAME, name]
		}' src/*.c src/*/*.c | sort | uniq -d)"
}

check_file_lengths()
{
	local bad

	bad=$(find . \( -name '*.[ch]' -o -name '*.sh' -o -name '*.p[lm]' \) -exec wc -l {} + |
		awk -v max="$MAX_FILE_LINES" '$2 != "total" && $1 > max { print $2 ": " $1 " lines" }')
	verdict "no file is longer than $MAX_FILE_LINES lines" "$bad"
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
		}' src/*.c src/*/*.c
}

main()
{
	failed=
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	prepare
	check_core filter
	check_core run filter
	check_layers
	check_circles
	check_words
	check_function_names
	check_file_lengths
	report_function_lengths
	echo "1..$tests"
	[ -z "$failed" ]
}

main
