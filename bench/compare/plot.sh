#!/usr/bin/env bash
# Draws what bench/compare.sh, ten.sh, ycsb.sh, beyond.sh and filter/figures.sh have written: CSV
# files of a directory as SVG files beside them.
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
    [brin32]='#b45f06' [brin]='#b45f06' [one_rencoder]='#e06666' [brin128]='#e69138' [brin_multi]='#a64d79' [brin_bloom]='#7f6000'
    [bloom]='#8e7cc3' [gin]='#45818e' [gist]='#674ea7' [spgist]='#c27ba0' [seq]='#555555'
    [lsm3]='#cc4125' [parallel]='#999999' [none]='#000000' [measured]='#c00000' [law]='#555555'
    [rencoder:vacuumed]='#e6a0a0' [btree:vacuumed]='#a0c4e6')

OTHERS=('#c00000' '#1f5fa8' '#38761d' '#e69138' '#674ea7' '#45818e' '#7f6000' '#999999')

# The order in the keys of the plots.
ORDER='rencoder rencoder:vacuumed btree btree:vacuumed btree_hash hash lsm3 gin gist spgist bloom
    one_rencoder brin_bloom brin_multi brin brin32 brin128 seq parallel none measured law'

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
# curve for each series.  COLOUR in the style is its colour, PLACE where its name stands.
declare -A PLACES
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
        curves+="${curves:+, }'$work/series.$name' ${style//PLACE/${PLACES[$name]:-}} title '$name'"
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
NAMES='using 1:2:3 with labels PLACE point pointtype 7 linecolor COLOUR textcolor COLOUR'
KINDS='kind of query; numbers: matching rows'
declare -A COLUMN=([uniform]='random int8' [domain]='text' [p]='points')

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
        draw "$output" "$column (${COLUMN[$column]})" "$KINDS" "$ylabel" \
            "set logscale y; set xtics ($tics)
            set offsets graph 0.03, graph 0.03, graph 0, graph 0" "$CURVE"
}

plot_latency() {
    by_kind uniform latency cpu_ms "$CPU" absent empty one 10 100 1000 in
    by_kind uniform pages pages 'pages read, of index and table' absent empty one 10 100 1000 in
    by_kind domain latency_text cpu_ms "$CPU" absent empty one 10 100 1000 in like
    by_kind p latency_points cpu_ms "$CPU" empty one 10 100 1000
}

# Where the names of points stand, so that none covers a point or another name: from lines
# "name x y" with logarithmic axes, lines "name place".  Units are about pixels.
places() {
    awk '{ name[++n] = $1; x[n] = log($2); y[n] = log($3) }
        n == 1 || x[n] < left { left = x[n] }   n == 1 || x[n] > right { right = x[n] }
        n == 1 || y[n] < low { low = y[n] }     n == 1 || y[n] > high { high = y[n] }
        function is_free(x1, y1, x2, y2, i) {
            if (x1 < -8) return 0
            for (i = 1; i <= n; i++)
                if (x[i] + 4 > x1 && x[i] - 4 < x2 && y[i] + 4 > y1 && y[i] - 4 < y2) return 0
            for (i = 1; i <= m; i++)
                if (r[i] > x1 && l[i] < x2 && b[i] + 16 > y1 && b[i] < y2) return 0
            return 1
        }
        END {
            split("0.7 0 -0.7 1.6 -1.6", up)
            for (i = 1; i <= n; i++) {
                x[i] = (x[i] - left) / (right - left + 3) * 620     # with the margins of the axes
                y[i] = (y[i] - low) / (high - low + 6.4) * 340
            }
            for (i = 1; i <= n; i++) {
                wide = 8 * length(name[i])
                for (try = 0; try < 10; try++) {
                    from = x[i] + (try < 5 ? 9 : -9 - wide)
                    base = y[i] + 18 * up[try % 5 + 1] - 8
                    if (is_free(from, base, from + wide, base + 16)) break
                }
                try %= 10
                l[++m] = from; r[m] = from + wide; b[m] = base
                print name[i], (try < 5 ? "left offset 1," : "right offset -1,") up[try % 5 + 1]
            }
        }'
}

# Each index with its name; no index has no size, so it stands at the left.
plot_size_latency() {
    local column name place
    for column in uniform domain p; do
        fields size_latency.csv "@col == \"$column\" && @cpu_ms > 0" '@what' \
            '(@bytes > 0 ? @bytes / 1048576 : 0.02)' '@cpu_ms' '@what' >"$work/points"
        while read -r name place; do PLACES[$name]=$place; done < <(places <"$work/points")
        draw "size_latency${column/#/_}" \
            "query of one match, column $column (${COLUMN[$column]})" \
            'size of the index, MB (left: no index)' "$CPU" \
            'set logscale xy; set key off; set grid xtics
            set offsets graph 0.02, graph 0.15, graph 0.1, graph 0.1
            set xrange [0.015:]' \
            "$NAMES" <"$work/points"
    done
    mv size_latency_uniform.svg size_latency.svg
}

plot_build() {
    fields build.csv 1 '@col' '@what' '@cpu_ms / 1000' |
        bars build 'CREATE INDEX, one process' 'column' 'CPU time, s' ''
    fields build.csv 1 '@col' '@what' '@bits_a_row' |
        bars sizes 'size of the index' 'column' 'size, bits a row' 'set logscale y'
}

# Groups of bars from lines "group series value".
bars() { # OUTPUT TITLE XLABEL YLABEL COMMANDS
    local output=$1 title=$2 xlabel=$3 ylabel=$4 commands=$5
    awk '{ if (!($1 in g)) { g[$1] = n++; tics = tics (n > 1 ? ", " : "") "\"" $1 "\" " n - 1 }
            if (!($2 in s)) s[$2] = m++
            line[++k] = $2 " " g[$1] " " s[$2] " " $3 }
        END { print tics; print m; for (i = 1; i <= k; i++) print line[i] }' >"$work/bars"
    tail -n +3 "$work/bars" | awk -v m="$(sed -n 2p "$work/bars")" \
        '{ print $1, $2 + ($3 - (m - 1) / 2) * 0.85 / m, $4, 0.8 / m }' |
        draw "$output" "$title" "$xlabel" "$ylabel" \
            "set xtics ($(head -n 1 "$work/bars")) rotate by -30
            set style fill solid; set yrange [0:*]
            $commands${commands:+; set yrange [*:*]}" 'using 1:2:3 with boxes linecolor COLOUR'
}

plot_bits() {
    { fields bits.csv '@false_pages > 0' '"measured"' '@bits_a_row' '@false_pages'
      fields bits.csv 1 '"law"' '@bits_a_row' '@law'; } |
        draw bits 'interval without a row' 'size, bits a row' 'false pages a query' \
            'set logscale y' "$CURVE"
}

plot_growth() {
    fields growth.csv '@kind == "one"' '@what' '@rows' '@cpu_ms' |
        draw growth 'query of one match, 185 rows a page' 'rows of the table' "$CPU" \
            "set logscale xy; set format x '%.0s%c'" "$CURVE"
    fields growth.csv '@kind == "one" && @bytes > 0' '@what' '@rows' '@bytes / 1048576' |
        draw growth_size '185 rows a page' 'rows of the table' 'size of the index, MB' \
            "set logscale xy; set format x '%.0s%c'" "$CURVE"
}

plot_updates() {
    fields updates.csv 1 '@what (@vacuumed ? ":vacuumed" : "")' \
        '(@percent > 0 ? @percent : 0.001)' '@pages' |
        draw updates 'interval without a row, after updates' \
            'rows updated, per cent (left: none)' 'pages read, of index and table' \
            'set logscale xy' "$CURVE"
}

plot_writes() {
    fields writes.csv '@what != "none"' '@rows_a_page' '@what' '@times_no_index' |
        bars writes 'COPY into a table with rows' 'rows a page of the table' \
            'rows a second, relative to no index' ''
    fields writes.csv 1 '@rows_a_page' '@what' '@wal_bytes_a_row' |
        bars wal 'COPY into a table with rows' 'rows a page of the table' 'WAL, bytes a row' ''
}

plot_pgbench() {
    local kind
    local -A TITLE=([read]='queries' [insert]='inserts of single rows'
        [mixed]='nine queries to one insert')
    for kind in read insert mixed; do
        fields pgbench.csv "@work == \"$kind\"" '@what' '@clients' '@tps' |
            draw "pgbench_$kind" "pgbench: ${TITLE[$kind]}" 'clients' 'transactions a second' \
                'set logscale x 2; set yrange [0:*]' "$CURVE"
    done
}

plot_buffers() {
    fields buffers.csv 1 '@what' '(@kind == "empty" ? 0.1 : @kind == "one" ? 1 : @kind)' '@cpu_ms' |
        sort -s -k 1,1 -k 2,2g |
        draw buffers 'shared_buffers = 128 MB' 'matching rows (left: none)' "$CPU" \
            'set logscale xy' "$CURVE"
    fields buffers_copy.csv '@what != "none"' '"COPY"' '@what' '@times_no_index' |
        bars buffers_copy 'shared_buffers = 128 MB' '' 'rows a second, relative to no index' ''
}

plot_cold() {
    fields cold.csv 1 '@kind' '@what' '@median_ms' |
        bars cold 'first query after a restart, nothing cached' 'matching rows' \
            'median time, ms' ''
}

RATE='false positives, share of the queries'

# Workloads "keys queries length" as names of curves.
filter_curves() { # FILE CONDITION VALUE..
    local file=$1 condition=$2
    shift 2
    local kind='@queries == "correlated" ? "key+32" : @queries == "split" ? "split"'
    kind+=' : @length == 1 ? "points" : @length == 1048576 ? "2..2^20" : "2.." @length'
    fields "$file" "$condition" "@keys \",\" ($kind)" "$@"
}

plot_filter() {
    filter_curves filter.csv '@fpr > 0 && @keys == "uniform"' '@bits' '@fpr' |
        draw filter 'filters without a server, uniform keys' 'size, bits a key' "$RATE" \
            'set logscale y' "$CURVE"
    filter_curves filter.csv '@fpr > 0 && @length == 32 && @keys !~ /books|facebook|osm|wiki/' \
        '@bits' '@fpr' |
        draw filter_keys 'filters without a server, intervals of 2 to 32 values' \
            'size, bits a key' "$RATE" 'set logscale y' "$CURVE"
    filter_curves filter.csv '@fpr > 0 && @keys ~ /books|facebook|osm|wiki/' '@bits' '@fpr' |
        draw filter_sosd 'filters without a server, shapes of SOSD' \
            'size, bits a key' "$RATE" 'set logscale y' "$CURVE"
}

# Beside the rates: how many filters a second answer one query, on one core.
plot_filter_speed() {
    filter_curves filter_speed.csv '@n == 1120' '@bits' '1000 / @ns_filter' |
        draw filter_speed '128 filters of 1,120 keys in one probe' 'size, bits a key' \
            'million filters a second, one core' 'set yrange [0:*]' "$CURVE"
    { fields filter_speed.csv '@queries "," @length == "uniform,32" && @keys == "uniform"' \
        '@n ":128_together"' '@bits' '1000 / @ns_filter'
      fields filter_speed.csv '@queries "," @length == "uniform,32" && @keys == "uniform"' \
        '@n ":alone"' '@bits' '1000 / @ns_alone'; } |
        draw filter_alone '128 filters in one probe, and one by itself; 2 to 32 values' \
            'size, bits a key' 'million filters a second, one core' 'set yrange [0:*]' "$CURVE"
}

plot_run() {
    fields run.csv '@false_pages > 0' '@queries' '@bits_a_row' '@false_pages' |
        draw run 'sorted runs without a server, uniform keys' 'size, bits a row' \
            'false pages a query' \
            'set logscale y' "$CURVE"
}

# Three plots side by side, from no index to ten.
plot_ten() {
    local name curves=('' '' '') panel axis=('COPY, rows a second of CPU time'
        'single rows, rows a second of CPU time' 'WAL of COPY, bytes a row')
    fields ten.csv 1 '@what' '@indexes' '@copy_rows_a_cpu_second' '@single_rows_a_cpu_second' \
        '@copy_wal_a_row' >"$work/ten"
    for name in rencoder one_rencoder btree brin; do
        { [[ $name == one_rencoder ]] || sed -n 's/^none //p' "$work/ten"
          sed -n "s/^$name //p" "$work/ten"; } | sort -n >"$work/ten.$name"
        for panel in 0 1 2; do
            curves[panel]+="${curves[panel]:+, }'$work/ten.$name' using 1:$((panel + 2)) with linespoints
                linewidth 2 pointtype 7 pointsize 0.6 linecolor rgb '${COLOUR[$name]}' title '${name/_/ }'"
            curves[panel]=${curves[panel]//$'\n'/ }
        done
    done
    {
        cat <<PLOT
set terminal svg size 980,340 font "sans-serif,12" background rgb "white" noenhanced
set output 'ten.svg'
set multiplot layout 1,3 title 'one to ten indexes on a table of ten columns of random int8'
set border 3
set tics nomirror out
set grid ytics linecolor rgb '#dddddd'
set xlabel 'indexes'
set xrange [0:10.5]
set yrange [0:*]
set format y '%.0s%c'
PLOT
        for panel in 0 1 2; do
            echo 'set key off'
            ((panel < 2)) || printf '%s\n' 'set key at graph 1,0.5 right top' "set format y '%g'"
            echo "set title '${axis[panel]}'"
            echo "plot ${curves[panel]}"
        done
    } | gnuplot 2>"$work/errors" || { cat "$work/errors" >&2; exit 1; }
}

plot_ycsb() {
    fields ycsb.csv 1 '@workload' '@what' '@tps' |
        bars ycsb 'YCSB' 'workload' 'transactions a second' ''
}

plot_beyond() {
    fields beyond.csv '@work == "one" || @work == "absent"' '@work' '@what' '@tps' |
        bars beyond_queries 'memory for rencoder, but not for the btree' '' 'queries a second' ''
    fields beyond.csv '@work == "insert"' '"single"' '@what' '@tps' |
        bars beyond_inserts 'memory for rencoder, but not for the btree' '' 'single rows a second' ''
    fields beyond.csv '@work == "copy"' '"COPY"' '@what' '@tps' |
        bars beyond_copy 'memory for rencoder, but not for the btree' '' 'rows a second' ''
}

for figure in size_latency latency build bits growth updates writes pgbench buffers cold filter \
    filter_speed run ten ycsb beyond
do
    [[ ! -e $figure.csv ]] || "plot_$figure"
done
