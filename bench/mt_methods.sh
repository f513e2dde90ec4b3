#!/usr/bin/env bash
# The paper's tables for translation, on the German-English model: every method at k = 5 and 50 with the paper's pruning
# (absolute 1.5, max-candidates 5) on test_2016_flickr, once with stop-after 1 as in the paper's runs and once with the default k;
# then the pruned ones at several batch sizes, on the first 300 lines. Quality is BLEU. `./dev reproduce stream-table-5` is the ablation.
# usage: bench/mt_methods.sh [--save] [--repeat R] [--threads T] [--workers W] [--lines N]      N: only the first lines, to try things out
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 repeat=3 threads=1 workers=1 lines=1000000
read_options "save repeat: threads: workers: lines:" "$@"
share_cores

model=${RILL_MT_MODEL:-examples/models/de-en}
need_build build/rill
[ -d "$model" ] || { echo "mt_methods: no model $model"; exit 0; }
[ -f "$data/mt/multi30k/test_2016_flickr.de" ] || { echo "mt_methods: no test sets under $data"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# bench_set NAME SET METHODS OPTION...: one table on stdout, its JSON in $work.
bench_set() {
  local name=$1 part=$2 methods=$3
  shift 3
  for side in de en; do head -n "$lines" "$data/mt/multi30k/$part.$side" >"$work/$part.$side"; done
  set -- build/rill bench -m "$model" -i "$work/$part.de" --refs "$work/$part.en" --methods "$methods" "${hands[@]}" \
    --repeat "$repeat" --quiet --verbose --json "$work/$name.json" "$@"
  echo
  echo "== $name"
  echo "+ $*" | sed "s|$work/\($part\.\)|RILL_DATA/mt/multi30k/\1|g; s|$work/||"
  "$@"
}

pruned=(--absolute 1.5 --max-candidates 5)
all=greedy,fixed,fixed:finish=top,fixed-stream,var-batch,var-stream,var-stream-fifo,top-up,stream-all

{
  describe_machine
  # A budget of n k rows, so that streaming methods hold as many states as a batch of n beams could.
  bench_set k5 test_2016_flickr $all -k 5 -n 32 --budget 160 "${pruned[@]}" --sort length
  rounds=$repeat
  repeat=$(((rounds + 2) / 3)) # fixed takes half a minute at k = 50
  bench_set k50 test_2016_flickr ${all#greedy,} -k 50 -n 8 --budget 400 "${pruned[@]}" --sort length
  repeat=$rounds
  bench_set k5-stop1 test_2016_flickr fixed:finish=top,var-batch,var-stream,stream-all -k 5 -n 32 --budget 160 "${pruned[@]}" \
    --sort length --stop-after 1
  bench_set k50-stop1 test_2016_flickr var-batch,var-stream,stream-all -k 50 -n 8 --budget 400 "${pruned[@]}" --sort length \
    --stop-after 1
  # Each method at several n, without a budget: where does a larger batch stop to gain?
  sweep=
  for m in var-batch var-stream stream-all; do for n in 1 4 16 64; do sweep+=,$m:n=$n; done; done
  [ "$lines" -le 300 ] || lines=300
  bench_set n-k5 test_2016_flickr "${sweep#,}" -k 5 "${pruned[@]}" --sort length
  bench_set n-k50 test_2016_flickr "${sweep#,}" -k 50 "${pruned[@]}" --sort length
} | tee "$work/mt-methods.txt"

if [ $save = 1 ]; then
  mkdir -p bench/results
  cp "$work/mt-methods.txt" "bench/results/mt-methods-${suffix}.txt"
  for name in k5 k50 k5-stop1 k50-stop1 n-k5 n-k50; do
    sed "s|\"$data/|\"RILL_DATA/|; s|\"$work/|\"RILL_DATA/mt/multi30k/|" "$work/$name.json" \
      >"bench/results/mt-methods-$name-${suffix}.json"
  done
  python3 tools/figures.py
fi
