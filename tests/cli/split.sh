#!/usr/bin/env bash
# Inputs that are longer than a model for translation is made for: decoded as their sentences, one line in, one line out.
set -eu
. "${0%/*}/lib.sh"
model=${data%/tests/data}/examples/models/de-en
sentences=("Ein Hund läuft über die Wiese." "Zwei Männer sitzen auf einer Bank im Park." "Eine Frau kauft Obst auf dem Markt."
  "Am 23. Mai spielt ein Kind im Garten." "Die Kinder spielen Fußball am Strand." "Ein Mann fährt mit dem Fahrrad durch die Stadt.")
for _ in 1 2 3 4 5 6 7; do printf '%s\n' "${sentences[@]}"; done >each
paste -sd' ' each >paragraph
rill_decode=("$rill" decode -m "$model" -q)

# --- a paragraph's sentences are decoded separately and joined; an ordinal ends no sentence
feed each "${rill_decode[@]}"
lines 42
paste -sd' ' out >expected
feed paragraph "${rill_decode[@]}"
exits 0
silent
same out expected
feed paragraph "${rill_decode[@]}" --split off
exits 2
says "line 1: expected at most 255 tokens, found"
printf '%s\n' 'return { split = "off" }' >off.lua
feed paragraph "${rill_decode[@]}" --config off.lua
exits 2
feed paragraph "$rill" decode -m "$model"
says "rill: 1 input in "

# --- among short, blank and bad lines, for any schedule, part, worker and order
{ printf 'Ein Hund bellt.\n\n\377\n'; cat paragraph; printf 'Eine Katze.\n'; cat paragraph; } >mixed
{ printf 'Ein Hund bellt.\n\n\n'; printf 'Eine Katze.\n'; } >short
feed short "${rill_decode[@]}"
{ sed -n 1,3p out; cat expected; sed -n 4p out; cat expected; } >all
for how in "" "-n 1" "--workers 2" "--method var-batch" "-n 7 --threads 2"; do
  # shellcheck disable=SC2086
  feed mixed "${rill_decode[@]}" $how
  exits 2
  says "line 3: byte 1 is not UTF-8"
  same out all
done
feed mixed "${rill_decode[@]}" --unordered
sort -n out | cut -f2 >sorted
same sorted all
for part in 1 2 3; do "${rill_decode[@]}" --shard $part/3 -i mixed 2>err || true; done >shards
same shards all
feed mixed "${rill_decode[@]}" --tsv-column 1
cut -f2 out >column
same column all
grep -v "$(printf '\377')" mixed | sed 's/.*/{"text": "&"}/' >objects
feed objects "${rill_decode[@]}" --jsonl --stats stats -o answers
exits 0
json 5 inputs stats
sed -n 3p answers >third
json "$(cat expected)" outputs.0.text third
feed paragraph "${rill_decode[@]}" --trace trace
verdict "$(good [ "$(grep -c '"event":"finished"' trace)" = 42 ])" "a trace should tell of 42 sentences"

# --- samples of other lines are what they are without long ones
feed each "${rill_decode[@]}" --sample 2 --split off
cp out samples
feed each "${rill_decode[@]}" --sample 2
same out samples

# --- each sentence has its own samples, the first those of its line, for any schedule
printf '%s\n' "${sentences[0]}" >once
printf '%s %s %s\n' "${sentences[0]}" "${sentences[0]}" "${sentences[0]}" >thrice
feed once "${rill_decode[@]}" --sample 6 --n-best 6
outputs() { sed 's/^[0-9]* ||| //; s/ ||| .*//' out; }
outputs >firsts
feed thrice "${rill_decode[@]}" --sample 6 --n-best 6 --split sentences
outputs >drawn
paste -d'|' firsts drawn >pairs
verdict "$(good [ "$(awk -F'|' 'index($2, $1 " ") == 1' pairs | wc -l)" = 6 ])" "the first sentence's samples are the line's"
verdict "$(good [ "$(awk -F'|' '$2 == $1 " " $1 " " $1' pairs | wc -l)" -lt 3 ])" "each sentence has samples of its own"
for how in "-n 1" "--workers 2"; do
  # shellcheck disable=SC2086
  feed thrice "${rill_decode[@]}" --sample 6 --n-best 6 --split sentences $how
  outputs >again
  same again drawn
done

# --- what outputs are ordered by is made of their sums, as the search makes it
rank() { # rank NUMBER OPTION...: NUMBER of score s, length l is the last feature
  feed thrice "${rill_decode[@]}" --split sentences --n-best 4 "${@:2}"
  lines 4
  sed 's/.*logp= //; s/ length= / /; s/ |||//' out | awk "{ s = \$1; l = \$2; d = \$3 - ($1) } d * d < 1e-9" >equal
  verdict "$(good [ "$(wc -l <equal)" = 4 ])" "the rank is $1"
}
rank "s" --length-penalty 0
rank "s / l" --length-penalty 1
rank "s / (l + 3)" --length-penalty 1 --count-end
rank "(s - 0.5 * l) / sqrt(l)" --length-penalty 0.5 --word-penalty 0.5
paste -sd' ' thrice | sed 's/.*/{"text": "&", "options": {"length-penalty": 0, "n-best": 3}}/' >object
feed object "$rill" decode -m "$model" -q --jsonl --split sentences
says "warning: 1 of 1 inputs were decoded sentence by sentence: output i of such an input joins output i of each"
json "$("$check_json" out outputs.0.logp)" outputs.0.score out
sed 's/, "n-best": 3//' object >one_output
feed one_output "$rill" decode -m "$model" -q --jsonl --split sentences
says_not "inputs were split"

# --- n-best lists of split lines are marked
feed paragraph "${rill_decode[@]}" --n-best 2
lines 2
says "warning: 1 of 1 inputs were decoded sentence by sentence: output i of such an input joins output i of each"
sed -n 1p out | sed 's/^0 ||| //; s/ ||| .*//' >first
feed each "${rill_decode[@]}" --n-best 2
sed 's/^[0-9]* ||| //; s/ ||| .*//' out | sed -n 'p;n' | paste -sd' ' >firsts
same first firsts

# --- a sentence that fails, or is cut, is its line's
{ tr '\n' ' ' <paragraph; for _ in {1..300}; do printf 'Hund Hund '; done; printf '\n'; } >broken
feed broken "${rill_decode[@]}"
exits 2
says "line 1: expected at most 255 tokens, found"
lines 1
feed paragraph "$rill" decode -m "$model" --max-length 1
says "1 input in "
says "(1 with truncated outputs)"
says "1 of 1 outputs are shorter than a third of their inputs: text may be missing"
feed paragraph "${rill_decode[@]}"
says_not "text may be missing"

# --- every line's sentences; a space where the input has none
printf 'Ein Hund bellt.\nEine Katze schläft auf dem Sofa.\n' >both
feed both "${rill_decode[@]}"
cp out both
printf 'Ein Hund bellt.""Eine Katze schläft auf dem Sofa.\n  Ein Hund bellt.   *** !  Eine Katze schläft auf dem Sofa. \n' >two
feed two "${rill_decode[@]}" --split sentences
line_is 2 "$(sed -n 1p both) *** ! $(sed -n 2p both)"

printf 'Ein Hund bellt.\342\200\250 \302\205Eine Katze schläft auf dem Sofa.\n' >two_lines
feed two_lines "${rill_decode[@]}" --split sentences
line_is 1 "$(paste -sd' ' both)"
printf '{"text": "%s"}\n' "$(cat two_lines)" >object
feed object "${rill_decode[@]}" --split sentences --jsonl
json "$(paste -sd' ' both)" outputs.0.text out

# --- what cannot be had of several
for option in --ids --alignment --word-scores "--scorer word_reward:0.1" "--like hf"; do
  # shellcheck disable=SC2086
  feed two "${rill_decode[@]}" --split sentences $option
  exits 1
  says "--split sentences cannot be combined with"
done
feed paragraph "${rill_decode[@]}" --ids
exits 2
feed two "${rill_decode[@]}" --split words
exits 1
says '--split: "words" is not auto, sentences or off'
printf 'x\n' >one
feed one "$rill" decode -m "$tiny" --split sentences
exits 1
says "--split sentences: domain semparse does not split inputs into sentences"

# --- a Greek question ends with a semicolon: the language is the folder's name, --source-lang, or the line's column
printf 'Ein Hund bellt;\nEine Katze schläft auf dem Sofa.\n' >greek
paste -sd' ' greek >asked
for name in el-en el-en-big; do ln -s "$model" $name; done
feed greek "${rill_decode[@]}"
paste -sd' ' out >parts
feed asked "${rill_decode[@]}" --split sentences
cp out whole
differ parts whole
for place in el-en "$PWD/el-en/"; do
  feed asked "$rill" decode -m "$place" -q --split sentences
  same out parts
done
printf 'return {model = "el-en", input = "asked", split = "sentences"}\n' >run.lua
run "$rill" run run.lua -q
same out parts
feed asked "$rill" decode -m el-en-big -q --split sentences
same out whole
cp -r "$data/mt/m2m" many
chmod -R u+w many
sed -i s/deu_Latn/ell_Grek/g many/*.json
printf '{"text": "%s\\teng_Latn\\twhat is it; the dog in Texas."}\n' ell_Grek eng_Latn "" >object
feed object "$rill" decode -m many -q --jsonl --split sentences --max-length 5 --language-columns --source-lang ell_Grek
says_length() { sed -n "$1p" out | grep -q "\"length\": $2,"; }
verdict "$(good says_length 1 2)" "a column says Greek"
verdict "$(good says_length 2 1)" "a column says English"
verdict "$(good says_length 3 2)" "--source-lang says Greek"

# --- characters that a translator ignores: removed from texts, columns and objects; inputs of subword tokens keep them
printf 'Die Straße ist naß.\nDie Stra\302\255\303\237e ist naß.\n' >hyphens
printf 'Die Stra\342\201\240\303\237e ist na\357\273\277\303\237.\nDie Stra\342\200\213\303\237e ist naß\302\255.\n' >>hyphens
feed hyphens "${rill_decode[@]}"
for i in 2 3 4; do line_is $i "$(sed -n 1p out)"; done
printf '{"text": "Die Stra\\u00adße ist naß."}\n' >object
sed -n 1p out >plain
feed object "${rill_decode[@]}" --jsonl
json "$(cat plain)" outputs.0.text out

# --- truncated characters are not ignored: the byte is the input's
hyphen='Stra\302\255\303\237e'
bad=('\302- Hund' '\302E' '\302\355und' '\357{\177' '\342\200\055Hund' '\342\200' '\302' '\300\255' '\340\202\255 Hund' '\360\202\200\250'
  '\355\240\200' '\302\255\302' '\342\201\240\357\273' '\200\250')
at=(15 15 15 15 15 15 15 15 15 15 15 17 18 15)
for text in "${bad[@]}"; do printf "Ein $hyphen $text\n"; done >halves
feed halves "${rill_decode[@]}"
exits 2
for i in "${!bad[@]}"; do says "line $((i + 1)): byte ${at[i]} is not UTF-8"; done
finish
