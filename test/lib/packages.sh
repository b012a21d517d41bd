# Installing what is missing, on Debian and its derivatives; sourced by the
# scripts of test/.
# shellcheck shell=bash

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
			echo 'int main(void) { return 0; }' |
				clang -fsanitize=address,undefined -x c -o /dev/null - 2> /dev/null ||
				echo "libclang-rt-$(clang -dumpversion | cut -d. -f1)-dev"
			;;
		debootstrap)
			command -v debootstrap > /dev/null || echo debootstrap
			[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || echo debian-archive-keyring
			command -v gpgv > /dev/null || echo gpgv
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
		apt-cache show "postgresql-$1-postgis-3" 2> /dev/null |
		sed -n 's/^Package: //p' | head -n 1
}

# Installs what is missing of the groups given.  False, with the names, when
# that is impossible.
install_packages()
{
	local group
	local -a missing=()

	for group in "$@"; do
		# shellcheck disable=SC2207  # package names have no blanks
		missing+=($(missing_packages "$group"))
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	echo "installing: ${missing[*]}"
	if as_root true 2> /dev/null && command -v apt-get > /dev/null; then
		apt_install "${missing[@]}" && return 0
	fi
	warn "missing, and cannot be installed from here: ${missing[*]}"
	return 1
}

# The server's package would make and start a cluster of its own; nobody asked
# for one.
apt_install()
{
	local dir=/etc/postgresql-common/createcluster.d log conf made="" status=0

	log=$(mktemp)
	conf=$dir/rencoder-test.conf
	[ -d "$dir" ] || made=yes
	as_root mkdir -p "$dir"
	echo "create_main_cluster = false" | as_root tee "$conf" > /dev/null
	{
		as_root apt-get update &&
			as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
				--no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
	} > "$log" 2>&1 || status=$?
	as_root rm -f "$conf"
	[ -z "$made" ] || as_root rmdir --ignore-fail-on-non-empty "$dir"
	[ "$status" -eq 0 ] || tail -n 30 "$log"
	rm -f "$log"
	return "$status"
}

# The pg_config of an installed server of the version, complete with what
# extensions need; false if there is none.
native_pg_config()
{
	local candidate

	for candidate in ${PG_CONFIG:-} "/usr/lib/postgresql/$1/bin/pg_config" pg_config; do
		command -v "$candidate" > /dev/null || continue
		if [ "$(pg_major "$candidate")" = "$1" ] && [ -e "$("$candidate" --pgxs)" ] &&
			[ -x "$("$candidate" --bindir)/postgres" ]; then
			command -v "$candidate"
			return 0
		fi
	done
	return 1
}

# The version that the machine's package archive holds; nothing if none.
archive_pg_version()
{
	apt-cache show postgresql 2> /dev/null |
		sed -nE 's/^Version: ([0-9]+).*/\1/p' | sort -n | tail -n 1
}
