#!/usr/bin/env bash
# The filter core and the run core on other kinds of CPU: unit programs built for 32 bits, for
# arm64, and for a big-endian CPU, which qemu stands in for.  Their golden values are those of
# every machine: what is on disk depends on no CPU.
#
#   test/cross.sh [--only CPUS] [--seed N] [--keep]
#
# --only    comma-separated: i386 (32 bits), arm64, s390x (big-endian); default: all
# --seed    of the random tests; default: 1; random: a new one, printed
# --keep    keep the temporary directory
#
# Installs the compilers and qemu-user when they are missing (Debian and Ubuntu on x86-64, as
# root); a CPU whose tools cannot be had is skipped, and named.  Not part of test/run.sh: 150 MB
# of packages.  Takes the programs that are short also in qemu.  The server is not built: files
# of PostgreSQL itself are for one byte order only.
# The last line is "N passed, N failed"; the exit status says whether all that was wanted ran.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=test/lib/results.sh
. "$top/test/lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$top/test/lib/server.sh"
# shellcheck source=test/lib/packages.sh
. "$top/test/lib/packages.sh"

GOLDEN="test_golden test_run_golden test_golden_O0 test_run_golden_O0"
PROGRAMS="test_fuzz test_rule test_run test_run_places test_place test_samples test_shape
	test_stretches test_strings test_window test_zorder"

compiler_of()
{
	case $1 in
		i386) echo gcc -m32 ;;
		arm64) echo aarch64-linux-gnu-gcc ;;
		s390x) echo s390x-linux-gnu-gcc ;;
	esac
}

emulator_of()
{
	case $1 in
		i386) ;;
		arm64) echo qemu-aarch64 -L /usr/aarch64-linux-gnu ;;
		s390x) echo qemu-s390x -L /usr/s390x-linux-gnu ;;
	esac
}

# Does a program that is built for this CPU run here, and is it what it should be?
works()
{
	local -a compiler emulator

	read -r -a compiler <<< "$(compiler_of "$1")"
	read -r -a emulator <<< "$(emulator_of "$1")"
	cat > "$tmp/kind.c" <<-'C'
		#include <stdio.h>
		int main(void)
		{
			int one = 1;

			printf("%d bits, %s-endian\n", (int) sizeof(void *) * 8,
				*(char *) &one ? "little" : "big");
			return 0;
		}
	C
	"${compiler[@]}" -o "$tmp/kind" "$tmp/kind.c" > "$tmp/log" 2>&1 &&
		"${emulator[@]}" "$tmp/kind" 2>> "$tmp/log"
}

test_cpu()
{
	local cpu=$1 kind status=0 log=$tmp/$1.log

	install_packages "cross-$cpu" || true
	if ! kind=$(works "$cpu"); then
		show_log "$tmp/log" 5
		echo "skipping $cpu: no program for it can be built and run here"
		result skip "$cpu: no program for it can be built and run here"
		skipped=yes
		return
	fi
	heading "unit programs for $cpu: $kind"
	make -C "$tmp/src/test/unit" clean > /dev/null
	run_job make --no-print-directory -C "$tmp/src/test/unit" check SEED="$RENCODER_SEED" \
		PROGRAMS="$PROGRAMS" GOLDEN="$GOLDEN" CC="$(compiler_of "$cpu")" \
		EMULATOR="$(emulator_of "$cpu")" CFLAGS="-O2 -g -I$tmp/include" > "$log" 2>&1 || status=$?
	result_tap "$cpu" "$log" "$status"
	if [ "$status" -ne 0 ]; then
		grep -E '^not ok|error:|Error [0-9]' -A4 "$log" | head -n 60 || true
	fi
	printf '%s: %s ok, %s not ok\n' "$cpu" "$(grep -c '^ok' "$log" || true)" \
		"$(grep -c '^not ok' "$log" || true)"
}

main()
{
	local only=i386,arm64,s390x cpu skipped=''
	local -a cpus

	keep=''
	while [ $# -gt 0 ]; do
		case $1 in
			--only) need_value "$@"; only=$2; shift 2 ;;
			--seed) need_value "$@"; RENCODER_SEED=$2; shift 2 ;;
			--keep) keep=yes; shift ;;
			--help | -h) usage; exit 0 ;;
			*) usage_error "unknown option \"$1\"" ;;
		esac
	done
	check_words CPU "$only" i386 arm64 s390x
	choose_seed
	echo "seed $RENCODER_SEED"
	make_tmp rencoder-cross
	trap_end end_script
	RESULTS=$tmp/results
	touch "$RESULTS"
	install_packages tools || true
	copy_tree "$top" "$tmp/src"
	# It is plain C, for any CPU; cross compilers do not look where it is.
	mkdir "$tmp/include"
	cp "$(gcc -E -include xxhash.h -x c /dev/null | sed -nE 's/^# 1 "(.*\/xxhash\.h)".*/\1/p' |
		head -n 1)" "$tmp/include/"
	IFS=, read -r -a cpus <<< "$only"
	for cpu in "${cpus[@]}"; do
		test_cpu "$cpu"
	done
	print_totals && [ -z "$skipped" ]
}

main "$@"
