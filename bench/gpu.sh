#!/usr/bin/env bash
# Tests and measurements on a machine with a GPU that has CUDA and nothing else of what rill is built with.
#
#   bench/gpu.sh pack FOLDER     here: what was built, the libraries that it needs, the models of examples/models and their questions
#   FOLDER/gpu.sh run [DEVICE]   there: tests, compute-sanitizer, each model on the processor and on DEVICE (cuda), timings;
#                                all that is said also goes to FOLDER/gpu.txt, the reports to FOLDER/stats
#
# pack needs a build with CUDA (nvcc): ninja -C build all tests. The C library there must not be older than here.
set -euo pipefail

say() { printf '%s\n' "$*"; }
fail() { printf 'gpu.sh: %s\n' "$*" >&2; exit 1; }

# --- here -------------------------------------------------------------------------------------------------------------

pack() {
  local folder=$1 root file
  root=$(cd "$(dirname "$0")/.." && pwd)
  cd "$root"
  ls build/domains/rill-cuda-*.so >/dev/null 2>&1 || fail "build/domains has no rill-cuda module: build where nvcc is"
  mkdir -p "$folder/bin" "$folder/lib" "$folder/models" "$folder/questions"
  cp build/rill "$folder/bin"
  for file in build/tests/cuda/test_gpu_* build/tests/cuda/test_cuda_programs; do
    [ ! -f "$file" ] || cp "$file" "$folder/bin"
  done
  cp -L build/domains/librill.so.0 build/scripting/librill-script.so.0 build/domains/rill-cuda-*.so "$folder/lib"
  # CUDA's own and what every system has stay there.
  ldd build/rill build/tests/cuda/test_cuda_programs build/domains/rill-cuda-*.so | awk '/=> \// { print $3 }' | sort -u |
    grep -vE '/(librill|libcu|libc\.so|libm\.so|libdl|libpthread|librt|libgcc_s|ld-linux)' |
    while read -r file; do cp -L "$file" "$folder/lib"; done
  cp -r examples/models/. "$folder/models"
  cp examples/questions/*.txt "$folder/questions"
  cp bench/gpu.sh "$folder"
  say "$folder: $(du -sh "$folder" | cut -f 1)"
}

# --- there ------------------------------------------------------------------------------------------------------------

# checked NAME COMMAND...: a line that tells how it ended, and what it said where it did not end well.
checked() {
  local name=$1 began=$SECONDS
  shift
  if "$@" >out.txt 2>&1; then
    say "ok      $name ($((SECONDS - began)) s)"
  else
    say "FAILED  $name: exit code $?"
    grep -vE '^\[ +(RUN|OK)' out.txt | tail -n 15
  fi
}

tests() {
  local test sanitizer
  sanitizer=$(command -v compute-sanitizer || true)
  for test in bin/test_gpu_*; do
    checked "$(basename "$test")" "$test"
    [ -n "$sanitizer" ] || continue
    checked "$(basename "$test"), memcheck" "$sanitizer" --tool memcheck --error-exitcode 9 "$test" --iterations 5
    checked "$(basename "$test"), racecheck" "$sanitizer" --tool racecheck --error-exitcode 9 "$test" --iterations 5
  done
  RILL_TEST_DEVICE=$device checked "random programs" bin/test_cuda_programs --iterations 2000
}

texts() { awk -F ' [|][|][|] ' '{ print $1 " " $2 }' "$1"; }

# Each model on the processor and on the device: how many lines of the lists differ, and seconds of both.
models() {
  local model name
  mkdir -p stats
  for model in models/*/; do
    name=$(basename "$model")
    for on in cpu "$device"; do
      bin/rill decode -m "$model" -i "questions/$name.txt" -q --min-width 0 -k 10 --n-best 5 --device "$on" \
        -o "stats/$name-${on%%:*}.txt" --stats "stats/$name-${on%%:*}.json" || [ $? = 2 ] || say "FAILED  $name on $on"
    done
    say "$name: $(diff <(texts "stats/$name-cpu.txt") <(texts "stats/$name-${device%%:*}.txt") | grep -c '^>') of" \
      "$(wc -l <"stats/$name-cpu.txt") lines differ from the processor's"
  done
}

# Methods at several n, on the translation model; many inputs, so that batches fill.
timings() {
  local k n
  for _ in $(seq 200); do cat questions/de-en.txt; done >many.txt
  for k in 5 50; do
    for n in 50 400; do
      say "de-en, k = $k, n = $n, on $device"
      bin/rill bench -m models/de-en -i many.txt --device "$device" -k "$k" -n "$n" \
        --methods greedy,fixed,var-batch,var-stream,stream-all \
        --json "stats/bench-k$k-n$n.json" 2>&1 || say "FAILED  bench"
    done
  done
  bin/rill decode -m models/de-en -i many.txt --device "$device" -q -k 5 -n 400 -o /dev/null --profile \
    --stats stats/profile.json 2>&1 | head -n 40
}

run() {
  device=${1:-cuda}
  cd "$(dirname "$0")"
  export LD_LIBRARY_PATH=$PWD/lib:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-} RILL_MODULES=$PWD/lib LC_ALL=C
  {
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>/dev/null || say "no nvidia-smi"
    bin/rill info -m models/geo --device "$device" | sed -n 1,3p
    tests
    models
    timings
  } 2>&1 | tee gpu.txt
}

case ${1:-} in
pack) [ $# = 2 ] || fail "pack FOLDER"; pack "$2" ;;
run) run "${2:-}" ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
