#!/usr/bin/env bash
# What whole rill for AArch64 needs to be built and run elsewhere: Debian's packages for arm64, unpacked into a folder.
#
#   libraries.sh FOLDER
#
# They come from where this system's own come from, by apt-get with a state of its own in FOLDER: nothing is installed, and the system is
# left as it is.
set -eu

[ $# = 1 ] || { echo "usage: libraries.sh FOLDER" >&2; exit 2; }
mkdir -p "$1/apt/state/lists/partial" "$1/apt/cache/archives/partial"
folder=$(realpath "$1")
cat >"$folder/apt/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
Dir::State "$folder/apt/state";
Dir::State::status "/dev/null";
Dir::Cache "$folder/apt/cache";
END
export APT_CONFIG=$folder/apt/apt.conf
apt-get -qq update
apt-get -qq -y --no-install-recommends --download-only install libjansson-dev libsentencepiece-dev libutf8proc-dev liblua5.4-dev \
  libffi-dev libstemmer-dev libcmocka-dev
cd "$folder/apt/cache/archives"
for package in *.deb; do
  # The cross compiler has the C library's headers; what links to it here has paths of a system where it is installed.
  case $package in libc6-dev_* | libc-dev-bin_* | libcrypt-dev_* | linux-libc-dev_*) continue ;; esac
  dpkg -x "$package" "$folder"
done
rm -rf "$folder/apt"
echo "$folder: libraries for arm64"
