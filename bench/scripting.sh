#!/usr/bin/env bash
# The cost of Lua: absolute and max_candidates written in Lua (examples/lua/builtin.lua) against the C ones, on the three
# semantic parsers, whose timesteps are about as short as any model's: the worst case. Runs alternate in one
# `rill bench` per set, which also checks that outputs are the same; scripting.py makes the ratios and the costs in ns.
# usage: bench/scripting.sh [--save] [--repeat R]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 repeat=21
read_options "save repeat:" "$@"

need_build build/rill
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The same search three times: in C, with the heuristic in Lua, with both in Lua. scripting.py counts on this order.
methods=
for method in var-batch var-stream var-stream-fifo top-up stream-all; do
  methods+=,$method:heuristic=absolute:10:max-candidates=3
  methods+=,$method:heuristic=lua-absolute:10:max-candidates=3
  methods+=,$method:heuristic=lua-absolute:10:scorer=lua-max_candidates:3:max-candidates=10
done

bench_set() { # bench_set NAME: the JSON goes to $work
  local name=$1 input
  questions_of "$name" "$work/$name.txt"
  if [ -n "$tokenized" ]; then input=(--test-set "$data/$source" --tokenized); else input=(-i "$source"); fi
  set -- build/rill bench -m "examples/models/$name" "${input[@]}" --plugin examples/lua/builtin.lua --methods "${methods#,}" \
    -k 10 -n 10 --budget 100 --repeat "$repeat" --quiet --verbose --json "$work/$name.json"
  echo "+ $*" | sed "s|$data/|RILL_DATA/|; s|$work/||"
  "$@" >"$work/$name.out"
}

{
  describe_machine
  for name in geo jobs atis; do
    [ ! -d "examples/models/$name" ] || bench_set "$name"
  done
  echo
  python3 bench/scripting.py "$work/scripting.json" "$work"/{geo,jobs,atis}.json || echo failed >"$work/failed"
} | tee "$work/scripting.txt"

if [ $save = 1 ]; then
  mkdir -p bench/results
  cp "$work/scripting.txt" "$work/scripting.json" bench/results/
fi
[ ! -e "$work/failed" ]
