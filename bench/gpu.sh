#!/usr/bin/env bash
# Builds, tests and measures on a machine with a GPU that has CUDA, a C and C++ compiler, and Python with meson, ninja, NumPy, PyTorch and
# transformers, but no network and none of the small libraries that rill is built with. These come along in a folder, so that
# nothing is switched off there, the tests least of all:
#
#   bench/gpu.sh needs                  here: headers and libraries into build-needs, which goes along with the sources
#   bench/gpu.sh [OPTIONS] [PART...]    there: builds in build-gpu, then the parts of bench/gpu.py, each within its time, the most
#                                       valuable first; results come to build-gpu/results as they are known. Again: what is missing
#
#   --out FOLDER       where gpu.txt (the table), gpu.json and gpu.log go; gpu.json of a run before is carried on there
#   --seconds S        how long it may take in all (570)
#   --types bf16,f32   the weights that are measured, here by default
#   --device cuda-host --tiny   all of it on the stand-in and small models: a trial before there is a GPU
# The others are bench/gpu.py's: --help says them, and the parts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

needs=build-needs build=build-gpu device=cuda out=build-gpu/results seconds=570 options=()

# The C library, the compiler's and CUDA are there. Modules are described anew, by where they lie.
take_needs() {
  local module header library
  mkdir -p "$needs/include" "$needs/lib" "$needs/bin"
  for module in jansson sentencepiece libutf8proc libffi cmocka lua5.4; do
    # shellcheck disable=SC2016
    printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: -L${pcfiledir} %s\nCflags: -I${pcfiledir}/../include\n' \
      "$module" "$module" "$(pkg-config --modversion "$module")" "$(pkg-config --libs-only-l "$module")" >"$needs/lib/$module.pc"
    for library in $(pkg-config --libs-only-l "$module") -lstemmer; do take_library "$(cc -print-file-name="lib${library#-l}.so")"; done
  done
  for header in jansson jansson_config sentencepiece_processor utf8proc ffi ffitarget cmocka lua lualib lauxlib luaconf libstemmer; do
    # shellcheck disable=SC2046
    cp -L "$(printf '#include <%s.h>\n' "$header" | cc -M $(pkg-config --cflags libffi lua5.4) -xc++ - 2>/dev/null | tr ' ' '\n' |
      grep "/$header\.h$" | sort -u)" "$needs/include"
  done
  cp -L "$(command -v pkg-config)" "$needs/bin/pkg-config"
  take_library "$needs/bin/pkg-config"
  du -sh "$needs"
}

# What a program or library is loaded with, under the names that it is asked for by; of a library its own file too.
take_library() {
  local file name
  ldd "$1" | awk '/=> \// && $1 !~ /^(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+)\.so/ { print $3 }' |
    while read -r file; do cp -L "$file" "$needs/lib"; done
  case $1 in *.so) ;; *) return 0 ;; esac
  name=$(objdump -p "$1" | awk '/SONAME/ { print $2 }')
  cp -L "$1" "$needs/lib/$name"
  ln -sf "$name" "$needs/lib/$(basename "$1")"
}

# What is there of CUDA's, and the compute capability of the first GPU.
configure() {
  local target
  if [ "$device" = cuda-host ]; then
    options+=(-Dcuda=disabled)
  else
    target=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
    options+=(-Dcuda=enabled "-Dgpu_targets=$target")
  fi
  [ -f "$build/build.ninja" ] || meson setup "$build" -Donednn=disabled -Dtests=enabled "${options[@]}"
}

# The command, the module, and what the parts run.
targets() {
  local kind=gpu module=domains/rill-cuda
  [ "$device" = cuda ] || kind=cuda module=tests/cuda/rill-cuda-host
  ninja -C "$build" -t targets all | sed -n 's/: .*//p' |
    grep -E -e '^(rill|tests/golden/(kernel_set|vary_model)|tests/cuda/test_cuda_(programs|fuse|runs))$' -e "^$module-[^/]*[.]so\$" \
      -e "^tests/cuda/test_${kind}_(rows|index|products|lists|attention|choices)\$"
}

main() {
  local began=$SECONDS parts=() log
  while [ $# -gt 0 ]; do
    case $1 in
    --out | --seconds | --device | --types)
      [ $# -gt 1 ] || { echo "gpu.sh: $1 needs a value" >&2; exit 2; }
      if [ "$1" = --types ]; then parts+=("$1" "$2"); else printf -v "${1#--}" %s "$2"; fi
      shift ;;
    *) parts+=("$1") ;;
    esac
    shift
  done
  [ "$device" = cuda ] || build+=-host
  mkdir -p "$build" "$out"
  out=$(cd "$out" && pwd)
  export PEER_LIBRARY_PATH=${LD_LIBRARY_PATH:-} # PyTorch has libraries of CUDA of its own
  if [ -d "$needs" ]; then
    needs=$(cd "$needs" && pwd)
    export PKG_CONFIG_PATH=$needs/lib CPATH=$needs/include LIBRARY_PATH=$needs/lib LD_LIBRARY_PATH=$needs/lib:$PEER_LIBRARY_PATH
    command -v pkg-config >/dev/null || PATH=$PATH:$needs/bin
  fi
  export PATH=$PATH:/usr/local/cuda/bin LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64
  export LC_ALL=C PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1
  log=$out/build.log
  { configure && targets | xargs timeout "$seconds" ninja -C "$build" -k 0; } >"$log" 2>&1 ||
    { tail -n 40 "$log" && echo "gpu.sh: not all could be built"; }
  [ -x "$build/rill" ] || exit 1
  echo "built in $((SECONDS - began)) s"
  python3 bench/gpu.py --build "$build" --out "$out" --device "$device" --seconds $((seconds - SECONDS + began)) "${parts[@]}"
}

case ${1:-} in
needs) take_needs ;;
--help) python3 bench/gpu.py --help ;;
*) main "$@" ;;
esac
