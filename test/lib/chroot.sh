# Other PostgreSQL versions, each in a folder with the Debian release that
# ships it; sourced by the scripts of test/, after packages.sh.  Needs root.
# shellcheck shell=bash

# The folders are kept: making one takes a minute or two.
CHROOTS=${RENCODER_CHROOTS:-/var/cache/rencoder-chroots}

suite_of()
{
	case $1 in
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo forky ;;
		# Not released yet: the server comes from Debian's experimental packages.
		19) echo sid ;;
		*) return 1 ;;
	esac
}

chroot_of()
{
	echo "$CHROOTS/$(suite_of "$1")"
}

# Why chroots cannot be used here; prints nothing when they can.
chroot_obstacle()
{
	if [ "$(id -u)" -ne 0 ]; then
		echo "making a chroot needs root"
	elif ! unshare --mount --pid --ipc --fork true 2> /dev/null; then
		echo "this machine does not let root mount file systems"
	fi
}

chroot_complete()
{
	local root=$1 pg=$2

	[ -x "$root/usr/lib/postgresql/$pg/bin/postgres" ] &&
		[ -e "$root/usr/lib/postgresql/$pg/lib/pgxs/src/makefiles/pgxs.mk" ] &&
		[ -e "$root/usr/include/postgresql/$pg/server/postgres.h" ] &&
		[ -e "$root/usr/include/xxhash.h" ] &&
		[ -e "$root/usr/share/perl5/IPC/Run.pm" ] &&
		[ -x "$root/usr/bin/gcc" ] && [ -x "$root/usr/bin/make" ] &&
		{ [ "$pg" -ne 17 ] || [ -L "$root/usr/share/postgresql/17/extension/postgis.control" ]; } &&
		[ ! -e "$root/debootstrap" ]
}

# The Debian mirror that this machine uses, if it uses one.  debootstrap knows
# a default.
debian_mirror()
{
	# shellcheck disable=SC2016  # apt-get's own placeholders
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' 2> /dev/null |
		sed -n 's/^Debian|Debian|\(https\?:.*\)/\1/p' | sort -u | head -n 1
}

# Packages of PostgreSQL that only Debian's experimental suite has, into a chroot of sid.
install_experimental()
{
	local root=$1 pg=$2

	echo "deb $(debian_mirror) experimental main" > "$root/etc/apt/sources.list.d/experimental.list"
	# No service is started.
	printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	unshare --mount --pid --fork --kill-child bash -c '
		mount -t proc proc "$1/proc"
		mount --bind /dev "$1/dev"
		unset TMPDIR
		export DEBIAN_FRONTEND=noninteractive
		# A mirror may be older than its lists say they are good for.
		chroot "$1" apt-get -o Acquire::Check-Valid-Until=false update &&
			chroot "$1" apt-get install -y --no-install-recommends -t experimental \
				"postgresql-$2" "postgresql-server-dev-$2"
	' bash "$root" "$pg"
}

# debootstrap knows no releases younger than itself; all of Debian's go by the
# script of sid.  So it gets a copy of its own directory with the name added.
run_debootstrap()
{
	local suite=$1 root=$2 pg=$3 own=$2.debootstrap status=0
	local needed=libxxhash-dev,gcc,make,perl,libipc-run-perl

	case $pg in
		# One more version of PostGIS than the machine's own.
		17) needed+=,postgresql-17,postgresql-server-dev-17,postgresql-17-postgis-3 ;;
		19) ;;
		*) needed+=",postgresql-$pg,postgresql-server-dev-$pg" ;;
	esac
	rm -rf "$own"
	mkdir -p "$own"
	cp -a /usr/share/debootstrap "$own/lib"
	[ -e "$own/lib/scripts/$suite" ] || ln -s sid "$own/lib/scripts/$suite"
	# In a mount namespace of its own nothing stays mounted when it is stopped.
	DEBOOTSTRAP_DIR=$own/lib unshare --mount \
		debootstrap --variant=minbase \
		--include="$needed" "$suite" "$root" "$(debian_mirror)" > "$own/log" 2>&1 &&
		{ [ "$pg" -ne 19 ] || install_experimental "$root" "$pg" >> "$own/log" 2>&1; } ||
		status=$?
	if [ "$status" -ne 0 ]; then
		tail -n 20 "$own/log"
		tail -n 20 "$root/debootstrap/debootstrap.log" 2> /dev/null || true
	fi
	rm -rf "$own"
	return "$status"
}

# For the end of a script that calls ensure_chroot: an unfinished folder goes.
chroot_part=
forget_chroot_part()
{
	[ -z "$chroot_part" ] ||
		rm -rf --one-file-system "$chroot_part" "$chroot_part.debootstrap"
}

# Makes the folder unless it is there.  It gets its name when it is complete,
# so that an interrupted run leaves nothing that looks finished.  The caller's
# "trap .. EXIT" is to call stop_jobs and forget_chroot_part.
ensure_chroot()
{
	local pg=$1 root suite

	suite=$(suite_of "$pg") || die "no release is known that ships PostgreSQL $pg"
	root=$(chroot_of "$pg")
	chroot_complete "$root" "$pg" && return 0
	install_packages debootstrap || return 1
	mkdir -p "$CHROOTS"
	exec 9> "$CHROOTS/.lock"
	flock 9
	if ! chroot_complete "$root" "$pg"; then
		chroot_part=$root.part
		rm -rf --one-file-system "$chroot_part" "$root"
		echo "making $root (kept for the next run; about 400 MB to fetch, 1.5 GB on the disk)"
		if ! run_job run_debootstrap "$suite" "$chroot_part" "$pg" 9>&- ||
			! chroot_complete "$chroot_part" "$pg"; then
			forget_chroot_part
			chroot_part=
			exec 9>&-
			return 1
		fi
		rm -rf "$chroot_part"/var/cache/apt/archives/*.deb
		mv "$chroot_part" "$root"
		chroot_part=
	fi
	exec 9>&-
}

# Runs a command in the chroot as user postgres, with the directory WORK as
# /mnt: in_chroot ROOT WORK COMMAND...
# All mounts are in a namespace of their own and vanish with its processes.
# Processes that it starts are killed at its end.  With CHROOT_LASTING=1 they
# may outlive it, and see each other: a server and those who stop it.
in_chroot()
{
	local root=$1 work=$2
	local -a own=(--ipc --pid --fork --kill-child)

	shift 2
	[ -z "${CHROOT_LASTING:-}" ] || own=()
	# shellcheck disable=SC2016  # expanded by the inner shell
	unshare --mount "${own[@]}" bash -c '
		set -e
		root=$1 work=$2
		shift 2
		mount --bind "$work" "$root/mnt"
		mount -t proc proc "$root/proc"
		mount --bind /dev "$root/dev"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
		chroot "$root" chown -R postgres: /mnt
		cd /
		exec chroot "$root" setpriv --reuid=postgres --regid=postgres \
			--init-groups env HOME=/nonexistent "$@"
	' bash "$root" "$work" "$@"
}
