# A private PostgreSQL server; sourced by the scripts of test/.
#
# PostgreSQL finds its share and library directories relative to its own
# executable.  So a copy of the installed tree below another root is a complete
# server whose pg_config reports the private paths, and "make install" with
# that pg_config leaves the system as it was.
#
# Everything stays below $WORK:
#   src/     copy of the source tree, built here
#   server/  private root: server/usr/lib/postgresql/15/bin/postgres, ...
#   data/    cluster; sock/ its socket; log/ what programs wrote
#   data1/   further clusters, beside each other, with sock1/ and log/server1
# shellcheck shell=bash

# Flags of every build that is tested.  The server's own headers count as
# system headers, so that only our code is judged.  Index AM callbacks have
# fixed signatures: unused parameters are no news.  Assert() works in an
# extension even when the server was built without.
ASSERT_FLAGS=-DUSE_ASSERT_CHECKING
warning_flags()
{
	printf -- '-isystem %s -Wall -Wextra -Wno-unused-parameter -Werror' \
		"$("$PG_CONFIG" --includedir-server)"
}

find_clang()
{
	command -v clang ||
		compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -t- -k2n | tail -n 1
}

# Runs a command as another user.  Not runuser(1), which stands between us and
# the command and answers signals itself.
drop_root()
{
	local user=$1

	shift
	setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups \
		env HOME=/nonexistent "$@"
}

# The major version of a server.
pg_major()
{
	"$1" --version 2> /dev/null | sed -E 's/^PostgreSQL ([0-9]+).*/\1/'
}

# A copy of the source tree without what builds and tests leave in it:
# copy_tree FROM TO.  Keeps the times, so that make can skip what is built.  The
# copy may be written to even if the original may not.
copy_tree()
{
	mkdir -p "$2"
	tar -C "$1" --mode=u+w --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' \
		--exclude=./test/unit/bin --exclude=./results --exclude=./test/results \
		--exclude=./output_iso --exclude=./test/output_iso \
		--exclude='regression.*' --exclude=tmp_check -cf - . |
		tar -C "$2" --no-same-owner -xf -
}

# Copies the server of the pg_config given and points PG_CONFIG at the copy.
private_server()
{
	local original=$1 root=$WORK/server dir

	if [ ! -e "$root/complete" ]; then
		rm -rf "$root"
		[ -e "$("$original" --includedir-server)/postgres.h" ] ||
			die "the server of $original lacks its development files"
		for dir in "$("$original" --bindir)" "$("$original" --pkglibdir)" \
			"$("$original" --sharedir)"; do
			[ -e "$root$dir" ] && continue
			mkdir -p "$root${dir%/*}"
			cp -a --no-preserve=ownership "$dir" "$root$dir"
		done
		# Headers are only read.  Shortest first: the others are below it.
		for dir in "$("$original" --includedir)" "$("$original" --pkgincludedir)" \
			"$("$original" --includedir-server)"; do
			if [ ! -e "$dir" ] || [ -e "$root$dir" ]; then
				continue
			fi
			mkdir -p "$root${dir%/*}"
			ln -s "$dir" "$root$dir"
		done
		touch "$root/complete"
	fi
	PG_CONFIG=$root$("$original" --bindir)/pg_config
	[ "$("$PG_CONFIG" --sharedir)" = "$root$("$original" --sharedir)" ] ||
		die "$PG_CONFIG does not use its own directories"
	export PG_CONFIG
	PATH=$("$PG_CONFIG" --bindir):$PATH
}

# Builds the copied tree with assertions and installs it into the copy; with
# other flags, if RENCODER_COPT has any (test/sanitize.sh).  No bitcode:
# that clang compiles it all is seen in the static stage.
build_extension()
{
	make -s -C "$WORK/src" -j2 PG_CONFIG="$PG_CONFIG" with_llvm=no \
		COPT="${RENCODER_COPT:-}" WARNFLAGS="$(warning_flags) $ASSERT_FLAGS" all &&
		make -s -C "$WORK/src" PG_CONFIG="$PG_CONFIG" with_llvm=no install
}

# Starts a cluster of $WORK, making it first: start_cluster [NUMBER]
# It listens on a socket below $WORK only.  RENCODER_PRELOAD: a library that the
# server is to load first.
start_cluster()
{
	local number=${1:-} bindir data sock

	bindir=$("$PG_CONFIG" --bindir)
	data=$WORK/data$number sock=$WORK/sock$number
	mkdir -p "$sock" "$WORK/log"
	if [ ! -e "$data/PG_VERSION" ]; then
		"$bindir/initdb" -D "$data" -U postgres -A trust -N \
			--locale=C --encoding=UTF8 > "$WORK/log/initdb$number" || return 1
		cat >> "$data/postgresql.conf" <<-CONF
			listen_addresses = ''
			unix_socket_directories = '$sock'
			fsync = off
			log_line_prefix = '%m [%p] %q%a '
			log_min_messages = warning
			# VACUUM maintains the index; the tests say when it runs.
			autovacuum = off
		CONF
	fi
	"$bindir/pg_ctl" -D "$data" status > /dev/null ||
		env ${RENCODER_PRELOAD:+LD_PRELOAD="$RENCODER_PRELOAD"} \
			"$bindir/pg_ctl" -D "$data" -w -t "${PG_TEST_TIMEOUT_DEFAULT:-180}" \
			-l "$WORK/log/server$number" start > /dev/null
	export PGHOST=$sock PGPORT=5432 PGUSER=postgres
}

# Stops whatever still runs below $WORK: our clusters, or what an interrupted
# TAP test left.
stop_clusters()
{
	local pidfile

	find "$WORK" -name postmaster.pid 2> /dev/null |
		while read -r pidfile; do
			"$("$PG_CONFIG" --bindir)/pg_ctl" -D "${pidfile%/*}" -m immediate stop \
				> /dev/null 2>&1 || true
		done
}
