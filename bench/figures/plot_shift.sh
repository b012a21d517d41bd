#!/usr/bin/env bash
# Draws what bench/checks/shift.sh printed: bash bench/figures/plot_shift.sh < shift.txt > shift.svg
set -euo pipefail
case $# in
    0) ;;
    *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; [[ $* == --help || $* == -h ]] || exit 2; exit 0 ;;
esac

# Only the lines of the steps consist of seven numbers.
awk 'BEGIN { w = 640; h = 300 }
    NF != 7 || $0 ~ /[^0-9. ]/ { next }
    {
        n++; mix[n] = $5; never[n] = $7; share[n] = $2
        if ($5 > top) top = $5
        if ($7 > top) top = $7
        if ($5 > 0 && (least == 0 || $5 < least)) least = $5
    }
    function x(i) { return 60 + (i - 1) * (w - 90) / (n - 1) }
    # Logarithmic, between powers of ten; the share of short queries is not.
    function log10(v) { return log(v) / log(10) }
    function y(v) { return h - 40 - (v > low ? log10(v / low) / log10(high / low) : 0) * (h - 80) }
    function line(values, style, i, s) {
        for (i = 1; i <= n; i++) s = s sprintf("%.1f,%.1f ", x(i), y(values[i]))
        printf "<polyline fill=\"none\" %s points=\"%s\"/>\n", style, s
    }
    END {
        for (low = 1; low > least; low /= 10);
        for (high = 1; high < top; high *= 10);
        for (i = 1; i <= n; i++) share[i] = low * exp(share[i] / 100 * log(high / low))
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", w, h
        printf "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", w, h
        printf "<path d=\"M60 40 V%d H%d\" fill=\"none\" stroke=\"black\"/>\n", h - 40, w - 30
        for (v = low; v < high * 2; v *= 10) printf "<text x=\"55\" y=\"%d\" text-anchor=\"end\">%g</text>\n", y(v) + 4, v
        line(share, "stroke=\"gray\" stroke-dasharray=\"2 4\"")
        line(never, "stroke=\"firebrick\" stroke-width=\"2\"")
        line(mix, "stroke=\"steelblue\" stroke-width=\"2\"")
        for (i = 1; i <= n; i += 4) printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", x(i), h - 25, i
        printf "<text x=\"60\" y=\"18\" fill=\"steelblue\">VACUUM after each step</text>\n"
        printf "<text x=\"230\" y=\"18\" fill=\"firebrick\">never retuned</text>\n"
        printf "<text x=\"345\" y=\"18\" fill=\"gray\">share of short queries, 0 (bottom) to 100 %%</text>\n"
        printf "<text x=\"15\" y=\"%d\" transform=\"rotate(-90 15 %d)\" text-anchor=\"middle\">candidate ranges of an empty query</text>\n", h / 2, h / 2
        printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step of the workload, number</text>\n</svg>\n", w / 2, h - 8
    }'
