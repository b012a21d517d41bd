#!/usr/bin/env bash
# Draws what bench/compare.sh has written: the CSV files of a directory as SVG files beside them.
#
#   bash bench/compare/plot.sh DIR
set -euo pipefail
if [[ $# -ne 1 || $1 == -* ]]; then
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
    [[ ${1:-} == --help || ${1:-} == -h ]] && exit 0
    exit 2
fi
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A series has the same colour in all plots, and ours the widest line.
declare -A COLOUR=([rencoder]='#c00000' [btree]='#1f5fa8' [btree_hash]='#6fa8dc' [hash]='#38761d'
    [brin32]='#b45f06' [brin128]='#e69138' [brin_multi]='#a64d79' [brin_bloom]='#7f6000'
    [bloom]='#8e7cc3' [gin]='#45818e' [gist]='#674ea7' [spgist]='#c27ba0' [seq]='#555555'
    [lsm3]='#cc4125' [parallel]='#999999' [none]='#000000' [measured]='#c00000' [law]='#555555'
    [rencoder:vacuumed]='#e6a0a0' [btree:vacuumed]='#a0c4e6')

OTHERS=('#c00000' '#1f5fa8' '#38761d' '#e69138' '#674ea7' '#45818e' '#7f6000' '#999999')

# The order in the keys of the plots.
ORDER='rencoder rencoder:vacuumed btree btree:vacuumed btree_hash hash lsm3 gin gist spgist bloom
    brin_bloom brin_multi brin32 brin128 seq parallel none measured law'

# Lines of a file by the names of its columns: fields FILE CONDITION VALUE..  The condition and the
# values are awk, with @name for a column.
fields() {
    local file=$1 program="if ($2) print $3"
    shift 3
    local value
    for value; do program+=", $value"; done
    awk -F, "/^#/ { next } !head++ { for (i = 1; i <= NF; i++) at[\$i] = i; next }
        { $(sed -E 's/@([a-z0-9_]+)/$at["\1"]/g' <<<"$program") }" "$file"
}

# draw OUTPUT TITLE XLABEL YLABEL COMMANDS STYLE: lines "series x y .." from standard input, one
# curve for each series.  COLOUR in the style is its colour, SIDE 1 and -1 in turn.
draw() {
    local output=$1 n=0 name curves='' colour style
    cat >"$work/data"
    [[ -s $work/data ]] || return 0
    awk -v dir="$work" '{ name = $1; sub(/^[^ ]+ /, ""); print > (dir "/series." name) }' \
        "$work/data"
    for name in $ORDER $(awk '!seen[$1]++ { print $1 }' "$work/data"); do
        [[ -e $work/series.$name && $curves != *"/series.$name'"* ]] || continue
        colour=${COLOUR[$name]:-${OTHERS[n % ${#OTHERS[@]}]}}
        style=${6//COLOUR/rgb \'$colour\'} n=$((n + 1))
        curves+="${curves:+, }'$work/series.$name' ${style//SIDE/$((n % 2 ? 1 : -1))} title '$name'"
    done
    gnuplot 2>"$work/errors" <<PLOT || { cat "$work/errors" >&2; exit 1; }
set terminal svg size 760,460 font "sans-serif,13" background rgb "white" noenhanced
set output '$output.svg'
set title '$2'
set xlabel '$3'
set ylabel '$4'
set border 3
set tics nomirror out
set grid ytics linecolor rgb '#dddddd'
set key outside right top vertical
set format '%g'
$5
plot $curves
PLOT
    rm -f "$work"/series.*
}

CURVE='with linespoints linewidth 2 pointtype 7 pointsize 0.6 linecolor COLOUR'
# Where all is cached that is the latency on an idle machine; the files have both.
CPU='CPU time of the session, ms'
NAMES='using 1:2:3 with labels left offset 1,0.7*SIDE point pointtype 7 linecolor COLOUR'
NAMES+=' textcolor COLOUR'

# The kinds of queries that a column has, in their order, as positions.
kinds() { # COLUMN KIND..
    local column=$1 n=0 kind
    shift
    for kind; do
        grep -q "^warm,$column,$kind," latency.csv || continue
        printf '%s %d\n' "$kind" "$n"
        n=$((n + 1))
    done
}

# Numbers of matches are joined by a line; lists and patterns stand by themselves.
by_kind() { # COLUMN OUTPUT FIELD YLABEL KIND..
    local column=$1 output=$2 field=$3 ylabel=$4 tics
    shift 4
    kinds "$column" "$@" >"$work/kinds"
    tics=$(awk '{ printf "%s\"%s\" %d", (NR > 1 ? ", " : ""), $1, $2 }' "$work/kinds")
    fields latency.csv "@col == \"$column\"" '@what' '@kind' "@$field" |
        awk 'NR == FNR { at[$1] = $2; next } $2 in at && $3 > 0 { print $1, at[$2], $3 }' \
            "$work/kinds" - | sort -s -k 1,1 -k 2,2n |
        awk -v last="$(awk '$1 != "in" && $1 != "like" { n = $2 } END { print n }' "$work/kinds")" \
            '{ print } $2 >= last { print $1 " " }' |
        draw "$output" "column \"$column\"" 'kind of query; numbers: rows that match' "$ylabel" \
            "set logscale y; set xtics ($tics)
            set offsets graph 0.03, graph 0.03, graph 0, graph 0" "$CURVE"
}

plot_latency() {
    by_kind uniform latency cpu_ms "$CPU" absent empty one 10 100 1000 in
    by_kind uniform pages pages 'pages of index and table' absent empty one 10 100 1000 in
    by_kind domain latency_text cpu_ms "$CPU" absent empty one 10 100 1000 in like
    by_kind p latency_points cpu_ms "$CPU" empty one 10 100 1000
}

# Each index with its name; no index has no size, so it stands at the left.
plot_size_latency() {
    local column
    for column in uniform domain p; do
        fields size_latency.csv "@col == \"$column\" && @cpu_ms > 0" '@what' \
            '(@bytes > 0 ? @bytes / 1048576 : 0.02)' '@cpu_ms' '@what' |
            draw "size_latency${column/#/_}" "one match, column \"$column\"" \
                'size of the index, MB (left: none)' "$CPU" \
                'set logscale xy; set key off; set grid xtics
                set offsets graph 0.02, graph 0.15, graph 0.1, graph 0.1
                set xrange [0.015:]' \
                "$NAMES"
    done
    mv size_latency_uniform.svg size_latency.svg
}

plot_build() {
    fields build.csv 1 '@col' '@what' '@cpu_ms / 1000' |
        bars build 'CPU time of CREATE INDEX' seconds ''
    fields build.csv 1 '@col' '@what' '@bits_a_row' |
        bars sizes size 'bits a row' 'set logscale y'
}

# Groups of bars from lines "group series value".
bars() { # OUTPUT TITLE YLABEL COMMANDS
    local output=$1 title=$2 ylabel=$3 commands=$4
    awk '{ if (!($1 in g)) { g[$1] = n++; tics = tics (n > 1 ? ", " : "") "\"" $1 "\" " n - 1 }
            if (!($2 in s)) s[$2] = m++
            line[++k] = $2 " " g[$1] " " s[$2] " " $3 }
        END { print tics; print m; for (i = 1; i <= k; i++) print line[i] }' >"$work/bars"
    tail -n +3 "$work/bars" | awk -v m="$(sed -n 2p "$work/bars")" \
        '{ print $1, $2 + ($3 - (m - 1) / 2) * 0.85 / m, $4, 0.8 / m }' |
        draw "$output" "$title" '' "$ylabel" \
            "set xtics ($(head -n 1 "$work/bars")) rotate by -30
            set style fill solid; set yrange [0:*]
            $commands${commands:+; set yrange [*:*]}" 'using 1:2:3 with boxes linecolor COLOUR'
}

plot_bits() {
    { fields bits.csv '@false_pages > 0' '"measured"' '@bits_per_key' '@false_pages'
      fields bits.csv 1 '"law"' '@bits_per_key' '@law'; } |
        draw bits 'heap pages that an empty interval reads in vain' bits_per_key pages \
            'set logscale y' "$CURVE"
}

plot_growth() {
    fields growth.csv '@kind == "one"' '@what' '@rows' '@cpu_ms' |
        draw growth 'one match, 185 rows a page' rows "$CPU" \
            "set logscale xy; set format x '%.0s%c'" "$CURVE"
    fields growth.csv '@kind == "one" && @bytes > 0' '@what' '@rows' '@bytes / 1048576' |
        draw growth_size '185 rows a page' rows 'size, MB' \
            "set logscale xy; set format x '%.0s%c'" "$CURVE"
}

plot_updates() {
    fields updates.csv 1 '@what (@vacuumed ? ":vacuumed" : "")' \
        '(@percent > 0 ? @percent : 0.001)' '@pages' |
        draw updates 'an interval without a row' 'rows updated, per cent (left: none)' \
            'pages of index and table' 'set logscale xy' "$CURVE"
}

plot_writes() {
    fields writes.csv '@what != "none"' '@rows_a_page "/page"' '@what' '@times_no_index' |
        bars writes 'COPY, rows a second as a multiple of no index' '' ''
    fields writes.csv 1 '@rows_a_page "/page"' '@what' '@wal_bytes_a_row' |
        bars wal 'COPY, WAL a row' bytes ''
}

plot_pgbench() {
    local kind
    for kind in read insert mixed; do
        fields pgbench.csv "@work == \"$kind\"" '@what' '@clients' '@tps' |
            draw "pgbench_$kind" "pgbench, $kind" clients 'transactions a second' \
                'set logscale x 2; set yrange [0:*]' "$CURVE"
    done
}

plot_buffers() {
    fields buffers.csv 1 '@what' '(@kind == "empty" ? 0.1 : @kind == "one" ? 1 : @kind)' '@cpu_ms' |
        sort -s -k 1,1 -k 2,2g |
        draw buffers 'shared_buffers = 128 MB' 'rows that match (left: none)' "$CPU" \
            'set logscale xy' "$CURVE"
    fields buffers_copy.csv '@what != "none"' '"COPY"' '@what' '@times_no_index' |
        bars buffers_copy 'shared_buffers = 128 MB: rows a second as a multiple of no index' '' ''
}

plot_cold() {
    fields cold.csv 1 '@kind' '@what' '@median_ms' | bars cold 'first query, nothing cached' ms ''
}

plot_filter() {
    fields filter.csv '@fpr > 0 && @keys == "uniform"' \
        '(@queries == "correlated" ? "key+32" : @length == 1 ? "points" : "2.." @length)' \
        '@bits' '@fpr' |
        draw filter 'filters by themselves, uniform keys' 'bits a key' 'false positives' \
            'set logscale y' "$CURVE"
    fields filter.csv '@fpr > 0 && @length == 32' '@keys "," @queries' '@bits' '@fpr' |
        draw filter_keys 'filters by themselves, 2..32 values' 'bits a key' 'false positives' \
            'set logscale y' "$CURVE"
}

plot_run() {
    fields run.csv '@false_pages > 0' '@queries' '@bits_a_row' '@false_pages' |
        draw run 'runs by themselves, uniform keys' 'bits a row' 'heap pages in vain' \
            'set logscale y' "$CURVE"
}

for figure in size_latency latency build bits growth updates writes pgbench buffers cold filter run
do
    [[ ! -e $figure.csv ]] || "plot_$figure"
done
