#!/usr/bin/env bash
# The README's two commands on a bare system: a minimal Debian or Ubuntu of its own, with nothing installed but git, gets a clean clone
# of this repository's HEAD and runs `./dev demo` and `./dev test` there, as root. By hand, before a release; as root, with mmdebstrap.
#   usage: bare_system.sh [--in FOLDER] SUITE [COMMAND...]    e.g. bare_system.sh trixie; bare_system.sh noble demo "test --quick"
# SUITE: bookworm, trixie, ...: any in the mirror of this machine's apt. RILL_MIRROR names another mirror.
# --in FOLDER: keep the system there, and continue with an existing one. Without it the system is removed at the end.
# Prints the last lines of each command; all of it is in FOLDER/log. Exits with the status of the first command that failed.
set -eu
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
fail() { printf 'bare_system: %s\n' "$*" >&2; exit 1; }

work=
[ "${1:-}" != --in ] || { work=$(realpath -m "${2:?--in needs a folder}"); shift 2; }
suite=${1:?usage: bare_system.sh [--in FOLDER] SUITE [COMMAND...]}
shift
[ $# -gt 0 ] || set -- demo test
[ "$(id -u)" = 0 ] || fail "only root can make and enter another system"
command -v mmdebstrap >/dev/null || fail "install mmdebstrap first"

if [ -z "$work" ]; then
  work=$(mktemp -d)
  trap 'rm -rf --one-file-system "$work"' EXIT
fi
system=$work/system
mkdir -p "$work/log"

if [ ! -e "$system/etc/os-release" ]; then
  # The first archive of this machine's apt that is no archive of security updates, and how this machine's apt reaches it.
  mirror=${RILL_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' |
    awk '$1 == "Debian" || $1 == "Ubuntu" { print $2; exit }')}
  [ -n "$mirror" ] || fail "apt has no archive here: set RILL_MIRROR"
  options=()
  while read -r option; do options+=(--aptopt="$option"); done < <(apt-config dump | grep -E '^Acquire::(Check-|https?::|Retries)')
  mmdebstrap --quiet --variant=minbase --include=apt,git,ca-certificates ${options[@]+"${options[@]}"} "$suite" "$system" "$mirror" ||
    fail "mmdebstrap could not make $suite from $mirror"
fi
rm -rf --one-file-system "$system/rill"
git clone --quiet --no-hardlinks "$repository" "$system/rill"
cp -L /etc/resolv.conf "$system/etc/resolv.conf"
(. "$system/etc/os-release" && printf '== %s, commit %s\n' "$PRETTY_NAME" "$(git -C "$repository" rev-parse --short HEAD)")

# within COMMAND...: in the system, with separate processes and mounts, which end with the command.
within() {
  unshare --mount --pid --fork --kill-child bash -c '
    system=$1
    shift
    mount -t proc proc "$system/proc"
    mount -t sysfs -o ro sysfs "$system/sys"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
    mount -t tmpfs tmpfs "$system/dev/shm"
    exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 ${JOBS:+JOBS="$JOBS"} chroot "$system" "$@"
  ' within "$system" "$@"
}

for command; do
  log=$work/log/${command// /}.txt status=0 begin=$SECONDS
  within sh -c "cd /rill && ./dev $command" </dev/null >"$log" 2>&1 || status=$?
  printf '== ./dev %s: exit code %d after %d s\n' "$command" $status $((SECONDS - begin))
  tail -n 12 "$log"
  [ $status = 0 ] || exit $status
done
