# Installing what is missing, on Debian and its derivatives; sourced by the
# scripts of test/ and bench/, after results.sh.
# shellcheck shell=bash

# What packages and chroots bring is for all users.
umask 022

# Runs a command as root, if that can be had without asking.
as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo > /dev/null; then
		sudo -n "$@"
	else
		return 1
	fi
}

# Why packages cannot be installed here; prints nothing when they can.
packages_obstacle()
{
	if ! command -v apt-get > /dev/null; then
		echo "this is neither Debian nor Ubuntu"
	elif ! as_root true > /dev/null 2>&1; then
		echo "that needs root, or a sudo that does not ask"
	fi
}

have_header()
{
	echo "#include <$1>" | gcc -E -x c - > /dev/null 2>&1
}

have_perl_module()
{
	perl -M"$1" -e 1 2> /dev/null
}

# The names of those packages of a group that are missing.
missing_packages()
{
	case $1 in
		tools)
			command -v gcc > /dev/null || echo gcc libc6-dev
			command -v clang > /dev/null || echo clang
			command -v make > /dev/null || echo make
			have_header xxhash.h || echo libxxhash-dev
			command -v prove > /dev/null || echo perl
			have_perl_module IPC::Run || echo libipc-run-perl
			;;
		sanitizers)
			command -v clang > /dev/null || return 0
			echo 'int main(void) { return 0; }' |
				clang -fsanitize=address,undefined -x c -o /dev/null - 2> /dev/null ||
				echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
			;;
		debootstrap)
			command -v debootstrap > /dev/null || echo debootstrap
			[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || echo debian-archive-keyring
			command -v gpgv > /dev/null || echo gpgv
			;;
		packaging)
			command -v dpkg-buildpackage > /dev/null || echo dpkg-dev
			dpkg-query --show build-essential > /dev/null 2>&1 || echo build-essential
			command -v dh > /dev/null || echo debhelper
			command -v dh_pgxs_test > /dev/null || echo postgresql-server-dev-all
			have_header xxhash.h || echo libxxhash-dev
			;;
		cross-i386)
			echo 'int main(void) { return 0; }' | gcc -m32 -x c -o /dev/null - 2> /dev/null ||
				echo "lib32gcc-$(gcc -dumpversion | cut -d. -f1)-dev" libc6-dev-i386
			;;
		cross-arm64)
			command -v aarch64-linux-gnu-gcc > /dev/null || echo gcc-aarch64-linux-gnu
			[ -e /usr/aarch64-linux-gnu/include/stdio.h ] || echo libc6-dev-arm64-cross
			command -v qemu-aarch64 > /dev/null || echo qemu-user
			;;
		cross-s390x)
			command -v s390x-linux-gnu-gcc > /dev/null || echo gcc-s390x-linux-gnu
			[ -e /usr/s390x-linux-gnu/include/stdio.h ] || echo libc6-dev-s390x-cross
			command -v qemu-s390x > /dev/null || echo qemu-user
			;;
		postgis-*)
			postgis_package "${1#postgis-}"
			;;
		postgresql-*)
			native_pg_config "${1#postgresql-}" > /dev/null ||
				server_packages "${1#postgresql-}"
			;;
	esac
}

# The packages that make a server of the version complete.  One that is there
# only lacks its development files: naming its own package too could upgrade
# it, and that restarts the clusters of the machine.
server_packages()
{
	[ -x "/usr/lib/postgresql/$1/bin/postgres" ] ||
		echo "postgresql-$1"
	echo "postgresql-server-dev-$1"
}

have_postgis()
{
	local pg_config

	pg_config=$(native_pg_config "$1") &&
		[ -e "$("$pg_config" --sharedir)/extension/postgis.control" ]
}

# PostGIS, if the archive has it: one test wants it, and can do without.
postgis_package()
{
	have_postgis "$1" ||
		{ apt-cache show "postgresql-$1-postgis-3" 2> /dev/null || true; } |
		sed -n 's/^Package: //p' | head -n 1
}

# Installs what is missing of the groups given.  False, with the names and the
# reason, when that is impossible.
install_packages()
{
	local group obstacle
	local -a missing=()

	for group in "$@"; do
		# shellcheck disable=SC2207  # package names have no blanks
		missing+=($(missing_packages "$group"))
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	obstacle=$(packages_obstacle)
	if [ -z "$obstacle" ]; then
		apt_install "${missing[@]}" && return 0
		obstacle="apt-get failed, see above"
	fi
	warn "missing: ${missing[*]}; cannot be installed: $obstacle"
	return 1
}

# Fetches the package lists.  False, with apt's own words, when that fails;
# apt-get itself takes lists that cannot be had for no failure.
update_lists()
{
	local log status=0

	log=$(mktemp)
	as_root apt-get update > "$log" 2>&1 || status=$?
	if [ "$status" -ne 0 ] || grep -q '^[WE]: .*[Ff]ailed' "$log"; then
		status=1
		grep '^[WE]:' "$log" | tail -n 10 >&2 || tail -n 5 "$log" >&2
	fi
	rm -f "$log"
	return "$status"
}

# What apt is about to fetch and to unpack, in its own words: sizes_of PACKAGE...
sizes_of()
{
	as_root env LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" 2> /dev/null |
		sed -nE 's/^ *((Need to get|After this operation|Download size:|Space needed:).*)/\1/p' |
		paste -sd ' ' | sed '/^$/d'
}

# The server's package would make and start a cluster of its own; nobody asked
# for one.
apt_install()
{
	local dir=/etc/postgresql-common/createcluster.d log conf made="" status=0 reporter

	# Old lists may do.
	update_lists || warn "apt-get update failed"
	echo "installing: $*"
	sizes_of "$@" || true

	log=$(mktemp)
	conf=$dir/rencoder-test.conf
	[ -d "$dir" ] || made=yes
	as_root mkdir -p "$dir"
	echo "create_main_cluster = false" | as_root tee "$conf" > /dev/null
	# What apt-get is at, now and then.
	while sleep 10 && kill -0 $$; do
		printf '  .. %s\n' "$(tail -n 1 "$log" | cut -c 1-90)"
	done 2> /dev/null &
	reporter=$!
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
		--no-install-recommends -o DPkg::Lock::Timeout=300 "$@" > "$log" 2>&1 || status=$?
	kill "$reporter" 2> /dev/null || true
	wait "$reporter" 2> /dev/null || true
	as_root rm -f "$conf"
	[ -z "$made" ] || as_root rmdir --ignore-fail-on-non-empty "$dir"
	if [ "$status" -ne 0 ]; then
		grep -E '^(E|W|dpkg):' "$log" | tail -n 10 >&2 || tail -n 10 "$log" >&2
	fi
	rm -f "$log"
	return "$status"
}

# The pg_config of an installed server of the version, complete with what
# extensions need; false if there is none.  Of the development files PGXS comes
# with the client's package, and some headers with libpq-dev.
native_pg_config()
{
	local candidate

	for candidate in ${PG_CONFIG:-} "/usr/lib/postgresql/$1/bin/pg_config" pg_config; do
		command -v "$candidate" > /dev/null || continue
		if [ "$(pg_major "$candidate")" = "$1" ] && [ -e "$("$candidate" --pgxs)" ] &&
			[ -e "$("$candidate" --includedir-server)/postgres.h" ] &&
			[ -x "$("$candidate" --bindir)/postgres" ]; then
			command -v "$candidate"
			return 0
		fi
	done
	return 1
}

# The version that the machine's package archive holds; nothing if none, or if
# there are no package lists.
archive_pg_version()
{
	{ apt-cache show postgresql 2> /dev/null || true; } |
		sed -nE 's/^Version: ([0-9]+).*/\1/p' | sort -n | tail -n 1
}
