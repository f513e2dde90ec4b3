#!/usr/bin/env bash
# rill score: every hypothesis of every shipped model gets the numbers that decoding gave it; other outputs get theirs, or a message
# alone, in every input format.
set -eu
. "${0%/*}/lib.sh"
examples=$data/../../examples/models inputs=$data/../golden/inputs

# again LIST: expected output of scoring for an n-best list: the columns after the outputs once more.
again() { awk '{ split($0, part, " \\|\\|\\| "); print $0 substr($0, length(part[1] " ||| " part[2]) + 1) }' "$1"; }

for model in atis geo jobs gum de-en; do
  extras=--word-scores
  if [ $model = de-en ]; then extras="--word-scores --alignment"; fi
  head -n 24 "$inputs/$model.txt" >lines
  feed lines "$rill" decode -q -m "$examples/$model" --n-best 5 -k 5 --ids $extras
  exits 0
  cp out list
  again list >wanted
  run "$rill" score -q -m "$examples/$model" -i lines --outputs list --ids $extras --workers 2 -n 7
  exits 0; silent; same wanted out
  # a preset's scores are shaped by its penalties, and so are these
  feed lines "$rill" decode -q -m "$examples/$model" --n-best 3 --like hf --ids
  exits 0
  cp out list
  again list >wanted
  run "$rill" score -q -m "$examples/$model" -i lines --outputs list --ids --like hf --method var-stream --budget 9
  exits 0; silent; same wanted out
done

# --- outputs that were cut short, and texts
head -n 24 "$inputs/de-en.txt" >lines
feed lines "$rill" decode -q -m "$examples/de-en" --n-best 4 --max-length 5 --ids
cp out list
again list >wanted
verdict "$(good contains "truncated= 1" list)" "some were cut short"
run "$rill" score -q -m "$examples/de-en" -i lines --outputs list --ids
exits 0; silent; same wanted out
feed lines "$rill" decode -q -m "$examples/de-en" --n-best 1
cp out list
cut -d'|' -f4 list | sed 's/^ //; s/ $//' >texts
paste lines texts >both
feed both "$rill" score -m "$examples/de-en"
exits 0; says "24 outputs in "; took; same list out
run "$rill" score -q -m "$examples/de-en" -i lines --outputs texts
exits 0; silent; same list out

# --- lines that fail alone
printf 'Ein Hund .\tA dog .\nEin Hund .\n\tA dog .\nEin Hund .\t\n' >lines
feed lines "$rill" score -m "$examples/de-en"
exits 2; lines 4
says "line 2: expected \"INPUT<TAB>OUTPUT\": set a file of outputs with --outputs"
says "line 3: the input is empty: its only output is empty"
says "4 outputs in "; says "2 without a score"
line_is 2 ""; line_is 3 ""; prints "0 ||| A dog . ||| logp= "; prints "3 |||  ||| logp= "
printf 'show flights\n' >lines
printf '0 ||| no form\n1 ||| x\nx\n0 ||| ( ||| own= 1 ||| 2\n' >list
run "$rill" score -m "$examples/atis" -i lines --outputs list
exits 2; lines 4
says 'line 1: given: "no form": "no" is not a token of the model'"'"'s logical forms'
says "line 2: no input has this id"
says 'line 3: expected a line of an n-best list, "ID ||| OUTPUT ||| ..."'
prints "0 ||| ( ||| own= 1 ||| 2 ||| logp= "
printf '0 ||| 3 1 3\n0 ||| 3 four\n0 ||| 3 +7\n0 ||| 3 77777\n0 ||| 1\n' >list
run "$rill" score -m "$examples/atis" -i lines --outputs list --ids
exits 2; lines 5
says "line 1: no hypothesis is left at timestep 2: scorer given masks all actions that the model allows"
says 'line 2: given: "four" is not an action id: expected 0 to 197 - 1'
says '"+7" is not an action id: expected 0 to 197 - 1'
head -n 1 "$inputs/gum.txt" >lines
printf 'shift NP\n' >text
run "$rill" score -m "$examples/gum" -i lines --outputs text
exits 2; says "line 1: the output ends where the model cannot end it"

# --- missing outputs are reported, and so is a file that is no n-best list
printf 'show flights\nshow flights\nshow flights\nshow flights\n' >lines
printf '( \n( \n' >text
run "$rill" score -m "$examples/atis" -i lines --outputs text -q
says "warning: 2 of 4 inputs have no output that could be scored"
head -n 1 lines >alone
printf '1 ||| ( ||| 1\n' >list
run "$rill" score -m "$examples/atis" -i alone --outputs list -q
says "warning: 1 of 1 inputs have no output that could be scored"
: >text
run "$rill" score -m "$examples/atis" -i lines --outputs text -q
exits 0; says "warning: 4 of 4 inputs have no output that could be scored"; prints_nothing
printf '0 ||| ( ||| 1\n0 ||| ( ||| 1\n2 ||| ( ||| 1\n' >list
run "$rill" score -m "$examples/atis" -i lines --outputs list -q
says "warning: 2 of 4 inputs have no output that could be scored"
for before in ' ' 'header\n'; do
  printf "$before"'0 ||| ( ||| 1\n' >list
  run "$rill" score -m "$examples/atis" -i lines --outputs list -q
  exits 2; says "the line is of an n-best list, but the first line is not: expected all lines to begin with \"ID ||| \""
done
# A refused output takes its input with it: the outputs after it belong to the inputs of their own lines.
printf 'show flights\nlist all fares\nshow flights\n' >lines
printf '( \n1 ||| ( ||| 1\n( \n' >text
run "$rill" score -m "$examples/atis" -i lines --outputs text -q
exits 2; lines 3
verdict "$(good [ "$(sed 's/^[02] |||//; /^$/d' out | sort -u | wc -l)" = 1 ])" "the first and the third score are equal"
verdict "$(good [ "$(cut -c1 out | tr '\n' ,)" = 0,,2, ])" "the ids are 0 and 2"

# --- what is for a search
run "$rill" score -m "$examples/geo" -k 5 -i lines
exits 1; says "--beam-size has no effect on given outputs, which are scored without a search: leave it out"
run "$rill" score -m "$examples/geo" --absolute 2 -i lines
exits 1; says "heuristics have no effect on given outputs, which are scored without a search: leave them out"
run "$rill" score -m "$examples/gum" --pretty -i lines
exits 1; says "--pretty has no effect on scores: leave it out"
cp lines kept
run "$rill" score -m "$examples/geo" -i lines --outputs text -o text
exits 1; same kept lines
finish
