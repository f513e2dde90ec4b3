#!/usr/bin/env bash
# Constituency parsing on the command line: trees, tagged words and text in, a tree out for every line in.
set -eu
. "${0%/*}/lib.sh"
model=$data/shiftreduce/tiny

# has_words N WORDS, has_tagged N WORDS: the words of the tree in line N, or its innermost brackets, are these.
has_words() { verdict "$(good [ "$(sed -n "$1p" out | grep -o ' [^ ()]*)' | tr -d ')\n')" = " $2" ])" "words of line $1: $2"; }
has_tagged() { verdict "$(good [ "$(sed -n "$1p" out | grep -o '([^ ()]* [^ ()]*)' | tr -d '\n')" = "$2" ])" "line $1: $2"; }

# --- lines of all kinds: each gives one line; those that cannot be parsed give an empty one and a message
{
  printf '(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat))))\n'
  printf 'The_DT cat_NN sat_VBD ._.\n'
  printf 'The cat sat on the mat.\n'
  printf '(TOP (S (NN cat))\n'
  printf '()\n'
  printf '(TOP (S (-NONE- *)))\n'
  printf '(TOP (XX cat) (NN cat))\n'
  printf 'The_XX cat_NN\n'
  printf '\n'
  printf '\377\n'
  for _ in {1..10000}; do printf 'cat '; done
  printf '\n(TOP (NN a) b)\r\n'
  printf 'the last (line)'
} >mixed
feed mixed "$rill" decode -m "$model" -k 3
exits 2
lines 13
says 'line 4: column 1: the text ends, but 1 bracket is not closed; the last one opens here; one tree per line is expected; a line'
says "line 6: column 1: the tree has no words"
says 'line 7: word 1: unknown tag "XX": tags.vocab lists the'
says 'line 8: word 1: unknown tag "XX": tags.vocab lists the'; says 'a line of word_TAG tokens is read as tagged words'
says "line 10: the line is not UTF-8 at byte 1 (0xff)"
says "line 11: expected at most 1000 words (max_input_length in config.json), found 10000"
says "13 inputs in "; says " (6 failed"
says_not "line 9:"
for line in 4 6 7 8 9 10 11; do line_is $line ""; done
has_tagged 1 "(DT The)(NN cat)(VBD sat)"
has_tagged 2 "(DT The)(NN cat)(VBD sat)(. .)"
has_words 3 "The cat sat on the mat ."
has_words 5 "-LRB- -RRB-" # brackets that no tree of the model's has are text
has_words 12 "-LRB- TOP -LRB- NN a -RRB- b -RRB-"
has_words 13 "the last -LRB- line -RRB-"
verdict "$(good [ "$(grep -c '^(TOP' out)" -eq 6 ])" "every tree begins with the root"

# --- the format is the option's
printf '(see below)\n' >bracket
feed bracket "$rill" decode -m "$model" -q -k 2
exits 0; has_words 1 "-LRB- see below -RRB-"
feed bracket "$rill" decode -m "$model" -q -k 2 --input-format tree
exits 2
says 'line 1: word 1: unknown tag "see": tags.vocab lists the'
feed bracket "$rill" decode -m "$model" -q -k 2 --input-format text
exits 0
prints "-LRB-)"
feed bracket "$rill" decode -m "$model" -q -k 2 --tokenized
exits 0
prints " -LRB-see)"
feed bracket "$rill" decode -m "$model" -q -k 2 --input-format tagged
exits 2
says 'line 1: word 1: expected word_TAG, found "(see"'
feed bracket "$rill" decode -m "$model" -q -k 2 --input-format brackets
exits 1
says 'input-format: "brackets" is not one of auto|tree|tagged|text'
printf 'return { model = "%s", input_format = "text", n_best = 2, options = { k = 2 } }\n' "$model" >run.lua
feed bracket "$rill" run run.lua -q
exits 0
prints "0 ||| (TOP"

# --- an object's option for reading: the same result as from a run opened with that option
opened() { printf '%s\n' "$1" | "$rill" decode -m "${@:2}" -q -k 2 2>/dev/null; }
cat >own <<'JSON'
{"text": "The_DT cat_NN", "options": {"input_format": "text"}}
{"text": "The_DT cat_NN", "options": {"input-format": "tagged", "k": 2}}
{"text": "(TOP (NN cat))", "options": {"input_format": "text"}}
{"text": "Don't, cat", "options": {"tokenized": true}}
{"text": "(TOP (NN cat))", "options": {"tokenized": true, "input_format": "auto"}}
{"text": "The_DT cat_NN"}
{"text": "cat", "options": {"input_format": "tree"}}
{"text": "cat", "options": {"input_format": "table"}}
{"text": "cat", "options": {"input_fromat": "text"}}
{"text": "cat", "options": {"weights": "int8"}}
{"text": "cat", "options": {"tokenized": true, "tokenized_": true}}
{"text": "cat", "options": {"input_format": "text tokenized=1"}}
{"text": "cat", "settings": {"input_format": "text"}}
{"text": "cat", "input_format": "text"}
JSON
for workers in 1 2; do
  feed own "$rill" decode -m "$model" -q -k 2 --jsonl --workers $workers
  exits 2; lines 14
  for i in {1..14}; do sed -n "${i}p" out >"own.$i"; done
  json "$(opened "The_DT cat_NN" "$model" --input-format text)" outputs.0.text own.1
  json "$(opened "The_DT cat_NN" "$model")" outputs.0.text own.2
  json "$(opened "(TOP (NN cat))" "$model" --input-format text)" outputs.0.text own.3
  json "$(opened "Don't, cat" "$model" --tokenized)" outputs.0.text own.4
  json "$(opened "(TOP (NN cat))" "$model" --tokenized)" outputs.0.text own.5
  json "$(opened "The_DT cat_NN" "$model")" outputs.0.text own.6
  says 'line 7: column 1: '
  says 'line 8: options: input-format: "table" is not one of auto|tree|tagged|text'
  says 'line 9: options: unknown option "input_fromat": did you mean "input-format"?'
  says 'line 10: options: "weights" is an option of the whole run'
  says 'line 11: options: unknown option "tokenized_": did you mean "tokenized"?'
  says 'line 12: options: input-format: "text tokenized=1" is not one of auto|tree|tagged|text'
  says 'line 13: "settings": the options are in "options"'
  says 'warning: line 14: the member "input_format" is copied and has no effect'
  differ own.1 own.6
done
printf '{"text": "W0, w1", "options": {"tokenized": %s}}\n' true false >own
feed own "$rill" decode -m "$tiny" -q -k 2 --jsonl
exits 0
for i in 1 2; do sed -n "${i}p" out >"own.$i"; done
json "$(opened "W0, w1" "$tiny" --tokenized)" outputs.0.text own.1
json "$(opened "W0, w1" "$tiny")" outputs.0.text own.2
printf '{"text": "a b", "options": {"tokenized": true}}\n' >own
feed own "$rill" decode -m "$data/mt/shared" -q --jsonl
exits 2; says 'options: unknown option "tokenized": `rill list settings` names them'

run "$rill" decode -m "$model" --domain-args x=1
exits 1
says 'shiftreduce: expected no arguments for the domain, found "x=1"'
run "$rill" decode -m "$tiny" --domain-args x=1
exits 1
says 'semparse: expected no arguments for the domain, found "x=1"'

# --- every method gives the same bytes
printf 'The cat sat on the mat.\nThe_DT cat_NN\n(TOP (NN cat))\n(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (NP (NN x)))))\nIBM\n' >text
run "$rill" decode -m "$model" -q -k 5 --n-best 5 --method var-batch -i text -o first
exits 0
for method in var-stream var-stream-fifo top-up stream-all; do
  for threads in 1 2; do
    run "$rill" decode -m "$model" -q -k 5 --n-best 5 -n 4 --method $method --threads $threads -i text -o next
    exits 0
    same first next
  done
done

# --- a bound in bytes: three quarters for states of 16, and a sentence that the rest does not hold fails alone
run "$rill" decode -m "$model" -q -k 5 --n-best 5 -n 4 --memory 200K --stats s.json -i text -o next
exits 0; same first next; json 9600 nodes_bound s.json
run "$rill" decode -m "$model" -q -k 5 --memory 16K -i text -o next
exits 0
printf 'IBM\n' >long
for _ in {1..300}; do printf 'cat '; done >>long
printf '\nIBM\n' >>long
feed long "$rill" decode -m "$model" -q -k 2 --memory 32K
exits 2
lines 3
says 'line 2: the encoded input needs'
says 'raise memory'
line_is 2 ""

# --- indented trees are the same trees over more lines
run "$rill" decode -m "$model" -q -i text -o flat
run "$rill" decode -m "$model" -q -i text -o indented --pretty
exits 0
differ flat indented
tr '\n' ' ' <indented | tr -s ' ' | sed 's/ (TOP/\n(TOP/g; s/ $/\n/' >joined
same flat joined
printf 'return { model = "%s", pretty = true }\n' "$model" >pretty.lua
feed text "$rill" run pretty.lua -q
exits 0; same out indented
printf 'return { model = "%s", pretty = true, sweep = rill.sweep{ k = {1, 2} } }\n' "$model" >sweep.lua
feed text "$rill" run sweep.lua -q
exits 1; says 'a sweep cannot be combined with --pretty'
run "$rill" decode -m "$model" -q -i text --pretty --n-best 2
exits 1
says "--pretty writes one tree per input, in order: leave out --n-best"
run "$rill" decode -m "$model" -q -i text --pretty --unordered
exits 1; says "--unordered"; prints_nothing
run "$rill" run pretty.lua --config sweep.lua -q -i text
exits 1; says 'expected one run file, found another, "sweep.lua"'; prints_nothing
run "$rill" decode -m "$tiny" -q --tokenized --pretty -i bracket
exits 0
lines 1

# --- a search cut short still has all words under the root
run "$rill" decode -m "$model" -q -i text --max-length 3
exits 0
lines 5
has_words 1 "The cat sat on the mat ."

# --- outputs are judged by brackets; other domains have no forms to choose from
printf '(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat))))\n' >gold
run "$rill" eval -m "$model" --refs gold gold
exits 0
prints "labelled F1"
run "$rill" decode -m "$tiny" --input-format text
exits 1
says "domain semparse has no option input-format"

finish
