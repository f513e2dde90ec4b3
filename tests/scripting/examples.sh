#!/usr/bin/env bash
# Every script of examples/lua, run on the questions of examples/questions with all three models.
#   usage: examples.sh RILL CHECK_JSON DATA TOY_PLUGIN ROOT
set -eu
. "${0%/*}/../cli/lib.sh"
root=$5
lua=$root/examples/lua
ran=" " # files of examples/lua that were

# decode MODEL FILE.lua ARGUMENTS...: n-best lists of the model's questions, in "out"
decode() {
  local model=$1 file=$2
  shift 2
  ran+="$file "
  run "$rill" decode -m "$root/examples/models/$model" -i "$root/examples/questions/$model.txt" --plugin "$lua/$file" -q --n-best 10 "$@"
}
# equal MODEL FILE.lua "C ARGUMENTS" "LUA ARGUMENTS": the same lists, scores included
equal() {
  # shellcheck disable=SC2086
  decode "$1" "$2" $3
  exits 0
  mv out "$1.c"
  # shellcheck disable=SC2086
  decode "$1" "$2" $4 --config checking.lua
  exits 0; counts_only; same out "$1.c"
}
expansions() { "$check_json" "$1" expansions; }
list_of() { awk -F ' [|][|][|] ' '{print $1 " " $2}' "$1" | sort -u; }
# The first N of each input's list.
first_of() { awk -v n="$1" '{seen[$1]++} seen[$1] <= n' "$2"; }

# --- the built-in heuristics in Lua give what the C ones give
for model in geo jobs atis; do
  for method in var-batch stream-all; do
    wide="--method $method --max-candidates 10"
    equal $model builtin.lua "$wide --heuristic absolute:6" "$wide --heuristic lua-absolute:6"
    equal $model builtin.lua "$wide --heuristic relative:1e-3" "$wide --heuristic lua-relative:1e-3"
    equal $model builtin.lua "$wide --heuristic relative_local:0.01" "$wide --heuristic lua-relative_local:0.01"
    equal $model builtin.lua "$wide --absolute 10 --patience 0.25" "$wide --absolute 10 --heuristic lua-patience:0.25"
    equal $model builtin.lua "--method $method --max-candidates 3" "$wide --scorer lua-max_candidates:3"
  done
  equal $model builtin.lua "--heuristic relative:0.05" "--heuristic lua-relative:0.05"
  equal $model builtin.lua "--absolute 10 --patience 0.01" "--absolute 10 --heuristic lua-patience:0.01"
  equal $model word_reward.lua "--scorer word_reward:0.3" "--scorer lua-word_reward:0.3"
done
for wrong in lua-absolute:-1 lua-relative:2 lua-patience:x lua-absolute; do
  decode geo builtin.lua --heuristic $wrong
  exits 1; says "expected"
done

# --- absolute_live: no more work, and no output less
for model in geo jobs atis; do
  decode $model absolute_live.lua --heuristic absolute:3 --stats c.json
  mv out c
  decode $model absolute_live.lua --heuristic absolute_live:3 --stats lua.json --config checking.lua
  exits 0
  verdict "$(good [ "$(expansions c.json)" = "$(expansions lua.json)" ])" "$model: as many expansions as absolute"
  verdict "$(good [ -z "$(comm -23 <(list_of c) <(list_of out))" ])" "$model: every output of absolute is there"
done

# --- settled: the best N are those of the whole search, for less
for model in geo jobs atis; do
  for n in 1 3; do
    decode $model settled.lua --heuristic absolute:20 --stats c.json
    first_of $n out >c
    decode $model settled.lua --heuristic absolute:20 --heuristic settled:$n --stats lua.json
    exits 0
    first_of $n out >settled
    same settled c
    verdict "$(good [ "$(expansions lua.json)" -lt "$(expansions c.json)" ])" "$model: settled:$n saves expansions"
  done
done

# --- the others: sound, and they save something
for entry in nucleus:1e-3 entropy_width:1.5,3 entropy_width:1 length_aware:4,-0.05 length_aware:2,0.1 funnel:0.9,2 largest_gap:3; do
  for model in geo jobs atis; do
    decode $model "${entry%%:*}.lua" --heuristic absolute:1000 --max-candidates 3 --stats c.json
    decode $model "${entry%%:*}.lua" --heuristic $entry --max-candidates 3 --stats lua.json --config checking.lua
    exits 0; counts_only
    verdict "$(good [ "$(expansions lua.json)" -lt "$(expansions c.json)" ])" "$model: $entry prunes"
  done
  decode geo "${entry%%:*}.lua" --heuristic "${entry%%:*}:x"
  exits 1
done

# --- scorers
for model in geo jobs atis; do
  decode $model bigram.lua
  mv out plain
  decode $model bigram.lua --scorer bigram:0.5 --config checking.lua
  exits 0
  decode $model bigram.lua --scorer repeat_penalty:50 --config checking.lua
  exits 0
  verdict "$(good [ "$(grep -cF ') )' out)" -lt "$(grep -cF ') )' plain)" ])" "$model: less is said twice"
done
decode geo bigram.lua --scorer bigram:0.5
differ out plain
decode geo lexicon.lua --scorer "lexicon:12,argmax no_such_action" --config checking.lua
exits 0
verdict "$(good [ "$(first_of 1 out | grep -c argmax)" -gt 5 ])" "what is named is said"
decode geo lexicon.lua --scorer "lexicon:1,no_such_action"
exits 1; says "no_such_action"

# --- schedulers: other schedules, same results
for model in geo jobs atis; do
  decode $model schedulers.lua --budget 30 -n 3 --max-items 4 --stats c.json
  mv out plain
  for scheduler in lua-shortest lua-widest lua-prompt; do
    decode $model schedulers.lua --budget 30 -n 3 --max-items 4 --scheduler $scheduler --stats $scheduler.json
    exits 0; counts_only; same out plain
    verdict "$(good [ "$(expansions c.json)" = "$(expansions $scheduler.json)" ])" "$model: $scheduler expands the same"
  done
done
verdict "$(good [ "$("$check_json" lua-prompt.json refills)" -gt "$("$check_json" lua-shortest.json refills)" ])" \
  "lua-prompt refills more often"

# --- whole runs
ran+="run.lua sweep.lua tune.lua search.lua spelling.lua "  # the last has its own test
feed "$root/examples/questions/geo.txt" "$rill" run "$lua/run.lua" -q
exits 0; silent; lines 8
cp out written
feed "$root/examples/questions/geo.txt" "$rill" run "$lua/run.lua" -q --budget 0
exits 0; same out written
feed "$root/examples/questions/geo.txt" "$rill" decode --config "$lua/run.lua" -q -k 5 --n-best 3
exits 0; verdict "$(good [ "$(wc -l <out)" -gt 8 ])" "options go before the script"
run "$rill" run "$lua/sweep.lua" -q
exits 0; prints "M delta"; verdict "$(good [ "$(grep -cE '^ *(3|10) +[0-9.]+ ' out)" -eq 6 ])" "six points"
paste "$root/examples/questions/geo.txt" written >dev.tsv
run "$rill" tune "$lua/tune.lua" --dev dev.tsv -q --metric oracle --plot front.html
exits 0; prints " inputs, 5 configurations, "; prints "epsilon"; contains '</html>' front.html
run "$rill" tune "$lua/search.lua" --dev dev.tsv -q --metric oracle
exits 0; prints " inputs, 9 configurations, "; says "is enough for an oracle of 100.00 %"

for file in "$lua"/*.lua; do
  verdict "$(good contains " ${file##*/} " <(echo "$ran"))" "${file##*/} is run by this test"
done
finish
