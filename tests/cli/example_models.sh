#!/usr/bin/env bash
# The models and inputs of examples/: no output of an n-best list contains a placeholder.
set -eu
. "${0%/*}/lib.sh"
examples=$data/../../examples

# Placeholders by the lexicon's types: a name with a number, or the bare name of a plain type.
count_placeholders() { # count_placeholders MODEL: words of "out" that are placeholders
  local types plain
  types=$(awk -F '\t' '$1 == "@type" && $3 == "" {print $2}' "$1/lexicon.tsv" | paste -sd '|')
  plain=$(awk -F '\t' '$1 == "@type" && $3 == "plain" {print $2}' "$1/lexicon.tsv" | paste -sd '|')
  awk -F ' [|][|][|] ' '{print $2}' out | tr ' ' '\n' | grep -cxE "(${types:-#})[0-9]+|${plain:-#}" || true
}

for name in geo jobs atis; do
  model=$examples/models/$name
  feed "$examples/questions/$name.txt" "$rill" decode -m "$model" -q --n-best 10 --method var-stream
  exits 0
  verdict "$(good [ "$(count_placeholders "$model")" = 0 ])" "$name: no placeholder that the question does not mention"
  verdict "$(good [ "$(wc -l <out)" -gt "$(wc -l <"$examples/questions/$name.txt")" ])" "$name: several outputs each"
  # The same must hold where nothing is pruned, which digs deepest.
  feed "$examples/questions/$name.txt" "$rill" decode -m "$model" -q --n-best 10 --method fixed
  exits 0
  verdict "$(good [ "$(count_placeholders "$model")" = 0 ])" "$name, unpruned: no placeholder that the question does not mention"
done

# --- a list begins with what one gets without asking for it
for name in geo jobs atis gum de-en de-en-rnn de-en-tatoeba; do
  questions=${name%-rnn}
  head -n 40 "$examples/questions/${questions%-tatoeba}.txt" >asked
  feed asked "$rill" decode -m "$examples/models/$name" -q
  exits 0
  cp out one
  for n in 2 5 50; do
    feed asked "$rill" decode -m "$examples/models/$name" -q --n-best $n
    exits 0
    awk -F ' [|][|][|] ' '!seen[$1]++ {print $2}' out >first
    same first one
  done
done

# --- the model that is in the wheel
echo 'Wo ist der Bahnhof?' >asked
feed asked "$rill" decode -m "$examples/models/de-en-tatoeba" -q
exits 0; prints "Where's the station?"

# --- a question without a mention, and one in token form, whose placeholders stay
echo 'a b' >nothing
feed nothing "$rill" decode -m "$examples/models/geo" -q --n-best 10
exits 0
verdict "$(good [ "$(count_placeholders "$examples/models/geo")" = 0 ])" "no placeholder without a mention"
feed nothing "$rill" decode -m "$examples/models/geo" -q --n-best 10 --tokenized
exits 0
verdict "$(good [ "$(count_placeholders "$examples/models/geo")" -gt 0 ])" "token form may have any"
echo 'which rivers run through c0' >typed
feed typed "$rill" decode -m "$examples/models/geo" -q
exits 0; prints "c0"

# --- a test set in token form without --tokenized: a different figure than with it, and a warning
printf '%s\t%s\n' 'where is c0' '( lambda $0 e ( loc:t c0 $0 ) )' 'river in s0' '( lambda $0 e ( and ( river:t $0 ) ( loc:t $0 s0 ) ) )' \
  'where are mountain' '( lambda $0 e ( exists $1 ( and ( mountain:t $1 ) ( loc:t $1 $0 ) ) ) )' >set
printf 'return { sweep = rill.sweep{ k = { 1, 2 } } }\n' >own.lua
warning='warning: 2 of 3 inputs contain placeholders of their references, such as c0: the set seems to be tokenized:'
run "$rill" bench -m "$examples/models/geo" -q --test-set set --repeat 1 --methods greedy
exits 0; says "$warning"
run "$rill" tune own.lua -m "$examples/models/geo" -q --dev set
exits 0; says "$warning"
run "$rill" bench -m "$examples/models/geo" -q --test-set set --repeat 1 --methods greedy --tokenized
exits 0; silent
run "$rill" score -m "$examples/models/geo" -q -i set
exits 0; says "$warning"
run "$rill" score -m "$examples/models/geo" -q -i set --tokenized
exits 0; silent
cut -f1 set >questions; cut -f2 set >forms
printf 'return { input = "questions", references = "forms", sweep = rill.sweep{ k = { 1, 2 } } }\n' >own.lua
run "$rill" run own.lua -m "$examples/models/geo" -q
exits 0; says "$warning"
run "$rill" decode -m "$examples/models/geo" -q --config own.lua
exits 0; says "$warning"
head -n 1 set | sed 's/c0/austin/' >raw; sed -n 3p set >>raw
run "$rill" bench -m "$examples/models/geo" -q --test-set raw --repeat 1 --methods greedy
exits 0; silent

finish
