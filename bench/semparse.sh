#!/usr/bin/env bash
# The methods side by side on the three semantic parsers, with the paper's settings: k = n = δ = 10, M = 3, budget 100, n = 100 for
# greedy, inputs sorted by length.
# Columns are those of the paper's tables; the lines below a table explain them.
# usage: bench/semparse.sh [--save] [--repeat R] [--threads T] [--workers W]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

methods=greedy:n=100,fixed,fixed:finish=immediate,fixed-stream,var-batch,var-stream
methods+=,var-stream:max-items=20,var-stream-fifo,top-up,stream-all
save=0 repeat=11 threads=1 workers=1
read_options "save repeat: threads: workers:" "$@"
share_cores

need_build build/rill
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# bench_set NAME: one table on stdout, its JSON in $work.
bench_set() {
  local name=$1 input
  questions_of "$name" "$work/$name.txt"
  if [ -n "$tokenized" ]; then input=(--test-set "$data/$source" --tokenized); else input=(-i "$source"); fi
  set -- build/rill bench -m "examples/models/$name" "${input[@]}" --methods $methods -k 10 -n 10 --budget 100 \
    --sort length:1000000 --absolute 10 --max-candidates 3 "${hands[@]}" --repeat "$repeat" --quiet --verbose --json "$work/$name.json"
  echo
  echo "== $name"
  echo "+ $*" | sed "s|$data/|RILL_DATA/|; s|$work/||"
  "$@"
}

{
  describe_machine
  for name in geo jobs atis; do
    [ ! -d "examples/models/$name" ] || bench_set "$name" || echo "$name" >>"$work/failed"
  done
} | tee "$work/semparse.txt"

if [ $save = 1 ]; then
  mkdir -p bench/results
  cp "$work/semparse.txt" "bench/results/semparse-${suffix}.txt"
  for name in geo jobs atis; do
    [ ! -f "$work/$name.json" ] || sed "s|\"$data/|\"RILL_DATA/|" "$work/$name.json" \
      >"bench/results/semparse-$name-${suffix}.json"
  done
fi
[ ! -e "$work/failed" ]
