# bench/results/numbers.tsv as a page: first come lines "part TAB what it asks", then that file.  A table a part:
# rows are what was measured, columns of what; a unit that all of a column share stands in its head.

FNR == NR { asks[$1] = $2; order[++parts] = $1; next }
/^#/ {
    part = substr($1, 2)
    command[part] = $2; begun[part] = $3; before[part] = $4; after[part] = $5
    seconds[part] = $6; commit[part] = $7; status[part] = $8; machine[part] = $9
    next
}
FNR > 1 {
    part = $1
    if (!((part, $2) in rows)) { rows[part, $2] = 1; row[part, ++n[part]] = $2 }
    if (!((part, $3) in columns)) { columns[part, $3] = 1; column[part, ++m[part]] = $3 }
    cell[part, $2, $3] = with_unit($4, $5) ($6 != "" && $6 != $7 ? " (" spread(with_unit($6, $5), with_unit($7, $5)) ")" : "")
    if ($8 + 0 > rounds[part]) rounds[part] = $8 + 0
    if (least_rounds[part] == "" || $8 + 0 < least_rounds[part]) least_rounds[part] = $8 + 0
}
END {
    for (p = 1; p <= parts; p++)
        if (n[order[p]] > 0)
            write(order[p])
}

function write(part,    i, j, line, limits) {
    limits = status[part] != 0 ? "; a limit of the script was missed" : ""
    limits = limits "; each number of " (least_rounds[part] < rounds[part] ? least_rounds[part] " to " : "") rounds[part] " measurement" (rounds[part] > 1 ? "s" : "")
    printf "## %s\n\n%s. `BENCH_PG=%s bash %s`, %s, %s s, load %s before and %s after, commit %s%s. %s.\n\n",
        part, toupper(substr(asks[part], 1, 1)) substr(asks[part], 2), version(machine[part]), command[part], begun[part],
        seconds[part], before[part], after[part], commit[part], limits, machine[part]
    line = "| |"
    for (j = 1; j <= m[part]; j++) line = line " " column[part, j] " |"
    print line
    line = "|---|"
    for (j = 1; j <= m[part]; j++) line = line "---|"
    print line
    for (i = 1; i <= n[part]; i++) {
        line = "| " row[part, i] " |"
        for (j = 1; j <= m[part]; j++) line = line " " cell[part, row[part, i], column[part, j]] " |"
        print line
    }
    print ""
}

function version(machine) { return match(machine, /PostgreSQL\) [0-9]+/) ? substr(machine, RSTART + 12, RLENGTH - 12) : "17" }

# The unit once, if both have it.
function spread(least, most,    unit) {
    unit = most
    sub(/^[^ ]+/, "", unit)
    if (unit != "" && substr(least, length(least) - length(unit) + 1) == unit)
        least = substr(least, 1, length(least) - length(unit))
    return least " to " most
}

# As the texts tell it.
function with_unit(x, unit) {
    if (unit == "bytes") {
        if (x >= 10 * 1024 ^ 3) return sprintf("%.1f GB", x / 1024 ^ 3)
        if (x >= 10 * 1024 ^ 2) return grouped(sprintf("%.0f", x / 1024 ^ 2)) " MB"
        if (x >= 1024 ^ 2) return sprintf("%.1f MB", x / 1024 ^ 2)
        if (x >= 10 * 1024) return sprintf("%.0f kB", x / 1024)
        return grouped(rounded(x)) " bytes"
    }
    if (unit == "us" && x >= 1000) return grouped(rounded(x / 1000)) " ms"
    if (unit == "ms" && x >= 10000) return grouped(rounded(x / 1000)) " s"
    return grouped(rounded(x)) (unit == "times" ? "" : " " unit)
}

function rounded(x) { return x ~ /^[0-9]+$/ ? x : x >= 100 || x <= -100 ? sprintf("%.0f", x) : x >= 10 || x <= -10 ? sprintf("%.1f", x) : sprintf("%.2f", x) }

function grouped(x,    whole, rest) {
    rest = match(x, /\..*/) ? substr(x, RSTART) : ""
    whole = rest == "" ? x : substr(x, 1, length(x) - length(rest))
    while (whole ~ /[0-9][0-9][0-9][0-9]$/) {
        rest = "," substr(whole, length(whole) - 2) rest
        whole = substr(whole, 1, length(whole) - 3)
    }
    return whole rest
}
