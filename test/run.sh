#!/usr/bin/env bash
# Runs all tests, on a fresh Debian or Ubuntu machine too: installs what is
# missing (as root, or with a sudo that does not ask), builds in a temporary
# copy, tests in temporary clusters of private server copies, and leaves
# nothing behind but packages and the chroots of test/matrix.sh.
#
#   test/run.sh [--pg VERSION] [--only STAGES] [--seed N] [--keep]
#
# --pg      15, 16, 17, 18, all, or default: 15, 17 and the machine's own
# --only    comma-separated: static unit regress isolation tap
# --seed    of the random tests; default: 1; random: a new one, printed
# --keep    keep the temporary directory, to look at logs
#
# Versions that the machine does not have run in chroots (as root only).
# TMPDIR says where the temporary directory goes (/tmp); RENCODER_JOBS how many
# TAP files run at a time (2 to 4, as there are CPUs); RENCODER_STAGE_TIMEOUT
# the seconds after which a stage, or a TAP file, counts as hung.
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
	version=default only=static,unit,regress,isolation,tap keep=
	while [ $# -gt 0 ]; do
		case $1 in
			--pg) need_value "$@"; version=$2; shift 2 ;;
			--only) need_value "$@"; only=$2; shift 2 ;;
			--seed) need_value "$@"; RENCODER_SEED=$2; shift 2 ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	check_words version "$version" 15 16 17 18 all default
	check_words stage "$only" static unit regress isolation tap
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
	stop_job
	if [ -n "$tmp" ] && [ -z "$finished" ]; then
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

	if [ -z "$(archive_pg_version)" ] && [ -z "$(packages_obstacle)" ]; then
		update_lists || warn "apt-get update failed"
	fi
	own=$(archive_pg_version)
	[ -n "$own" ] && [ "$own" -ge 15 ] || own=
	case $version in
		default) versions=(15 17 ${own:+"$own"}) ;;
		all) versions=(15 17 18 ${own:+"$own"}) ;;
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

# Stages in a work directory of their own: run_stages NAME [--pg-config FILE] STAGE...
run_stages()
{
	local work=$tmp/$1

	shift
	mkdir -p "$work"
	copy_tree "$top" "$work/src"
	[ -z "$user" ] || chown -R "$user": "$work"
	run_job as_user bash "$work/src/test/stages.sh" --work "$work" "$@" ||
		result "not ok" "${work##*/}: the stages did not finish"
	if [ -e "$work/results" ]; then
		cat "$work/results" >> "$RESULTS"
		rm "$work/results"
	fi
	[ -n "$keep" ] || rm -rf "$work"
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
	run_stages "$1" --pg-config "$(native_pg_config "$1")" "${todo[@]}"
}

test_foreign()
{
	local todo

	todo=$(wanted "${static_here[@]}" regress isolation tap | paste -sd,)
	static_here=()
	[ -n "$todo" ] || return 0
	run_job env RENCODER_RESULTS="$RESULTS" bash "$top/test/matrix.sh" --pg "$1" --only "$todo" \
		--seed "$RENCODER_SEED" ||
		result "not ok" "PostgreSQL $1: test/matrix.sh did not finish"
}

main()
{
	local -a static_here=(static) plain=()
	local pg

	parse_options "$@"
	choose_seed
	[ -z "${PG_CONFIG:-}" ] || command -v "$PG_CONFIG" > /dev/null ||
		usage_error "PG_CONFIG=$PG_CONFIG: no such program"
	echo "seed $RENCODER_SEED"
	tmp='' finished=''
	trap finish EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
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

	[[ ,$only, != *,static,* ]] || plain+=(layers)
	[[ ,$only, != *,unit,* ]] || plain+=(unit)
	[ ${#plain[@]} -eq 0 ] || run_stages plain "${plain[@]}"
	for pg in "${native[@]}"; do
		test_native "$pg"
	done
	for pg in "${foreign[@]}"; do
		test_foreign "$pg"
	done
	finished=yes
}

main "$@"
