#!/usr/bin/env bash
# The model against measurement, and the search against building every shape.
#
#   bench/filter/accuracy.sh [DATA-DIRECTORY [OPTIONS-OF-accuracy...]]
#
# Made keys; with a directory of the demo data (zstd csv) its columns as well.  The
# table and the options are explained in accuracy.c; -q is quick, -k and -w select
# cells.  JOBS (2) cells at a time.  Exit status 1 if a limit is not met.
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
bin/accuracy -j "${JOBS:-2}" "$@" "${columns[@]}"
