# Shared by the scripts in bench/; sourced, not run.
#
# It finds (or, as root on Debian and Ubuntu, installs) a PostgreSQL server with its development files,
# copies that server into a temporary directory, builds the extension and installs it into the copy only,
# and starts a cluster there that listens on nothing but a unix socket.  Whatever happens, the temporary
# directory and the server in it are gone when the script ends.  Existing servers and clusters are only read.
#
# Environment:
#   PG_CONFIG   the server to use (default: the newest supported one below /usr/lib/postgresql)
#   TMPDIR      where the temporary directory goes (default /tmp)
#
# A script calls:   bench_setup [setting=value ..]    then   bench_sql < file,   bench_sql -c "SELECT .."

BENCH_MIN_PG=15
BENCH_MAX_PG=18

bench_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
bench_tmp=
bench_pg_config=
bench_failures=0

bench_say() { printf '%s\n' "$*"; }
bench_die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# ---------------------------------------------------------------- packages

bench_have_xxhash() { printf '#include <xxhash.h>\n' | gcc -E -x c - >/dev/null 2>&1; }

bench_is_supported() { [[ $1 =~ ^[0-9]+$ ]] && (($1 >= BENCH_MIN_PG && $1 <= BENCH_MAX_PG)); }

# Prints the newest supported major version that is installed with a server, or nothing.
bench_installed_version() {
    local dir version newest=
    for dir in /usr/lib/postgresql/*/bin/postgres; do
        version=$(basename "${dir%/bin/postgres}")
        if bench_is_supported "$version" && ((version > ${newest:-0})); then newest=$version; fi
    done
    printf '%s' "$newest"
}

# Prints the newest supported major version that apt can install, or nothing.
bench_available_version() {
    local package version newest=
    while read -r package; do
        version=${package#postgresql-server-dev-}
        if bench_is_supported "$version" && ((version > ${newest:-0})); then newest=$version; fi
    done < <(apt-cache pkgnames postgresql-server-dev-)
    printf '%s' "$newest"
}

bench_apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Dpkg::Use-Pty=0 "$@" >>"$bench_tmp/apt.log" 2>&1 ||
        { tail -n 20 "$bench_tmp/apt.log" >&2; bench_die "apt-get $* failed (see above)"; }
}

# Debian starts a cluster "main" with every newly installed server.  Nobody asked for one here, so it is
# switched off while the package is installed; the setting is put back afterwards.
bench_install_server() {
    local version=$1 conf=/etc/postgresql-common/createcluster.conf
    bench_apt install --no-install-recommends postgresql-common
    cp -p "$conf" "$bench_tmp/createcluster.conf"
    bench_restore_conf=$conf
    sed -i 's/^#\? *create_main_cluster *=.*/create_main_cluster = false/' "$conf"
    grep -q '^create_main_cluster = false' "$conf" || printf 'create_main_cluster = false\n' >>"$conf"
    bench_apt install --no-install-recommends "postgresql-$version" "postgresql-server-dev-$version"
    bench_restore_createcluster
}

bench_restore_conf=
bench_restore_createcluster() {
    [[ -n $bench_restore_conf ]] || return 0
    cp -p "$bench_tmp/createcluster.conf" "$bench_restore_conf"
    bench_restore_conf=
}

# bench_packages [tool ..]: makes sure that a server, its headers, a compiler and the tools are there.
bench_packages() {
    local version missing=() tool install_server=
    command -v gcc >/dev/null || missing+=(gcc libc6-dev)
    command -v make >/dev/null || missing+=(make)
    bench_have_xxhash || missing+=(libxxhash-dev)
    for tool in "$@"; do command -v "$tool" >/dev/null || missing+=("$tool"); done

    if [[ -n ${PG_CONFIG:-} ]]; then
        bench_pg_config=$PG_CONFIG
    else
        version=$(bench_installed_version)
        if [[ -z $version ]]; then
            install_server=yes
        else
            bench_pg_config=/usr/lib/postgresql/$version/bin/pg_config
            [[ -e $("$bench_pg_config" --pgxs) && -e $("$bench_pg_config" --includedir-server)/postgres.h ]] ||
                missing+=("postgresql-server-dev-$version")
        fi
    fi
    [[ ${#missing[@]} -gt 0 || -n $install_server ]] || return 0

    ((EUID == 0)) && command -v apt-get >/dev/null ||
        bench_die "missing: ${install_server:+a PostgreSQL server ($BENCH_MIN_PG to $BENCH_MAX_PG) with its development package} ${missing[*]:-}" \
            "-- install it, or run this script as root on Debian or Ubuntu"
    bench_say "Installing packages: ${install_server:+postgresql, postgresql-server-dev, }${missing[*]:-} .."
    bench_apt update
    [[ ${#missing[@]} -eq 0 ]] || bench_apt install --no-install-recommends "${missing[@]}"
    if [[ -n $install_server ]]; then
        version=$(bench_available_version)
        [[ -n $version ]] ||
            bench_die "this system has no package of PostgreSQL $BENCH_MIN_PG to $BENCH_MAX_PG; see https://wiki.postgresql.org/wiki/Apt"
        bench_install_server "$version"
        bench_pg_config=/usr/lib/postgresql/$version/bin/pg_config
    fi
}

# ---------------------------------------------------------------- private server

# PostgreSQL refuses to run as root.
bench_choose_user() {
    bench_as=()
    if ((EUID == 0)); then
        local user=postgres
        id "$user" >/dev/null 2>&1 || user=nobody
        bench_as=(runuser -u "$user" --)
        chown "$user" "$bench_tmp"
    fi
}

# PostgreSQL finds its libraries and share files relative to its binaries, so a copy that keeps the
# layout is a server of its own: what is installed into it leaves the system as it was.
bench_copy_server() {
    local from to dir
    for dir in bindir pkglibdir sharedir; do
        from=$("$bench_pg_config" --$dir)
        to=$bench_tmp/server$from
        [[ -d $from ]] || bench_die "$bench_pg_config --$dir says $from, which does not exist"
        "${bench_as[@]}" mkdir -p "$(dirname "$to")"
        "${bench_as[@]}" cp -R "$from" "$(dirname "$to")/"
    done
    from=$("$bench_pg_config" --includedir)
    "${bench_as[@]}" mkdir -p "$(dirname "$bench_tmp/server$from")"
    "${bench_as[@]}" ln -s "$from" "$bench_tmp/server$from"

    bench_bin=$bench_tmp/server$("$bench_pg_config" --bindir)
    bench_pg_config=$bench_bin/pg_config
    for dir in pkglibdir sharedir includedir-server; do
        to=$("$bench_pg_config" --$dir)
        [[ $to == "$bench_tmp"/* ]] ||
            bench_die "the copied server still uses $to; refusing to install there"
    done
}

# The build happens in a copy as well: the sources may be read-only, or owned by somebody else.
bench_build() {
    local build=$bench_tmp/build
    "${bench_as[@]}" mkdir "$build"
    # Objects of an earlier build may be for another server.
    tar -C "$bench_root" --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - \
        Makefile rencoder.control sql src | "${bench_as[@]}" tar -C "$build" -xf -
    # LLVM bitcode (with_llvm) would only serve JIT inlining, and takes longer than everything else.
    "${bench_as[@]}" make -C "$build" -s -j2 PG_CONFIG="$bench_pg_config" with_llvm=no install \
        >"$bench_tmp/build.log" 2>&1 || { tail -n 40 "$bench_tmp/build.log" >&2; bench_die "the build failed (see above)"; }
}

# ---------------------------------------------------------------- cluster

bench_start_cluster() {
    local setting
    "${bench_as[@]}" "$bench_bin/initdb" -D "$bench_tmp/data" -U bench -A trust -E UTF8 --locale=C --no-sync \
        >"$bench_tmp/initdb.log" 2>&1 || { tail "$bench_tmp/initdb.log" >&2; bench_die "initdb failed (see above)"; }
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$bench_tmp'"
        echo "port = $bench_port"
        echo "fsync = off"
        echo "max_wal_size = '4GB'"
        echo "autovacuum = off"
        for setting in "$@"; do echo "${setting%%=*} = '${setting#*=}'"; done
    } | "${bench_as[@]}" tee -a "$bench_tmp/data/postgresql.conf" >/dev/null
    "${bench_as[@]}" "$bench_bin/pg_ctl" -D "$bench_tmp/data" -l "$bench_tmp/server.log" -w -s start ||
        { tail "$bench_tmp/server.log" >&2; bench_die "the temporary server did not start (see above)"; }
    bench_sql -q -c 'CREATE EXTENSION rencoder'
    bench_sql -q -f - <"$bench_root/bench/measure.sql"
}

# psql on the temporary cluster: unaligned, tuples only, stops at the first error.
bench_sql() {
    "${bench_as[@]}" "$bench_bin/psql" -X -A -t -v ON_ERROR_STOP=1 -h "$bench_tmp" -p "$bench_port" -U bench -d postgres "$@"
}

# Loads a decompressed CSV from standard input: bench_copy table [option ..]
bench_copy() {
    local table=$1; shift
    bench_sql -q -c "COPY $table FROM STDIN (FORMAT csv${*:+, $*})"
}

# A table of random int8 keys with 35 rows a page: bench_random_table name rows seed
bench_random_table() {
    # In one transaction, which spares the WAL where wal_level is minimal.
    bench_sql -q <<SQL
BEGIN;
CREATE TABLE $1 (id int8, filler text);
ALTER TABLE $1 ALTER filler SET STORAGE plain;
INSERT INTO $1 SELECT hashint8extended(i, $3), repeat('x', 188) FROM generate_series(1, $2::int8) AS i;
COMMIT;
SQL
}

bench_cleanup() {
    local status=$?
    trap - EXIT
    bench_restore_createcluster || true
    if [[ -n $bench_tmp ]]; then
        if [[ -e $bench_tmp/data/postmaster.pid ]]; then
            "${bench_as[@]}" "$bench_bin/pg_ctl" -D "$bench_tmp/data" -m immediate -w -s stop || true
        fi
        cd /
        rm -rf "$bench_tmp"
    fi
    exit "$status"
}

# Shared buffers large enough for the bench tables where the machine has the memory.
bench_shared_buffers() {
    local kilobytes
    kilobytes=$(awk '$1 == "MemTotal:" {print $2}' /proc/meminfo 2>/dev/null || echo 0)
    if ((kilobytes > 6000000)); then echo 1GB; elif ((kilobytes > 2500000)); then echo 512MB; else echo 128MB; fi
}

# bench_setup [-p tool].. [setting=value ..]: everything up to a running cluster with the extension in it.
bench_setup() {
    local tools=()
    while [[ ${1:-} == -p ]]; do tools+=("$2"); shift 2; done

    # Settings of the caller's own database sessions (PGHOST, PGOPTIONS ..) must not leak in.
    local name
    for name in "${!PG@}"; do [[ $name == PG_CONFIG ]] || unset "$name"; done
    bench_as=()
    bench_port=5432
    trap bench_cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    bench_tmp=$(mktemp -d "${TMPDIR:-/tmp}/rencoder-bench.XXXXXX")
    chmod 755 "$bench_tmp"
    ((${#bench_tmp} < 85)) || bench_die "TMPDIR is too long for a unix socket: $bench_tmp"
    bench_packages "${tools[@]}"
    bench_choose_user
    cd "$bench_tmp"     # the caller's directory may be closed to the unprivileged user
    bench_copy_server
    bench_build
    bench_start_cluster shared_buffers="$(bench_shared_buffers)" "$@"
}

# One line on machine and versions, for results that can be compared.
bench_machine() {
    local cpu
    cpu=$(awk -F': ' '/^model name/ {print $2; exit}' /proc/cpuinfo 2>/dev/null)
    bench_say "Machine: $(nproc) CPUs${cpu:+ ($cpu)}, $(awk '$1 == "MemTotal:" {printf "%.0f GB", $2 / 1048576}' /proc/meminfo) RAM; $("$bench_bin/postgres" --version)"
}

# ---------------------------------------------------------------- limits

# bench_limit NAME VALUE OP LIMIT: prints one line and counts a failure; OP is <, <= or >=.
bench_limit() {
    local name=$1 value=$2 op=$3 limit=$4 verdict
    verdict=$(awk -v v="$value" -v l="$limit" -v op="$op" 'BEGIN {
        if (v == "" || v != v + 0) print "FAILED"
        else if (op == "<=") print (v <= l) ? "ok" : "FAILED"
        else if (op == "<") print (v < l) ? "ok" : "FAILED"
        else if (op == ">=") print (v >= l) ? "ok" : "FAILED"
        else print "FAILED" }')
    [[ $verdict == ok ]] || bench_failures=$((bench_failures + 1))
    printf '%-58s %10s  (limit %s %s)  %s\n' "$name" "${value:-none}" "$op" "$limit" "$verdict"
}

# The last command of a script with limits.
bench_finish() {
    ((bench_failures == 0)) || bench_die "$bench_failures limit(s) exceeded"
    bench_say "All limits kept."
}
