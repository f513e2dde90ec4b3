#!/usr/bin/env bash
# Tests and measures on a machine with a GPU. That machine needs CUDA's libraries and Python; PyTorch and transformers for the part `peer`.
# It needs no network and no compiler: everything is built here and packed with the libraries that the programs load.
#
#   bench/gpu.sh pack                   here: build in build-gpu and pack it into build-pack/gpu.tar.xz, to be sent with the sources
#   bench/gpu.sh [OPTIONS] [PART...]    there: unpack, then run the parts of bench/gpu.py, the most valuable first; results are written to
#                                       build-gpu/results at once. A second run measures what is missing.
#                                       docs/gpu-calls.md has the calls in order
#
#   --out FOLDER       where gpu.txt (the table), gpu.json and gpu.log go; an earlier run's gpu.json there is continued
#   --seconds S        time limit of the whole run (570)
#   --types bf16,f32   types of weights; these by default
#   --earlier FOLDER   results of an earlier call, to go on from
#   --device cuda-host --tiny   all of it here, on the stand-in and small models: a trial without a GPU
# Other options and the parts are bench/gpu.py's: see its --help. `pack 90` builds for compute capability 9.0 only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

pack=build-pack/gpu.tar.xz build=build-gpu device=cuda out=build-gpu/results seconds=570

# The command, the module, and the programs of the parts.
targets() {
  local kind=gpu module=domains/rill-cuda
  [ "$device" = cuda ] || kind=cuda module=tests/cuda/rill-cuda-host
  ninja -C "$build" -t targets all | sed -n 's/: .*//p' |
    grep -E -e '^(rill|tests/golden/(kernel_set|vary_model)|tests/cuda/test_cuda_(executor|fuse|runs))$' -e "^$module-[^/]*[.]so\$" \
      -e "^tests/cuda/test_${kind}_(rows|index|products|lists|attention|choices)\$"
}

build() {
  local cuda=disabled
  [ "$device" = cuda-host ] || cuda=enabled
  [ -f "$build/build.ninja" ] || meson setup "$build" -Donednn=disabled -Dtests=enabled "-Dcuda=$cuda" "$@" >/dev/null
  targets | xargs ninja -C "$build" >/dev/null
}

# The C and C++ libraries and CUDA's are there.
pack() {
  local stage file
  build ${1:+"-Dgpu_targets=$1"}
  stage=$(mktemp -d)
  mkdir -p "$stage/$build/libraries" "$stage/$build/meson-info" "$(dirname "$pack")"
  cp "$build"/meson-info/{intro-tests,meson-info}.json "$stage/$build/meson-info"
  { targets && printf '%s\n' domains/librill.so.0 scripting/librill-script.so.0; } | while read -r file; do
    mkdir -p "$(dirname "$stage/$build/$file")"
    strip --strip-unneeded -o "$stage/$build/$file" "$build/$file"
    ldd "$build/$file" | awk '/=> \// && $1 !~ /^lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+|rill.*|cublas.*|cudart)\.so/ { print $3 }'
  done | sort -u | xargs cp -Lt "$stage/$build/libraries"
  tar -C "$stage" -cJf "$pack" "$build"
  rm -r "$stage"
  ls -sh "$pack"
}

# Tests name their files by the folder that they were built in.
unpack() {
  local root
  [ ! -e "$pack" ] || tar -xf "$pack"
  [ -x "$build/rill" ] || { echo "gpu.sh: $build/rill and $pack not found; \"bench/gpu.sh pack\" makes it" >&2; exit 1; }
  root=$(sed -n 's/.*"source": "\([^"]*\)".*/\1/p' "$build/meson-info/meson-info.json")
  [ -e "$root" ] || { mkdir -p "$(dirname "$root")" && ln -s "$PWD" "$root"; }
  cmp -s "$root/$build/rill" "$build/rill" || { echo "gpu.sh: $root, where this was built, is another folder here" >&2; exit 1; }
}

main() {
  local began=$SECONDS parts=()
  while [ $# -gt 0 ]; do
    case $1 in
    --out | --seconds | --device | --types | --earlier)
      [ $# -gt 1 ] || { echo "gpu.sh: $1 needs a value" >&2; exit 2; }
      if [ "$1" = --types ] || [ "$1" = --earlier ]; then parts+=("$1" "$2"); else printf -v "${1#--}" %s "$2"; fi
      shift ;;
    *) parts+=("$1") ;;
    esac
    shift
  done
  if [ "$device" = cuda ]; then unpack; else build+=-host && build; fi
  mkdir -p "$out"
  export PEER_LIBRARY_PATH=${LD_LIBRARY_PATH:-}  # PyTorch has its own CUDA libraries
  export LD_LIBRARY_PATH=$PWD/$build/libraries:$(python3 tools/find_cuda.py --path):$PEER_LIBRARY_PATH
  export LC_ALL=C PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1
  python3 bench/gpu.py --build "$build" --out "$out" --device "$device" --seconds $((seconds - SECONDS + began)) "${parts[@]}"
}

case ${1:-} in
pack) pack "${2:-}" ;;
--help) python3 bench/gpu.py --help ;;
*) main "$@" ;;
esac
