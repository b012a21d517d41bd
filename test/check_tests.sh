#!/usr/bin/env bash
# What no tool checks about the tests: their names and numbers, that each has its
# expected output, that documents and comments name no test that is not there, and
# the length of lines.  Prints TAP.
#
#   test/check_tests.sh [SOURCE-TREE]
set -euo pipefail
export LC_ALL=C.UTF-8

case ${1:-} in
	--help | -h) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
	-*) echo "${0##*/}: unknown option \"$1\"" >&2; exit 2 ;;
esac
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

MAX_COLUMNS=100

tests=0
failed=

# verdict DESCRIPTION DETAILS: details mean failure.
verdict()
{
	tests=$((tests + 1))
	if [ -z "$2" ]; then
		echo "ok $tests - $1"
	else
		failed=yes
		echo "not ok $tests - $1"
		printf '#   %s\n' "${2//$'\n'/$'\n'#   }"
	fi
}

regress_names()
{
	find sql -maxdepth 1 -name '*.sql' ! -name '*--*' -printf '%f\n' | sed 's/\.sql$//' | sort
}

names_in()
{
	find "$1" -maxdepth 1 -name "*.$2" -printf '%f\n' | sed "s/\.$2\$//" | sort
}

# Files with alternative results, NAME_1.out, count for NAME.
outputs_in()
{
	names_in "$1" out | sed -E 's/_[0-9]$//' | sort -u
}

check_numbers()
{
	verdict "TAP files are called NUMBER_topic.pl" \
		"$(names_in test/t pl | grep -vE '^[0-9]{3}_[a-z0-9_]+$' || true)"
	verdict "no two TAP files have the same number" \
		"$(names_in test/t pl | cut -c1-3 | uniq -d)"
	verdict "no two TAP files have the same topic" \
		"$(names_in test/t pl | cut -c5- | sort | uniq -d)"
}

check_outputs()
{
	verdict "regression tests and expected/ agree" \
		"$(comm -3 <(regress_names) <(outputs_in expected))"
	verdict "specs and test/expected/ agree" \
		"$(comm -3 <(names_in test/specs spec) <(outputs_in test/expected))"
}

# "t/004_corruption.pl", "015_crash.pl", "sql/strings.sql", "specs/make-run.spec".
check_references()
{
	local file name bad=

	while IFS=: read -r file name; do
		case $name in
			*.pl) [ -e "test/t/$name" ] ;;
			*.spec) [ -e "test/$name" ] ;;
			*) [ -e "$name" ] ;;
		esac || bad+="$file names $name"$'\n'
	done < <(grep -rIoE --include='*.md' --include='*.[ch]' --include='*.sql' --include='*.p[lm]' \
		--include='*.sh' --include='*.spec' --exclude-dir=bin --exclude-dir=.git \
		'\b[0-9]{3}_[a-z0-9_]+\.pl|\bspecs/[a-z0-9-]+\.spec|\bsql/[a-z0-9_]+\.sql' . |
		grep -v '^./test/check_tests.sh' | sort -u)
	verdict "tests that are named exist" "${bad%$'\n'}"
}

# Documents and tests with a line that is too long.  Tabs count 4 columns.
long_files()
{
	local file

	for file in test/*.md sql/*.sql sql/include/*.sql test/*.sh test/lib/*.sh \
		test/t/*.pl test/perl/*.pm test/specs/*.spec test/load/*.sql; do
		[[ $file != *--* ]] || continue
		expand -t4 "$file" | grep -E "^.{$((MAX_COLUMNS + 1)),}" > /dev/null && echo "$file"
	done
	return 0
}

check_lines()
{
	verdict "no line of the tests is longer than $MAX_COLUMNS columns" "$(long_files)"
}

check_numbers
check_outputs
check_references
check_lines
echo "1..$tests"
[ -z "$failed" ]
