#!/usr/bin/env bash
# Runs all tests, on a fresh Debian or Ubuntu machine too: installs what is
# missing (as root, or with a sudo that does not ask), builds in a temporary
# copy, tests in temporary clusters of private server copies, and leaves
# nothing behind but packages and the chroots of test/matrix.sh.
#
#   test/run.sh [--quick] [--pg VERSION] [--only STAGES] [--seed N] [--keep]
#
# --quick   layers, unit without its longest program, regress and isolation, on
#           the machine's own version
# --pg      15 to 20, all, own, or default: 15, 17, the machine's own, and of 18
#           regress and isolation
# --only    comma-separated: layers static unit sanitized regress isolation tap;
#           static has layers in it
# --seed    of the random tests; default: 1; random: a new one, printed
# --keep    keep the temporary directory, to look at logs
#
# Versions that the machine does not have run in chroots (as root only).
# TMPDIR says where the temporary directory goes (/tmp); RENCODER_JOBS how many
# files of regress and tap run at a time (one more than there are CPUs, up to 5;
# of tap another one);
# RENCODER_STAGE_TIMEOUT the seconds after which a stage, or such a file, counts
# as hung (3600; a file of tap 600).
# The last line is "N passed, N failed", also when the run is stopped; the exit
# status is 0 if all passed, and tests were run.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/results.sh
. "$top/test/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$top/test/lib/server.sh"
# shellcheck source=test/lib/packages.sh
. "$top/test/lib/packages.sh"

parse_options()
{
	version=default only=static,unit,sanitized,regress,isolation,tap keep=
	while [ $# -gt 0 ]; do
		case $1 in
			--quick)
				version=own only=layers,unit,regress,isolation
				export RENCODER_QUICK=yes
				shift
				;;
			--pg) need_value "$@"; version=$2; shift 2 ;;
			--only) need_value "$@"; only=$2; shift 2 ;;
			--seed) need_value "$@"; RENCODER_SEED=$2; shift 2 ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	check_words version "$version" 15 16 17 18 19 20 all own default
	check_words stage "$only" layers static unit sanitized regress isolation tap
}

# PostgreSQL refuses root.  The packages bring a user; else one is made for the
# time of the run.
choose_user()
{
	user='' user_made=''
	[ "$(id -u)" -eq 0 ] || return 0
	user=postgres
	id "$user" > /dev/null 2>&1 && return 0
	user=rencodertest
	id "$user" > /dev/null 2>&1 && return 0
	useradd --system --no-create-home --shell /bin/sh "$user"
	user_made=yes
}

as_user()
{
	if [ -z "$user" ]; then
		"$@"
	else
		drop_root "$user" "$@"
	fi
}

# The end, whatever the reason.  Stages that were stopped have left what they
# had counted.
finish()
{
	local status=$? totals results

	ignore_signals
	stop_jobs
	if [ -n "$tmp" ] && [ -z "$finished" ]; then
		[ ! -e "$tmp/plain.log" ] || cat "$tmp/plain.log"
		for results in "$tmp"/*/results; do
			[ ! -e "$results" ] || cat "$results" >> "$RESULTS"
		done
		result "not ok" "the run was stopped before its end, exit status $status"
	fi
	[ "$status" -ne 0 ] || status=1
	if [ -z "$tmp" ]; then
		totals='0 passed, 1 failed'
	elif totals=$(print_totals); then
		status=0
	fi
	if [ -n "$keep" ]; then
		echo "kept: $tmp"
	elif [ -n "$tmp" ]; then
		rm -rf --one-file-system "$tmp"
	fi
	[ -z "${user_made:-}" ] || userdel "$user" > /dev/null 2>&1 || true
	printf '%s\n' "$totals"
	exit "$status"
}

# The versions to test, in order: those the machine has or can install come
# first.
choose_versions()
{
	local own

	asked=$version
	if [ -z "$(archive_pg_version)" ] && [ -z "$(packages_obstacle)" ]; then
		update_lists || warn "apt-get update failed"
	fi
	own=$(archive_pg_version)
	[ -n "$own" ] && [ "$own" -ge 15 ] || own=
	case $version in
		default | all) versions=(15 17 18 ${own:+"$own"}) ;;
		own)
			[ -n "$own" ] || own=$(pg_major "${PG_CONFIG:-pg_config}")
			versions=("${own:-17}")
			;;
		*) versions=("$version") ;;
	esac
	mapfile -t versions < <(printf '%s\n' "${versions[@]}" | sort -nu)
	native=() foreign=()
	for version in "${versions[@]}"; do
		if native_pg_config "$version" > /dev/null || [ "$version" = "$own" ]; then
			native+=("$version")
		else
			foreign+=("$version")
		fi
	done
}

# Stages in a work directory of their own, as a job: start_stages NAME [--pg-config FILE] STAGE...
start_stages()
{
	local work=$tmp/$1

	shift
	mkdir -p "$work"
	copy_tree "$top" "$work/src"
	[ -z "$user" ] || chown -R "$user": "$work"
	start_job as_user "${nice[@]}" bash "$work/src/test/stages.sh" --work "$work" "$@"
}

# Its end: end_stages NAME JOB
end_stages()
{
	local work=$tmp/$1

	wait_job "$2" || result "not ok" "$1: the stages did not finish"
	if [ -e "$work/results" ]; then
		cat "$work/results" >> "$RESULTS"
		rm "$work/results"
	fi
	[ -n "$keep" ] || rm -rf "$work"
}

# What needs no server runs beside the rest, in the time that servers leave.
start_plain()
{
	local -a todo=() nice=(nice -n 5)

	[[ ,$only, != *,static,* && ,$only, != *,layers,* ]] || todo=(layers)
	mapfile -t -O "${#todo[@]}" todo < <(wanted unit sanitized)
	[ ${#todo[@]} -gt 0 ] || return 0
	start_stages plain "${todo[@]}" > "$tmp/plain.log" 2>&1
	plain_job=$started_job
}

end_plain()
{
	[ -n "$plain_job" ] || return 0
	end_stages plain "$plain_job"
	cat "$tmp/plain.log"
	rm "$tmp/plain.log"
}

# The stages asked for among those given.
wanted()
{
	local stage

	for stage in "$@"; do
		[[ ,$only, != *,"$stage",* ]] || echo "$stage"
	done
}

# Is a stage wanted that needs a server?
test_native()
{
	local -a todo

	# Warnings are judged on one version; the others are built with all
	# warnings by their own compiler anyway.
	mapfile -t todo < <(wanted "${static_here[@]}" regress isolation tap)
	static_here=()
	[ ${#todo[@]} -gt 0 ] || return 0
	if ! install_packages "postgresql-$1"; then
		result "not ok" "PostgreSQL $1: not installed"
		return
	fi
	if ! id -un > /dev/null 2>&1; then
		result "not ok" "PostgreSQL $1: user ID $(id -u) has no name, and PostgreSQL wants one"
		return
	fi
	start_stages "$1" --pg-config "$(native_pg_config "$1")" "${todo[@]}"
	end_stages "$1" "$started_job"
}

test_foreign()
{
	local todo
	local -a stages=("${static_here[@]}" regress isolation)

	# What tap tests differs little from 17 to 18, and takes a quarter of an hour.
	[ "$asked$1" = default18 ] || stages+=(tap)
	todo=$(wanted "${stages[@]}" | paste -sd,)
	static_here=()
	[ -n "$todo" ] || return 0
	run_job env RENCODER_RESULTS="$RESULTS" bash "$top/test/matrix.sh" --pg "$1" --only "$todo" \
		--seed "$RENCODER_SEED" ||
		result "not ok" "PostgreSQL $1: test/matrix.sh did not finish"
}

main()
{
	local -a static_here=(static) nice=()
	local pg plain_job='' begin=$SECONDS

	parse_options "$@"
	choose_seed
	[ -z "${PG_CONFIG:-}" ] || command -v "$PG_CONFIG" > /dev/null ||
		usage_error "PG_CONFIG=$PG_CONFIG: no such program"
	echo "seed $RENCODER_SEED"
	tmp='' finished=''
	trap_end finish
	make_tmp rencoder
	RESULTS=$tmp/results
	touch "$RESULTS"

	# What is missing fails the stages that need it, and no others.
	install_packages tools || result "not ok" "tools that the tests need are missing"
	install_packages sanitizers || true
	choose_versions
	echo "PostgreSQL here: ${native[*]:-none}; in chroots: ${foreign[*]:-none}"
	for pg in "${native[@]}"; do
		install_packages "postgresql-$pg" || true
		[[ ,$only, != *,regress,* ]] || install_packages "postgis-$pg" || true
	done
	choose_user

	start_plain
	for pg in "${native[@]}"; do
		test_native "$pg"
	done
	for pg in "${foreign[@]}"; do
		test_foreign "$pg"
	done
	end_plain
	note_time all $((SECONDS - begin))
	finished=yes
}

main "$@"
