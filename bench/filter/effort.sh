#!/usr/bin/env bash
# What is a search worth that looks at few shapes?
#
#   bench/filter/effort.sh [DATA-DIRECTORY [OPTIONS-OF-effort...]]
#
# Made keys; with a directory of the demo data (zstd csv) its columns as well.  The
# output is explained in effort.c.
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
bin/effort "$@" "${columns[@]}"
