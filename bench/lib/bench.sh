# shellcheck shell=bash
# Shared by the scripts in bench/; sourced, not run.
#
# A script defines main and ends with "bench_run [setting=value ..] -- "$@"".  That happens in two processes:
#
# 1. The one that the user started finds a PostgreSQL server with its development files (as root on Debian
#    and Ubuntu it installs what is missing), copies the source tree into a temporary directory and starts
#    the same script again from the copy, under an unprivileged user because PostgreSQL refuses root.
#    Whatever happens, the temporary directory and the server in it are gone when it ends.
# 2. The second one builds the extension, installs it into a private copy of the server, starts a cluster
#    that listens on nothing but a unix socket, and calls main.
#
# Environment:
#   PG_CONFIG   the server to use (default: the newest of BENCH_PG_VERSIONS that is installed)
#   BENCH_PG    its version, instead; one that is not installed runs in a chroot, as in the tests
#   BENCH_OUT   where scripts that draw figures put them (default: bench/results/figures)
#   BENCH_NUMBERS   1: print what bench/figures.sh collects, too
#   BENCH_OBJECTS   a directory that keeps what has been compiled, for the next script
#   TMPDIR      where the temporary directory goes (default /tmp)
#
# A script that runs for long may set, before it sources this file:
#   bench_state     name of a directory in TMPDIR.  It stays when the script is interrupted or fails, and
#                   the next call goes on with its cluster; it goes when the script has come to its end.
#   bench_at_end    function that the first process calls before it removes the directory

BENCH_PG_VERSIONS=(18 17 16 15)
bench_chroot=

bench_script=$(cd "$(dirname "$0")" && pwd -P)/$(basename "$0")
bench_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
bench_name=${bench_script#"$bench_root"/}
bench_failures=0

# Packages, private server and cluster are the same as for the tests.
# shellcheck source=test/lib/all.sh
. "$bench_root/test/lib/all.sh"

# ---------------------------------------------------------------- first process

# What was typed, before anything is done.  What may be typed stands in the script's comment, as in
# "bash bench/size.sh [SEED]"; all but DATADIR are numbers.
bench_check_arguments() {
    local names name value
    case " $* " in *" --help "* | *" -h "*) usage; exit 0 ;; esac
    read -ra names < <(sed -nE "s|^# +bash $bench_name([][A-Z ]*).*|\1|p" "$bench_script" | head -n 1 | tr -d '[]')
    (($# <= ${#names[@]})) || usage_error "arguments that are not understood: $*"
    [[ $# -gt 0 || ${names[0]:-} != DATADIR ]] || usage_error "DATADIR is missing"
    for value; do
        name=${names[0]} names=("${names[@]:1}")
        if [[ $name == DATADIR ]]; then
            [[ -d $value ]] || usage_error "no such directory: $value"
        else
            [[ $value =~ ^[0-9]+([.][0-9]+)?$ ]] || usage_error "$name is not a number: $value"
        fi
    done
}

# Prints the pg_config of the server to use; false if there is none that is complete.
bench_find_server() {
    local version
    if [[ -n $bench_chroot ]]; then
        echo "/usr/lib/postgresql/$BENCH_PG/bin/pg_config"
        return
    fi
    if [[ -n ${BENCH_PG:-} ]]; then
        native_pg_config "$BENCH_PG"
        return
    fi
    if [[ -n ${PG_CONFIG:-} ]]; then
        native_pg_config "$(pg_major "$PG_CONFIG")"
        return
    fi
    for version in "${BENCH_PG_VERSIONS[@]}"; do
        native_pg_config "$version" && return
    done
    return 1
}

# The packages that make a server complete: the newest that is there, else the archive's.
bench_server_packages() {
    local version
    for version in "${BENCH_PG_VERSIONS[@]}"; do
        if [[ -x /usr/lib/postgresql/$version/bin/postgres ]]; then
            server_packages "$version"
            return
        fi
    done
    version=$(archive_pg_version)
    [[ " ${BENCH_PG_VERSIONS[*]} " == *" ${version:-none} "* ]] || return 1
    server_packages "$version"
}

# What the build needs, and is not there, one a line.
bench_missing() {
    local tool
    command -v gcc >/dev/null || printf 'gcc\nlibc6-dev\n'
    command -v make >/dev/null || echo make
    have_header xxhash.h || echo libxxhash-dev
    for tool in "${bench_tools[@]}"; do command -v "$tool" >/dev/null || echo "$tool"; done
    bench_find_server >/dev/null || bench_server_packages ||
        echo "PostgreSQL ${BENCH_PG_VERSIONS[-1]} to ${BENCH_PG_VERSIONS[0]} with its server development files"
}

# The chroot that has the version of BENCH_PG, unless the machine has it.
bench_choose_chroot() {
    [[ -n ${BENCH_PG:-} ]] || return 0
    check_words version "$BENCH_PG" 15 16 17 18 19
    ! native_pg_config "$BENCH_PG" >/dev/null || return 0
    [[ -z $(chroot_obstacle) ]] || die "PostgreSQL $BENCH_PG is not here, and $(chroot_obstacle)"
    trap_end forget_chroot_part
    ensure_chroot "$BENCH_PG" || die 'no chroot could be made'
    bench_chroot=$(chroot_of "$BENCH_PG")
}

bench_install() {
    local missing obstacle
    if [[ -n ${PG_CONFIG:-} ]]; then
        command -v "$PG_CONFIG" >/dev/null || die "PG_CONFIG=$PG_CONFIG: no such program"
        bench_find_server >/dev/null || die "PG_CONFIG=$PG_CONFIG is not a server with its development files"
    fi
    obstacle=$(packages_obstacle)
    # A fresh machine has no package lists yet.
    if [[ -z $obstacle && -z $(archive_pg_version) ]] && ! bench_find_server >/dev/null; then
        update_lists || obstacle="apt-get update failed, see above"
    fi
    mapfile -t missing < <(bench_missing)
    [[ ${#missing[@]} -gt 0 ]] || return 0
    if [[ -z $obstacle && ${missing[-1]} == *' '* ]]; then
        obstacle="the package archive has PostgreSQL $(archive_pg_version) (see https://wiki.postgresql.org/wiki/Apt)"
    fi
    [[ -z $obstacle ]] || die "missing: $(printf '%s, ' "${missing[@]}" | sed 's/, $//'); cannot be installed: $obstacle"
    apt_install "${missing[@]}" || die "the packages could not be installed (see above)"
    bench_find_server >/dev/null || die "the packages are installed, but there is no complete server"
}

# Where the objects of these sources for this server are kept; nothing, if they are not.
bench_objects() {
    [[ -n ${BENCH_OBJECTS:-} ]] || return 0
    echo "$BENCH_OBJECTS/$(cd "$bench_root" && { find src Makefile -type f ! -name '*.[ao]' -print0 | sort -z |
        xargs -0 md5sum; echo "${BENCH_PG_CONFIG:-} ${BENCH_PG:-}"; } | md5sum | cut -c 1-16).tar"
}

bench_clean_up() {
    local status=$? objects
    objects=$(bench_objects)
    [[ -z $objects || -e $objects || ! -e $WORK/ready ]] ||
        (cd "$WORK/src" && find . -name '*.o' -o -name '*.so' | tar -cf "$objects" -T -) || true
    ignore_signals
    # Without its server the second process soon comes to its end, whatever query it is waiting for.
    # SIGQUIT is the immediate shutdown.
    if [[ -n ${bench_child:-} ]]; then
        kill -TERM "$bench_child" 2>/dev/null || true
        [[ ! -e $WORK/data/postmaster.pid ]] || kill -QUIT "$(head -n 1 "$WORK/data/postmaster.pid")" 2>/dev/null || true
        wait "$bench_child" 2>/dev/null || true
    fi
    [[ -z ${bench_at_end:-} ]] || "$bench_at_end" "$status" || true
    if [[ -n ${bench_state:-} && $status -ne 0 ]]; then
        warn "to go on, give the same command again; to give up: rm -r $WORK"
    else
        rm -rf "$WORK"
    fi
    exit "$status"
}

# The directory of this run, as $WORK.
bench_make_work() {
    make_tmp rencoder-bench
    WORK=$tmp
    [[ -n ${bench_state:-} ]] || return 0
    rmdir "$tmp"
    WORK=${TMPDIR:-/tmp}/$bench_state
    mkdir -p "$WORK"
    # Also the server holds this lock, as it has the open file from us.
    exec 9>"$WORK/lock"
    flock -n 9 || die "another run is at work in $WORK"
}

# Runs the script again from a copy of the tree, and exits with its status.
bench_start_over() {
    local as=() status=0 objects
    bench_choose_chroot
    bench_install
    bench_make_work
    trap_end bench_clean_up
    copy_tree "$bench_root" "$WORK/src"
    # Input files may be closed to the other user.
    mkdir -p "$WORK/input"
    [[ ${#bench_inputs[@]} -eq 0 ]] || cp -L -- "${bench_inputs[@]}" "$WORK/input/"
    export BENCH_PG_CONFIG BENCH_WORK=$WORK BENCH_STARTED=$bench_started
    BENCH_PG_CONFIG=$(bench_find_server)
    objects=$(bench_objects)
    [[ ! -e $objects ]] || tar -C "$WORK/src" --no-same-owner -xf "$objects"
    BENCH_COMMIT=$(git -C "$bench_root" describe --always 2>/dev/null || echo unknown)
    export BENCH_COMMIT
    # In the background: a shell that waits for a foreground program would not react to signals.
    if [[ -n $bench_chroot ]]; then
        CHROOT_LASTING=1 BENCH_WORK=/mnt TMPDIR=/tmp in_chroot "$bench_chroot" "$WORK" \
            bash "/mnt/src/$bench_name" "$@" &
    else
        if ((EUID == 0)); then
            local user=postgres
            id "$user" >/dev/null 2>&1 || user=nobody
            chown -R "$user:" "$WORK"
            as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups)
        fi
        "${as[@]}" bash "$WORK/src/$bench_name" "$@" &
    fi
    bench_child=$!
    wait "$bench_child" || status=$?
    bench_child=
    exit "$status"
}

[[ -n ${BENCH_WORK:-} ]] || bench_check_arguments "$@"

# ---------------------------------------------------------------- second process

# Without the assertions of the tests, since times are measured.
bench_build() {
    # LLVM bitcode (with_llvm) would only serve JIT inlining, and takes longer than everything else.
    make -C "$WORK/src" -s -j2 PG_CONFIG="$PG_CONFIG" with_llvm=no install >"$WORK/log/build" 2>&1 ||
        { show_log "$WORK/log/build" 40; die "the build failed (see above)"; }
}

# Shared buffers large enough for the bench tables where the machine has the memory.
bench_shared_buffers() {
    local kilobytes
    kilobytes=$(awk '$1 == "MemTotal:" {print $2}' /proc/meminfo 2>/dev/null)
    if ((${kilobytes:-0} > 6000000)); then echo 1GB; elif ((${kilobytes:-0} > 2500000)); then echo 512MB; else echo 128MB; fi
}

# bench_start_server [setting=value ..]; the tests' clusters do without fsync, these do not.
bench_start_server() {
    local setting
    start_cluster || { show_log "$WORK/log/server" 20; die "the temporary server did not start"; }
    for setting in "shared_buffers=$(bench_shared_buffers)" max_wal_size=4GB fsync=on "$@"; do
        bench_sql -q -c "ALTER SYSTEM SET ${setting%%=*} = '${setting#*=}'"
    done
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s -l "$WORK/log/server" restart ||
        { show_log "$WORK/log/server" 20; die "the temporary server did not start with its settings"; }
    [[ $(bench_sql -c 'SHOW fsync') == on ]] || die 'fsync is off'
    [[ ! -e $WORK/ready ]] || return 0
    bench_sql -q -c 'CREATE EXTENSION rencoder'
    bench_sql -q -f "$bench_root/bench/lib/measure.sql"
    touch "$WORK/ready"
}

bench_bin() { "$PG_CONFIG" --bindir; }

# psql on the temporary cluster: unaligned, tuples only, stops at the first error.
bench_sql() { psql -X -A -t -v ON_ERROR_STOP=1 -d postgres "$@"; }

# EXPRESSION, or what else may follow SELECT.
bench_value() { bench_sql -c "SELECT $1"; }

# bench_cpu() in SQL: the CPU time of the session.
bench_cpu_clock() {
    local headers
    headers=$("$PG_CONFIG" --includedir-server)
    gcc -O2 -shared -fPIC -I"$headers" -o "$WORK/cpu_clock.so" "$bench_root/bench/lib/cpu_clock.c" ||
        die 'the clock of CPU time could not be built'
    bench_sql -q -c "CREATE FUNCTION bench_cpu() RETURNS float8 LANGUAGE c AS '$WORK/cpu_clock.so'"
}

# CPU time that all processes of the server have used, those that have ended too, ms.  One that ends
# between the look at the postmaster and that at itself would be missed: so it is looked twice.
bench_server_cpu() {
    local look
    for look in 1 2; do
        { cat /proc/[0-9]*/stat 2>/dev/null || true; } |
            awk -v server="$(head -n 1 "$WORK/data/postmaster.pid")" '{ pid = $1; sub(/.*\) /, "") }
                $2 == server || pid == server { n += $12 + $13 }
                pid == server { n += $14 + $15 }
                END { print n * 10 }'
        ((look == 2)) || sleep 0.3
    done | sort -n | tail -n 1
}

# Loads a CSV with a header that comes on standard input: bench_copy table
bench_copy() { bench_sql -q -c "COPY $1 FROM STDIN (FORMAT csv, HEADER)"; }

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

# A standby of the cluster, in $WORK/data_standby, which listens in $WORK/sock_standby; it cancels no
# query: bench_make_standby [SETTING ..], lines of postgresql.conf
bench_make_standby() {
    "$(bench_bin)/pg_basebackup" -D "$WORK/data_standby" -h "$PGHOST" -U postgres -X stream -c fast -R
    mkdir -p "$WORK/sock_standby"
    printf '%s\n' "unix_socket_directories = '$WORK/sock_standby'" 'hot_standby_feedback = on' \
        'max_standby_streaming_delay = -1' "$@" >>"$WORK/data_standby/postgresql.auto.conf"
    "$(bench_bin)/pg_ctl" -D "$WORK/data_standby" -w -s -l "$WORK/log/standby" start ||
        { show_log "$WORK/log/standby" 20; die 'the standby did not start'; }
}

# One line on machine and versions, so that results can be compared.
bench_machine() {
    local cpu
    cpu=$(awk -F': ' '/^model name/ {print $2; exit}' /proc/cpuinfo 2>/dev/null)
    echo "Machine: $(nproc) CPUs${cpu:+ ($cpu)}, $(awk '$1 == "MemTotal:" {printf "%.0f GB", $2 / 1048576}' /proc/meminfo) RAM; $("$(bench_bin)/postgres" --version); fsync $(bench_sql -c 'SHOW fsync' 2>/dev/null || echo unknown)"
}

# What the texts tell, for bench/figures.sh: bench_numbers QUERY, which returns what is measured, of what, the
# value, its unit, least and most, how often it was measured.  Of more than ten, quartiles are least and most.
bench_numbers() {
    [[ -n ${BENCH_NUMBERS:-} ]] || return 0
    bench_sql -F $'\t' -c "$1" | sed 's/^/number:\t/'
}

# A file of figures, $WORK/figures/FILE.csv: bench_csv FILE WHAT-IT-SAYS COMMAND QUERY.  Its head says
# how the numbers came about.
bench_csv() {
    mkdir -p "$WORK/figures"
    {
        printf '# %s\n# %s\n# %s\n# rencoder %s\n' "$2" "$3" "$(bench_machine)" "$BENCH_COMMIT"
        bench_sql -c "SELECT '# ' || string_agg(name || ' ' || current_setting(name, true), ', ')
            FROM unnest('{shared_buffers,work_mem,maintenance_work_mem,wal_level,fsync,autovacuum,jit,
                max_parallel_maintenance_workers,debug_io_direct}'::text[]) AS name"
        printf '# begun %s at load %s; written %s at load %s\n' "$bench_begun" "$bench_load" \
            "$(date '+%F %H:%M')" "$(bench_load)"
        bench_sql -q -c "COPY ($4) TO STDOUT (FORMAT csv, HEADER)"
    } >"$WORK/figures/$1.csv.new"
    mv "$WORK/figures/$1.csv.new" "$WORK/figures/$1.csv"
}

# bench_below_valgrind: runs the statements of its input in a server of one process; the cluster stays stopped.  A
# profile, $WORK/profile/out.NUMBER, ends at each pg_backend_pid().  CALLGRIND_OUT: a directory that gets copies.
bench_below_valgrind() {
    "$(bench_bin)/pg_ctl" -D "$WORK/data" -w -s stop
    mkdir -p "$WORK/profile"
    valgrind --tool=callgrind --dump-before=pg_backend_pid --log-file="$WORK/log/valgrind" \
        --callgrind-out-file="$WORK/profile/out" \
        "$(bench_bin)/postgres" --single -D "$WORK/data" postgres >"$WORK/log/single" 2>&1 ||
        { show_log "$WORK/log/single" 20; die 'the server of one process failed'; }
    ! grep -q ERROR "$WORK/log/single" || { show_log "$WORK/log/single" 20; die 'a query failed'; }
    [[ -z ${CALLGRIND_OUT:-} ]] || cp "$WORK"/profile/out.* "$CALLGRIND_OUT/"
}

# bench_settle INDEX: waits until the index and its file have been the same for 4 s, and nobody is maintaining it,
# who has locked its first page.
bench_settle() {
    local before='' now same=0
    for _ in $(seq 1200); do
        now=$(bench_sql -c "SELECT CASE WHEN EXISTS (SELECT FROM pg_locks WHERE relation = '$1'::regclass AND locktype = 'page')
            THEN random() ELSE pg_relation_size('$1') * 1e9 + catalog_version END FROM rencoder_metapage('$1')")
        if [[ $now == "$before" ]]; then same=$((same + 1)); else same=0; fi
        ((same < 8)) || return 0
        before=$now
        sleep 0.5
    done
    die "$1 does not come to rest"
}

# bench_limit NAME VALUE OP LIMIT: prints one line and counts a failure; OP is <, <= or >=.
bench_limit() {
    local name=$1 value=$2 op=$3 limit=$4 verdict
    verdict=$(awk -v v="$value" -v l="$limit" -v op="$op" 'BEGIN {
        if (v == "" || v != v + 0) print "FAILED"
        else if (op == "<") print (v < l) ? "ok" : "FAILED"
        else if (op == "<=") print (v <= l) ? "ok" : "FAILED"
        else if (op == ">=") print (v >= l) ? "ok" : "FAILED"
        else print "FAILED" }')
    [[ $verdict == ok ]] || bench_failures=$((bench_failures + 1))
    printf '%-58s %10s  (limit %s %s)  %s\n' "$name" "${value:-none}" "$op" "$limit" "$verdict"
}

# The last command of a main with limits.
bench_finish() {
    ((bench_failures == 0)) || die "$bench_failures limit(s) exceeded"
    echo "All limits kept."
}

# ---------------------------------------------------------------- both

bench_load() { cut -d ' ' -f 1-3 /proc/loadavg; }

# What a script that draws figures sets bench_at_end to: draws them, and puts them where they belong.
bench_take_figures() {
    local out=${BENCH_OUT:-$bench_root/bench/results/figures}
    compgen -G "$WORK/figures/*.csv" >/dev/null || return 0
    bash "$bench_root/bench/compare/plot.sh" "$WORK/figures"
    mkdir -p "$out" && cp "$WORK"/figures/*.{csv,svg} "$out/" && echo "figures are in $out"
}

# Makes $WORK/drop, which throws the files named out of the kernel's cache, until it is killed, or its parent is gone.
bench_make_dropper() {
    gcc -O2 -x c -o "$WORK/drop" - <<'C'
#include <fcntl.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
    int fd[1024];
    pid_t parent = getppid();

    for (int i = 1; i < argc && i < 1024; i++)
        if ((fd[i] = open(argv[i], O_RDONLY)) < 0)
            return 1;
    while (getppid() == parent)
    {
        for (int i = 1; i < argc && i < 1024; i++)
            (void) posix_fadvise(fd[i], 0, 0, POSIX_FADV_DONTNEED);
        usleep(20000);
    }
    return 0;
}
C
}

# bench_files RELATION...: the files that they have now, one a line.
bench_files() {
    local name file
    for name; do
        file=$WORK/data/$(bench_sql -c "SELECT pg_relation_filepath('$name')")
        find "$(dirname "$file")" -name "${file##*/}" -o -name "${file##*/}.[0-9]*"
    done
}

# bench_run [-p tool].. [-i file].. [setting=value ..] -- [argument ..]
#   -p: a program that main needs (the package of the same name is installed)
#   -i: an input file, which main finds as $WORK/input/NAME
bench_run() {
    local settings=()
    bench_tools=() bench_inputs=()
    bench_begun=$(date '+%F %H:%M') bench_load=$(bench_load)
    bench_started=${BENCH_STARTED:-$(date +%s)}
    while [[ $1 != -- ]]; do
        case $1 in
            -p) bench_tools+=("$2"); shift 2 ;;
            -i) bench_inputs+=("$2"); shift 2 ;;
            *) settings+=("$1"); shift ;;
        esac
    done
    shift
    [[ -n ${BENCH_WORK:-} ]] || bench_start_over "$@"

    WORK=$BENCH_WORK
    cd "$WORK" || exit
    mkdir -p "$WORK/log"
    # Settings of the caller's own database sessions (PGHOST, PGOPTIONS ..) must not leak in.
    unset "${!PG@}"
    # The cluster of an interrupted run has to recover first.
    export PGCTLTIMEOUT=600
    unset MAKEFLAGS MAKELEVEL
    export LC_ALL=C.UTF-8 TZ=UTC
    trap stop_clusters EXIT
    trap 'exit 130' HUP INT TERM
    private_server "$BENCH_PG_CONFIG"
    bench_build
    [[ -z ${bench_build_more:-} ]] || "$bench_build_more"
    bench_start_server "${settings[@]}"
    main "$@"
}
