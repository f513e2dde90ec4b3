#!/usr/bin/env bash
# How often the best output is certified to be the model's best, on all shipped models: beam widths, the threshold of `absolute`, candidates
# per parent, with and without length normalisation. And the cost of --certify: alternating runs with and without.
# usage: bench/certify.sh [--save] [--lines N]      N: only the first lines
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 lines=200
read_options "save lines:" "$@"
need_build build/rill
[ -f "$data/mt/multi30k/val.de" ] || { echo "certify: no test sets under $data"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# table MODEL INPUTS OPTION...
table() {
  local model=$1 inputs=$2
  shift 2
  head -n "$lines" "$inputs" | cut -f 1 >"$work/in"
  echo
  echo "== $model $*"
  build/rill bench -m "examples/models/$model" -i "$work/in" --quiet --repeat 1 --certify "$@" | sed -n '/^method/,/^$/p'
}

run() {
  local widths=stream-all:k=1,stream-all:k=5,stream-all:k=10,stream-all:k=50 all="--absolute 1e9"
  # shellcheck disable=SC2086
  for penalty in 0 1; do table de-en "$data/mt/multi30k/val.de" --methods $widths $all --length-penalty $penalty; done
  for threshold in 0.5 1.5 2.5 5; do
    table de-en "$data/mt/multi30k/val.de" --methods stream-all:k=50 --absolute $threshold --max-candidates 50 --length-penalty 0
  done
  for most in 3 5 10; do
    table de-en "$data/mt/multi30k/val.de" --methods stream-all:k=50:max-candidates=$most --absolute 1e9 --length-penalty 0
  done
  for model in geo jobs atis; do
    # shellcheck disable=SC2086
    table $model "$data/semparse/$model/test.tsv" --tokenized --methods $widths $all
  done
  # shellcheck disable=SC2086
  table gum "$data/treebank/gum/test.ptb" --methods $widths $all
  echo
  echo "== cost of --certify, de-en k = 5 pruned (seconds of three turns each)"
  head -n "$lines" "$data/mt/multi30k/val.de" >"$work/in"
  for turn in 1 2 3; do
    for on in "" --certify; do
      build/rill decode -m examples/models/de-en -i "$work/in" -o /dev/null --quiet --workers 1 $on --stats "$work/stats"
      python3 -c "import json; s = json.load(open('$work/stats'))['seconds']; print('turn $turn', '${on:-without}', s['total'],
                  'engine alone', s['select'] + s['prune'] + s['commit'])"
    done
  done
}

if [ "$save" = 1 ]; then run | tee bench/results/certify.txt; else run; fi
