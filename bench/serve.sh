#!/usr/bin/env bash
# Load on `rill serve` and on two baseline servers, with the shipped de-en model and the captions of test_2016_flickr: rill and
# CTranslate2 behind a small FastAPI app that collects requests for 10 ms and decodes them as a batch (serve_peer.py). k = 5, fp32,
# servers on one processor, an open-loop client on another: serve_load.py.
# Python packages go into a temporary virtual environment; RILL_BENCH_PYTHON=PYTHON uses one that has them.
# usage: bench/serve.sh [--save] [--rates 25,50,...] [--seconds S] [--rounds R]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 rates= seconds= rounds= options=()
read_options "save rates: seconds: rounds:" "$@"
for name in rates seconds rounds; do [ -z "${!name}" ] || options+=("--$name" "${!name}"); done

model=examples/models/de-en input=$data/mt/multi30k/test_2016_flickr.de
need_build build/rill
[ -f "$input" ] || { echo "serve: nothing to measure: $input is not there"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${RILL_BENCH_PYTHON:-}
if [ -z "$python" ]; then
  python3 -m venv "$work/venv"
  python=$work/venv/bin/python
  "$python" -m pip install --quiet --disable-pip-version-check ctranslate2==4.8.5 sentencepiece numpy fastapi uvicorn
fi
"$python" tools/ct2_model.py "$model" "$work/ct2"
{
  describe_machine
  export OMP_NUM_THREADS=1
  if grep -qw avx512vl /proc/cpuinfo; then export CT2_FORCE_CPU_ISA=AVX512; fi
  "$python" bench/serve_load.py --rill build/rill --model "$model" --ct2 "$work/ct2" --input "$input" --out "$work/serve.json" \
    "${options[@]}"
} | tee "$work/serve.txt"
if [ $save = 1 ]; then
  mkdir -p bench/results
  cp "$work/serve.txt" "$work/serve.json" bench/results/
fi
