#!/usr/bin/env bash
# All numbers that README.md and docs/ tell, by one command, on one version of PostgreSQL.
#
#   bash bench/figures.sh [--only PART,..] [--long] [--collect]
#
# Runs the scripts behind the numbers, one after the other (BENCH_PG, 17 if it is not set, names the version),
# and writes bench/results/numbers.tsv, a line for each number, and bench/results/numbers.md, the page of them:
# what, unit, spread, and for each part command, day, machine, version, fsync, commit and the load before and after.
# --only runs some parts, the others' numbers stay; --long also those that take hours.  --collect runs
# nothing: it reads the logs that are there.  They are in TMPDIR/rencoder-figures.  Pictures that parts draw go to
# bench/results/figures.  Ends with exit code 1 if a script fails; one that misses a limit has been measured, and
# the page says so.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd -P)
logs=${TMPDIR:-/tmp}/rencoder-figures
numbers=$root/bench/results/numbers.tsv
page=$root/bench/results/numbers.md

# Part, "long" if it is, command, what it asks.
parts() {
    cat <<'PARTS'
large||bench/billion.sh 100|100 million random bigint, a table of 3.4 GB: sizes, and single queries, each in a session of its own
types||bench/types.sh|sizes by type, a million rows, beside a btree (of points GiST)
writes||bench/insert.sh 1 1 3|COPY of a million random bigint into a million, single rows, random updates
builds||bench/build.sh 1 1 3|CREATE INDEX on a million rows (urls: 200,000)
ten||bench/ten.sh 300 1 3|ten columns of 300,000 rows: what writers pay for each index
queries||bench/checks/rows.sh 1|queries of a million random bigint, 38 rows a page, all in shared buffers
columns||bench/compare.sh --only indexes --columns uniform,domain,p|queries of a million rows by type, all cached
order||bench/checks/order.sh 1|rows in order, a million rows of 100,000 tenants
counts||bench/checks/counts.sh 3000 1 1024 0|what count(*) of 3 million rows costs, the table in shared buffers
counts-cached||bench/checks/counts.sh 3000 1 64 0|the same, the table in the kernel's cache
exclude||bench/exclude.sh|a constraint that lets no value come twice
peers||bench/peers.sh 1|the README's first example by each index of PostgreSQL; seven columns of few to many values
tpch||bench/tpch.sh 0.3 1 0|20 secondary indexes of TPC-H, 0.3 of its gigabyte
sizing||bench/sizing.sh|sizes by options, nulls, equal values; filters
saas||bench/saas.sh|the advice for a service's database, followed
filters||bench/filter/figures.sh ../results/figures 1 filter_speed|filters by themselves, no server
year||bench/year.sh 240|a year of loads, updates and retention, in four minutes
billion|long|bench/billion.sh|a billion random bigint
year-hour|long|bench/year.sh 3600|a year, in an hour
PARTS
}

die() { echo "figures.sh: $*" >&2; exit 1; }
# Is the commit what runs?
changed() { git -C "$root" diff --quiet HEAD -- src sql bench ':!bench/results' 2>/dev/null || echo ', changed'; }
load() { cut -d ' ' -f 1-3 /proc/loadavg; }

# One part into its log; the log is there when it is complete.
run_part() { # NAME COMMAND
    local log=$logs/$1.log begun=$SECONDS status=0
    echo "$1: $2, load $(load)" >&2
    {
        printf 'begun:\t%s\nload before:\t%s\ncommit:\t%s\n' "$(date '+%F %H:%M')" "$(load)" \
            "$(git -C "$root" describe --always 2>/dev/null || echo unknown)$(changed)"
        # shellcheck disable=SC2086  # several words
        BENCH_NUMBERS=1 BENCH_OBJECTS=$logs BENCH_PG=${BENCH_PG:-17} bash "$root"/$2 || status=$?
        printf 'load after:\t%s\nseconds:\t%s\nstatus:\t%s\n' "$(load)" $((SECONDS - begun)) "$status"
    } >"$log.new" 2>&1
    if ! grep -q '^number:' "$log.new"; then
        echo "$1 has failed: see $log.new" >&2
        failed=1
        return
    fi
    mv "$log.new" "$log"
    ((status == 0)) || echo "$1 ended with exit code $status: see $log" >&2
}

# The lines of a part in numbers.tsv: those of its log, else those that are there.
part_lines() { # NAME COMMAND
    if [[ -e $logs/$1.log && (-z $only || ,$only, == *,$1,*) ]]; then
        awk -F '\t' -v OFS='\t' -v part="$1" -v command="$2" '
            /^(begun|load before|load after|commit|seconds|status):\t/ { is[$1] = $2 }
            /^Machine: / { machine = substr($0, 10) }
            $1 == "number:" { n++; line[n] = part OFS $2 OFS $3 OFS significant($4) OFS $5 OFS significant($6) OFS significant($7) OFS $8 }
            END {
                print "#" part, command, is["begun:"], is["load before:"], is["load after:"], is["seconds:"], is["commit:"], is["status:"], machine
                for (i = 1; i <= n; i++) print line[i]
            }
            # Whole numbers as they are, others with four significant digits.
            function significant(x) { return x == "" || x ~ /^[0-9]+$/ ? x : sprintf(x + 0 >= 1000 ? "%.0f" : "%.4g", x) }' "$logs/$1.log"
    elif [[ -e $numbers ]]; then
        awk -F '\t' -v part="$1" '$1 == part || $1 == "#" part' "$numbers"
    fi
}

# The page: a table for each part, whose columns are what was measured there.
write_page() {
    cat <<'HEAD'
# Figures that the texts tell

Made by `bash bench/figures.sh`, which says at each part by which command, when, and at what load; the
same numbers stand in [numbers.tsv](numbers.tsv). fsync is on. Sizes: a kB has 1,024 bytes, an MB
1,024 kB. CPU is processor time of the session, which other work on the machine lengthens least. In
brackets stand least and most of the rounds, or, of more than ten queries, the quartiles. [How to read
results](../README.md#how-to-read-results).

HEAD
    parts | while IFS='|' read -r name _ _ what; do printf '%s\t%s\n' "$name" "$what"; done |
        awk -F '\t' -f "$root/bench/lib/numbers.awk" - "$numbers" | fold_long
}

# Lines of texts have up to 100 characters, but rows of tables cannot be folded.
fold_long() {
    awk '/^\|/ || length($0) <= 100 { print; next }
        { fflush(); print | "fold -s -w 100"; close("fold -s -w 100") }' | sed 's/ *$//'
}

only='' long='' collect='' failed=0
while [[ $# -gt 0 ]]; do
    case $1 in
        --only) [[ $# -gt 1 ]] || die '--only needs names'; only=$2; shift ;;
        --long) long=yes ;;
        --collect) collect=yes ;;
        --help | -h) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; echo; parts | column -t -s '|'; exit 0 ;;
        *) die "what is $1?  See --help" ;;
    esac
    shift
done
for name in ${only//,/ }; do parts | grep -q "^$name|" || die "there is no part $name"; done
mkdir -p "$logs"

chosen() { # NAME LONG
    if [[ -n $only ]]; then [[ ,$only, == *,$1,* ]]; else [[ -z $2 || -n $long ]]; fi
}

while IFS='|' read -r name is_long command _; do
    [[ -n $collect ]] || ! chosen "$name" "$is_long" || run_part "$name" "$command" </dev/null
done < <(parts)
{
    printf 'part\twhat\tof\tvalue\tunit\tleast\tmost\trounds\n'
    while IFS='|' read -r name _ command _; do part_lines "$name" "$command"; done < <(parts)
} >"$numbers.new"
mv "$numbers.new" "$numbers"
write_page >"$page.new"
mv "$page.new" "$page"
echo "numbers are in $numbers, the page is $page" >&2
exit "$failed"
