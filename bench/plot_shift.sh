#!/usr/bin/env bash
# Draws what bench/shift.sh printed: bash bench/plot_shift.sh < shift.txt > shift.svg
set -euo pipefail

# Only the lines of the steps consist of seven numbers.
awk 'BEGIN { w = 640; h = 300 }
    NF != 7 || $0 ~ /[^0-9. ]/ { next }
    { n++; mix[n] = $5; never[n] = $7; share[n] = $2; if ($5 > top) top = $5; if ($7 > top) top = $7 }
    function x(i) { return 50 + (i - 1) * (w - 80) / (n - 1) }
    function y(v) { return h - 40 - v / top * (h - 80) }
    function line(values, style, scale, i, s) {
        for (i = 1; i <= n; i++) s = s sprintf("%.1f,%.1f ", x(i), y(values[i] * scale))
        printf "<polyline fill=\"none\" %s points=\"%s\"/>\n", style, s
    }
    END {
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", w, h
        printf "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", w, h
        printf "<path d=\"M50 40 V%d H%d\" fill=\"none\" stroke=\"black\"/>\n", h - 40, w - 30
        printf "<text x=\"5\" y=\"44\">%.1f</text><text x=\"5\" y=\"%d\">0</text>\n", top, h - 36
        line(share, "stroke=\"gray\" stroke-dasharray=\"2 4\"", top / 100)
        line(never, "stroke=\"firebrick\" stroke-width=\"2\"", 1)
        line(mix, "stroke=\"steelblue\" stroke-width=\"2\"", 1)
        printf "<text x=\"60\" y=\"18\" fill=\"steelblue\">candidate ranges of an empty query, VACUUM after each step</text>\n"
        printf "<text x=\"60\" y=\"33\" fill=\"firebrick\">never retuned</text><text x=\"160\" y=\"33\" fill=\"gray\">share of short queries, 0 to 100 %%</text>\n"
        printf "<text x=\"%d\" y=\"%d\">step</text>\n</svg>\n", w / 2, h - 15
    }'
