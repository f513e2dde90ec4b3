#!/usr/bin/env bash
# Builds for AArch64 with Debian's cross compiler, and runs what was built on processors that qemu plays: with neither dot products nor
# products of matrices, with the former, with both. Each kind of processor would die of an instruction that it lacks.
#
#   cross_build.sh kernels SOURCE BUILD DIGEST      every operation of every instruction set, as tests/kernels checks it; and all bits of
#                                                   many results against AVX2's, which the program DIGEST prints on this processor
#   cross_build.sh decodes SOURCE BUILD LIBRARIES   random graphs through the executor, and decodes with the shipped models against the
#                                                   golden files
#
# BUILD is made or brought up to date. The second needs rill's libraries for arm64 in the folder LIBRARIES: libraries.sh.
# Exit code 77: something is missing here, and is named.
set -eu

what=$1 source=$2 build=$3 needed=$4
plain=cortex-a72 dots=cortex-a76 all=max
multiarch=aarch64-linux-gnu
log=$build/log.txt

missing() { echo "skipped: $1"; exit 77; }

command -v $multiarch-gcc >/dev/null || missing "no $multiarch-gcc (package gcc-aarch64-linux-gnu)"
command -v qemu-aarch64 >/dev/null || missing "no qemu-aarch64 (package qemu-user)"
qemu-aarch64 -cpu help | grep -qw $dots || missing "qemu-aarch64 does not know the processor $dots: 6.0 and later do"
command -v meson >/dev/null && command -v ninja >/dev/null || missing "no meson or no ninja"

# build_for OPTION... -- TARGET...
build_for() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  mkdir -p "$build"
  if [ ! -e "$build/build.ninja" ]; then
    meson setup "$build" "$source" --cross-file "$source/tests/aarch64/cross.ini" -Dbuildtype=release "${options[@]}" >"$log" 2>&1 ||
      { cat "$log"; exit 1; }
  fi
  ninja -C "$build" -j "${JOBS:-2}" "$@" >"$log" 2>&1 || { grep -v '^\[' "$log"; exit 1; }
}

# on PROCESSOR PROGRAM ARGUMENT...
on() {
  local processor=$1
  shift
  QEMU_CPU=$processor qemu-aarch64 "$@"
}

# --- kernels ----------------------------------------------------------------------------------------------------------

# The highest instruction set of a processor, and one that it lacks. highest PROCESSOR SET NEXT
highest() {
  local status=0
  on "$1" "$check" table "$2"
  [ -n "$3" ] || return 0
  on "$1" "$check" table "$3" || status=$?
  [ $status = 77 ] || { echo "FAILED: $1 is said to have $3"; exit 1; }
}

# same_bits PROCESSOR SET: its digests are AVX2's, which are in the file "wanted"
same_bits() {
  on "$1" "$build/tests/kernels/digest" "$2" >"$build/found"
  diff "$build/wanted" "$build/found" || { echo "FAILED: $2 does not give AVX2's bits"; exit 1; }
  echo "ok $2: AVX2's bits"
}

run_kernels() {
  build_for -Donly_kernels=true -- tests/kernels/check_kernels tests/kernels/digest
  check=$build/tests/kernels/check_kernels
  export QEMU_LD_PREFIX=${QEMU_LD_PREFIX:-/usr/$multiarch}
  highest $plain neon neon-dotprod
  highest $dots neon-dotprod neon-i8mm
  highest $all neon-i8mm ""
  for operation in lstm gru attention rows math; do on $plain "$check" $operation neon --rounds 30; done
  on $plain "$check" best neon --rounds 2
  on $plain "$check" gemm neon --rounds 24
  on $dots "$check" gemm neon-dotprod --rounds 24
  on $all "$check" gemm neon-i8mm --rounds 24
  on $plain "$check" gemm ref --rounds 6
  if ! "$needed" avx2 >"$build/wanted"; then
    echo "this processor has no AVX2, so nothing is compared with it"
    return
  fi
  same_bits $plain neon
  same_bits $dots neon-dotprod
  same_bits $all neon-i8mm
}

# --- decodes ----------------------------------------------------------------------------------------------------------

# A command that runs a program of the build: wrapper PROGRAM, the path of a file that is made
wrapper() {
  local file=$build/on-qemu-${1##*/}
  printf '#!/bin/sh\nexec qemu-aarch64 -E LD_LIBRARY_PATH="%s" "%s" "$@"\n' "$root/usr/lib/$multiarch" "$build/$1" >"$file"
  chmod +x "$file"
  echo "$file"
}

# decodes PROCESSOR GROUP
decodes() {
  echo "== $1: $2"
  QEMU_CPU=$1 bash "$source/tests/golden/golden.sh" small "$2" "$rill" "$kernel_set" "$vary_model" "$source"
}

run_decodes() {
  command -v $multiarch-g++ >/dev/null || missing "no $multiarch-g++ (package g++-aarch64-linux-gnu)"
  root=$needed
  [ -e "$root/usr/lib/$multiarch/pkgconfig/jansson.pc" ] ||
    missing "no libraries for arm64: tests/aarch64/libraries.sh $needed brings them"
  mkdir -p "$build"
  cat >"$build.ini" <<END
[constants]
root = '$root'
found = ['-idirafter', root / 'usr/include', '-idirafter', root / 'usr/include/$multiarch']
usr = root / 'usr/lib/$multiarch'
lib = root / 'lib/$multiarch'
linked = ['-L' + usr, '-Wl,-rpath-link,' + usr, '-Wl,-rpath-link,' + lib]
[built-in options]
c_args = found
cpp_args = found
c_link_args = linked
cpp_link_args = linked
[properties]
sys_root = root
pkg_config_libdir = [usr / 'pkgconfig', root / 'usr/share/pkgconfig']
END
  build_for --cross-file "$build.ini" -Dcuda=disabled -Donednn=disabled -Dtests=enabled -- rill tests/golden/kernel_set \
    tests/golden/vary_model tests/device/test_device_graphs tests/device/test_device_network
  export QEMU_LD_PREFIX=$root
  for program in "test_device_graphs --iterations 60" test_device_network; do
    # shellcheck disable=SC2086
    set -- $program
    QEMU_CPU=$all "$(wrapper "tests/device/$1")" "${@:2}"
  done
  rill=$(wrapper rill) kernel_set=$(wrapper tests/golden/kernel_set) vary_model=$(wrapper tests/golden/vary_model)
  decodes $all brief
  decodes $dots brief_int8
  decodes $plain brief_int8
}

"run_$what"
