#!/usr/bin/env bash
# Draws what bench/checks/facts.sh printed: bash bench/figures/plot_facts.sh < facts.txt > facts.svg
set -euo pipefail
case $# in
    0) ;;
    *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; [[ $* == --help || $* == -h ]] || exit 2; exit 0 ;;
esac

# Lines of runs: bits, queries, false pages of four rounds, index pages of four rounds.
awk 'BEGIN { w = 640; h = 320; low = 0.00001; high = 10 }
    NF != 10 || $1 !~ /^[0-9]+$/ { next }
    {
        key = $2 " " $1
        if (!($2 in count)) sizes[++nsizes] = $2
        n = ++count[$2]; bits[$2, n] = $1
        for (r = 1; r <= 4; r++) value[$2, n, r] = $(2 + r)
    }
    function x(b) { return 70 + (b - 14) * (w - 100) / 10 }
    function y(v) { return h - 40 - (v > low ? log(v / low) / log(high / low) : 0) * (h - 90) }
    function line(size, r, style, i, s) {
        for (i = 1; i <= count[size]; i++) s = s sprintf("%.1f,%.1f ", x(bits[size, i]), y(value[size, i, r]))
        printf "<polyline fill=\"none\" %s points=\"%s\"/>\n", style, s
    }
    END {
        split("firebrick darkorange steelblue seagreen", colour, " ")
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", w, h
        printf "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", w, h
        printf "<path d=\"M70 50 V%d H%d\" fill=\"none\" stroke=\"black\"/>\n", h - 40, w - 30
        for (v = low; v <= high * 1.01; v *= 10) printf "<text x=\"65\" y=\"%d\" text-anchor=\"end\">%s</text>\n", y(v) + 4, v < low * 1.1 ? "0" : sprintf("%g", v)
        for (b = 14; b <= 24; b += 2) printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x(b), h - 25, b
        for (s = 1; s <= nsizes; s++)
            for (r = 1; r <= 3; r++)
                line(sizes[s], r, sprintf("stroke=\"%s\" stroke-width=\"2\"%s", colour[r], s > 1 ? " stroke-dasharray=\"4 4\"" : ""))
        for (r = 1; r <= 3; r++) printf "<text x=\"%d\" y=\"18\" fill=\"%s\">round %d</text>\n", 70 + (r - 1) * 80, colour[r], r
        printf "<text x=\"320\" y=\"18\">solid: %s queries, dashed: %s</text>\n", sizes[1], sizes[2]
        printf "<text x=\"15\" y=\"%d\" transform=\"rotate(-90 15 %d)\" text-anchor=\"middle\">false pages of a query</text>\n", h / 2, h / 2
        printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">bits of a row</text>\n</svg>\n", w / 2, h - 8
    }'
