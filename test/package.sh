#!/usr/bin/env bash
# The Debian package: builds it from debian/, installs it as a user would into a
# small Debian of the machine's own release, makes an index there, asks it, and
# removes the package again.
#
#   test/package.sh [--deb FILE] [--check] [--keep]
#
# --deb     install this package, built before, instead of building one
# --check   with the tests that a package build runs (debian/rules): regression and
#           isolation tests; some 10 minutes more
# --keep    keep the temporary directory, with the package
#
# Needs root, Debian and a network.  Not part of test/run.sh: fetches some 150 MB.
# Leaves nothing behind but the packages that builds need: debhelper,
# postgresql-server-dev-all, debootstrap.  The last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/all.sh
. "$top/test/lib/all.sh"

# What of the machine is in the way; prints nothing if all is well.
obstacle()
{
	local reason

	reason=$(chroot_obstacle)
	[ -n "$reason" ] || reason=$(packages_obstacle)
	[ -n "$reason" ] || grep -qs '^ID=debian$' /etc/os-release || reason="this is not Debian"
	echo "$reason"
}

# As any user: the package must not need root.
build()
{
	local options=parallel=2

	[ -n "$check" ] || options+=' nocheck'
	# debian/control is what control.in becomes on Debian 12.
	copy_tree "$top" "$tmp/build/rencoder" &&
		cd "$tmp/build/rencoder" &&
		pg_buildext updatecontrol &&
		chown -R postgres: "$tmp/build" &&
		drop_root postgres env DEB_BUILD_OPTIONS="$options" dpkg-buildpackage -b -us -uc
}

# A Debian that has nothing but a way to its packages.
make_root()
{
	local suite packages='Created-By: Packages'

	suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	unshare --mount debootstrap --variant=minbase "$suite" "$root" "$(debian_mirror)" || return 1
	# Updates of the release, too: packages want the minor release that they were built for.
	# shellcheck disable=SC2016  # apt-get's own placeholders
	apt-get indextargets --format '$(ORIGIN) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' "$packages" |
		sed -n 's/^Debian //p' | sort -u > "$root/etc/apt/sources.list"
	apt-config dump | grep -E '^Acquire::(https?::(Proxy|Verify|CA)|Check-)' \
		> "$root/etc/apt/apt.conf.d/99machine" || true
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	mkdir "$root/package"
	cp "$deb" "$root/package/"
}

# Runs a script as root in it; what it starts ends with it.
in_root()
{
	# shellcheck disable=SC2016  # expanded by the inner shell
	unshare --mount --pid --ipc --fork --kill-child bash -c '
		set -e
		cd "$1"
		mount -t proc proc proc
		mount --bind /dev dev
		mount -t tmpfs -o mode=1777 tmpfs dev/shm
		shift
		exec chroot . "$@"
	' bash "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
		${https_proxy:+https_proxy="$https_proxy"} bash -euc "$1"
}

# The index answers as the table does, is used, and covers all rows.
use_sql()
{
	cat <<-'SQL'
		\set ON_ERROR_STOP on
		CREATE EXTENSION rencoder;
		CREATE TABLE orders (order_no bigint, name text);
		INSERT INTO orders SELECT hashint8extended(i, 1), 'name ' || i
		FROM generate_series(1, 200000) i;
		CREATE INDEX orders_no ON orders USING rencoder (order_no, name);
		VACUUM ANALYZE orders;
		SELECT count(*) AS truth FROM orders WHERE order_no BETWEEN 1 AND 1e15::bigint \gset
		SET enable_seqscan = off;
		EXPLAIN (COSTS OFF) SELECT count(*) FROM orders WHERE order_no BETWEEN 1 AND 1e15::bigint;
		SELECT format('%s rows of %s', count(*), :truth) FROM orders
		WHERE order_no BETWEEN 1 AND 1e15::bigint;
		SELECT format('found %s', name) FROM orders WHERE name = 'name 4711';
		SELECT rencoder_index_check('orders_no', true);
	SQL
}

# shellcheck disable=SC2016  # expanded in the root
USE='
	pg_lsclusters -h
	read -r version cluster rest < <(pg_lsclusters -h)
	pg_ctlcluster "$version" "$cluster" start
	setpriv --reuid=postgres --regid=postgres --init-groups psql -XAt -f /package/use.sql
	pg_ctlcluster "$version" "$cluster" stop
'

# says DESCRIPTION PATTERN: a line of the last log does.
says()
{
	result_of "$1" "$tmp/says" grep -xE -- "$2" "$tmp/log" || true
}

steps()
{
	if [ -z "$deb" ]; then
		result_of "dpkg-buildpackage${check:+, with its tests}" "$tmp/log" run_job build || return 0
		deb=$(find "$tmp/build" -maxdepth 1 -name 'postgresql-*-rencoder_*.deb' | tail -n 1)
	fi
	dpkg-deb --show "$deb"
	result_of "a small Debian" "$tmp/log" run_job make_root || return 0
	use_sql > "$root/package/use.sql"
	result_of "apt-get install" "$tmp/log" run_job in_root \
		'apt-get update; apt-get install -y --no-install-recommends /package/*.deb' || return 0
	result_of "psql" "$tmp/log" run_job in_root "$USE" || return 0
	says "the index is used" ' *(-> +)?(Bitmap Index Scan on|Index Scan using) orders_no.*'
	says "its answer is that of the table" '([1-9][0-9]*) rows of \1'
	says "a string is found" 'found name 4711'
	result_of "apt-get purge" "$tmp/log" run_job in_root \
		'apt-get purge -y "postgresql-*-rencoder"' || return 0
	in_root 'find / -xdev -path /package -prune -o -name "*rencoder*" -print' > "$tmp/log"
	result_of "nothing of it is left" "$tmp/says" diff /dev/null "$tmp/log" || true
}

main()
{
	local reason

	deb='' check='' keep=''
	while [ $# -gt 0 ]; do
		case $1 in
			--deb) need_value "$@"; deb=$(realpath "$2"); shift 2 ;;
			--check) check=yes; shift ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	reason=$(obstacle)
	[ -z "$reason" ] || die "$reason"
	[ -z "$deb" ] || [ -e "$deb" ] || die "there is no $deb"
	make_tmp rencoder-package
	trap_end end_script
	install_packages debootstrap packaging
	root=$tmp/root
	RESULTS=$tmp/results
	touch "$RESULTS"
	steps
	print_totals
}

main "$@"
