#!/usr/bin/env bash
# The two commands of README.md, and the lines of docs/install.md, on machines as they
# come: small Debian systems (debootstrap's minbase, no package lists, as in a
# container), each case in an overlay, so that all that it leaves behind is seen.  Needs
# root and a network; not part of test/run.sh, for it takes half an hour a release.
#
#   test/fresh.sh [--suite bookworm|trixie]... [--case NAME]... [--list]
#
# --suite   a release; may be repeated; default: both
# --case    may be repeated; default: all; --list shows them
#
# The systems are kept in $RENCODER_CHROOTS/fresh (default
# /var/cache/rencoder-chroots/fresh; 2 GB each): remove them when you no longer need
# them.  The last line is "N passed, N failed".
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/all.sh
. "$top/test/lib/all.sh"

# Name, system, user, what is there.
CASES='
demo-root           base      root  nothing installed, root: the demo
demo-headers        noheaders root  a server without development files, root: the demo
demo-headers-user   noheaders user  the same without root: says what is missing
demo-user           base      user  nothing installed, no root: says what is missing, and why
demo-offline        base      root  nothing installed, no network: says why
run-offline         base      root  the tests there: a total line
run-root            base      root  nothing installed, root: the quick tests
run-user            base      user  nothing installed, no root: a total line
run-complete        complete  user  all there, no package lists: the tests
run-readonly        complete  user  a tree that may not be written to, umask 077
run-nameless        complete  12345 a user ID without a name: says so
run-stopped         complete  user  SIGTERM while tests run: stops, counts, leaves nothing
run-late            complete  user  a stage that meets its limit: says so
run-hung            complete  user  a TAP test that meets it: says where it and its servers are
install-root        base      root  nothing installed, root: the lines of docs/install.md
tmpdir-blank        complete  user  a blank in TMPDIR: says so
'

pg_of()
{
	case $1 in
		bookworm) echo 15 ;;
		trixie) echo 17 ;;
	esac
}

# Runs a command as root in the overlay of a system: in_overlay LAYERS UPPER COMMAND...
# LAYERS: directories, uppermost first.  With OFFLINE=1 without a network.  Processes
# that are left at its end are killed.
in_overlay()
{
	local layers=$1 upper=$2
	local -a net=()

	shift 2
	[ -z "${OFFLINE:-}" ] || net=(--net)
	mkdir -p "$upper" "$upper.work" "$upper.root"
	# shellcheck disable=SC2016  # expanded by the inner shell
	unshare --mount --pid --ipc --fork --kill-child "${net[@]}" bash -c '
		set -e
		mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$2.work" "$2.root"
		cd "$2.root"
		mount -t proc proc proc
		mount --bind /dev dev
		mount -t tmpfs -o mode=1777 tmpfs dev/shm
		shift 2
		exec chroot . "$@"
	' bash "$layers" "$upper" \
		env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}

# The machine's way to its packages, in the system at $1.
let_in_apt()
{
	local root=$1

	apt-config dump | grep -E '^Acquire::(https?::(Proxy|Verify|CA)|Check-)' \
		> "$root/etc/apt/apt.conf.d/99machine" || true
	rm -rf "$root/var/lib/apt/lists"/*
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	chroot "$root" useradd --create-home user
	rm -rf "$root/var/cache/apt/archives"/*.deb
}

# layer NAME BELOW PACKAGE...: a system with more packages, in $store/NAME.
layer()
{
	local name=$1 below=$2

	shift 2
	[ ! -e "$store/$name.complete" ] || return 0
	echo "making $store/$name"
	rm -rf --one-file-system "${store:?}/$name"{,.work,.root}
	run_job in_overlay "$below" "$store/$name" sh -c '
		mkdir -p /etc/postgresql-common/createcluster.d
		echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.d/no.conf
		export DEBIAN_FRONTEND=noninteractive
		{ apt-get update && apt-get install -y --no-install-recommends "$@"; } > /log 2>&1 ||
			{ tail -n 20 /log; exit 1; }
		rm -rf /log /etc/postgresql-common/createcluster.d/no.conf \
			/var/lib/apt/lists/* /var/cache/apt/archives/*.deb
	' sh "$@"
	touch "$store/$name.complete"
}

# make_system SUITE NAME
make_system()
{
	local suite=$1 pg

	pg=$(pg_of "$suite")

	if [ ! -e "$store/base.complete" ]; then
		echo "making $store (kept for the next run)"
		rm -rf --one-file-system "$store"
		mkdir -p "$store"
		run_job unshare --mount debootstrap --variant=minbase \
			"$suite" "$store/base" "$(debian_mirror)" > "$tmp/debootstrap" 2>&1 ||
			{ tail -n 20 "$tmp/debootstrap"; die "debootstrap failed"; }
		let_in_apt "$store/base"
		touch "$store/base.complete"
	fi
	[ "$2" != base ] || return 0
	layer noheaders "$store/base" "postgresql-$pg" libpq-dev
	[ "$2" != noheaders ] || return 0
	layer complete "$store/noheaders:$store/base" "postgresql-server-dev-$pg" gcc libc6-dev make \
		libxxhash-dev perl libipc-run-perl clang
}

# What a case runs, as its user, in /src.
case_command()
{
	local pg=$2

	case $1 in
		demo-*) echo 'bash bench/demo.sh' ;;
		run-offline) echo 'bash test/run.sh --only unit' ;;
		run-root) echo 'bash test/run.sh --quick' ;;
		run-user) echo "bash test/run.sh --pg $pg --only isolation" ;;
		run-complete) echo "bash test/run.sh --pg $pg --only static,isolation" ;;
		run-readonly)
			echo "umask 077; RENCODER_ISOLATION=drop bash test/run.sh --pg $pg --only isolation"
			;;
		run-nameless) echo "bash test/run.sh --pg $pg --only static,isolation" ;;
		run-late) echo "RENCODER_STAGE_TIMEOUT=3 bash test/run.sh --pg $pg --only isolation" ;;
		run-hung)
			cat <<-SH
				cat > /tmp/hung.pl <<'PERL'
				use strict;
				use warnings;
				use PostgreSQL::Test::Cluster;
				use PostgreSQL::Test::Utils;
				use RencoderTest;
				use Test::More;
				my (\$primary, \$standby) = start_primary_with_standby();
				ok(1, 'it gets here');
				\$primary->safe_psql('postgres', 'SELECT pg_advisory_lock(7), pg_sleep(3600)');
				PERL
				RENCODER_STAGE_TIMEOUT=30 RENCODER_TAP=/tmp/hung.pl \
					bash test/run.sh --pg $pg --only tap
				status=\$?; rm /tmp/hung.pl; exit \$status
			SH
			;;
		install-root)
			# As they stand there, but for the version, and for questions; root needs no sudo.
			cat <<-SH
				export DEBIAN_FRONTEND=noninteractive
				sed -n '/^    pg=/,/CREATE EXTENSION/s/^    //p' docs/install.md |
					sed -e 's/^pg=.*/pg=$pg/' -e 's/apt-get install/& -y/' -e 's/^sudo //' \\
						-e 's/^-u postgres/runuser -u postgres --/' > /tmp/lines
				(set -ex; . /tmp/lines); status=\$?
				runuser -u postgres -- psql -Atc "SELECT extname, 'is there' FROM pg_extension"
				pg_dropcluster --stop $pg main; make -s clean with_llvm=no; rm /tmp/lines
				exit \$status
			SH
			;;
		tmpdir-blank)
			cat <<-'SH'
				mkdir -p "/tmp/a b"
				TMPDIR="/tmp/a b" bash test/run.sh
				TMPDIR="/tmp/a b" bash bench/demo.sh; status=$?
				rmdir "/tmp/a b"
				exit $status
			SH
			;;
		run-stopped)
			# In the middle of a test: of an initdb that is killed PostgreSQL leaves
			# segments in /dev/shm.
			cat <<-SH
				RENCODER_TAP=test/t/009_invalidation.pl \
					bash test/run.sh --pg $pg --only tap > /tmp/run.out 2>&1 &
				ready()
				{
					find /tmp -path '*tmp_check*' -name postmaster.pid \
						-exec grep -qs ^ready {} \; -print 2> /dev/null | grep -q .
				}
				until ready; do sleep 0.1; done
				kill -TERM \$!; wait \$!; status=\$?
				cat /tmp/run.out; rm /tmp/run.out; exit \$status
			SH
			;;
	esac
}

lines()
{
	printf '%s\n' "$@"
}

# What it has to end with: exit status, then patterns that its output has.
case_expected()
{
	local needs_root='gcc, libc6-dev, make, libxxhash-dev, PostgreSQL .*needs root'
	local failed='^[0-9]+ passed, [1-9][0-9]* failed$'

	case $1 in
		demo-root | demo-headers) lines 0 '^All answers are identical' ;;
		demo-headers-user) lines 1 "^demo.sh: missing: .*postgresql-server-dev-$2.*needs root" ;;
		demo-user) lines 1 "^demo.sh: missing: $needs_root" ;;
		demo-offline) lines 1 '^[WE]: ' '^demo.sh: missing: gcc, .*apt-get update failed' ;;
		run-offline) lines 1 '^[WE]: ' '^run.sh: missing: .*apt-get failed' "$failed" ;;
		run-user) lines 1 '^run.sh: missing: .*needs root' "$failed" ;;
		run-root | run-complete) lines 0 '^[1-9][0-9]+ passed, 0 failed$' ;;
		run-readonly) lines 0 '^[1-9][0-9]* passed, 0 failed$' ;;
		run-nameless) lines 1 '^FAILED: .*user ID 12345 has no name' "$failed" ;;
		run-stopped)
			lines 143 '^FAILED: the run was stopped' '^[1-9][0-9]* passed, [1-9][0-9]* failed$'
			;;
		run-late) lines 1 'stopped after 3 s; RENCODER_STAGE_TIMEOUT' "$failed" ;;
		run-hung)
			lines 1 'stopped after 30 s; RENCODER_STAGE_TIMEOUT' 'ok 1 - it gets here' \
				'postgres: primary: .* SELECT' 'Timeout *\| PgSleep *\| SELECT pg_advisory_lock' \
				'startup *\|.*RecoveryWalStream' "$failed"
			;;
		install-root) lines 0 '^rencoder.is there$' ;;
		tmpdir-blank) lines 1 '^run.sh: TMPDIR has a blank' '^demo.sh: TMPDIR has a blank' ;;
	esac
}

# run_case NAME SYSTEM USER: what was left behind goes to $tmp/left.
run_case()
{
	local name=$1 system=$2 user=$3 suite=$4 pg layers status=0

	pg=$(pg_of "$suite")
	case $system in
		base) layers=$store/base ;;
		noheaders) layers=$store/noheaders:$store/base ;;
		complete) layers=$store/complete:$store/noheaders:$store/base ;;
	esac
	rm -rf --one-file-system "$tmp/upper"{,.work,.root}
	copy_tree "$top" "$tmp/upper/src"
	if [ "$name" = run-readonly ]; then
		chmod -R a-w "$tmp/upper/src"
	elif [ "$user" != root ]; then
		chmod -R a+rX "$tmp/upper/src"
	fi
	case_command "$name" "$pg" > "$tmp/upper/command"
	[[ $name != *-offline ]] || local OFFLINE=1
	# A snapshot of what there is before, and of the processes that run on.
	# shellcheck disable=SC2016  # expanded by the inner shell
	run_job in_overlay "$layers" "$tmp/upper" bash -c '
		list()
		{
			find /tmp /var/tmp /root /home /src /dev/shm /var/lib/postgresql /etc/passwd \
				/etc/postgresql -xdev -printf "%p %s\n" 2> /dev/null |
				grep -v "^/[a-z/]* [0-9]*$" | sort
		}
		if [ "$2" = root ]; then packages=/etc/passwd; fi
		list > /before
		as=()
		if [ "$2" = user ]; then as=(setpriv --reuid=user --regid=user --init-groups)
		elif [ "$2" != root ]; then as=(setpriv --reuid="$2" --regid="$2" --clear-groups); fi
		status=0
		(cd /src && exec "${as[@]}" env HOME=/nonexistent bash /command) < /dev/null || status=$?
		list | diff /before - | grep "^>" > /left || true
		if [ -n "${packages:-}" ]; then
			sed -i -e "\|/etc/p|d" /left
			grep ^rencoder /etc/passwd >> /left
		fi
		for process in /proc/[0-9]*; do
			[ "${process#/proc/}" = $$ ] || [ ! -s "$process/cmdline" ] ||
				case $(tr "\0" " " < "$process/cmdline" 2> /dev/null) in
					*bash\ -c*list* | "") ;;
					*) tr "\0" " " < "$process/cmdline" >> /left ;;
				esac
		done 2> /dev/null
		exit "$status"
	' bash "$name" "$user" > "$tmp/output" 2>&1 || status=$?
	judge "$name, $suite" "$status" "$(case_expected "$name" "$pg")"
}

# judge LABEL STATUS EXPECTED: one test for the status, one for each pattern, one for
# what is left, and for the tests of run.sh one for the last line.
judge()
{
	local label=$1 status=$2 pattern
	local -a expected

	mapfile -t expected <<< "$3"
	verdict "$label: exit status $status" \
		"$([ "$status" = "${expected[0]}" ] || echo "not ${expected[0]}")"
	for pattern in "${expected[@]:1}"; do
		verdict "$label: says $pattern" "$(grep -qE "$pattern" "$tmp/output" || echo no)"
	done
	if [[ $label == run-* ]]; then
		verdict "$label: the total line is the last one" \
			"$(tail -n 1 "$tmp/output" | grep -qE '^[0-9]+ passed, [0-9]+ failed$' ||
				tail -n 1 "$tmp/output")"
	fi
	verdict "$label: leaves nothing behind" "$(head -n 20 "$tmp/upper/left")"
	[ -z "$wrong" ] || show_log "$tmp/output" 60
}

# verdict DESCRIPTION DETAILS: details mean failure.
verdict()
{
	if [ -z "$2" ]; then
		result ok "$1"
		echo "ok - $1"
	else
		wrong=yes
		result "not ok" "$1"
		printf 'not ok - %s: %s\n' "$1" "$2"
	fi
}

finish()
{
	local status=$? totals='0 passed, 1 failed'

	ignore_signals
	stop_jobs
	if [ -n "$tmp" ]; then
		[ -n "$finished" ] ||
			result "not ok" "the run was stopped before its end, exit status $status"
		[ "$status" -ne 0 ] || status=1
		totals=$(print_totals) && status=0
		rm -rf --one-file-system "$tmp"
	fi
	printf '%s\n' "$totals"
	exit "$status"
}

main()
{
	local -a suites=() only=() cases
	local suite name system user what wrong obstacle

	mapfile -t cases < <(awk 'NF { print $1 }' <<< "$CASES")

	while [ $# -gt 0 ]; do
		case $1 in
			--suite)
				need_value "$@"
				check_words release "$2" bookworm trixie
				suites+=("$2")
				shift 2
				;;
			--case) need_value "$@"; check_words case "$2" "${cases[@]}"; only+=("$2"); shift 2 ;;
			--list) echo "${CASES//$'\n\n'/}"; exit 0 ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)
	obstacle=$(chroot_obstacle)
	[ -z "$obstacle" ] || die "$obstacle"
	tmp='' finished=''
	trap_end finish
	install_packages debootstrap
	make_tmp rencoder-fresh
	RESULTS=$tmp/results
	touch "$RESULTS"
	for suite in "${suites[@]}"; do
		store=$CHROOTS/fresh/$suite
		while read -r name system user what <&3; do
			[ -n "$name" ] || continue
			[ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $name "* ]] || continue
			heading "$suite: $what"
			wrong=
			make_system "$suite" "$system"
			run_case "$name" "$system" "$user" "$suite"
		done 3<<< "$CASES"
	done
	finished=yes
}

main "$@"
