#!/usr/bin/env bash
# Checks that no schedule changes a result: the grid of bench/identical.c on test sets, one process per model; for translation with every
# kind of weights. Translation and parsing: the first lines only, since every one is decoded about 2,000 times.
# usage: bench/identical.sh [--save] [--quick]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 quick=
read_options "save quick" "$@"

program=build/bench/identical
need_build $program
quick=${quick:+--quick}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# compare_lines DOMAIN NAME TEXT LINES OPTION...: the first lines of a test set, or of examples/questions without it.
compare_lines() {
  local domain=$1 name=$2 text=$3 lines=$4 source=$data/$3
  shift 4
  [ -d "examples/models/$name" ] || return 0
  [ -f "$source" ] || { text=examples/questions/$name.txt source=$text; }
  echo "+ $program $quick --lines $lines $* $domain examples/models/$name $text"
  # shellcheck disable=SC2086
  $program $quick --lines "$lines" "$@" "$domain" "examples/models/$name" "$source" || echo failed >"$work/failed"
}

{
  describe_machine
  for name in geo jobs atis; do
    [ -d "examples/models/$name" ] || continue
    questions_of "$name" "$work/$name.txt"
    echo "+ $program $quick $tokenized semparse examples/models/$name $source"
    # shellcheck disable=SC2086
    $program $quick $tokenized semparse "examples/models/$name" "$work/$name.txt" || echo failed >"$work/failed"
  done
  for weights in f32 bf16 int8; do
    compare_lines mt de-en mt/multi30k/test_2016_flickr.de 16 --weights $weights --absolute 1.5
  done
  compare_lines shiftreduce gum treebank/gum/test.ptb 24 --absolute 2.5
  [ ! -e "$work/failed" ] && echo "all the same" || echo "NOT all the same"
} | tee "$work/identical.txt"
[ ! -e "$work/failed" ] || status=1
if [ $save = 1 ]; then
  mkdir -p bench/results
  cp "$work/identical.txt" bench/results/identical.txt
fi
exit $status
