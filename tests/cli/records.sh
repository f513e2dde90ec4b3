#!/usr/bin/env bash
# Inputs as rows (--tsv-column) and objects (--jsonl): what a line has besides its text comes back with the result.
set -eu
. "${0%/*}/lib.sh"

printf '%s\n' "w0 w1 w2" "w3" "w4 w5" >texts
"$rill" decode -m "$tiny" -q <texts >outputs

# --- rows
paste texts <(printf '%s\n' x "y z" "") >first
paste <(printf '%s\n' 1 2 3) texts >second
feed first "$rill" decode -m "$tiny" --tsv-column 1 -q
exits 0; silent
paste first outputs >want
same out want
feed second "$rill" decode -m "$tiny" --tsv-column=2 -q --workers 2
exits 0
paste second outputs >want
same out want
feed second "$rill" decode -m "$tiny" --tsv-column=2 --n-best 2 -q
exits 0
lines 6
verdict "$(good [ "$(awk -F'\t' '{ print NF }' out | sort -u)" = 4 ])" "row, output and score"
verdict "$(good [ "$(cut -f2 out | uniq -d | wc -l)" = 3 ])" "two lines for each input"
printf 'w1\nw1\tw2\n' >short
feed short "$rill" decode -m "$tiny" --tsv=2 -q
exits 2; says "line 1: the row has no column 2"
line_is 1 $'w1\t'
feed second "$rill" decode -m "$tiny" --tsv=2 --unordered -q -n 1
exits 0
sort -n out | cut -f2- >sorted
same sorted want
for word in --tsv=0 --tsv-column=x --tsv-column= --tsv-column; do
  feed first "$rill" decode -m "$tiny" "$word"
  exits 1; says "--tsv-column"; prints_nothing
done
feed first "$rill" decode -m "$tiny" --tsv-column 1 --jsonl
exits 1; says "--tsv-column cannot be combined with --jsonl"

# --- a run file can set it too; an option overrides it; commands that read plain lines refuse it
printf 'return { model = "%s", tsv_column = 2 }\n' "$tiny" >run.lua
feed second "$rill" run run.lua -q
exits 0; same out want
feed first "$rill" run run.lua -q --tsv=1
exits 0
paste first outputs >other
same out other
feed second "$rill" bench --config run.lua --methods greedy
exits 1; says "run.lua"; says "tsv_column: this command does not use it: leave it out"
printf 'return { model = "%s", jsonl = true }\n' "$tiny" >run.lua
echo '{"text": "w3"}' >one
feed one "$rill" run run.lua -q
exits 0; prints '{"text": "w3", "outputs": [{"text": '
feed second "$rill" run run.lua -q --tsv=2
exits 0; same out want
for said in true 1; do
  printf 'return { model = "%s", tsv_column = %s }\n' "$tiny" "$said" >run.lua
  feed first "$rill" run run.lua -q
  exits 0; same out other
done
printf 'return { model = "%s", tsv_column = false }\n' "$tiny" >run.lua
feed texts "$rill" run run.lua -q
exits 0; same out outputs
for said in 'tsv_column = 0' 'tsv_column = 10001' 'tsv_column = 1.5' 'tsv_column = "text"' 'tsv_column = true, jsonl = true'; do
  printf 'return { model = "%s", %s }\n' "$tiny" "$said" >run.lua
  feed second "$rill" run run.lua -q
  exits 1; says "run.lua"; says "tsv_column: "; prints_nothing
done

# --- objects: their own bytes stay
printf '%s\n' '{"id": 1.10, "text": "w0 w1 w2", "tags": ["\u00fc", {"a": null}]}' '' \
  '  { "big": 12345678901234567, "input": "w3" }  ' '{"text": "w4 w5"}' >objects
feed objects "$rill" decode -m "$tiny" --jsonl -q
exits 0; silent
lines 4
line_is 2 ""
prints '{"id": 1.10, "text": "w0 w1 w2", "tags": ["\u00fc", {"a": null}], "outputs": [{"text": "'
prints '  { "big": 12345678901234567, "input": "w3" , "outputs": [{"text": "'
for i in 1 3 4; do
  sed -n "${i}p" out >"object.$i"
  json "$(sed -n "$((i > 2 ? i - 1 : i))p" outputs)" outputs.0.text "object.$i"
  has_json "object.$i" outputs.0.score outputs.0.logp outputs.0.length
done
feed objects "$rill" decode -m "$tiny" --jsonl --n-best 2 --word-scores -q
exits 0
sed -n 1p out >list
json "$(sed -n 1p outputs)" outputs.0.text list
has_json list outputs.1.score outputs.1.tokens.0.logprob
feed objects "$rill" decode -m "$tiny" --jsonl --ids -q
sed -n 1p out >ids
has_json ids outputs.0.ids.0
printf '{"question": "w3", "text": 5}\n' >keyed
feed keyed "$rill" decode -m "$tiny" --jsonl=question -q
exits 0
json "$(sed -n 2p outputs)" outputs.0.text out

# --- settings of one input alone: what a run with them gives
cat >own <<'JSON'
{"text": "w0 w1 w2", "options": {"k": 1, "max-length": 2}}
{"text": "w0 w1 w2"}
{"text": "w0 w1 w2", "options": {"n_best": 3, "length_penalty": 0.5, "distinct": true}}
{"text": "w3", "options": {"method": "greedy"}}
{"text": "w3", "options": {"kk": 1}}
{"text": "w3", "options": {"k": 0}}
{"text": "w3", "options": {"k": [1]}}
{"text": "w3", "options": 5}
JSON
for workers in 1 2; do
  feed own "$rill" decode -m "$tiny" --jsonl -q --workers $workers
  exits 2
  says 'line 4: options: "method" is an option of the whole run'; says 'line 5: options: unknown option "kk": did you mean "k"?'
  says 'line 6: options: beam-size: '
  says 'line 7: options: beam-size: a list is not a whole number'; says 'line 8: options: expected an object'
  for i in 1 2 3; do sed -n "${i}p" out >"own.$i"; done
  sed -n 1p texts | "$rill" decode -m "$tiny" -q -k 1 --max-length 2 >first 2>err
  json "$(cat first)" outputs.0.text own.1
  json "$(sed -n 1p outputs)" outputs.0.text own.2
  sed -n 1p texts | "$rill" decode -m "$tiny" -q --n-best 3 --length-penalty 0.5 --distinct >list
  for i in 0 1 2; do json "$(sed -n "$((i + 1))s/^0 ||| \(.*\) ||| logp=.*/\1/p" list)" outputs.$i.text own.3; done
done

# The model's settings give way, as to options; the run's own options stay, and what contradicts them is refused as among options.
cat >own <<'JSON'
{"text": "w3", "options": {"sample": 2, "seed": 4}}
{"text": "w3", "options": {"groups": 2, "k": 4, "n-best": 2}}
{"text": "w3", "options": {"like": "hf"}}
{"text": "w3", "options": {"k": true}}
{"text": "w3", "options": {"absolute": 3}}
{"text": "w3", "options": {"n-best": 9, "k": 2}}
{"text": "w3", "options": {"n-best": 40, "k": 30}}
JSON
feed own "$rill" decode -m "$tiny" --jsonl -q
exits 2
says 'line 3: options: like removes the heuristics of this run (absolute), which all inputs share'
says 'line 4: options: beam-size: true is not a whole number'; says 'line 5: options: "absolute" is an option of the whole run'
says "2 of 7 inputs have fewer outputs than requested; the first: beam-size is smaller than n-best"
for i in 1 2 6; do sed -n "${i}p" out >"own.$i"; done
printf 'w3\n' >three
"$rill" decode -m "$tiny" -q --sample 2 --seed 4 --n-best 2 <three >list
for i in 0 1; do json "$(sed -n "$((i + 1))s/^0 ||| \(.*\) ||| logp=.*/\1/p" list)" outputs.$i.text own.1; done
"$rill" decode -m "$tiny" -q --groups 2 -k 4 --n-best 2 <three >list
for i in 0 1; do json "$(sed -n "$((i + 1))s/^0 ||| \(.*\) ||| logp=.*/\1/p" list)" outputs.$i.text own.2; done
has_json own.6 outputs.1.text
for pair in "-k 3|sample|2|beam-size 3 differs from" "--sample 5|k|7|beam-size 7 differs from" \
  "--groups 4|n-best|0|n-best" \
  "--stop-after 3|patience|2|patience cannot be combined with"; do
  IFS='|' read -r options name value why <<<"$pair"
  printf '{"text": "w3", "options": {"%s": %s}}\n' "$name" "$value" >one
  # shellcheck disable=SC2086
  feed one "$rill" decode -m "$tiny" --jsonl -q $options
  exits 2; says "line 1: options: $why"
  # shellcheck disable=SC2086
  feed three "$rill" decode -m "$tiny" -q $options "--$name" "$value"
  exits 1; says "$why"
done

# --- aliases of settings: of two values none is lost
{
  printf '{"text": "w3", "options": {"num_beams": 3, "num-return-sequences": 2}}\n'
  printf '{"text": "w3", "options": {"num_beams": 3, "k": 2}}\n'
} >others
feed others "$rill" decode -m "$tiny" --jsonl -q
exits 2; says 'line 2: options: num_beams "3" and k "2" are one option, given twice'
sed -n 1p out >object
json "$("$rill" decode -m "$tiny" -q -k 3 --n-best 2 <three | sed -n '1s/^0 ||| \(.*\) ||| logp=.*/\1/p')" outputs.0.text object

# --- settings in the wrong place are refused or warned about, each name once; unknown keys are the user's data
cat >elsewhere <<'JSON'
{"text": "w3", "settings": {"k": 1}}
{"text": "w3", "Options": {"n-best": 1}}
{"text": "w3", "rill": {"kk": 1, "length_penalty": 1}}
{"text": "w3", "options": {"max_lenght": 2}}
{"text": "w3", "rill": {"A": "yes"}, "id": 4}
{"id": 6, "text": "w3", "n_best": 2, "k": 1}
{"text": "w3", "n_best": 2, "k": 1}
{"text": "w3", "n_best": 2, "settings": {"kk": 1}}
{"text": "w3", "deadline": 1}
{"text": "w3", "n_best": 2, "k": 1, "deadline": 1}
{"text": "w3", "options": {"k": "1\u0000"}}
{"text": "w3 \u0000 w4"}
{"text": "w3", "Settings": {"k": 1}}
{"text": "w3", "parameters": {"n-best": 1}}
{"text": "w3", "rill_settings": {"k": 1}}
{"text": "w3", "Seconds": 1}
JSON
for workers in 1 2; do
  feed elsewhere "$rill" decode -m "$tiny" --jsonl -q --workers $workers
  exits 2; lines 16
  cat >told <<'END'
rill: line 1: "settings": the options are in "options"
rill: line 2: "Options": the options are in "options"
rill: line 3: "rill": the options are in "options"
rill: line 4: options: unknown option "max_lenght": did you mean "max-length"?
rill: warning: line 6: the member "n_best" is copied and has no effect: the options are in "options"
rill: warning: line 7: the member "k" is copied and has no effect: the options are in "options"
rill: line 8: "settings": the options are in "options"
rill: warning: line 9: the member "deadline" is copied and has no effect: only requests to `rill serve` have this member
END
  head -n 8 err >first
  for name in 'line 13: "Settings"' 'line 14: "parameters"' 'line 15: "rill_settings"'; do
    says "rill: $name: the options are in \"options\""
  done
  says 'the member "n_best" is copied and has no effect:'
  same first told; says 'line 11: the line is not a JSON object: '; says 'line 12: the line is not a JSON object: '
  verdict "$(good [ "$(wc -l <err)" = 14 ])" "nothing else is told"
  for i in 5 6 7 9 10; do sed -n "${i}p" out >object; json "$(sed -n 2p outputs)" outputs.0.text object; done
done

# --- a bad line fails alone, with its message in its place
cat >wrong <<'JSON'
{"id": "a", "words": "w1"}
{"text": "w1", "outputs": "mine"}
w0 w1
{"text": "w1"} {}
["w1"]
{"text": "w3"}
JSON
feed wrong "$rill" decode -m "$tiny" --jsonl -q
exits 2
lines 6
says 'line 1: the object has no text in "text" or "input"'
says 'line 2: the object has a member "outputs"'
says 'line 3: the line is not a JSON object: '
says 'line 4: the line is not a JSON object: '
says 'line 5: the line is not a JSON object'
says_not 'line 6'
prints '{"id": "a", "words": "w1", "outputs": [], "warnings": [], "error": {"code": "bad-input", "message": "the object has no text'
while IFS= read -r line; do
  printf '%s\n' "$line" >each
  has_json each "$(grep -q '"text": "w3"' each && echo outputs.0.text || echo error.message)"
done <out
printf 'return { model = "%s", sweep = rill.sweep{ k = {1, 2} } }\n' "$tiny" >sweep.lua
feed objects "$rill" run sweep.lua --jsonl
exits 1; says "a sweep decodes one file of lines"
feed objects "$rill" decode -m "$tiny" --jsonl --pretty
exits 1; says "--pretty"
finish
