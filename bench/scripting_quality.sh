#!/usr/bin/env bash
# The heuristics of examples/lua: quality against expansions, compared with the curve of `absolute`, on the test sets.
# Shapes (a slope, a temperature) were chosen on development data, thresholds are swept. Needs the test sets.
# usage: bench/scripting_quality.sh [--save]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0
read_options "save" "$@"

need_build build/rill
[ -f "$data/semparse/geo/test.tsv" ] || { echo "scripting_quality: no test sets under $data"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

plugins=()
for name in absolute_live settled nucleus entropy_width length_aware funnel largest_gap; do
  plugins+=(--plugin "examples/lua/$name.lua")
done
# The baseline curve, then the heuristics, as chains joined by "+"; "stop=N" is the setting stop-after.
curve=$(printf 'absolute:%s ' 0.5 1 1.5 2 2.5 3 3.5 4 4.5 5 5.5 6 6.5 7 7.5 8 8.5 9 9.5 10 11 12 14 20)
tried="absolute_live:1 absolute_live:2 absolute_live:4 absolute_live:6 absolute_live:10
  nucleus:0.1 nucleus:0.03 nucleus:0.01 nucleus:1e-3 nucleus:1e-4 nucleus:1e-5
  length_aware:3,-0.05 length_aware:4,-0.05 length_aware:6,-0.05 length_aware:8,-0.05
  length_aware:4,0.1 length_aware:6,0.1 length_aware:8,0.1
  entropy_width:1,3+absolute:10 entropy_width:1.5,3+absolute:10 entropy_width:2,3+absolute:10
  entropy_width:1,3 entropy_width:1.5,3 entropy_width:2,3
  funnel:0.9,2+absolute:10 funnel:0.9,3+absolute:10 funnel:0.9,5+absolute:10
  largest_gap:3+absolute:10 largest_gap:4+absolute:10 largest_gap:6+absolute:10 largest_gap:4
  absolute:10+stop=1 settled:1+absolute:10 absolute:10+stop=3 settled:3+absolute:10 absolute:10+stop=5 settled:5+absolute:10"

as_method() { # as_method CHAIN: as `rill bench` writes it
  local part method=stream-all
  for part in ${1//+/ }; do
    case $part in
    stop=*) method+=:stop-after=${part#stop=} ;;
    *) method+=:heuristic=$part ;;
    esac
  done
  printf '%s' "$method"
}

run_set() { # run_set NAME: $work/NAME-*.json, twelve chains each
  local name=$1 chain methods= n=0
  for chain in $curve $tried last; do
    if [ $n = 12 ] || [ "$chain" = last ]; then
      build/rill bench -m "examples/models/$name" --test-set "$data/semparse/$name/test.tsv" --tokenized "${plugins[@]}" -k 10 -n 10 \
        --budget 100 --max-candidates 3 --repeat 1 --quiet --methods "${methods#,}" --json "$work/$name-$((++file)).json" >/dev/null
      methods= n=0
    fi
    methods+=,$(as_method "$chain")
    n=$((n + 1))
  done
}

{
  describe_machine
  echo "settings: stream-all, k = n = 10, max-candidates 3, budget 100"
  file=100
  for name in geo jobs atis; do run_set "$name"; done
  python3 bench/scripting_quality.py "$work/out.json" "$work"/*-*.json
} | tee "$work/out.txt"

if [ $save = 1 ]; then
  mkdir -p bench/results
  cp "$work/out.txt" bench/results/scripting-quality.txt
  cp "$work/out.json" bench/results/scripting-quality.json
fi
