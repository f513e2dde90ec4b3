#!/usr/bin/env bash
# A wheel for Linux with glibc 2.28 or later: dist/rill_decoder-*.whl. The same on every Debian: libraries from libraries.sh, compilers and
# tools of requirements.txt. auditwheel names the tag and takes libmicrohttpd in; abi3audit and twine check the result.
#   usage: build.sh [PROCESSOR]    x86_64, or aarch64 cross-compiled; this machine's without one
# Needs python3-venv, python3-dev, dpkg-dev, make, pkg-config. Builds in build-wheel/.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD processor=${1:-$(uname -m)} place=$PWD/build-wheel
here=packaging/wheel prefix=$place/$processor
mkdir -p "$place" dist

[ -x "$place/tools/bin/auditwheel" ] || { python3 -m venv "$place/tools" && "$place/tools/bin/pip" install -q -r $here/requirements.txt; }
export PATH=$place/tools/bin:$PATH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
[ -e "$prefix/done" ] || { bash $here/libraries.sh "$processor" "$prefix" "$place/sources" && touch "$prefix/done"; }

cat >"$prefix/cross.ini" <<END
[binaries]
c = '$prefix/cc'
cpp = '$prefix/c++'
ar = '$prefix/ar'
strip = 'true'
pkg-config = 'pkg-config'
[built-in options]
c_args = ['-I$prefix/include']
c_link_args = ['-L$prefix/lib', '-s']
cpp_link_args = ['-L$prefix/lib', '-s']
[properties]
pkg_config_libdir = '$prefix/lib/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '$processor'
cpu = '$processor'
endian = 'little'
END
# Debian's pyconfig.h includes that of the processor from a folder that zig does not search. It is the same for both processors.
for folder in /usr/include/"$(uname -m)"-linux-gnu/python3.*; do
  [ ! -d "$folder" ] || { mkdir -p "$prefix/include/$processor-linux-gnu" && ln -sfn "$folder" "$prefix/include/$processor-linux-gnu/"; }
done
rm -rf "$prefix/wheels" dist/rill_decoder-*"$processor".whl
export _PYTHON_HOST_PLATFORM=linux-$processor
python -m build --wheel --no-isolation --outdir "$prefix/wheels" -C build-dir="$prefix/rill" \
  -C setup-args="--cross-file=$prefix/cross.ini" -C setup-args=-Dcuda=disabled -C setup-args=-Dserve=enabled .
# The extension keeps to the limited API of 3.10, whatever Python built it. The licences of the libraries go into the wheel.
python -m wheel tags --remove --python-tag cp310 "$prefix"/wheels/*.whl >/dev/null
(cd "$prefix/wheels" && python -m wheel unpack ./*.whl && cp -r "$prefix/licenses" ./*/*.dist-info/ && python -m wheel pack ./*/) >/dev/null
LD_LIBRARY_PATH=$prefix/lib auditwheel repair --wheel-dir dist "$prefix"/wheels/*.whl
# Of the libraries only libmicrohttpd is shared: another one would be of this system.
[ "$(python -m zipfile -l dist/rill_decoder-*"$processor".whl | grep -c '\.libs/[^ ]')" = 1 ] ||
  { echo "build: a library of this system is in the wheel" >&2; exit 1; }
abi3audit --strict dist/rill_decoder-*"$processor".whl
twine check --strict dist/rill_decoder-*"$processor".whl
# The LGPL asks whoever passes the library on for its source.
mkdir -p dist/sources
(cd "$place/sources" && cp libmicrohttpd_* "$root/dist/sources")
ls -l dist/rill_decoder-*"$processor".whl dist/sources
