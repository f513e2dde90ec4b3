#!/usr/bin/env bash
# The methods side by side on constituency parsing, with the paper's settings: k = n = 10, δ = 2.5, M = 3, budget 100, n = 100 for
# greedy, sentences sorted by length. Words and
# tags come from the trees; quality is labelled F1 as EVALB counts it. Columns are those of the paper's table; the lines below
# a table explain them: /least is timesteps over sum_d ceil(W_d / 100), the fewest of the least-advanced schedule.
# A second table has predicted tags, a third has sentences per second on one processor, greedy and at k = 10.
# usage: bench/parse.sh [--save] [--repeat R] [--threads T] [--workers W] [--wsj DIR]
#        DIR: a model of treebank/wsj-sample, which is not shipped
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 repeat=5 threads=1 workers=1 wsj=${RILL_PARSER_WSJ:-}
read_options "save repeat: threads: workers: wsj:" "$@"
share_cores

methods=greedy:n=100,fixed,fixed-stream,var-batch,var-stream,var-stream-fifo,top-up,stream-all
gum=${RILL_PARSER_GUM:-examples/models/gum}
need_build build/rill
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# bench_set NAME MODEL GOLD METHODS INPUT OPTION...: one table on stdout, its JSON in $work.
bench_set() {
  local name=$1 model=$2 gold=$3 with=$4 input=$5
  shift 5
  set -- build/rill bench -m "$model" -i "$input" --refs "$gold" --methods "$with" -k 10 -n 10 --budget 100 --absolute 2.5 \
    --sort length:1000000 \
    --max-candidates 3 "${hands[@]}" --repeat "$repeat" --quiet --verbose --json "$work/$name.json" "$@"
  echo
  echo "== $name"
  echo "+ $*" | sed "s|$data/|RILL_DATA/|g; s|$work/||g; s|-m $wsj |-m WSJ_MODEL |"
  "$@" || echo "$name" >>"$work/failed"
}

# The words of each tree, separated by spaces.
words_of() { sed 's/([^ ()]* \([^ ()]*\))/\1/g; s/([^ ()]*//g; s/)//g; s/  */ /g; s/^ //' "$1"; }

# bench_treebank NAME MODEL
bench_treebank() {
  local gold=$data/treebank/$1/test.ptb
  if [ ! -d "$2" ]; then echo "no model of $1"; return; fi
  if [ ! -f "$gold" ]; then echo "no test set: RILL_DATA/treebank/$1/test.ptb is not there"; return; fi
  bench_set "$1" "$2" "$gold" $methods "$gold"
  words_of "$gold" >"$work/$1.words"
  bench_set "$1-tagger" "$2" "$gold" greedy,stream-all "$work/$1.words" --tokenized
  # Ten times the test set, since starting and running dry are a large part of a small one.
  for _ in 1 2 3 4 5 6 7 8 9 10; do cat "$gold"; done >"$work/$1.x10"
  bench_set "$1-speed" "$2" "$work/$1.x10" greedy,greedy:n=64,fixed,stream-all,stream-all:max-items=200 "$work/$1.x10"
}

{
  describe_machine
  bench_treebank gum "$gum"
  bench_treebank wsj-sample "$wsj"
} | tee "$work/parse.txt"

if [ $save = 1 ]; then
  mkdir -p bench/results
  cp "$work/parse.txt" "bench/results/parse-${suffix}.txt"
  for json in "$work"/*.json; do
    sed "s|\"$data/|\"RILL_DATA/|g; s|\"$work/|\"|g; s|\"$wsj\"|\"WSJ_MODEL\"|g" "$json" \
      >"bench/results/parse-$(basename "$json" .json)-${suffix}.json"
  done
fi
[ ! -e "$work/failed" ]
