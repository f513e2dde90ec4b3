#!/usr/bin/env bash
# Translation on the command line: text in, a line out for every line in, for lines of any kind.
set -eu
. "${0%/*}/lib.sh"
model=$data/mt/shared

# --- lines of all kinds: each gives one line; those that cannot be decoded give an empty one and a message
{
  printf 'ein mann\n\n   \n>>de<< a book\n>>fr<< a book\n\377\n'
  for _ in {1..500}; do printf 'ten words in a row make a line too long '; done
  printf '\na\001b\tc\r\n'
  head -c 1000000 /dev/zero | tr '\0' x
  printf '\nthe last line has no newline'
} >mixed
feed mixed "$rill" decode -m "$model" -k 3 --max-length 6
exits 2
lines 10
says "line 5: unknown language tag >>fr<<"
says "line 6: byte 1 is not UTF-8"
says "line 7: expected at most 2560 bytes for a model of 40 positions, found 20000"
says "line 9: expected at most 2560 bytes for a model of 40 positions, found 1000000"
says "10 inputs in "; says " (4 failed"
line_is 2 ""
line_is 3 ""

# --- an empty input survives a minimum length, which its one action satisfies
printf '\nein mann\n' >two
feed two "$rill" decode -m "$model" -q -k 3 --min-length 4 --max-length 8
exits 0
lines 2
line_is 1 ""

# --- every method gives the same bytes
printf 'ein mann spielt\n\n>>de<< two dogs run in\na\nzwei hunde laufen\neine frau liest ein buch .\n' >text
run "$rill" decode -m "$model" -q -k 5 --absolute 2.5 --n-best 5 --method var-batch -i text -o first
exits 0
for method in var-stream var-stream-fifo top-up stream-all; do
  for threads in 1 2; do
    run "$rill" decode -m "$model" -q -k 5 --absolute 2.5 --n-best 5 -n 4 --method $method --threads $threads -i text -o next
    exits 0
    same first next
  done
done

# --- ensembles: the same by options and by scripts; every method gives the same bytes
printf 'return { model = { "%s", "%s" }, options = { k = 5 }, n_best = 5 }\n' "$model" "$data/mt/ensemble" >both.lua
run "$rill" run both.lua -q -i text -o first --stats both.json --method var-batch
exits 0
json "[\"$data/mt/ensemble\"]" also both.json
for method in var-stream stream-all; do
  run "$rill" decode -m "$model" -m "$data/mt/ensemble" -q -k 5 --n-best 5 -n 2 --method $method --threads 2 -i text -o next
  exits 0
  same first next
done
run "$rill" decode -m "$model" -q -k 5 --n-best 5 -i text -o next
exits 0
differ first next
run "$rill" run both.lua -q -i text -o other -m "$model" # options replace all models of a script
exits 0
same next other
run "$rill" bench -q -m "$model" -m "$data/mt/ensemble" -i text --repeat 1 --methods var-batch,var-stream -k 3
exits 0
run "$rill" decode -m "$model" -m "$data/mt/separate" -i text
exits 1
says "\" here; all models of an ensemble need the same vocabularies"
run "$rill" decode -m "$data/semparse/tiny" -m "$model" -i text
exits 1
says "domain semparse decodes with one model, found 2: it has no ensembles"

# --- alignments and word scores, after outputs and in n-best lists; an empty line has neither tokens nor alignment
run "$rill" decode -m "$model" -q -k 3 --max-length 4 -i text
exits 0
cat out >plain
run "$rill" decode -m "$model" -q -k 3 --max-length 4 -i text --word-scores --alignment
exits 0
sed 's/ ||| .*//' out >texts
same plain texts
pair='[0-9]+-[0-9]+' score='-[0-9]+\.[0-9]{5}'
both=" \|\|\| $pair( $pair)* \|\|\| WordScores=( $score)+\$"
verdict "$(good [ "$(grep -cE "$both" out)" -eq 5 ])" "five lines have both"
line_is 2 " |||  ||| WordScores="
run "$rill" decode -m "$model" -q -k 3 --max-length 4 -i text --alignment=0.05 --n-best 2
exits 0
verdict "$(good grep -qE '^0 \|\|\| .* \|\|\| [0-9 -]+ \|\|\| logp= ' out)" "alignments stand before the features"
printf 'return { model = "%s", options = { k = 3, max_length = 4 }, word_scores = true, alignment = "soft" }\n' "$model" >words.lua
run "$rill" run words.lua -q -i text
exits 0
verdict "$(good grep -qE ' \|\|\| [0-9.e-]+,[0-9.e-]+.* \|\|\| WordScores= ' out)" "a script may ask for both"
run "$rill" decode -m "$model" -q -i text --alignment=often
exits 1
says 'alignment: expected hard, soft or a share above 0 and at most 1, found "often"'
run "$rill" decode -m "$data/semparse/tiny" -q -i text --alignment
exits 1
says "semparse: outputs have no field \"alignment\""

# --- a list of distinct outputs is the whole list without later duplicates, each with its own fields
search="-q -k 50 --max-length 8 --max-candidates 50 --length-penalty 0 --absolute 1000 --alignment --word-scores"
# shellcheck disable=SC2086
run "$rill" decode -m "$model" $search --n-best 50 -i text -o whole
exits 0
awk -F ' [|][|][|] ' '!seen[$1, $2]++' whole >struck
differ whole struck
# shellcheck disable=SC2086
run "$rill" decode -m "$model" $search --n-best 50 --distinct -i text -o next
exits 0
same struck next
awk -F ' [|][|][|] ' 'seen[$1]++ < 45' struck >fewer
differ struck fewer
printf 'return { model = "%s", n_best = 45, distinct = true, alignment = "hard", word_scores = true,
  heuristics = { { "absolute", 1000 } },
  options = { k = 50, max_length = 8, max_candidates = 50, length_penalty = 0 } }\n' "$model" >distinct.lua
run "$rill" run distinct.lua -q -i text -o next
exits 0
same fewer next

# --- weights: of an existing type, named in the model's description
for weights in bf16 int8; do
  run "$rill" decode -m "$model" -q -k 5 --weights $weights -i text -o first
  exits 0
  run "$rill" decode -m "$model" -q -k 5 --weights $weights --method stream-all -n 3 -i text -o next
  exits 0
  same first next
done
run "$rill" decode -m "$model" -q --weights int4 -i text
exits 1
says 'weights: "int4" is not one of f32|bf16|f16|int8'
run "$rill" decode -m "$model" -m "$data/mt/ensemble" -q -k 3 --weights int8 -i text
exits 0
printf 'return { model = "%s", options = { k = 5 }, weights = "int8" }\n' "$model" >int8.lua
run "$rill" run int8.lua -q -i text -o next
exits 0
same first next
run "$rill" decode -m "$data/semparse/tiny" -q --weights int8 -i text
exits 1
says "weights: \"int8\" is not f32"

# --- shortlists: the same by options and by scripts; every method gives the same bytes
printf '\xe2\x96\x81man \xe2\x96\x81mann 0.9\n\xe2\x96\x81a \xe2\x96\x81ein 0.7\ndogs hunde 0.4\n' >lex
run "$rill" decode -m "$model" -q -k 3 --n-best 3 -i text -o first --shortlist lex,10,2
exits 0
run "$rill" decode -m "$model" -q -k 3 --n-best 3 -i text -o next --shortlist lex,10,2 --method stream-all -n 3 --threads 2
exits 0
same first next
# a model's own shortlist is next to its config.json, for any working directory
cp -r "$model" listing; chmod -R u+w listing; cp lex listing/lex; mkdir -p elsewhere
sed -i '1s/{/{ "rill": {"domain": "mt", "options": {"shortlist": "lex,10,2"}},/' listing/config.json
(cd elsewhere && "$rill" decode -m ../listing -q -k 3 --n-best 3 -i ../text -o ../own)
same own first
printf 'return { model = "%s", shortlist = "lex,10,2", options = { k = 3 }, n_best = 3 }\n' "$model" >short.lua
run "$rill" run short.lua -q -i text -o next
exits 0
same first next
run "$rill" decode -m "$model" -q -k 3 --n-best 3 -i text -o next
exits 0
differ first next
run "$rill" decode -m "$model" -q -k 3 --n-best 3 -i text -o next --shortlist lex,10,2 --weights int8
exits 0
differ first next
printf 'one two\n' >lex
run "$rill" decode -m "$model" -q -i text --shortlist lex
exits 1
says "lex:1: expected a target token, a source token and a probability from 0 to 1, separated by spaces"
run "$rill" decode -m "$model" -q -i text --shortlist ,10
exits 1
says 'shortlist: expected FILE, FILE,F or FILE,F,B, found ",10"'
run "$rill" decode -m "$data/semparse/tiny" -q -i text --shortlist lex
exits 1
says 'domain semparse has no option shortlist, found the value "lex"'

# --- a language tag is the token of that name; the rest of the line follows it
printf '>>de<< a book\n>>de<<a book\n>>de<<\na >>de<< book\n' >tagged
feed tagged "$rill" decode -m "$model" -q -k 3 --n-best 3 --max-length 6
exits 0
cp out text
boundary=$(printf '\xe2\x96\x81')
printf '>>de<< %sa %sb o o k\n>>de<< %sa %sb o o k\n>>de<<\n' $boundary $boundary $boundary $boundary >tagged
feed tagged "$rill" decode -m "$model" -q -k 3 --n-best 3 --max-length 6 --tokenized
exits 0
numbers() { sed -n 's/ |||.*||| logp=/ /p' "$1"; }
numbers out >pieces.numbers
numbers text | grep -v '^3' >text.numbers
same pieces.numbers text.numbers

# --- subword tokens in, subword tokens out
printf '\xe2\x96\x81a \xe2\x96\x81b \xe2\x96\x81man\n' >pieces
feed pieces "$rill" decode -m "$data/mt/separate" -q --tokenized -k 3
exits 0
lines 1

# --- models of type fsmt: text goes through the Moses tokenizer and BPE, and back; or subword tokens do
for name in fsmt fsmt-tied; do
  printf 'ein mann liest.\n' >text
  printf 'ein</w> mann</w> liest</w> .</w>\n' >pieces
  feed text "$rill" decode -m "$data/mt/$name" -q -k 3 --n-best 3 --min-width 3 --max-length 6
  exits 0
  lines 3
  cp out first
  feed pieces "$rill" decode -m "$data/mt/$name" -q -k 3 --n-best 3 --min-width 3 --max-length 6 --tokenized
  exits 0
  sed 's,</w>,,g' out >next
  same first next
done
printf 'Der Hund\n' >text
printf 'der hund\n' >lower
feed lower "$rill" decode -m "$data/mt/fsmt-tied" -q -k 3 --max-length 6 --n-best 3
cp out first
feed text "$rill" decode -m "$data/mt/fsmt-tied" -q -k 3 --max-length 6 --n-best 3
same out first
feed text "$rill" decode -m "$data/mt/fsmt" -q -k 3 --max-length 6 --n-best 3
differ out first

# --- and each line, of any kind, has its line
{
  printf 'ein mann liest.\n\n \302\240\t\n\001\002\n\377\n'
  for _ in {1..1000}; do printf 'five words are a line '; done
  printf '\nein\001mann\r\n'
  head -c 1000000 /dev/zero | tr '\0' .
  printf '\n<s> | a\nein mann'
} >mixed
feed mixed "$rill" decode -m "$data/mt/fsmt" -k 3 --max-length 6
exits 2
lines 10
says "line 5: byte 1 is not UTF-8"
says "line 6: expected at most 2560 bytes for a model of 40 positions, found 22000"
says "line 8: expected at most 2560 bytes for a model of 40 positions, found 1000000"
says "10 inputs in "; says " (3 failed"
for n in 2 3 4; do line_is $n ""; done

# --- a folder without "rill" options gets its generation_config's beam size and length penalty, and pruning; --like takes all of them
rm -rf plain; cp -r "$model" plain; chmod -R u+w plain
printf '{"num_beams": 4, "length_penalty": 0.5, "max_length": 12, "pad_token_id": 50, "eos_token_id": 0}\n' >plain/generation_config.json
feed text "$rill" decode -m plain -q --stats s.json
exits 0; json 4 options.beam_size s.json; json 0.5 options.length_penalty s.json; json '["absolute:2.5"]' options.heuristics s.json
json 3 options.max_children s.json; json top options.finish s.json; lacks_json s.json options.like; lacks_json s.json options.min_width
feed text "$rill" decode -m plain -q --n-best 6 --stats s.json
exits 0; json 4 options.beam_size s.json; lacks_json s.json options.min_width; json 6 options.n_best s.json
rm -rf fixed; cp -r plain fixed
printf '{"rill": {"options": {"method": "fixed", "beam_size": 5, "max_children": 10}},' >fixed/config.json
sed 's/^{//' plain/config.json >>fixed/config.json
feed text "$rill" decode -m fixed -q --stats s.json
exits 0; json immediate options.finish s.json; json 10 options.max_children s.json
feed text "$rill" decode -m plain -q --min-length 100000
exits 1; says "rill: --min-length: 100000 is above the "; says " actions that the model can make"
feed text "$rill" decode -m plain -q --method fixed --stats s.json
exits 0; json immediate options.finish s.json; json 8 options.max_children s.json
feed text "$rill" decode -m plain -q -k 7 --absolute 1 --stats s.json
exits 0; json 7 options.beam_size s.json; json '["absolute:1"]' options.heuristics s.json; json 0.5 options.length_penalty s.json
feed text "$rill" decode -m plain -q --like hf --stats s.json
exits 0; json 4 options.beam_size s.json; json 11 options.max_length s.json; json '[]' options.heuristics s.json
json immediate options.finish s.json
run "$rill" info plain
exits 0; prints "beam-size 4"; prints "absolute:2.5"
printf '{"num_beams": 4, "encoder_repetition_penalty": 1.3, "num_beam_groups": 3}\n' >plain/generation_config.json
feed text "$rill" decode -m plain -q --workers 2
exits 0
says "rill: warning: plain/generation_config.json: not supported, though it changes outputs: num_beam_groups, encoder_repetition_penalty"
says "; for diverse beam search, set beam-groups and diversity-penalty"
verdict "$(good [ "$(grep -c "not supported" err)" -eq 1 ])" "said once"

# --- what a model is, in a few lines
run "$rill" info "$model"
exits 0
prints "Marian transformer: 2 + 2 layers of 16, 4 + 2 heads, 32 + 24 inside (swish), 51 symbols for both sides, 40 positions"
prints "model.safetensors ("
prints "tensors (F32)"
run "$rill" info "$data/mt/separate"
prints " source and "
silent

finish
