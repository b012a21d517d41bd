#!/usr/bin/env bash
# Filters and runs by themselves: false positives and time.  No server is needed; gnuplot draws.
#
#   bash bench/filter/figures.sh [OUT [SEED [FILE..]]]
#
# Writes to OUT (default bench/results/figures) these, or some of them, with plots beside them:
#   filter.csv        rates of false positives of one filter of 20,000 keys by bits a key, of
#                     workloads of keys and queries (make_queries.c says what they are); two
#                     filters, 100,000 queries each; windows cost next to nothing, as rates count
#   filter_speed.csv  ns of CPU time that a query takes of one filter, 128 of them probed
#                     together, and of one filter alone; shapes as the index would choose them.
#                     Compiling a query (ns_compile) is done once for all groups of a table.
#   run.csv           runs of a million keys
set -euo pipefail
cd "$(dirname "$0")"
case ${1:-} in --help | -h) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${0##*/}"; exit 0 ;; esac

root=$(cd ../.. && pwd -P)
out=${1:-$root/bench/results/figures}
seed=${2:-1}
shift $(($# < 2 ? $# : 2))
files=" ${*:-filter_speed run filter} "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
load=$(cut -d ' ' -f 1-3 /proc/loadavg)
begun=$(date '+%F %H:%M')

RATE_BITS=(8 12 16 20 24)
# Keys, queries, their greatest length.
RATE_WORKLOADS='uniform uniform 1
uniform uniform 32
uniform uniform 1024
uniform uniform 1048576
uniform split 1048576
uniform correlated 32
normal uniform 32
skewed uniform 32
skewed correlated 32
clustered correlated 32
books uniform 32
facebook uniform 32
osm uniform 32
wiki uniform 32'
SPEED_BITS=(12 16 20 24)
# And keys a filter: 1,120 are 32 pages of 35 rows, 20,000 are what the article has.
SPEED_WORKLOADS='uniform uniform 1 1120
uniform uniform 32 1120
uniform uniform 1024 1120
uniform uniform 1048576 1120
uniform split 1048576 1120
skewed uniform 32 1120
uniform uniform 32 5920
uniform uniform 32 20000'
RUN_FALSE_PAGES=(256 64 16 4 1 0.25 0.06)

value() { sed -nE "s/(^|.* )$1=([^ ]*).*/\2/p" <<<"$2"; }

head_of() { # WHAT-IT-SAYS
    echo "# $1"
    echo "# bash bench/filter/figures.sh"
    echo "# $(nproc) CPUs ($(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo))"
    echo "# rencoder $(git -C "$root" describe --always 2>/dev/null || echo unknown); seed $seed"
    echo "# begun $begun at load $load; written $(date '+%F %H:%M') at load $(cut -d ' ' -f 1-3 /proc/loadavg)"
}

# measure FILTERS N QUERIES KEYS QUERIES-KIND LENGTH BITS SEED [OPTION..]: a line of renc_bench
measure() {
    local filters=$1 n=$2 queries=$3 keys=$4 kind=$5 length=$6 bits=$7 own_seed=$8
    shift 8
    bin/make_queries "$own_seed" "$filters" "$n" "$queries" "$kind" 32 "$work/keys" "$work/queries" \
        "$work/samples" "$length" "$keys"
    bin/renc_bench --keys "$work/keys" --queries "$work/queries" --samples "$work/samples" \
        --n "$n" --bits "$bits" "$@"
}

rates() {
    local keys kind length bits i line passed pairs predicted
    head_of 'false positives of one filter of 20,000 keys'
    echo keys,queries,length,bits,fpr,predicted,passed,pairs
    while read -r keys kind length; do
        for bits in "${RATE_BITS[@]}"; do
            passed=0 pairs=0 predicted=0
            for i in 1 2; do
                line=$(measure 1 20000 100000 "$keys" "$kind" "$length" "$bits" $((seed * 1000 + i)) \
                    --window-cost 0.001)
                passed=$((passed + $(value passed "$line"))) pairs=$((pairs + $(value pairs "$line")))
                predicted+=" $(value fpr_predicted "$line")"
            done
            awk -v w="$keys,$kind,$length,$bits" -v passed="$passed" -v pairs="$pairs" -v p="$predicted" \
                'BEGIN { split(p, v, " "); printf "%s,%.3g,%.3g,%d,%d\n", w, passed / pairs,
                    (v[2] + v[3]) / 2, passed, pairs }'
        done
    done <<<"$RATE_WORKLOADS"
}

speeds() {
    local keys kind length n bits line
    head_of 'ns of CPU time for a query of one filter: of 128 in one probe, and alone'
    echo keys,queries,length,n,bits,ns_filter,ns_alone,ns_compile,windows,fpr
    while read -r keys kind length n; do
        for bits in "${SPEED_BITS[@]}"; do
            line=$(measure 128 "$n" 20000 "$keys" "$kind" "$length" "$bits" "$seed")
            awk -v w="$keys,$kind,$length,$n,$bits" -v group="$(value ns_group "$line")" \
                -v rest="$(value ns_probe "$line"),$(value ns_compile "$line"),$(value windows "$line"),$(value fpr "$line")" \
                'BEGIN { printf "%s,%.2f,%s\n", w, group / 128, rest }'
        done
    done <<<"$SPEED_WORKLOADS"
}

# Four rows a page: a heap of 250,000 pages.
runs() {
    local wanted
    head_of 'runs of 1,000,000 uniform keys, 4 rows a page: heap pages in vain, pages of the run, ns of CPU time'
    echo wanted,queries,false_pages,pages,ns,bits_a_row
    for wanted in "${RUN_FALSE_PAGES[@]}"; do
        ../run/bin/run_bench -n 1000000 -r 4 -f "$wanted" -s "$seed" uniform |
            sed -nE -e '1s/.* bits ([0-9.]+).*/bits \1/p' \
                -e 's/^ +(.*[^ ]) +false ([0-9.]+) .*pages ([0-9.]+) search ([0-9]+) .*/\1|\2,\3,\4/p' |
            awk -F'|' -v wanted="$wanted" 'NF == 1 { sub(/bits /, ""); row = $1; next }
                { gsub(/ /, "_", $1); print wanted "," $1 "," $2 "," row }'
    done | sort -s -t, -k 2,2
}

# write FILE FUNCTION: the file appears when it is complete.
write() {
    [[ $files == *" $1 "* ]] || return 0
    echo "$1.csv" >&2
    "$2" >"$work/$1.csv"
    mv "$work/$1.csv" "$out/$1.csv"
}

make -s all
make -s -C ../run
mkdir -p "$out"
write filter_speed speeds
write run runs
write filter rates
# For bench/figures.sh: least and most of all workloads and bits a key.
if [[ -n ${BENCH_NUMBERS:-} ]]; then
    echo "Machine: $(nproc) CPUs ($(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)); no server"
    awk -F, -v OFS='\t' '!/^#/ && $4 + 0 > 0 {
            for (f = 6; f <= 8; f++) {
                if (!(($4, f) in n)) { least[$4, f] = $f; n[$4, f] = 0 }
                if ($f < least[$4, f]) least[$4, f] = $f
                if ($f > most[$4, f]) most[$4, f] = $f
                n[$4, f]++
            }
            seen[$4] = 1
        }
        END {
            split(",,,,,one of 128 in a probe,one alone,to compile the query", name, ",")
            for (k in seen) for (f = 6; f <= 8; f++) {
                print "number:", k " keys a filter", name[f] ": least", least[k, f], "ns", "", "", n[k, f]
                print "number:", k " keys a filter", name[f] ": most", most[k, f], "ns", "", "", n[k, f]
            }
        }' "$out/filter_speed.csv"
fi
bash ../compare/plot.sh "$out"
