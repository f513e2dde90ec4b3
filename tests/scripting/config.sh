#!/usr/bin/env bash
# rill run and --config: a run as a Lua table does what the same run as options does, byte for byte; who overrides whom; what is
# refused, and in which words; sweeps.
set -eu
. "${0%/*}/../cli/lib.sh"
examples=$(cd "$data/../../examples" && pwd)
geo=$examples/models/geo questions=$examples/questions/geo.txt

# config TABLE: run.lua returns it
word=
config() { printf 'return %s\n' "$1" >run.lua; }
# as OPTIONS...: the configuration gives what these options give, results and settings alike
as() {
  run "$rill" decode -q --stats wanted.json -o wanted "$@"
  exits 0
  # shellcheck disable=SC2086
  run "$rill" run run.lua -q --stats got.json -o got $word
  exits 0; counts_only
  same wanted got
  settings wanted.json >wanted.settings
  settings got.json >got.settings
  same wanted.settings got.settings
}
settings() { "$check_json" "$1" options; }

# --- the same as options
model="model = '$geo', input = '$questions'"
config "{ $model }"
as -m "$geo" -i "$questions"
config "{ $model, options = { k = 10, budget = 100, max_candidates = 3 }, heuristics = { {'absolute', 10} } }"
as -m "$geo" -i "$questions" -k 10 --budget 100 --max-candidates 3 --absolute 10
config "{ $model, n_best = 10, options = { method = 'stream-all', k = 12, n = 3, max_items = 6, refill = 0.5, patience = 0.5,
  length_penalty = 0.6, min_length = 3, max_length = 40, sort = 'longest-first:5', flush_every = 20,
  max_nodes = 500, memory = '20M', like = 'marian', keep = 'best', stop = 'bound', at_limit = 'end', count_end = true,
  max_length_factor = 1.5, word_penalty = 0.25, unknown_penalty = 'inf' },
  heuristics = { 'absolute:6', {'relative_local', 0.001}, 'relative:0.0001' }, scorers = { {'word_reward', 0.25} } }"
as -m "$geo" -i "$questions" --n-best 10 --method stream-all -k 12 -n 3 --max-items 6 --refill 0.5 --patience 0.5 \
  --length-penalty 0.6 --min-length 3 --max-length 40 --sort longest-first:5 --flush-every 20 --max-nodes 500 \
  --memory 20M --like marian --keep best --stop bound --at-limit end --count-end \
  --max-length-factor 1.5 --word-penalty 0.25 --unknown-penalty inf --absolute 6 \
  --relative-local 0.001 --relative 0.0001 --scorer word_reward:0.25
config "{ $model, unordered = true, options = { method = 'fixed', finish = 'top', ['stop-after'] = 3, check = true } }"
as -m "$geo" -i "$questions" --unordered --method fixed --finish top --stop-after 3 --config checking.lua
config "{ $model, n_best = 1, scheduler = 'most-advanced', heuristics = { 'relative:0.1', 'absolute:3' } }"
as -m "$geo" -i "$questions" --n-best 1 --scheduler most-advanced --heuristic relative:0.1 --absolute 3
printf '%s\n' "w0 w1 w2" "w3" "w4 w5 w6 w7 w8" >three
config "{ model = '$tiny', domain = 'semparse', input = 'three', tokenized = true, threads = 2 }"
as -m "$tiny" -i three --tokenized --threads 2
json "$(threads_of 2)" threads got.json
# An empty chain is a chain too: the model's is not used.
config "{ model = '$tiny', input = 'three', heuristics = {}, options = { max_candidates = 12 } }"
run "$rill" run run.lua -q --stats got.json
exits 0; json '[]' options.heuristics got.json
run "$rill" decode -m "$tiny" -i three -q --stats wanted.json
exits 0; json '["absolute:10"]' options.heuristics wanted.json

# --- both names of the command, and files
config "{ $model, output = 'forms', stats = 'stats.json', trace = 'trace.json' }"
run "$rill" decode --config run.lua -q --unsafe-scripts
exits 0; prints_nothing; silent
cp forms first; has_json stats.json expansions; has_json --lines trace.json event
run "$rill" run run.lua -q -o - --stats other.json --trace other.trace
exits 0; same out first; has_json other.json expansions
feed "$questions" "$rill" run run.lua -q -i - -o again --unsafe-scripts
exits 0; same again first
config "{ model = '$geo' }"
feed "$questions" "$rill" run run.lua -q
exits 0; same out first
# Paths are relative to the script, options' to the current directory.
mkdir -p deep/er && cp "$questions" deep/q && cp -r "$tiny" deep/model && cp three deep/er/three
printf 'return { model = "model", input = "er/three", output = "out.txt" }\n' >deep/run.lua
run "$rill" run deep/run.lua -q --unsafe-scripts
exits 0; "$rill" decode -q -m "$tiny" -i three >wanted; same deep/out.txt wanted
(cd deep/er && "$rill" run ../run.lua -q -o mine) && cp deep/er/mine mine && same mine wanted
run "$rill" run deep/run.lua -q -i three -o here
exits 0; same here wanted
# The script, its input and what is written must differ.
config "{ $model }"; cp run.lua kept.lua
run "$rill" run run.lua -o run.lua
exits 1; says "the configuration"; says "the same file"; same run.lua kept.lua

# --- options override, one by one
config "{ $model, n_best = 3, options = { method = 'stream-all', k = 12, budget = 50, max_items = 30, finish = 'top' },
  heuristics = { 'absolute:6', 'relative:0.001' }, scheduler = 'all' }"
overridden() { run "$rill" run run.lua -q --stats s.json "$@"; exits 0; }
overridden -k 3 --n-best 2
json 3 options.beam_size s.json; json 2 options.n_best s.json
json 50 options.max_batch_hypotheses s.json; json all options.scheduler s.json
json '["absolute:6","relative:0.001"]' options.heuristics s.json
overridden --relative 0.5
json '["relative:0.5"]' options.heuristics s.json
overridden --method top-up
json top-up options.method s.json; json '["absolute:6","relative:0.001"]' options.heuristics s.json
json 30 options.max_in_flight s.json
run "$check_json" s.json options.scheduler  # the method's own schedule is used
exits 1
overridden --budget 7
json 7 options.max_batch_hypotheses s.json
overridden -m "$examples/models/jobs" -i "$examples/questions/jobs.txt"
verdict "$(good [ "$("$check_json" s.json model)" = "$examples/models/jobs" ])" "-m goes before the configuration's model"
# Options that the method ignores are reported, also with --quiet: the search differs from the one that the file describes.
run "$rill" run run.lua --method greedy
exits 0; says "warning: run.lua: left out, because the options exclude it: heuristics (absolute:6, relative:0.001)"
says ", scheduler (all), options.finish, options.beam_size, options.max_in_flight"
run "$rill" run run.lua --method greedy -q
exits 0; says "warning: 8 of 8 inputs have fewer than 3 outputs: greedy search has one (other methods have up to beam-size)"
"$rill" decode -q -m "$geo" -i "$questions" --method greedy --budget 50 --n-best 3 >wanted; same out wanted
# A contradiction of options alone is one.
run "$rill" run run.lua --method greedy -k 5
exits 1; says "rill: --beam-size cannot be combined with --method greedy"
# A contradiction of the script alone is one, and the script's.
config "{ $model, options = { method = 'fixed' }, heuristics = { 'absolute:3' } }"
run "$rill" run run.lua
exits 1; says "run.lua: heuristics cannot be combined with method fixed"
config "{ $model, options = { patience = 2, stop_after = 3 } }"
run "$rill" run run.lua
exits 1; says "run.lua: patience cannot be combined with stop_after"

# --- functions
config "{ $model, n_best = 5, options = { method = 'stream-all', k = 10, budget = 100 }, heuristics = { 'absolute:4' } }"
run "$rill" run run.lua -q
exits 0; cp out wanted
cat >run.lua <<END_OF_SCRIPT
local cut = rill.heuristic{ name = "lua-cut", arguments = "D", create = tonumber,
  apply = function(b, d) b.keep = b.path_score:ge(b.best - d) end }
return { $model, n_best = 5, heuristics = { {cut, 4} },
  options = { method = "stream-all", k = 10, budget = function(f) return 30 + f.n end } }
END_OF_SCRIPT
run "$rill" run run.lua -q --stats s.json
exits 0; counts_only; same out wanted; json '["lua-cut:4"]' options.heuristics s.json; json function options.max_batch_hypotheses s.json
run "$rill" run run.lua -q --heuristic lua-cut:4 --budget 20 # what the script declares can be named
exits 0; same out wanted
printf 'rill.scorer{ name = "nothing", score = function(rows) end }\n' >deep/scorer.lua
config "{ $model, plugins = { 'deep/scorer.lua' }, scorers = { 'nothing', function(rows) rows:reward(nil, 0) end } }"
run "$rill" run run.lua -q --stats s.json
exits 0; has_json s.json options.scorers.1; json nothing options.scorers.0 s.json
config "{ $model, heuristics = { function(b) error('no way') end } }"
run "$rill" run run.lua -q
exits 1; says "run.lua:1: no way"
config "{ $model, options = { budget = function(f) return 'x' end } }"
run "$rill" run run.lua -q
exits 1; says "run.lua"
if [ -n "$toy" ]; then
  cp "$toy" toy.so
  config "{ domain = 'toy', domain_args = 'seed=3 actions=8', plugins = { 'toy.so' }, input = 'three' }"
  word="--plugin ./toy.so"
  as --plugin ./toy.so --domain toy --domain-args "seed=3 actions=8" -i three
fi

# --- mistakes
refused() { # refused TABLE WORDS
  config "$1"
  run "$rill" run run.lua
  exits 1; prints_nothing; says "$2"; says_not traceback
}
refused "{ modle = 'x' }" 'run.lua:1: modle: unknown key; did you mean "model"?'
refused "{
  $model,
  options = {
    k = 5,
    max_itmes = 3,
  }
}" 'rill: run.lua:5: options.max_itmes: unknown key; did you mean "max_items"?'
refused "{
  -- k = 1
  options = {
    k = 2.5 } }" 'run.lua:4: options.k: "2.5" is not a whole number from 1 to 65536'
refused "{ max_items = 3 }" 'it is one of "options"'
config "{ $model, heuristics = { 'absolut:10' }, sweep = rill.sweep{ M = {3} } }"
run "$rill" run run.lua
exits 1; says 'rill: run.lua: M=3: run.lua:1: heuristics[1]: unknown heuristic "absolut": did you mean "absolute"?'
run "$rill" bench --config run.lua --methods var-stream -q
exits 1; says 'rill: method var-stream: run.lua:1: heuristics[1]: unknown heuristic "absolut"'
config "{ heuristics = { absolute } }"
run "$rill" run run.lua
exits 1; prints_nothing; says "undefined variable 'absolute': write the name of the heuristic in quotes"
config "{ $model, heuristics = { 'patience:2' } }"
run "$rill" run run.lua -q -i "$questions"
exits 1; says 'unknown heuristic "patience": set the option patience'
refused "{ options = { max_cand = 3 } }" 'options.max_cand: unknown key; did you mean "max_candidates"?'
refused "{ options = { max_items = 3, ['max-items'] = 4 } }" 'options.max-items: max_items is the same option, with another value'
refused "{ options = { method = 'greedy\\0x' } }" 'options.method: a text with a NUL byte is not a text'
refused "{ options = { M = 3 } }" 'options.M: unknown key; did you mean "max_children"?'
refused "{ options = { num_beams = 3, k = 4 } }" 'k is the same option, with another value'
refused "{ options = { num_beam = 3 } }" 'options.num_beam: unknown key; did you mean "num_beams"?'
refused "{ options = { max_len_b = 3 } }" "options.max_len_b: unknown key: for fairseq's ax + b, set max-length-factor"
refused "{ options = { delta = 3 } }" 'heuristics = { {"absolute", ...} }'
refused "{ options = { z = 3 } }" 'options.z: unknown key; the keys of "options" are the settings'
refused "{ beam = 3 }" 'it is one of "options": options = { beam = ... }'
refused "{ backend = 'onednn' }" "backend: unknown key: rill's own kernels compute all matrix products: leave it out"
refused "{ options = { deterministic = true } }" 'options.deterministic: unknown key: results never depend on the schedule: leave it out'
refused "{ refs = 'x' }" 'refs: unknown key; did you mean "references"?'
refused "{ options = { method = 'var-steam' } }" 'did you mean "var-stream"?'
refused "{ model = 3 }" "run.lua:1: model: a path, or a list of them for an ensemble, was expected, not a number"
refused "{ heuristics = 'absolute:3' }" "heuristics: a list"
refused "{ $model,
  heuristics = { 'absolute:3', 3 } }" "run.lua:2: heuristics[2]: "
refused "{ $model, workers = 2, weights = 'lead' }" 'run.lua:1: weights: "lead" is not one of f32|bf16|f16|int8'
refused "nil" "run.lua:1: the script returns nothing"
refused "'x'" "the script returns a string, not a table"
refused "{ $model,
  heuristics = { 'absolute:3', 'absolut:3' } }" \
  'run.lua:2: heuristics[2]: unknown heuristic "absolut": did you mean "absolute"?'
refused "{ $model, heuristics = { {'absolute', 'x'} } }" 'run.lua:1: heuristics[1]: absolute: "x" is not a number'
refused "{ $model,
  scorers = { {'word_reward', 0.5}, {'word_reward'} } }" 'run.lua:2: scorers[2]: word_reward: "" is not a number'
refused "{ $model,
  scheduler = 'absolute' }" 'run.lua:2: scheduler: unknown scheduler "absolute"'
config "{ $model, heuristics = { 'absolute:3' } }" # the mistake is not the script's
run "$rill" run run.lua --scorer word_reward:x
exits 1; says "word_reward:"; says_not run.lua
refused "{ model = 'no/such' }" "no/such: No such file or directory"
refused "{ $model, plugins = { 'no-such.lua' } }" "no-such.lua"
run "$rill" run
exits 1; says "no run file: rill run FILE.lua; \`rill run --help\` shows an example"
run "$rill" run no-such.lua
exits 1; says "no-such.lua"
run "$rill" run run.lua other.lua
exits 1; says '"other.lua"'
printf 'return {' >run.lua
run "$rill" run run.lua
exits 1; says "run.lua:1:"
config "{ $model, references = 'x' }"
run "$rill" run run.lua --refs three
exits 1; says "--refs has no effect without a sweep: compare outputs with \`rill eval\`"
run "$rill" decode -m "$tiny" -i three --refs three
exits 1; says "unknown option --refs: \`rill eval\` compares outputs with references"

# --- sweeps
"$rill" decode -m "$tiny" -i three -q --method fixed -k 4 >refs
sweep() { printf 'return { model = "%s", input = "three", references = "refs", %s }\n' "$tiny" "$1" >run.lua; }
# Each row is what the run alone gives.
sweep 'sweep = rill.sweep{ k = {2, 6}, delta = {0.5, 3}, M = {2} }'
run "$rill" run run.lua -q --stats s.json
exits 0; silent; lines 5
for word in M delta k exact% oracle seconds timesteps expansions exp/step failed; do prints "$word"; done
row=1
for delta in 0.5 3; do
  for k in 2 6; do
    row=$((row + 1))
    "$rill" decode -m "$tiny" -i three -q --absolute $delta -k $k --max-candidates 2 --n-best $k --stats one.json >one.nbest
    "$rill" eval -m "$tiny" --refs refs --json - one.nbest >eval.json
    value() { "$check_json" "$@"; }
    wanted="2 $delta $k $(printf '%.2f %.2f' "$(value eval.json exact_percent)" "$(value eval.json oracle_percent)")"
    wanted+=" $(value one.json timesteps) $(value one.json expansions) $(value eval.json missing)"
    got=$(sed -n ${row}p out | awk '{print $1, $2, $3, $4, $5, $7, $8, $10}')
    verdict "$(good [ "$got" = "$wanted" ])" "row $row should be $wanted, not $got"
  done
done
json 6 configurations.3.run.options.beam_size s.json; json '{"M":2,"delta":3,"k":6}' configurations.3.configuration s.json
json 3 inputs s.json
json '["absolute:3"]' configurations.3.run.options.heuristics s.json
# In the order given, to the output that is named, without references.
sweep 'sweep = rill.sweep{ {"k", {3, 2}}, {"n", {1}} }, output = "table"'
sed -i 's/references = "refs", //' run.lua
run "$rill" run run.lua -q -o table
exits 0; prints_nothing
verdict "$(good [ "$(awk 'NR > 1 {print $1 $2 $3 $4}' table | paste -sd ' ')" = "31-- 21--" ])" "rows in the order of the pairs"
# Contradictions are reported in their rows, the others run.
sweep 'options = { k = 3 }, sweep = rill.sweep{ method = {"greedy", "fixed", "var-batch"} }'
run "$rill" run run.lua -q
exits 2; lines 4; prints "refused: beam_size cannot be combined with method greedy"
# Parameters of one's own.
sweep 'heuristics = { "absolute:9" }, sweep = rill.sweep({ cut = {0.5, 3}, k = {6} }, function(config, point)
  config.heuristics = { { "absolute", point.cut } } end)'
run "$rill" run run.lua -q --stats s.json
exits 0; lines 3; json '["absolute:3"]' configurations.1.run.options.heuristics s.json
# Options of the search apply to all points, except swept ones.
run "$rill" run run.lua -q --stats s.json -n 2 --refs three
exits 0; json 2 configurations.0.run.options.batch_size s.json
run "$rill" run run.lua -k 3
exits 1; says "run.lua sets k, which an option sets too: leave one of the two out"; prints_nothing
# Model and files are opened once: a function that wants others would have its rows tell of what was not.
for key in 'model = "'"$odd"'"' 'model = { config.model, config.model }' 'domain = "mt"' 'domain_args = "x"' 'input = "refs"' \
  'references = "three"' 'output = "o"' 'stats = "o"' 'trace = "o"' 'plugins = { "x.lua" }' 'tokenized = true' 'threads = 2' 'workers = 2' \
  'constraints = "three"' 'tsv_column = 2' 'jsonl = "text"' 'word_scores = true' 'weights = "int8"'; do
  sweep "sweep = rill.sweep({ a = {1} }, function(config, point) config.$key end)"
  run "$rill" run run.lua -q
  exits 2; lines 2; prints "refused: ${key%% =*} cannot differ between configurations"
done
sweep 'weights = "f32", sweep = rill.sweep({ a = {1} }, function(config, point) config.weights = nil end)'
run "$rill" run run.lua -q
exits 2; prints "refused: weights cannot differ between configurations, which share the model and files"
sweep 'threads = 2, sweep = rill.sweep({ a = {1} }, function(config, point)
  config.n_best, config.options, config.scorers, config.scheduler = 2, { n = 2 }, { "word_reward:1" }, "all" end)'
run "$rill" run run.lua -q
exits 0; lines 2
sweep 'sweep = rill.sweep{ delta = {1} }'
run "$rill" run run.lua --relative 0.5
exits 1; says "run.lua sets delta, but heuristics given as options replace all heuristics: leave one of the two out"
run "$rill" run run.lua --method fixed
exits 2; prints "refused: the options exclude: heuristics"
run "$rill" run run.lua --trace t.json
exits 1; says "--trace"
feed three "$rill" run run.lua -i - -q
exits 0; lines 2
cp refs kept
run "$rill" run run.lua -o refs
exits 1; says "the same file"; same refs kept
run "$rill" run run.lua --refs "$questions"
exits 1; says "3 inputs"; says "8 references"
sweep 'sweep = rill.sweep{ detla = {1} }'
run "$rill" run run.lua
exits 1; says 'run.lua:1: rill.sweep: unknown parameter "detla"; did you mean "delta"?'
sweep 'sweep = rill.sweep{ k = {1},
  M = {1, 2, 0} }'
run "$rill" run run.lua
exits 1; prints_nothing; says 'run.lua:2: sweep.M[3]: "0" is not a whole number'
sweep 'sweep = rill.sweep{ {"method", {"fixed", 3}} }'
run "$rill" run run.lua
exits 1; prints_nothing; says 'run.lua:1: sweep.method[2]: unknown method "'
sweep 'sweep = rill.sweep({ k = {"few", "many"} },
  function(config, point) config.options.k = point.k == "few" and 2 or 9 end)'
run "$rill" run run.lua -q
exits 0; prints few
sweep 'sweep = rill.sweep({ a = {1, 2} }, function(config, point) if point.a == 2 then error("at two") end end)'
run "$rill" run run.lua -q
exits 1; lines 2; says "run.lua:1: at two"
sweep 'sweep = rill.sweep({ a = {1, 2} }, function(config, point)
  config.heuristics = { function(b) if point.a == 2 then error("within") end end } end)'
run "$rill" run run.lua -q
exits 1; lines 2; says "run.lua: a=2: "; says "within"

# --- bench
config "{ $model, options = { k = 6, budget = 40 }, heuristics = { 'absolute:2' } }"
run "$rill" bench --config run.lua -q --repeat 1 --methods greedy,var-stream,var-batch --json b.json
exits 0; says "warning: run.lua: left out, because method greedy cannot use it: heuristics (absolute:2), options.beam_size"
says_not "method var"
json 1 methods.0.run.options.beam_size b.json; json 6 methods.1.run.options.beam_size b.json
json 40 methods.2.run.options.max_batch_hypotheses b.json
json '["absolute:2"]' methods.1.run.options.heuristics b.json; json 8 inputs b.json
run "$rill" bench --config run.lua -q --repeat 1 --methods var-stream -k 7 --json b.json
exits 0; json 7 methods.0.run.options.beam_size b.json
config "{ $model, options = { method = 'fixed' }, heuristics = { 'absolute:3' } }"
run "$rill" bench --config run.lua -q
exits 1; says "run.lua: heuristics cannot be combined"

finish
