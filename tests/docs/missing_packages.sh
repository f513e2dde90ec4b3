#!/usr/bin/env bash
# What says which packages are missing: meson.build, whose words `pip install .` shows, and ./dev, which installs them. Nothing is installed
# and nothing built here: libraries and a compiler are hidden, and apt-get and sudo are not the system's.
#   usage: missing_packages.sh RILL CHECK_JSON DATA TOY_PLUGIN ROOT
set -eu
. "${0%/*}/../cli/lib.sh"
root=$5
mkdir nothing fake

# --- Meson: all missing packages at once, by the names of both systems, and no installed ones
names() { # names OPTION DEBIAN FEDORA
  rm -rf build
  run env -u PKG_CONFIG_PATH PKG_CONFIG_LIBDIR="$work/nothing" CMAKE="$work/none" CXX="$work/none" \
    meson setup build "$root" "$1" -Dtests=disabled
  exits 1
  verdict "$(good [ "$(sed -n 's/.*on Debian and Ubuntu: *//p' out)" = "apt-get install $2" ])" "Debian's packages: $2"
  verdict "$(good [ "$(sed -n 's/.*on Fedora: *//p' out)" = "dnf install $3" ])" "Fedora's packages: $3"
}
debian="g++ libjansson-dev libsentencepiece-dev libprotobuf-dev libutf8proc-dev liblua5.4-dev libffi-dev"
fedora="gcc-c++ jansson-devel sentencepiece-devel protobuf-lite-devel utf8proc-devel lua-devel libffi-devel"
names -Dpython=wheel "$debian" "$fedora"
prints "not found: a C++ compiler, jansson, SentencePiece, utf8proc, Lua 5.4, libffi"
names -Dpython=off "$debian" "$fedora"
rm -rf build
run env CC="$work/none" meson setup build "$root" -Dtests=disabled
exits 1; prints "apt-get install gcc libc6-dev "; prints "dnf install gcc "

# --- ./dev: a library whose own requirement is missing is missing too
printf '#!/bin/sh\nexec "$@"\n' >fake/sudo
printf '#!/bin/sh\necho "$@" >>%s/asked\nexit 7\n' "$work" >fake/apt-get
chmod +x fake/*
printf 'Name: sentencepiece\nDescription: one\nVersion: 1\nRequires.private: no-such-module\n' >nothing/sentencepiece.pc
: >asked
run env PATH="$work/fake:$PATH" PKG_CONFIG_PATH="$work/nothing" "$root/dev" format --check
exits 7
for package in libsentencepiece-dev libprotobuf-dev; do
  verdict "$(good grep -qE "^dev: installing with apt-get: (.* )?$package( |$)" out)" "$package should be installed"
done
verdict "$(good grep -q update asked)" "apt-get is asked"
verdict "$(good [ "$(grep -c jansson out)" = 0 ])" "what is there is not installed"

# --- ./dev on Fedora, whose Lua is the module `lua`
lua_packages() { # lua_packages VERSION COUNT: how many packages are asked for where that version is there
  printf 'Name: lua\nDescription: one\nVersion: %s\n' "$1" >fedora/lua.pc
  run env -u PKG_CONFIG_PATH PATH="$work/fake:$PATH" PKG_CONFIG_LIBDIR="$work/fedora" "$root/dev" format --check
  exits 7; prints " libjansson-dev "
  verdict "$(good [ "$(grep -c ' liblua5.4-dev ' out)" = "$2" ])" "Lua $1"
}
mkdir fedora
lua_packages 5.3.6 1
lua_packages 5.4.6 0
lua_packages 5.5.0 1
finish
