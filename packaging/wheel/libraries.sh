#!/usr/bin/env bash
# The libraries that a wheel carries, from Debian 12's sources, for one processor and glibc 2.28: PREFIX gets libraries, headers,
# pkg-config files, and licences. The compiler is zig's, which has the symbols of every glibc; nothing is installed in the system.
#   usage: libraries.sh PROCESSOR PREFIX SOURCES    PROCESSOR: x86_64, aarch64; SOURCES: a folder for downloads, kept
# On PATH: the programs of requirements.txt, dpkg-source, make, pkg-config. RILL_MIRROR names a mirror of Debian; without it apt's.
set -euo pipefail
processor=$1 prefix=$(realpath -m "$2") sources=$(realpath -m "$3")
here=$(dirname "$(realpath "$0")")
host=$processor-linux-gnu
jobs=${JOBS:-$(nproc)}
mkdir -p "$prefix"/{lib/pkgconfig,include,licenses} "$sources"

# --- sources ----------------------------------------------------------------------------------------------------------

mirror=${RILL_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' |
  awk '$1 == "Debian" { print $2; exit }')}
[ -n "$mirror" ] || { echo "libraries: apt has no archive of Debian here: set RILL_MIRROR" >&2; exit 1; }
if [ ! -e "$sources/done" ]; then
  mkdir -p "$sources/apt/lists/partial"
  echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main" >"$sources/apt/sources.list"
  apt=(apt-get -qq -o "Dir::Etc::SourceList=$sources/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=root
    -o "Dir::State::Lists=$sources/apt/lists" -o "Dir::Cache=$sources/apt" -o Debug::NoLocking=1)
  "${apt[@]}" update
  (cd "$sources" && "${apt[@]}" --download-only source jansson snowball utf8proc lua5.4 libffi libmicrohttpd sentencepiece)
  touch "$sources/done"
fi

# unpack NAME: its folder under $work, with Debian's patches, and its licence in the prefix. SentencePiece goes without the patches, which
# take its own protobuf-lite away.
work=$prefix/build
rm -rf "$work"
mkdir -p "$work"
unpack() {
  local option=()
  [ "$1" != sentencepiece ] || option=(--skip-patches)
  (cd "$work" && dpkg-source --no-check "${option[@]}" -x "$sources/$1"_*.dsc "$1" >/dev/null)
  cp "$work/$1/debian/copyright" "$prefix/licenses/$1-$(version "$1").txt"
  # Debian's file only refers to the text of the LGPL and of Apache's licence.
  for text in COPYING LICENSE; do [ ! -e "$work/$1/$text" ] || cp "$work/$1/$text" "$prefix/licenses/$1-$text"; done
  cd "$work/$1"
}

# --- compilers --------------------------------------------------------------------------------------------------------

# Programs of their own, since configure scripts and libtool take a compiler without arguments best.
for tool in cc c++; do
  printf '#!/bin/sh\nexec python-zig %s -target %s.2.28 "$@"\n' "$tool" "$host" >"$prefix/$tool"
done
for tool in ar ranlib; do printf '#!/bin/sh\nexec python-zig %s "$@"\n' "$tool" >"$prefix/$tool"; done
chmod +x "$prefix"/{cc,c++,ar,ranlib}
export CC=$prefix/cc CXX=$prefix/c++ AR=$prefix/ar RANLIB=$prefix/ranlib
export CFLAGS="-O2 -fPIC -fvisibility=hidden" CXXFLAGS="-O2 -fPIC -fvisibility=hidden"

# with_cmake TARGET OPTION...
with_cmake() {
  cmake -S . -B out -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DBUILD_SHARED_LIBS=OFF -DCMAKE_AR="$AR" \
    -DCMAKE_RANLIB="$RANLIB" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$processor" "${@:2}" >/dev/null
  ninja -C out -j "$jobs" "$1" >/dev/null
}
# module NAME VERSION LIBS: a pkg-config file.
module() {
  cat >"$prefix/lib/pkgconfig/$1.pc" <<END
Name: $1
Description: for a wheel of rill
Version: $2
Cflags: -I$prefix/include
Libs: -L$prefix/lib $3
END
}
version() { sed -n 's/^Version: \(.*\)-[^-]*$/\1/p' "$sources/$1"_*.dsc | head -n 1; }

# --- one after the other ----------------------------------------------------------------------------------------------

unpack jansson
with_cmake jansson -DJANSSON_BUILD_DOCS=OFF -DJANSSON_WITHOUT_TESTS=ON -DJANSSON_EXAMPLES=OFF
cp out/lib/libjansson.a "$prefix/lib/" && cp out/include/*.h "$prefix/include/"
module jansson "$(version jansson)" -ljansson

unpack utf8proc
with_cmake utf8proc
cp out/libutf8proc.a "$prefix/lib/" && cp utf8proc.h "$prefix/include/"
module libutf8proc "$(version utf8proc)" -lutf8proc

unpack sentencepiece
with_cmake sentencepiece-static -DSPM_ENABLE_SHARED=OFF -DSPM_ENABLE_TCMALLOC=OFF
cp out/src/libsentencepiece.a "$prefix/lib/" && cp src/sentencepiece_processor.h "$prefix/include/"
module sentencepiece "$(version sentencepiece)" -lsentencepiece

# Its compiler runs here, and writes the stemmers in C.
unpack snowball
make -s -j "$jobs" CC="python-zig cc" CFLAGS=-O1 snowball
make -s CC=true AR=true RANLIB=true libstemmer.a
"$CC" $CFLAGS -Iinclude -c libstemmer/libstemmer.c src_c/stem_*.c runtime/{api,utilities}.c
"$AR" rcs "$prefix/lib/libstemmer.a" ./*.o && cp include/libstemmer.h "$prefix/include/"

unpack lua5.4
rm src/lua.c src/luac.c
echo "#define DEB_HOST_MULTIARCH \"$host\"" >src/lua5.4-deb-multiarch.h # which Debian's rules write
"$CC" $CFLAGS -DLUA_COMPAT_5_3 -DLUA_USE_LINUX -c src/*.c
"$AR" rcs "$prefix/lib/liblua.a" ./*.o && cp src/{lua,luaconf,lualib,lauxlib,lua5.4-deb-multiarch}.h "$prefix/include/"
module lua5.4 "$(version lua5.4)" "-llua -lm"

unpack libffi
./configure --quiet --host="$host" --prefix="$prefix" --libdir="$prefix/lib" --disable-shared --enable-static --disable-docs \
  --disable-exec-static-tramp --disable-multi-os-directory
make -s -j "$jobs" install >/dev/null
module libffi "$(version libffi)" -lffi # its own does not say where

# LGPL: shared, so that a user may put another in its place. auditwheel takes it into the wheel.
unpack libmicrohttpd
CFLAGS="-O2 -fPIC" ./configure --quiet --host="$host" --prefix="$prefix" --enable-shared --disable-static --disable-https --disable-doc \
  --disable-examples --disable-curl --disable-tools
make -s -j "$jobs" -C src/microhttpd install >/dev/null
make -s -C src/include install >/dev/null
make -s install-pkgconfigDATA >/dev/null

rm -rf "$work"
