#!/usr/bin/env bash
# rill bench and rill info.
set -eu
. "${0%/*}/lib.sh"

printf '%s\n' "w0 w1 w2" "w3" "w4 w5 w6 w7 w8" "w1" "w2 w2 w2" "w9 w0" >six
"$rill" decode -m "$tiny" -q <six >refs
paste six refs >six.tsv
bench() { run "$rill" bench -m "$tiny" "$@"; }

bench --test-set six.tsv --repeat 2 --json b.json
exits 0; silent
for word in method exact oracle seconds exp/step inputs/s greedy fixed var-batch stream-all; do prints "$word"; done
# letters METHOD...: the letters of their outputs
letters() { for method; do awk -v m="$method" '$1 == m { print $8; exit }' out; done | tr -d '\n'; }
verdict "$(good [ "$(letters greedy fixed var-batch stream-all | tail -c 2)" = cc ])" "what must be the same has one letter"
verdict "$(good [ "$(wc -L <out)" -le 80 ])" "the table fits 80 columns"
has_json b.json methods.0.seconds_median methods.3.exact_percent methods.3.oracle_percent methods.2.run.engine_share \
  methods.3.run.options.max_children methods.3.over_least_advanced_bound methods.3.seconds.1
json 6 inputs b.json; json greedy methods.0.method b.json; json 1 methods.0.run.options.beam_size b.json
json 100.0 methods.3.exact_percent b.json; json 100.0 methods.3.oracle_percent b.json
json true methods.3.identical b.json; json top methods.1.run.options.finish b.json
json '["absolute:10"]' methods.3.run.options.heuristics b.json
# The median is one of an odd number of times, and the mean of the two in the middle otherwise.
for repeat in 1 2 3 4; do
  bench -i six --repeat $repeat -q --methods greedy,fixed --json b.json
  for i in 0 1; do
    "$check_json" b.json methods.$i.seconds_median >found
    middle=$("$check_json" b.json methods.$i.seconds | tr -d '[] ' | tr ',' '\n' | sort -g |
      awk '{ t[NR] = $1 } END { print NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2 }')
    verdict "$(good awk -v m="$middle" \
      '{ good = ($1 - m) ^ 2 < 1e-16 && m > 0 } END { exit !good }' found)" "the median of $repeat is $middle, not $(cat found)"
  done
done

bench -i six --repeat 1 -q --methods fixed,fixed-stream,fixed:finish=shrink --json b.json
exits 0; verdict "$(good [ "$(letters fixed fixed-stream fixed:finish=shrink)" = aab ])" "schedules change nothing, finish does"
json top methods.0.run.options.finish b.json; json true methods.1.identical b.json
prints "finish top: fixed, fixed-stream"; prints "finish shrink: fixed:finish=shrink"
bench -i six --refs refs --repeat 1 -q --methods stream-all:n=2:budget=7,var-stream:sort=longest-first:3,top-up --json b.json
exits 0; json true methods.1.identical b.json; json true methods.2.identical b.json
verdict "$(good [ "$(grep -c '^ .* a$' out)" = 1 ])" "a long name has a line of its own"
verdict "$(good [ "$(wc -L <out)" -le 80 ])" "the table fits 80 columns with long names too"
json 7 methods.0.run.options.max_batch_hypotheses b.json; json longest-first:3 methods.1.run.options.sort b.json
# One model serves all methods: no method leaves state that changes the next one.
bench --test-set six.tsv --repeat 1 -q --methods fixed,fixed:k=40:n=6,fixed,stream-all:max-items=6,var-batch --json b.json
exits 0
json true methods.2.identical b.json; json true methods.4.identical b.json; json fixed methods.2.compared_with b.json
bench -i six --repeat 1 -q --methods greedy,var-stream --absolute 4 -k 6 --json b.json
exits 0; json 1 methods.0.run.options.beam_size b.json; json 6 methods.1.run.options.beam_size b.json
json '["absolute:4"]' methods.1.run.options.heuristics b.json
# A comma before a number belongs to the value.
bench -i six --repeat 1 -q --methods var-stream:scorer=word_reward:0.5,1,greedy
exits 1; says '"0.5,1"'
# Other settings, same outputs: a threshold that drops nothing.
bench -i six --repeat 1 -q --methods fixed:finish=top,var-stream:absolute=1000:max-candidates=10,greedy --json b.json
exits 0; verdict "$(good [ "$(grep -c ' a$' out)" = 2 ])" "the same outputs have the same letter"
json fixed:finish=top methods.1.same_outputs_as b.json; json null methods.2.same_outputs_as b.json
bench -i six --repeat 1 -q --methods var-stream,var-stream:absolute=1 --json b.json
exits 0; json '["absolute:1"]' methods.1.run.options.heuristics b.json

# A scheduler on the command line applies to every method that names none.
bench -i six --repeat 1 -q --methods var-stream,var-stream:scheduler=batch,top-up --scheduler all --json b.json
exits 0; json all methods.0.run.options.scheduler b.json; json batch methods.1.run.options.scheduler b.json
json all methods.2.run.options.scheduler b.json
bench -i six --repeat 1 -q --methods var-stream --scheduler nonsense
exits 1; says 'unknown scheduler "nonsense"'

# The page of pictures has what --json has; the timesteps by rows are the run's. How it looks is trace_page.sh's affair.
bench --test-set six.tsv --repeat 2 -q --methods fixed,stream-all:n=3,greedy --plot page.html --json b.json
exits 0; silent
pictured bench page.html >p.json
for path in methods.0.method methods.2.method inputs repeat hardware methods.1.timesteps_by_rows methods.2.run.expansions; do
  json "$("$check_json" b.json $path)" $path p.json
done
json stream-all:n=3 methods.1.method p.json; json 6 inputs p.json; json 2 repeat p.json
has_json p.json methods.2.seconds.1 methods.0.seconds_median methods.0.run.model
verdict "$(good grep -q ', 1 thread$' <("$check_json" p.json hardware))" "what it ran on"
for i in 0 1 2; do
  "$check_json" b.json methods.$i.timesteps_by_rows | tr -d '{}"' | tr ',:' '\n ' >rows
  json "$(awk '{ n += $2 } END { print n }' rows)" methods.$i.run.timesteps b.json
  json "$(awk '{ n += $1 * $2 } END { print n }' rows)" methods.$i.run.expansions b.json
done
bench --test-set six.tsv --repeat 1 -q --methods greedy --plot rows.svg
exits 1; says "--plot rows.svg: expected the name of an HTML page, as in rows.html"
verdict "$(good [ ! -e rows.svg ])" "nothing is written"
bench --test-set six.tsv --repeat 1 -q --plot six.tsv
exits 1; says "six.tsv"
bench --test-set six.tsv --repeat 1 -q --methods greedy --plot missing/page.html
exits 1; says "missing/page.html"

bench
exits 1; says "no inputs"
bench --test-set six
exits 1; says "two columns"
printf 'one\n' >one
bench -i six --refs one
exits 1; says "6 inputs"; says "1 references"
bench -i six --refs refs --test-set six.tsv
exits 1; says "--test-set"
bench -i six --test-set six.tsv
exits 1; says "-i cannot be combined with --test-set: both name inputs"
bench --refs refs --test-set six.tsv
exits 1; says "--refs cannot be combined with --test-set: both name references"
bench -i six --methods var-steam
exits 1; says '"var-stream"'
bench -i six --methods greedy:k=5
exits 1; says "cannot be combined with"
bench -i six --methods fixed:finish
exits 1; says "--methods: \"fixed:finish\": expected KEY=VALUE after the colon"
bench -i six --methods fixed:finsh=top
exits 1; says "finish"
bench -i six --methods fixed:pretty=1
exits 1; says "pretty cannot be set for one method, because all methods share the model and write no outputs"
bench -i six --repeat 0
exits 1; says "--repeat"
: >nothing
bench -i nothing
exits 1; says "no inputs"
bench -i six --repeat 1 -q --methods greedy --json no/such.json
exits 1; says "no/such.json"
cp six.tsv kept.tsv
bench --test-set six.tsv --json six.tsv
exits 1; says "six.tsv: input and --json are the same file"; same six.tsv kept.tsv
cp refs kept_refs
bench -i six --refs refs --json ./refs
exits 1; says "./refs: --refs and --json are the same file"; same refs kept_refs
bench -i six --repeat 1 -q --json -
exits 0; silent; cp out b.json; has_json b.json methods.3.run; verdict "$(good [ "$(head -c 1 out)" = "{" ])" "JSON instead of the table"
feed six "$rill" bench -m "$tiny" -i - --repeat 1 -q --methods greedy --json -
exits 0; silent; cp out b.json; json 6 inputs b.json
bench -i six --json - --plot -
exits 1; says "standard output"; prints_nothing
bench --tsv six.tsv
exits 1; says "unknown option --tsv: use --test-set FILE with inputs and references in two columns"
printf 'w0\nw\0w\n' >nul
bench -i nul
exits 1; says "line 2"; says "NUL"

# --- info
run "$rill" info "$tiny"
exits 0; silent; prints "semparse"; prints "actions"; prints "max-children 3"; prints "config.json"; prints "parameters"
prints "absolute:10"; prints "method fixed finish top"
run "$rill" info "$data/mt/bart"
exits 0; prints "method fixed finish immediate"
# "search" lists options: those in effect that differ from the default search, and no others.
in_effect() { # in_effect SETTINGS: info's lines of the search of a model with these in its config.json
  rm -rf model && cp -r "$tiny" model
  sed -zi "s/\"options\": {[^}]*}/\"options\": {$1}/" model/config.json
  run "$rill" info model
  exits 0; silent
  sed -n '/^search/,/^method/p' out | grep -v '^method' | cut -c14- >options
}
options_of() { sed -n '/"options": {/,/}/p' "$1"; }
repeats() {  # these options give the same search with a model that recommends none
  mapfile -t words < <(sed 's/^\([^ ]*\) true$/--\1/; t; s/^\([^ ]*\) /--\1=/' options)
  run "$rill" decode -m model -q --stats default.json
  exits 0
  sed -zi 's/"options": {[^}]*}/"options": {"n_best": 1}/' model/config.json
  run "$rill" decode -m model -q --stats given.json "${words[@]}"
  exits 0; verdict "$(good [ "$(options_of given.json)" = "$(options_of default.json)" ])" "options: ${words[*]}"
}
in_effect '"k": 4, "heuristics": ["absolute:10"]'
verdict "$(good [ "$(tr '\n' ',' <options)" = "method stream-all,beam-size 4,batch-size 10,max-in-flight 10,refill-threshold 1/6,\
max-children 4,finish top,stop-after 4,n-best 1,keep all,stop count,at-limit open,heuristic absolute:10," ])" "the lines of the search"
repeats
in_effect '"num_samples": 3, "seed": 0, "temperature": 0.7'
for line in "num-samples 3" "seed 0" "temperature 0.7" "top-k 50" "top-p 1"; do
  verdict "$(good grep -qx -- "$line" options)" "of a search that samples: $line"
done
repeats
in_effect '"method": "fixed", "beam_groups": 2, "diversity_penalty": 0.3, "certify": false, "min_width": 0'
for option in beam-groups diversity-penalty; do verdict "$(good grep -q "^$option " options)" "of groups: $option"; done
verdict "$(good [ "$(grep -cE '^(certify|min-width|temperature|top-k|max-in-flight|refill-threshold) ' options)" = 0 ])" "others are off"
repeats
in_effect '"exact": true, "distinct": true, "scheduler": "most-advanced", "scorers": ["word_reward:0.2"]'
for line in "exact true" "exact-rows 10000" "certify true" "distinct true" "scheduler most-advanced" "scorer word_reward:0.2"; do
  verdict "$(good grep -qx -- "$line" options)" "in effect: $line"
done
repeats
# Without what text is read with the rest of the model is described; without more its configuration and files are.
cp -r "$tiny" lacking && rm lacking/source.vocab
run "$rill" info lacking
exits 1; says "lacking/source.vocab"; prints "problem      cannot open lacking/source.vocab"; prints "domain       semparse: "
prints "hidden_size"; prints "max-children 3"; prints "parameters"
cp -r "$data/mt/shared" speechless && rm -f speechless/source.spm
run "$rill" info speechless
exits 1; says "source.spm"; prints "problem      cannot open speechless/source.spm"
prints "actions"; prints "outputs"; prints "model.safetensors"
# f32 is the default, and may be stated.
for model in "$tiny" "$data/shiftreduce/tiny"; do
  run "$rill" info "$model" --weights f32
  exits 0; silent
  run "$rill" info "$model" --weights bf16
  exits 1; says 'weights: "bf16" is not f32'
done
run "$rill" info
exits 1; says "no model"
run "$rill" info no/such
exits 1; says "no/such"
cp -r "$tiny" broken && : >broken/model.safetensors
run "$rill" info broken
exits 1; says "rill: "; prints "config.json"; prints "max-children 3"
run "$rill" info "$tiny" "$odd"
exits 1; says "expected one model, found another"

finish
