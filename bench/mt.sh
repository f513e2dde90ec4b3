#!/usr/bin/env bash
# Machine translation against CTranslate2, both on the CPU: the same weights, subword tokens and threads, in alternating runs. The shipped
# de-en model on test_2016_flickr, then random weights of OPUS-MT's size with the same number of tokens on both sides; k = 5 and 50.
# With --workers W, rill decodes with W workers and the peer has as many cores, as threads of a batch (intra) or as batches side by
# side (inter): each row has both, and the ratio is against the better one.
# With --profile nothing is compared: calls, rows, seconds and rates of each operation, and shares by kind of operation.
# Python packages go into a temporary virtual environment; RILL_BENCH_PYTHON=PYTHON uses one that has them.
# usage: bench/mt.sh [--save] [--peer ctranslate2|none] [--threads T] [--workers W] [--rounds R] [--only TEXT]
#          [--clock wall|cpu] [--profile]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 threads=1 workers=1 peer= rounds= only= clock= profile= options=()
read_options "save threads: workers: peer: rounds: only: clock: profile" "$@"
share_cores
for name in peer rounds only clock; do [ -z "${!name}" ] || options+=("--$name" "${!name}"); done
[ -z "$profile" ] || options+=(--profile)

model=${RILL_MT_MODEL:-examples/models/de-en}
need_build build/rill
for needed in "$model/model.safetensors" "$data/mt/multi30k/test_2016_flickr.de"; do
  [ -f "$needed" ] || { echo "mt: nothing to measure: $needed is not there"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=${RILL_BENCH_PYTHON:-}
if [ -z "$python" ]; then
  python3 -m venv "$work/venv"
  python=$work/venv/bin/python
  "$python" -m pip install --quiet --disable-pip-version-check ctranslate2==4.8.5 sentencepiece sacrebleu numpy
fi

{
  describe_machine
  export OMP_NUM_THREADS=$cores
  # The peer would use AVX2 on some processors that have more; with more it is faster, so it is told to use it.
  if grep -qw avx512vl /proc/cpuinfo; then export CT2_FORCE_CPU_ISA=AVX512; fi
  "$python" -c 'import ctranslate2; print("peer: CTranslate2", ctranslate2.__version__)'
  echo "peer's instruction set: ${CT2_FORCE_CPU_ISA:-its own choice}"
  "$python" bench/mt.py --rill build/rill --work "$work" --model "$model" --data "$data/mt/multi30k" --out "$work/mt" \
    "${hands[@]}" "${options[@]}" 2>&1 || echo failed >"$work/failed"
} | tee "$work/mt.txt"

if [ $save = 1 ]; then
  mkdir -p bench/results
  if [ -n "$profile" ]; then
    cp "$work/mt.txt" "bench/results/mt-profile-${suffix}.txt"
  else
    cp "$work/mt.txt" "bench/results/mt-${suffix}.txt"
    cp "$work/mt.json" "bench/results/mt-${suffix}.json"
  fi
fi
[ ! -e "$work/failed" ]
