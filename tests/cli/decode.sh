#!/usr/bin/env bash
# rill decode: settings, forms of output, inputs of every kind, files that cannot be read or written.
set -eu
. "${0%/*}/lib.sh"

printf '%s\n' "w0 w1 w2" "w3" "w4 w5 w6 w7 w8" "w1" "w2 w2 w2" "w9 w0" >six
decode() { feed six "$rill" decode -m "$tiny" "$@"; }

# --- results and summary
decode
exits 0; lines 6; says "6 inputs in "; says "/s"; says_not "timesteps"; says_not "states"; took
verdict "$(good [ "$(wc -l <err)" = 1 ])" "the summary is one line"
cp out plain
decode --verbose
exits 0; same out plain; says "6 inputs in "; says "timesteps"; says "exp/step"; says "states peak"; says "seconds: encode"
decode --quiet --stats - -o /dev/null
per=$(awk '/"timesteps"/ { t = $2 + 0 } /"expansions"/ { e = $2 + 0 } END { printf "%.1f", e / t }' out)
decode --verbose
says " expansions, $per exp/step"
decode --verbose --quiet
exits 0; says_not "timesteps"
decode --quiet
exits 0; silent; same out plain
run "$rill" decode -m "$tiny" -q -i six -o result
exits 0; silent; prints_nothing; same result plain
run "$rill" decode -m "$tiny" -q -i six -o -
exits 0; same out plain
feed /dev/null "$rill" decode -m "$tiny" -q
exits 0; prints_nothing; silent
decode -q --progress
exits 0; same out plain

# --- the largest values that settings take cost what the inputs need, not what they name
for extra in "--budget 2147483647" "-n 1048576 --budget 5" "--max-items 1048576" "--sort length:1000000000" \
  "--stop-after 131072"; do
  # shellcheck disable=SC2086
  decode -q $extra
  exits 0; lines 6
done

# --- schedules change nothing
for method in var-batch var-stream var-stream-fifo top-up stream-all; do
  for extra in "-n 1" "-n 2 --max-items 3 --budget 5" "--sort longest-first:4 --refill 1/2" "--threads 2 --config checking.lua"; do
    case $method:$extra in var-batch:*max-items*|var-batch:*refill*) extra="-n 3" ;; esac
    # shellcheck disable=SC2086
    decode -q --method "$method" $extra
    exits 0; same out plain
  done
done

# --- defaults of the model, and what overrides them
decode -q --stats s.json
json 10 options.beam_size s.json; json 3 options.max_children s.json; json 100 options.max_batch_hypotheses s.json
json '["absolute:10"]' options.heuristics s.json; json stream-all options.method s.json
decode -q -k 4 --absolute 2.5 --relative-local 0.01 --stats s.json
exits 0; json 4 options.beam_size s.json; json 3 options.max_children s.json
json '["absolute:2.5","relative_local:0.01"]' options.heuristics s.json
decode -q --relative 0.1 --absolute 3 --heuristic relative:0.2 --stats s.json
exits 0; json '["relative:0.1","absolute:3","relative:0.2"]' options.heuristics s.json
for method in greedy fixed fixed-stream; do
  decode -q --method $method --stats s.json
  exits 0; lines 6; json '[]' options.heuristics s.json
done
decode -q --method greedy --stats s.json
json 1 options.beam_size s.json
decode -q --method fixed --stats s.json
exits 0; json top options.finish s.json; json 10 options.max_children s.json
decode -q --method fixed --finish immediate --stats s.json
json immediate options.finish s.json; json 20 options.max_children s.json

# --- contradictory options are errors when the user set both
refuse() { decode "$@"; exits 1; prints_nothing; says "rill: "; }
refuse --method greedy -k 5; says "greedy"
refuse --method fixed --absolute 2; says "fixed"
refuse --method fixed-stream --max-candidates 3
refuse --method var-batch --max-items 50
refuse --method var-batch --refill 0.5
refuse --method greedy --finish immediate
refuse --stop bound --keep first; says "keep best"
refuse --like hf --keep first; says "--stop bound and bound-max need --keep best"
refuse --stop-after 3 --patience 2; says "patience"
refuse --min-length 9 --max-length 5; says "min-length"
refuse --heuristic no-such:1; says "no-such"
refuse --heuristic absolut:1; says "absolut"
refuse --scorer no-such
refuse --scheduler no-such
refuse --absolute much
refuse --absolute -1
refuse --heuristic beam_width:0.2
says 'unknown heuristic "beam_width": set beam-size for the number'; says "or prune-relative for a ratio of probabilities"
refuse --heuristic max_candidates:2; says 'unknown heuristic "max_candidates": set the option max-children'
refuse --heuristic max-candidates:2; says 'unknown heuristic "max-candidates": set the option max-children'
refuse --heuristic patience:0.5; says 'unknown heuristic "patience": set the option patience'
refuse --heuristic :3; says "\": expected a name before the colon"

# --- n-best lists
decode -q --n-best 3
exits 0
verdict "$(good grep -qE '^0 \|\|\| .* \|\|\| logp= -?[0-9.e+-]+ length= [0-9]+ \|\|\| -?[0-9.e+-]+$' out)" "a Moses line"
verdict "$(good [ "$(grep -cvE '^[0-5] \|\|\| .* \|\|\| logp= -?[0-9.e+-]+ length= [0-9]+ \|\|\| -?[0-9.e+-]+$' out)" = 0 ])" \
  "nothing but Moses lines"
verdict "$(good [ "$(cut -d' ' -f1 out | sort -n | uniq | tr '\n' ' ')" = "0 1 2 3 4 5 " ])" "ids 0 to 5"
verdict "$(good [ "$(cut -d' ' -f1 out | uniq -c | awk '$1 > 3' | wc -l)" = 0 ])" "at most three of each"
awk -F ' [|][|][|] ' '$1 == last && $4 + 0 > score + 0 {exit 1} {last = $1; score = $4}' out && ordered=1 || ordered=0
verdict $ordered "best first"
awk -F ' [|][|][|] ' '!($1 in seen) {seen[$1] = 1; print $2}' out >firsts
same firsts plain
decode -q --n-best 1
exits 0; lines 6; prints " ||| "

# --- truncated outputs are marked, counted, or left out; n-best lists that are shorter than requested are counted
decode --max-length 3
exits 0; lines 6; says "6 inputs in "; says " with truncated outputs)"
decode -q --max-length 3 --n-best 2 --stats s.json
exits 0
cut=$(grep -c ' length= 3 truncated= 1 ||| ' out) || true
verdict "$(good [ "$cut" -gt 0 ])" "some are cut"
says "rill: warning: $(grep ' truncated= 1 ' out | cut -d' ' -f1 | sort -u | wc -l) of 6 inputs have truncated outputs"
json "$(grep ' truncated= 1 ' out | cut -d' ' -f1 | sort -u | wc -l)" inputs_cut s.json
verdict "$(good [ "$("$check_json" s.json truncated)" -ge "$(grep -c ' truncated= 1 ' out)" ])" "truncated outputs are counted"
verdict "$(good [ "$("$check_json" s.json nodes.peak)" -ge 6 ])" "states are counted"
grep -v ' truncated= 1 ' out >whole || true
verdict "$(good [ -s whole ])" "and some are whole"
decode -q --max-length 3 --n-best 2 --require-end
verdict "$(good [ "$(grep -c ' truncated= ' out || true)" = 0 ])" "none is cut"
sort -u whole >wanted
sort -u out | comm -23 wanted - >lost
verdict "$(good [ ! -s lost ])" "whole ones are given all the same"
failed=$((6 - $(cut -d' ' -f1 out | sort -u | wc -l)))
verdict "$(good [ "$failed" -gt 0 ])" "some inputs have no whole output"
exits 2; says ": no hypothesis had ended by timestep 3, the length limit, and require-end gives no truncated output"
decode --max-length 3 --require-end
exits 2; lines 6; says "6 inputs in "; says " ($failed failed)"
decode -q --n-best 6 --absolute 0.5
fewer=$(awk -F ' [|]' '{n[$1]++} END {for (i = 0; i < 6; i++) few += n[i] < 6; print few}' out)
verdict "$(good [ "$fewer" -gt 0 ])" "some lists are short"
exits 0; says "rill: warning: $fewer of 6 inputs have fewer than 6 outputs: the search found no more (a larger min-width, or without \
pruning a larger beam-size, finds more, and may change the best output)"
decode -q --n-best 6 --method greedy
exits 0; says "6 of 6 inputs have fewer than 6 outputs: greedy search has one (other methods have up to beam-size)"
decode -q --n-best 6 -k 2
exits 0; says "fewer than 6 outputs: beam-size is smaller than n-best"
for n in 1 2; do
  decode -q --n-best 6 --stop-after $n
  exits 0; says "fewer than 6 outputs: the search stops after fewer (stop-after)"
done
decode -q --n-best 6 --absolute 0.5 --min-width 6
exits 0; lines 36
verdict "$(good [ "$(grep -c "fewer than" err || true)" = 0 ])" "no list is short"
printf '\n \n' >blanks
cat six blanks >padded
feed padded "$rill" decode -m "$tiny" -q --n-best 6 --min-width 6 --stats s.json
exits 0; lines 38
verdict "$(good [ ! -s err ])" "blank lines have all that is in them"
json 0 inputs_with_fewer s.json

# --- order
decode -q --unordered -n 2 --max-items 2
exits 0; lines 6
sort -n out | cut -f2- >sorted
same sorted plain
for i in 1 2 3 4 5 6 7 8 9; do cat six; done >many
feed many "$rill" decode -m "$tiny" -q -n 3
exits 0; lines 54
for i in 1 2 3 4 5 6 7 8 9; do cat plain; done >wanted
same out wanted

# --- options in the model's config.json decide the output format as well
with_search() { # with_search JSON: a copy of the tiny model, in "asking"
  rm -rf asking; cp -r "$tiny" asking; chmod -R u+w asking
  sed -i "s/\"k\": /$1, &/" asking/config.json
}
with_search '"unordered": true'
feed six "$rill" decode -m asking -q -n 2 --max-items 2
exits 0; lines 6
sort -n out | cut -f2- >sorted
same sorted plain; differ out plain
feed six "$rill" decode -m asking -q --n-best 1
exits 0; lines 6; prints "0 ||| "
with_search '"heuristics": ["max_candidates:2"]'
feed six "$rill" decode -m asking -q
exits 1; says 'unknown heuristic "max_candidates": set the option max-children'
with_search '"n_best": 2'
feed six "$rill" decode -m asking -q
exits 0; prints "5 ||| "
verdict "$(good [ "$(wc -l <out)" -gt 6 ])" "two outputs of some"

# --- output fields that the model cannot give are reported
feed six "$rill" decode -m "$tiny" -q --pretty
exits 0; same out plain; says "warning: --pretty has no effect: no output is a bracketed tree"

# --- removed options are refused in every source, with their replacement
for gone in backend deterministic; do
  says="rill's own kernels compute all matrix products: leave it out"
  if [ $gone = deterministic ]; then says='results never depend on the schedule: leave it out'; fi
  refuse --$gone; says "unknown option --$gone: "; says "$says"
  with_search "\"$gone\": \"rill\""
  feed six "$rill" decode -m asking -q
  exits 1; says "$says"
  printf '{"text": "a", "options": {"%s": 1}}\n' $gone >object
  feed object "$rill" decode -m "$tiny" -q --jsonl
  if [ $gone = backend ]; then says='unknown option "backend"'; fi # no input could set it
  grep -qF "$(printf '%s' "$says" | sed 's/"/\\"/g')" out || says "$says"
done

# --- options for opening the model have defaults there too; options for writing are not the model's
with_search '"device": "nonesuch"'
feed six "$rill" decode -m asking -q --device cpu
exits 0; same out plain
feed six "$rill" decode -m asking -q
exits 1; says 'found "nonesuch"'
with_search '"pretty": true'
feed six "$rill" decode -m asking -q
exits 1; says 'config.json: "pretty" under "options": a model'"'"'s folder cannot set what outputs contain; set it where you decode'
with_search '"weights": "int4"'
feed six "$rill" decode -m asking -q
exits 1; says 'config.json: "weights" under "options": weights: "int4" is not one of f32|bf16|f16|int8'
with_search '"max_items": true'
feed six "$rill" decode -m asking -q
exits 1; says 'config.json: "max_items" under "options": max_in_flight: true is not a whole number'
with_search '"distinct": "maybe"'
feed six "$rill" decode -m asking -q
exits 1; says '"maybe" is not true or false'
run "$rill" info "$tiny"
exits 0; prints "recommended  beam-size 10"; prints "heuristic absolute:10"

# --- line ends
printf 'w0 w1 w2\r\nw3\r\nw4 w5 w6 w7 w8\r\nw1\r\nw2 w2 w2\r\nw9 w0' >crlf
feed crlf "$rill" decode -m "$tiny" -q
exits 0; same out plain
printf 'w0 w1 w2\nw3' >short
feed short "$rill" decode -m "$tiny" -q
exits 0; lines 2; line_is 1 "$(sed -n 1p plain)"; line_is 2 "$(sed -n 2p plain)"

# --- bad inputs fail alone
printf 'w0 w1 w2\nw\0w\nw3\n' >nul
feed nul "$rill" decode -m "$tiny" -q
exits 2; lines 3; says "rill: line 2: the line has a NUL byte"
line_is 1 "$(sed -n 1p plain)"; line_is 2 ""; line_is 3 "$(sed -n 2p plain)"
feed nul "$rill" decode -m "$tiny" --n-best 2 --stats s.json
exits 2; verdict "$(good [ "$(grep -c '^1 ' out)" = 0 ])" "no lines for a failed input"
json 1 failed s.json; json 3 inputs s.json; says "(1 failed)"
printf 'w0 w1 w2\n\nw3\n   \nw3\n' >empty
feed empty "$rill" decode -m "$tiny" -q
lines 5; line_is 1 "$(sed -n 1p plain)"; line_is 3 "$(sed -n 2p plain)"; line_is 5 "$(sed -n 2p plain)"
verdict "$(good [ "$status" -eq 0 -o "$status" -eq 2 ])" "empty lines are decoded or fail alone"
printf 'w0 w1 w2\nw\xff\xfe\xc0 w1\n\xf0\x28\x8c\nw3\n' >utf8
feed utf8 "$rill" decode -m "$tiny" -q
lines 4; line_is 1 "$(sed -n 1p plain)"; line_is 4 "$(sed -n 2p plain)"
verdict "$(good [ "$status" -eq 0 -o "$status" -eq 2 ])" "invalid UTF-8 is decoded or fails alone"
{ sed -n 1p six; awk 'BEGIN {for (i = 0; i < 100000; i++) printf "w%d ", i % 10; print ""}'; sed -n 2p six; } >long
feed long "$rill" decode -m "$tiny" -q --max-length 5
lines 3
verdict "$(good [ "$status" -eq 0 -o "$status" -eq 2 ])" "100,000 tokens are decoded or fail alone"
{ sed -n 1p six; head -c 1000000 /dev/zero | tr '\0' 'w'; } >wide
feed wide "$rill" decode -m "$tiny" -q
lines 2; line_is 1 "$(sed -n 1p plain)"

# --- files
run "$rill" decode -m "$tiny" -i no/such/file
exits 1; says "no/such/file"; prints_nothing
run "$rill" decode -m "$tiny" -i .
exits 1; says "directory"
run "$rill" decode -m "$tiny" -i six -o no/such/result
exits 1; says "no/such/result"
run "$rill" decode -m "$tiny" -i six --stats no/such/s.json -o untouched
exits 1; says "no/such/s.json"; verdict "$(good [ ! -e untouched ])" "nothing was created"
run "$rill" decode -m "$tiny" -i six --trace no/such/t.json
exits 1; says "no/such/t.json"
run "$rill" decode -m "$tiny" -i six --trace -
exits 1; says "standard output"
# --- no output file overwrites an input file: under the same name, another name, a link, or as standard output
cp six both; ln both linked; ln -s both pointing; mkdir sub
kept() { exits 1; prints_nothing; says "$1"; says_not "inputs in"; same six both; }
for option in -o --output --stats --trace; do
  for name in both ./both sub/../both linked pointing "$work/both"; do
    run "$rill" decode -m "$tiny" -i both $option $name
    kept "$name: input and"; says "are the same file"
    feed both "$rill" decode -m "$tiny" $option $name
    kept "are the same file"
  done
done
status=0
"$rill" decode -m "$tiny" -i both >>both 2>err || status=$?
: >out
kept "standard output: input and output are the same file"
for pair in "-o new --stats new" "-o new --trace ./new" "--stats sub/new --trace sub/../sub/new" \
  "--stats new --trace new -o other" "-o linked --stats both"; do
  # shellcheck disable=SC2086
  run "$rill" decode -m "$tiny" -i six $pair
  kept "are the same file"
  verdict "$(good [ ! -e new -a ! -e other -a ! -e sub/new ])" "nothing was created"
done
for pair in "--stats -" "--trace -" "--stats - -o -" "--stats - --trace - -o new"; do
  # shellcheck disable=SC2086
  run "$rill" decode -m "$tiny" -i six $pair
  kept "cannot both go to standard output"
done
status=0
"$rill" decode -m "$tiny" -q -i six --stats /dev/stdout >mixed 2>err || status=$?
: >out
kept "are the same file"
run "$rill" decode -m "$tiny" -q -i six --stats - -o result
exits 0; cp out s.json; json 6 inputs s.json; same result plain
run "$rill" decode -m "$tiny" -q -i six --trace - -o result
exits 0; cp out t.json; has_json --lines t.json event; same result plain
run "$rill" decode -m "$tiny" -q -i /dev/null -o /dev/null --stats /dev/null --trace /dev/null
exits 0; silent
if [ -w /dev/full ]; then
  run "$rill" decode -m "$tiny" -q -i six -o /dev/full
  exits 1; says "cannot write /dev/full:"; says "No space left"
  verdict "$(good [ "$(wc -l <err)" -eq 1 ])" "said once"
  run "$rill" decode -m "$tiny" -q -i six --stats /dev/full
  exits 1; lines 6; says "/dev/full"
  run "$rill" decode -m "$tiny" -q -i six --trace /dev/full
  exits 1; lines 6; says "/dev/full"
fi
if [ "$(id -u)" -ne 0 ]; then
  cp six hidden && chmod 000 hidden
  run "$rill" decode -m "$tiny" -i hidden
  exits 1; says "hidden: Permission denied"
fi

# --- statistics and messages of a run
decode -q --stats s.json --trace t.json
exits 0; same out plain
has_json s.json inputs failed timesteps expansions exp_per_step refills longest_item_timesteps depth_bound candidates pruned \
  outputs truncated nodes.peak nodes.in_use histories.peak items_peak waiting_peak memory_peak seconds.read seconds.encode \
  seconds.step seconds.score seconds.choose seconds.select seconds.prune seconds.commit seconds.finalize seconds.write \
  seconds.total seconds.waited seconds.hidden engine_share options.method inputs_per_second domain model threads version
json 6 inputs s.json; json 0 failed s.json; json 0 nodes.in_use s.json; json semparse domain s.json
has_json --lines t.json event timestep item items depths widths_before widths_merged widths_after seconds.step rows
"$check_json" --lines t.json seconds.total >totals
verdict "$(good [ "$(grep -c . totals)" = "$(grep -vc '^-*0\(\.0*\)\{0,1\}$' totals)" ])" "each timestep has a time"
count_events() { "$check_json" --lines t.json event | grep -c "^$1\$"; }
verdict "$(good [ "$(count_events timestep)" = "$("$check_json" s.json timesteps)" ])" "a line per timestep"
verdict "$(good [ "$(count_events admitted)" = 6 ])" "six admissions"
verdict "$(good [ "$(count_events finished)" = 6 ])" "six finishes"

# --- as other decoders do
decode -q --like fairseq --stats s.json
exits 0; lines 6; json 5 options.beam_size s.json; json end options.at_limit s.json; json first options.keep s.json
decode -q --like fairseq -k 3 --at-limit open --stats s.json
exits 0; json 3 options.beam_size s.json; json open options.at_limit s.json; json immediate options.finish s.json
decode --like fairsec
exits 1; says "hf|fairseq|marian|ct2"

# --- bounds on memory
decode -q -n 6 --max-nodes 100 --stats s.json
exits 0; same out plain; json 100 nodes_bound s.json
decode -q -n 6 --memory 1M --stats s.json
exits 0; same out plain
verdict "$(good [ "$("$check_json" s.json nodes_bound)" -gt 0 ])" "bytes become states"
decode -q -n 6 --max-nodes 1
exits 2; says "max-nodes allows 1"
decode -q --memory 1
exits 1; says "memory: 1 bytes are too few for one state of domain semparse, which needs 128; 1 are left for states"

# --- samples are drawn from the line's number and the seed, for any schedule
for i in 1 2 3 4 5 6 7 8 9; do echo "w$i w0 w$i"; done >nine
run "$rill" decode -m "$tiny" -q -i nine --sample 4 --temperature 3 -o drawn
exits 0; verdict "$(good [ "$(wc -l <drawn)" = 36 ])" "as many outputs as are drawn"
for how in "--method fixed -n 2" "--workers 3" "--method var-batch -n 7 --threads 2" "--budget 5"; do
  # shellcheck disable=SC2086
  run "$rill" decode -m "$tiny" -q -i nine --sample 4 --temperature 3 -o again $how
  exits 0; same drawn again
done
run "$rill" decode -m "$tiny" -q -i nine --sample 4 --temperature 3 --seed 1 -o again
exits 0; differ drawn again
run "$rill" decode -m "$tiny" -q -i nine --sample 1
exits 0; verdict "$(good [ "$(grep -c '|||' out)" = 0 ])" "one sample is a line"
run "$rill" decode -m "$tiny" -q -i nine --sample 2 --absolute 3
exits 1; says "heuristics cannot be combined with --num-samples"
run "$rill" decode -m "$tiny" -q -i nine --top-p 0.5
exits 1; says "has no effect without sampling: set --num-samples too"
run "$rill" decode -m "$tiny" -q -i nine --seed 0
exits 1; says "has no effect without sampling: set --num-samples too"
run "$rill" decode -m "$tiny" -q -i nine --sample 4 --temperature 3 --top-k 0 --stats s.json -o all
exits 0; json 0 options.top_k s.json
run "$rill" decode -m "$tiny" -q -i nine --sample 4 --temperature 3 --top-k 100000 -o again
exits 0; same all again
yes w0 | head -n 9 >nine
run "$rill" decode -m "$tiny" -q -i nine --sample 9 --temperature 0.1 --distinct
exits 0; says "inputs have fewer than 9 outputs: samples are alike (a larger num-samples, with n-best, draws more)"
run "$rill" decode -m "$tiny" -q -i nine --sample 9 --max-length 2 --require-end
says "inputs have fewer than 9 outputs: some samples reached max-length without an end"
run "$rill" decode -m "$tiny" -q -i nine --groups 3 -k 9 --n-best 9 --max-length 6 --require-end
says "inputs have fewer than 9 outputs: the search found no more (a larger beam-size finds more, and may change the best output)"

finish
