# Draws lines of a CSV file, month,panel,series,value, as small panels of an SVG image:
#
#   awk -f bench/lib/panels.awk FILE.csv >FILE.svg
#
# A panel for each name in PANELS, in this order, three in a row, from 0 to its greatest value.
BEGIN {
    FS = ","
    if (!PANELS)
        PANELS = "MB of the index|bits a live row|WAL a row|pages; absent|pages; present|pages; fresh|CPU s a month|MB of the table|runs"
    n = split(PANELS, name, "|")
    split("#c00000 #1f5fa8 #e69138 #38761d #674ea7", colours, " ")
    W = 250; H = 150; LEFT = 38; TOP = 34; INNER_W = 200; INNER_H = 88
}
/^#/ || !head++ { next }
{
    # Names may have a comma, in quotes.
    line = $0
    while (match(line, /"[^"]*"/)) {
        quoted = substr(line, RSTART + 1, RLENGTH - 2)
        gsub(/,/, ";", quoted)
        line = substr(line, 1, RSTART - 1) quoted substr(line, RSTART + RLENGTH)
    }
    split(line, field, ",")
    p = field[2]; s = field[3]; m = field[1] + 0; v = field[4] + 0
    if (!((p, s) in known)) { known[p, s] = 1; series[p, ++count[p]] = s }
    value[p, s, m] = v; has[p, s, m] = 1
    if (v > top[p]) top[p] = v
    if (m > last) last = m
}
function nice(v,    unit) {
    unit = 10 ^ int(log(v) / log(10) - (v < 1))
    return unit * (v <= unit ? 1 : v <= 1.5 * unit ? 1.5 : v <= 2 * unit ? 2 : v <= 3 * unit ? 3 : v <= 5 * unit ? 5 : v <= 7 * unit ? 7 : 10)
}
function colour(s, i) { return s ~ /rencoder/ ? colours[1] : s ~ /btree/ ? colours[2] : colours[2 + i] }
function text(x, y, what, more) { printf "<text x=\"%.0f\" y=\"%.0f\"%s>%s</text>\n", x, y, more, what }
END {
    rows = int((n + 2) / 3)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"9\">\n", 3 * W, rows * H
    printf "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", 3 * W, rows * H
    for (k = 1; k <= n; k++) {
        p = name[k]; x0 = (k - 1) % 3 * W + LEFT; y0 = int((k - 1) / 3) * H + TOP
        limit = nice(top[p] > 0 ? top[p] : 1)
        title = p; sub(/;/, ",", title)
        text(x0, y0 - 20, title, " font-weight=\"bold\"")
        printf "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#888\"/>\n", x0, y0, y0 + INNER_H, x0 + INNER_W
        text(x0 - 3, y0 + 4, limit, " text-anchor=\"end\"")
        text(x0 - 3, y0 + INNER_H, 0, " text-anchor=\"end\"")
        text(x0, y0 + INNER_H + 11, "month 1")
        text(x0 + INNER_W, y0 + INNER_H + 11, last, " text-anchor=\"end\"")
        at = x0
        for (i = 1; i <= count[p]; i++) {
            s = series[p, i]; shown = s; gsub(/;/, ",", shown)
            points = ""
            for (m = 1; m <= last; m++)
                if (has[p, s, m])
                    points = points sprintf("%.1f,%.1f ", x0 + (m - 1) * INNER_W / (last > 1 ? last - 1 : 1), y0 + INNER_H * (1 - value[p, s, m] / limit))
            printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n", points, colour(s, i), s == "rencoder" ? 2 : 1.2, s ~ /VACUUM/ ? " stroke-dasharray=\"4 2\"" : ""
            text(at, y0 - 8, shown, " fill=\"" colour(s, i) "\"")
            at += 5 * length(shown) + 8
        }
    }
    print "</svg>"
}
