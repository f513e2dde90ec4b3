#!/usr/bin/env bash
# Lower bounds for the shipped models: quality with their own settings and the default method, and how full timesteps are.
# A floor is just below what was measured; what a change gains may raise it. Test sets are RILL_DATA's, ../shared/data when unset.
set -eu
. "${0%/*}/lib.sh"
models=$data/../../examples/models tests=${RILL_DATA:-$data/../../../shared/data}
case $tests in /*) ;; *) tests=$data/../../$tests ;; esac
tried=0

# above FLOOR VALUE WHAT: of decimal numbers
above() { verdict "$(awk -v a="$1" -v b="${2:-0}" 'BEGIN { print (b + 0 >= a + 0) }')" "$3 is $2, $1 at least is expected"; }

# floor NAME INPUT REFERENCES METRIC PATH LEAST FULL OPTION...: PATH of the metric's report is LEAST at least, and a timestep expands
# FULL hypotheses on average.
floor() {
  local name=$1 input=$2 references=$3 metric=$4 path=$5 least=$6 full=$7
  shift 7
  if [ ! -e "$models/$name" ] || [ ! -s "$input" ]; then echo "$name: its test set is not there"; return 0; fi
  tried=$((tried + 1))
  run "$rill" decode -q -m "$models/$name" -i "$input" -o answers --stats stats.json --workers 1 "$@"
  exits 0; silent
  above "$full" "$("$check_json" stats.json exp_per_step)" "$name: hypotheses per timestep"
  run "$rill" eval -m "$models/$name" --metric "$metric" --refs "$references" answers --json -
  exits 0
  cp out judged.json
  above "$least" "$("$check_json" judged.json "$path")" "$name: $metric"
}

column() { if [ -e "$tests/semparse/$1/test.tsv" ]; then cut -f "$2" "$tests/semparse/$1/test.tsv"; fi; }
for name in geo jobs atis; do
  column $name 1 >$name.in
  column $name 2 >$name.ref
done
# The pruned methods give the same outputs; they differ in how full their timesteps are.
floor geo geo.in geo.ref exact exact_percent 84.6 87 --tokenized
floor jobs jobs.in jobs.ref exact exact_percent 87.8 86.5 --tokenized
floor atis atis.in atis.ref exact exact_percent 83.6 96.5 --tokenized
gum=$tests/treebank/gum/test.ptb
floor gum "$gum" "$gum" bracket bracket_percent 84.3 98.5
flickr=$tests/mt/multi30k/test_2016_flickr
floor de-en "$flickr.de" "$flickr.en" bleu bleu_percent 41.9 64
floor de-en-rnn "$flickr.de" "$flickr.en" bleu bleu_percent 41.3 62
everyday=$tests/mt/tatoeba/test
floor de-en-tatoeba "$everyday.de" "$everyday.en" bleu bleu_percent 57.2 40
[ $tried -gt 0 ] || { echo "no test set under RILL_DATA"; exit 77; }
finish
