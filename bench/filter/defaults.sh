#!/usr/bin/env bash
# With no query known: the shape of the rule against the one that the search finds.
#
#   bench/filter/defaults.sh [DATA-DIRECTORY [OPTIONS-OF-defaults...]]
#
# Made keys; with a directory of the demo data (zstd csv) its columns as well.  The
# output is explained in defaults.c.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=bench/filter/columns.sh
. ./columns.sh

data=${1:-}
shift || true
make -s all
columns=()
if [ -n "$data" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	make_columns "$data" "$work" 1
fi
bin/defaults "$@" "${columns[@]}"
