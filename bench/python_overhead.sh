#!/usr/bin/env bash
# The Python package against the command: the same model, settings and inputs, whole processes in alternation, on test_2016_flickr.
# Python reads lines and prints texts, as the command does. Another row compares the heuristic `absolute` as a function over NumPy arrays
# with the built-in one. The package is installed into a temporary environment; RILL_BENCH_PYTHON=PYTHON uses one that has it.
# usage: bench/python_overhead.sh [--save] [--rounds R] [--threads T] [--workers W]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 rounds=7 threads=1 workers=1
read_options "save rounds: threads: workers:" "$@"
share_cores
need_build build/rill
model=${RILL_MT_MODEL:-examples/models/de-en}
inputs=$data/mt/multi30k/test_2016_flickr.de
[ -f "$inputs" ] || { echo "python: nothing to measure: $inputs is not there"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE  # Python with its defaults: lines in blocks, modules compiled once
python=${RILL_BENCH_PYTHON:-}
if [ -z "$python" ]; then
  python3 -m venv "$work/venv"
  python=$work/venv/bin/python
  "$python" -m pip install --quiet --disable-pip-version-check '.[numpy]'
fi

{
  describe_machine
  echo "command: bench/python_overhead.sh --rounds $rounds --threads $threads --workers $workers"
  "$python" bench/python_overhead.py build/rill "$model" "$inputs" "$rounds" "$threads" "$workers"
} | tee "$work/result.txt"
if [ "$save" = 1 ]; then mkdir -p bench/results && cp "$work/result.txt" "bench/results/python-$suffix.txt"; fi
