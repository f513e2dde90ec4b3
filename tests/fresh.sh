#!/usr/bin/env bash
# The README on a bare system: a minimal Debian or Ubuntu gets git, sudo and a new user, who runs a part of the README there.
#   usage: fresh.sh [--save] [--in FOLDER] SYSTEM [PART...]    e.g. fresh.sh debian13; fresh.sh --in /tmp/fresh noble demo
# SYSTEM: debian12, debian13, or a suite of the mirror that this machine's apt uses. RILL_MIRROR names another mirror, or is a line of
# sources.list: Ubuntu's needs `main universe`.
# PART: each starts with the bare system and a clone of HEAD. Without one: demo, then test.
#   demo   ./dev demo, and the README's first translation
#   test   ./dev test
#   pip    pip install . into an environment, and a translation from Python
#   wheel  builds a wheel (./dev wheel), leaves it and its LGPL library's source in dist/, and installs it in another bare system
#   install   installs the wheel of dist/, in which everything is, where no compiler is
#   deb    builds the packages, checks them with lintian, leaves them in dist/SUITE, and installs them in another bare system
#   image  the steps of packaging/Dockerfile (debian12); its size, user and health check, and how the server ends
# --in FOLDER: keep the bare system, as an archive, and the logs there. --save: write each part's lines that begin with `fresh:` to
# bench/results/fresh.txt. Needs root and mmdebstrap. Prints what each part installed and the last lines of its log. Exits with the
# status of the first part that failed.
set -eu
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
fail() { printf 'fresh: %s\n' "$*" >&2; exit 1; }

keep= save=
while :; do
  case ${1:-} in
  --save) save=$repository/bench/results/fresh.txt ;;
  --in) keep=$(realpath -m "${2:?--in needs a folder}") && shift ;;
  *) break ;;
  esac
  shift
done
system_name=${1:?usage: fresh.sh [--save] [--in FOLDER] SYSTEM [PART...]} suite=$1
shift
case $suite in debian12) suite=bookworm ;; debian13) suite=trixie ;; esac
[ $# -gt 0 ] || set -- demo test
for part; do
  case $part in
  demo | test | pip | wheel | install | deb) ;;
  image) grep -q "^FROM debian:${system_name#debian}-slim$" "$repository/packaging/Dockerfile" || fail "the image is no $system_name" ;;
  *) fail "no such part: $part" ;;
  esac
done
[ "$(id -u)" = 0 ] || fail "only root can make and enter another system"
command -v mmdebstrap >/dev/null || fail "install mmdebstrap first"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
keep=${keep:-$work} system=$work/system home=/reader
mkdir -p "$keep/log"

# make_base NAME OPTION...: an archive of a bare system, from where this machine's apt gets its packages.
make_base() {
  [ ! -e "$keep/$1.tar" ] || return 0
  # The first archive that is no archive of security updates.
  local mirror options=()
  mirror=${RILL_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' |
    awk '$1 == "Debian" || $1 == "Ubuntu" { print $2; exit }')}
  [ -n "$mirror" ] || fail "apt has no archive here: set RILL_MIRROR"
  while read -r option; do options+=(--aptopt="$option"); done < <(apt-config dump | grep -E '^Acquire::(Check-|https?::|Retries)')
  mmdebstrap --quiet --format=tar --variant=minbase ${options[@]+"${options[@]}"} "${@:2}" "$suite" "$keep/$1.tar.part" "$mirror" ||
    fail "mmdebstrap could not make $suite from $mirror"
  mv "$keep/$1.tar.part" "$keep/$1.tar"
}

# How this machine's pip reaches its index: for the environment of processes in the system.
pip_settings=()
while IFS= read -r setting; do pip_settings+=("$setting"); done < <(
  env | grep -E '^(PIP_(CERT|(EXTRA_)?INDEX_URL|TRUSTED_HOST|DEFAULT_TIMEOUT)|https?_proxy)=')

# unpack NAME: a system of that archive in $system.
unpack() {
  rm -rf --one-file-system "$system"
  mkdir "$system"
  tar -C "$system" --numeric-owner -xf "$keep/$1.tar"
  cp -L /etc/resolv.conf "$system/etc/resolv.conf"
  echo "127.0.0.1 localhost $(hostname)" >"$system/etc/hosts" # for sudo
}

# A bare system with a user, a clone of HEAD in the user's home, and this machine's way to pip's index.
make_bare() {
  make_base "$suite" --include=apt,git,ca-certificates,sudo \
    --customize-hook="chroot \"\$1\" useradd --create-home --home-dir $home --shell /bin/bash reader" \
    --customize-hook='echo "reader ALL=(ALL) NOPASSWD: ALL" >"$1/etc/sudoers.d/reader"'
  unpack "$suite"
  git clone --quiet --no-hardlinks "$repository" "$system$home/rill"
  chroot "$system" chown -R reader: "$home/rill"
  for file in /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do [ ! -e "$file" ] || cp -L "$file" "$system$file"; done
  packages >"$work/before"
}

packages() { chroot "$system" dpkg-query --show --showformat '${Package} ${Installed-Size}\n' | sort; }

# enter USER SCRIPT: in the system, with separate processes and mounts, which end with the script.
enter() {
  unshare --mount --pid --fork --kill-child bash -c '
    system=$1 user=$2 script=$3
    shift 3
    mount -t proc proc "$system/proc"
    mount -t sysfs -o ro sysfs "$system/sys"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
    exec env -i HOME="$(chroot "$system" sh -c "echo ~$user")" USER="$user" PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
      ${JOBS:+JOBS="$JOBS"} "$@" \
      chroot --userspec="$user:$(chroot "$system" id -g "$user")" "$system" bash -euo pipefail -c "$script"
  ' enter "$system" "$@" ${pip_settings[@]+"${pip_settings[@]}"} </dev/null
}
run() { enter reader "cd ~/rill; $1"; }

dockerfile() { sed -n "$1" "$repository/packaging/Dockerfile"; }
# steps STAGE: the RUN lines of the Dockerfile's first or second stage.
steps() {
  sed -e ':more; /\\$/ { N; s/\\\n//; b more }' "$repository/packaging/Dockerfile" |
    awk -v stage="$1" '/^FROM / { n++ } /^RUN / && n == stage { sub(/^RUN /, ""); print }'
}

# translate COMMAND MODEL: the README's first translation.
translate() { echo "echo 'Ein alter Mann liest auf einer Bank im Park die Zeitung.' | $1 decode -m $2 | grep 'old man'"; }
translated() { echo "fresh: the first translation $((SECONDS - begin)) s after the bare system"; }
from_python='import rill; print(next(rill.Model("examples/models/de-en").stream(["Ein Hund läuft über die Wiese."])).text)'
ours="-name '*rill*' -not -name '*cyrillic*'" # what an uninstalled rill leaves

# install_wheel: in the bare system, with a translation by the model in it and the README's; and nothing of rill is left afterwards.
install_wheel() {
  cp "$repository"/dist/*manylinux*"_$(uname -m).whl" "$system$home/"
  (cd "$system$home" && du -k --apparent-size ./*.whl | awk '{ printf "fresh: %s, %.1f MB\n", substr($2, 3), $1 / 1024 }')
  begin=$SECONDS
  run "sudo apt-get -qq update; sudo apt-get -qq -y --no-install-recommends install python3-venv
    cd ~; python3 -m venv venv; venv/bin/pip install -q ./*.whl; if command -v cc; then exit 1; fi
    echo 'Wo ist der Bahnhof?' | venv/bin/rill decode -q -m venv/lib/python3*/site-packages/rill/models/de-en-tatoeba | grep station
    $(translate venv/bin/rill rill/examples/models/de-en)"
  translated
  run "~/venv/bin/python -c '$from_python'; cd ~
    venv/bin/pip uninstall -q -y rill-decoder; if find venv $ours | grep .; then exit 1; fi"
}

run_part() {
  case $1 in
  demo) run "./dev demo; $(translate build/rill examples/models/de-en)" && translated ;;
  test) run "./dev test" ;;
  pip) run "./dev build; python3 -m venv venv; venv/bin/pip install .; venv/bin/python -c '$from_python'" && translated ;;
  wheel)
    run "sudo apt-get -qq update
      sudo apt-get -qq -y --no-install-recommends install python3-venv python3-dev dpkg-dev make pkg-config; ./dev wheel"
    mkdir -p "$repository/dist"
    rm -f "$repository"/dist/*"_$(uname -m).whl"
    cp -r "$system$home/rill/dist"/{*.whl,sources} "$repository/dist/"
    make_bare
    install_wheel
    ;;
  install) install_wheel ;;
  deb)
    run "sudo apt-get -qq update; sudo apt-get -qq -y --no-install-recommends install devscripts lintian
      sudo apt-get -qq -y --no-install-recommends build-dep .
      dpkg-buildpackage --no-sign --build=binary; mkdir ../debs; mv ../*.deb ../*.buildinfo ../*.changes ../debs
      lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ../debs/*.changes # Debian's own bugs"
    mkdir -p "$repository/dist/$suite"
    rm -f "$repository/dist/$suite"/*
    cp "$system$home"/debs/* "$repository/dist/$suite/"
    make_bare
    cp "$repository/dist/$suite"/*.deb "$system$home/"
    begin=$SECONDS
    run "sudo apt-get -qq update; sudo apt-get -qq -y --no-install-recommends install ~/*.deb; cd ~
      $(translate rill rill/examples/models/de-en)"
    translated
    run "python3 -c '$from_python'
      sudo apt-get -qq -y purge rill librill0 librill-dev python3-rill
      if sudo find /usr /etc /var/lib $ours | grep .; then exit 1; fi"
    ;;
  image)
    mv "$system$home/rill" "$system/src"
    steps 1 | while IFS= read -r step; do enter root "$step" || exit 1; done
    mv "$system/out" "$work/out"
    # What Debian leaves out of its slim images.
    make_base "$suite-slim" --dpkgopt='path-exclude=/usr/share/doc/*' \
      --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
      --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*'
    unpack "$suite-slim"
    packages >"$work/before"
    echo "fresh: the second stage; its base has $(du -sm --one-file-system "$system" | cut -f1) MB"
    enter root "$(steps 2)"
    cp -a "$work/out/." "$system/"
    rm -rf "$work/out"
    size=$(du -sm --one-file-system "$system" | cut -f1)
    echo "fresh: the image has $size MB"
    [ "$size" -lt 150 ]
    cp -r "$repository/examples/models/de-en" "$system/model"
    user=$(dockerfile 's/^USER //p') healthy=0
    enter "$user" "[ \$(id -u) != 0 ]; $(translate rill /model)"
    translated
    # The server is the first process of its container, as under Docker: signals that it does not handle would be ignored.
    enter "$user" "exec $(dockerfile 's/^CMD \[\(.*\)\]$/rill \1/p' | tr -d ,)" &
    server=$!
    for second in 1 2 3 4 5 6 7 8 9; do
      sleep 1
      enter "$user" "$(dockerfile 's/^  CMD \["bash", "-c", "\(.*\)"\]$/\1/p' | sed 's/\\\\/\\/g')" && healthy=$second && break
    done
    unshared=$(pgrep -P $server) stopping=$SECONDS
    kill -TERM "$(pgrep -P "$unshared")"
    wait $server
    [ $healthy != 0 ]
    echo "fresh: healthy as user $user after $healthy s; SIGTERM ended it after $((SECONDS - stopping)) s"
    rm -r "$system/model"
    ;;
  esac
}

# save_lines PART: the part's paragraph of the file, in place of an older one.
save_lines() {
  local command="+ ./dev fresh --save $system_name $1" others
  touch "$save"
  others=$(sed "\\|^$command\$|,/^\$/d" "$save")
  {
    [ -z "$others" ] || printf '%s\n\n' "$others"
    echo "$command"
    echo "$(date -u +%Y-%m-%dT%H:%MZ), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), jobs ${JOBS:-$(nproc)}," \
      "load $(cut -d ' ' -f 1 /proc/loadavg)"
    echo "$head"
    cat "$work/lines"
  } >"$save"
}

status=0
for part; do
  make_bare
  begin=$SECONDS log=$keep/log/$suite-$part.txt
  head=$(. "$system/etc/os-release" && echo "fresh: $PRETTY_NAME, commit $(git -C "$repository" rev-parse --short HEAD): $part")
  echo "$head"
  set +e # in a condition, bash would not stop the part at its first failure
  (set -e; run_part "$part") >"$log" 2>&1
  status=$?
  set -e
  tail -n 12 "$log" | grep -v '^fresh: ' || true
  {
    grep '^fresh: ' "$log" || true
    packages | comm -13 "$work/before" - | awk -v part="$part" '{ names = names " " $1; size += $2; n++ }
      END { printf "fresh: %s installed %d packages, %.0f MB:%s\n", part, n, size / 1024, names }' | fold -s -w 140 | sed 's/ $//'
    printf 'fresh: %s: exit code %d after %d s\n' "$part" $status $((SECONDS - begin))
  } | tee "$work/lines"
  [ $status = 0 ] || exit $status
  [ -z "$save" ] || save_lines "$part"
done
