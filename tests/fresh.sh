#!/usr/bin/env bash
# The README on a bare system: a minimal Debian or Ubuntu gets git, sudo and a new user, who runs a part of the README there.
#   usage: fresh.sh [--in FOLDER] SYSTEM [PART...]    e.g. fresh.sh debian13; fresh.sh --in /tmp/fresh noble demo
# SYSTEM: debian12, debian13, or a suite of the mirror that this machine's apt uses. RILL_MIRROR names another mirror.
# PART: each starts with the bare system and a clone of HEAD. Without one: demo, then test.
#   demo   ./dev demo, and the README's first translation
#   test   ./dev test
#   pip    pip install . into an environment, and a translation from Python
#   wheel  a wheel of dist/ (./dev wheel) into an environment, on a system without a compiler
#   deb    builds the packages with lintian, leaves them in dist/SUITE, and installs them into another bare system
# --in FOLDER: keep the bare system, as an archive, and the logs there. Needs root and mmdebstrap. Prints what each part installed and the
# last lines of its log. Exits with the status of the first part that failed.
set -eu
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
fail() { printf 'fresh: %s\n' "$*" >&2; exit 1; }

keep=
[ "${1:-}" != --in ] || { keep=$(realpath -m "${2:?--in needs a folder}"); shift 2; }
suite=${1:?usage: fresh.sh [--in FOLDER] SYSTEM [PART...]}
shift
case $suite in debian12) suite=bookworm ;; debian13) suite=trixie ;; esac
[ $# -gt 0 ] || set -- demo test
for part; do case $part in demo | test | pip | wheel | deb) ;; *) fail "no such part: $part" ;; esac; done
[ "$(id -u)" = 0 ] || fail "only root can make and enter another system"
command -v mmdebstrap >/dev/null || fail "install mmdebstrap first"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
keep=${keep:-$work} system=$work/system
mkdir -p "$keep/log"

if [ ! -e "$keep/$suite.tar" ]; then
  # The first archive of this machine's apt that is no archive of security updates, and how this machine's apt reaches it.
  mirror=${RILL_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' |
    awk '$1 == "Debian" || $1 == "Ubuntu" { print $2; exit }')}
  [ -n "$mirror" ] || fail "apt has no archive here: set RILL_MIRROR"
  options=()
  while read -r option; do options+=(--aptopt="$option"); done < <(apt-config dump | grep -E '^Acquire::(Check-|https?::|Retries)')
  mmdebstrap --quiet --variant=minbase --include=apt,git,ca-certificates,sudo ${options[@]+"${options[@]}"} \
    --customize-hook='chroot "$1" useradd --create-home --shell /bin/bash reader' \
    --customize-hook='echo "reader ALL=(ALL) NOPASSWD: ALL" >"$1/etc/sudoers.d/reader"' \
    "$suite" "$keep/$suite.tar.part" "$mirror" --format=tar || fail "mmdebstrap could not make $suite from $mirror"
  mv "$keep/$suite.tar.part" "$keep/$suite.tar"
fi

# How this machine's pip reaches its index: for the environment of processes in the system.
pip_settings=()
while IFS= read -r setting; do pip_settings+=("$setting"); done < <(env | grep -E '^(PIP_(CERT|(EXTRA_)?INDEX_URL|TRUSTED_HOST|DEFAULT_TIMEOUT)|https?_proxy)=')

# A bare system in $system, with a clone of HEAD in the user's home.
make_bare() {
  rm -rf --one-file-system "$system"
  mkdir "$system"
  tar -C "$system" --numeric-owner -xf "$keep/$suite.tar"
  git clone --quiet --no-hardlinks "$repository" "$system/home/reader/rill"
  chroot "$system" chown -R reader: /home/reader/rill
  cp -L /etc/resolv.conf "$system/etc/resolv.conf"
  for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do [ ! -e "$file" ] || cp -L "$file" "$system$file"; done
  packages >"$work/before"
}

packages() { chroot "$system" dpkg-query --show --showformat '${Package} ${Installed-Size}\n' | sort; }

# run SCRIPT: as the new user, in the clone, with separate processes and mounts, which end with the script.
run() {
  unshare --mount --pid --fork --kill-child bash -c '
    system=$1
    shift
    mount -t proc proc "$system/proc"
    mount -t sysfs -o ro sysfs "$system/sys"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
    exec env -i HOME=/home/reader USER=reader PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 ${JOBS:+JOBS="$JOBS"} \
      "${@:2}" chroot --userspec=reader:reader "$system" bash -euo pipefail -c "cd ~/rill; $1"
  ' run "$system" "$1" ${pip_settings[@]+"${pip_settings[@]}"} </dev/null
}

translate='echo "Ein alter Mann liest auf einer Bank im Park die Zeitung." | %s decode -m %s/examples/models/de-en | grep -x "An old man is reading .*"'
from_python='import rill; print(next(rill.Model("examples/models/de-en").stream(["Ein Hund läuft über die Wiese."])).text)'

run_part() {
  local files
  case $1 in
  demo) run "./dev demo; $(printf "$translate" build/rill .)" ;;
  test) run "./dev test" ;;
  pip) run "./dev build; python3 -m venv venv; venv/bin/pip install .; venv/bin/python -c '$from_python'" ;;
  wheel)
    files=("$repository"/dist/rill_decoder-*-manylinux*"$(uname -m)".whl)
    [ -e "${files[0]}" ] || { echo "dist/ has no wheel: ./dev wheel"; return 1; }
    cp "${files[@]}" "$system/home/reader/"
    run "sudo apt-get -qq update; sudo apt-get -qq -y --no-install-recommends install python3-venv
      cd ~; python3 -m venv venv; venv/bin/pip install -q ./*.whl; if command -v cc; then exit 1; fi
      $(printf "$translate" venv/bin/rill rill)
      cd rill; ~/venv/bin/python -c '$from_python'; cd ~
      venv/bin/pip uninstall -q -y rill-decoder; if find venv -name '*rill*' | grep .; then exit 1; fi"
    ;;
  deb)
    run "sudo apt-get -qq update; sudo apt-get -qq -y --no-install-recommends install devscripts lintian
      sudo apt-get -qq -y --no-install-recommends build-dep .
      dpkg-buildpackage --no-sign --build=binary; mkdir ../debs; mv ../*.deb ../*.buildinfo ../*.changes ../debs
      lintian --fail-on error,warning ../debs/*.changes"
    mkdir -p "$repository/dist/$suite"
    rm -f "$repository/dist/$suite"/*
    cp "$system"/home/reader/debs/* "$repository/dist/$suite/"
    make_bare
    cp "$repository/dist/$suite"/*.deb "$system/home/reader/"
    echo "== another bare system"
    begin=$SECONDS
    run "sudo apt-get -qq update; sudo apt-get -qq -y --no-install-recommends install ~/[lpr]*.deb; cd ~
      $(printf "$translate" rill rill); cd rill; python3 -c '$from_python'
      sudo apt-get -qq -y purge rill librill0 librill-dev python3-rill; if find /usr /etc /var/lib -name '*rill*' | grep .; then exit 1; fi"
    ;;
  esac
}

status=0
for part; do
  make_bare
  begin=$SECONDS log=$keep/log/$suite-$part.txt
  (. "$system/etc/os-release" && printf '== %s, commit %s: %s\n' "$PRETTY_NAME" "$(git -C "$repository" rev-parse --short HEAD)" "$part")
  run_part "$part" >"$log" 2>&1 || status=$?
  tail -n 12 "$log"
  packages | comm -13 "$work/before" - | awk -v part="$part" '{ names = names " " $1; size += $2; n++ }
    END { printf "== %s installed %d packages, %.0f MB:%s\n", part, n, size / 1024, names }' | fold -s -w 140
  printf '== %s: exit code %d after %d s\n' "$part" $status $((SECONDS - begin))
  [ $status = 0 ] || exit $status
done
