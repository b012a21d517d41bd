# The files of this folder, for scripts that may run servers in chroots.
# shellcheck shell=bash

lib=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=test/lib/results.sh
. "$lib/results.sh"
# shellcheck source=test/lib/server.sh
. "$lib/server.sh"
# shellcheck source=test/lib/chroot.sh
. "$lib/chroot.sh"
# shellcheck source=test/lib/packages.sh
. "$lib/packages.sh"
