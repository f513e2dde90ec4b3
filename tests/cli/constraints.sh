#!/usr/bin/env bash
# Constraints on the command line: for all inputs by --scorer, for one input by a line of --constraints; same results by any schedule.
set -eu
. "${0%/*}/lib.sh"
examples=$data/../../examples/models inputs=$data/../golden/inputs

# --- each line's own, for all domains that make actions of texts
head -n 4 "$inputs/de-en.txt" >lines
printf 'prefix:Two women\n\nban:Where did\nrequire:basketball ||| require:yellow hat\n' >wishes
feed lines "$rill" decode -q -m "$examples/de-en" --constraints wishes
exits 0; silent; lines 4
verdict "$(good [ "$(sed -n 1p out | cut -c1-9)" = "Two women" ])" "the prefix"
verdict "$(good contains basketball out)" "a required phrase"; verdict "$(good contains "yellow hat" out)" "and the other"
if contains "Where did" out; then verdict 0 "a banned phrase"; fi
cp out wanted
feed lines "$rill" decode -q -m "$examples/de-en"
verdict "$(good [ "$(sed -n 2p out)" = "$(sed -n 2p wanted)" ])" "a line without wishes is as ever"
for schedule in "--method var-stream --budget 7 --max-items 4" "--workers 2" "--method var-batch -n 2 --sort length" \
  "--config checking.lua"; do
  feed lines "$rill" decode -q -m "$examples/de-en" --constraints wishes $schedule
  exits 0; silent; same wanted out
done
feed lines "$rill" decode -q -m "$examples/de-en" --n-best 4 --constraints wishes --scorer word_reward:0.1
exits 0
verdict "$(good [ "$(grep -c "^3 .*basketball.*yellow hat\|^3 .*yellow hat.*basketball" out)" = "$(grep -c '^3 ' out)" ])" "all of a list"

# --- a run file's are the same, and an option goes before them; what decodes without them refuses them
printf 'return { model = "%s", constraints = "wishes" }\n' "$examples/de-en" >run.lua
feed lines "$rill" run run.lua -q
exits 0; silent; same wanted out
printf '\n\n\n\n' >none
feed lines "$rill" run run.lua -q --constraints none
exits 0
verdict "$(good [ "$(sed -n 1p out | cut -c1-9)" != "Two women" ])" "no prefix"
feed lines "$rill" bench --config run.lua --methods greedy
exits 1; says 'run.lua'; says 'constraints: this command does not use it: leave it out'
printf 'return { model = "%s", constraints = "wishes", sweep = rill.sweep{ k = {1} } }\n' "$examples/de-en" >sweep.lua
feed lines "$rill" run sweep.lua -q
exits 1; says "a sweep cannot be combined with constraints"
run "$rill" check run.lua -i lines --runs 1
exits 0; says "warning: run.lua: constraints are not checked"
paste lines lines >dev
run "$rill" tune sweep.lua --dev dev
exits 1; says 'constraints: this command does not use it: leave it out'

# --- for all inputs
feed lines "$rill" decode -q -m "$examples/de-en" --scorer "ban:dog ||| yellow hat" --scorer "prefix:A"
exits 0; lines 4
if grep -qw 'dog\|yellow hat' out; then verdict 0 "banned phrases"; fi
verdict "$(good [ "$(grep -c '^A' out)" = 4 ])" "all begin so"
head -n 3 "$inputs/geo.txt" >questions
feed questions "$rill" decode -q -m "$examples/geo" --scorer "require:argmin"
exits 0
verdict "$(good [ "$(grep -c argmin out)" = 3 ])" "argmin everywhere"
head -n 1 "$inputs/gum.txt" >tree
feed tree "$rill" decode -q -m "$examples/gum" --scorer "ban:NP"
exits 0; lines 1
if contains "(NP" out; then verdict 0 "no NP"; fi
feed lines "$rill" decode -q -m "$examples/de-en" --no-repeat-ngram 1 --repetition-penalty 1.5 -k 3
exits 0
for line in 1 2 3 4; do
  verdict "$(good [ -z "$(sed -n ${line}p out | tr ' ' '\n' | sort | uniq -d)" ])" "no word twice in line $line"
done

# --- sets of outputs
printf 'A dog is sleeping.\nYes.\n\nThe keys are on the table.\nYes.\n' >titles
run "$rill" trie titles -m "$examples/de-en" -o set
exits 0; silent; prints_nothing
wide=(--n-best 4 -k 4 --min-width 4 --max-candidates 4 --stop-after 4)
feed lines "$rill" decode -q -m "$examples/de-en" "${wide[@]}" --scorer trie:set
exits 0; silent
verdict "$(good [ -z "$(cut -d'|' -f4 out | sed 's/^ //; s/ $//' | sort -u | grep -vxFf titles)" ])" "nothing else"
verdict "$(good [ "$(grep -c '^0 ' out)" = 4 ])" "all of them"
cp out wanted
feed lines "$rill" decode -q -m "$examples/de-en" "${wide[@]}" --scorer trie:set --workers 2 --config checking.lua
exits 0; same wanted out
printf '10 11 2\n10 x\n10 99999\n10 abcdefghijklmnopqrstuvwxyz\n' >numbers
run "$rill" trie numbers -m "$examples/geo" -o other --ids
exits 2; says "line 2: \"x\" is not an action id"
says "line 4: \"abcdefghijklmnopqrst\" is not an action id"; says "line 3: a sequence of the trie has action 99999, which is not one of"
feed lines "$rill" decode -q -m "$examples/de-en" --scorer trie:other
exits 1; says "trie: the file was made for a model with"
cp set kept
run "$rill" trie /dev/null -m "$examples/geo" -o set
exits 1; says "the trie has no sequences"; same set kept
run "$rill" trie titles -m "$examples/geo" -o titles
exits 1
run "$rill" trie titles -m "$examples/geo"
exits 1; says "no output file: set -o FILE"
head -c 40 set >damaged
feed lines "$rill" decode -q -m "$examples/de-en" --scorer trie:damaged
exits 1; says "damaged: its size differs from the size in its header"

# --- unsatisfiable constraints fail their input alone, and the message names them
printf 'prefix:\xe4\n\nbann:x\n' >wishes
feed lines "$rill" decode -q -m "$examples/de-en" --constraints wishes
exits 2; lines 4
says 'line 1: prefix: '; says 'line 3: constraints: this run has no scorer "bann"'
says "line 4: the --constraints file has no line for this input"
line_is 1 ""; line_is 2 "Yes."; line_is 3 ""; line_is 4 ""
printf 'allow:argmin\n' >wishes
head -n 1 questions >question
feed question "$rill" decode -q -m "$examples/geo" --constraints wishes --max-length 3 --scorer "ban:argmin"
exits 0 # the end is always allowed
printf 'ban:(\nno colon\n\n' >wishes
feed questions "$rill" decode -q -m "$examples/geo" --constraints wishes --min-length 2 --scorer "prefix:( lambda"
exits 2
says "line 1: no hypothesis is left at timestep 1: scorer ban masks all actions that the model allows"
says 'no hypothesis is left at timestep 1: scorer ban masks all actions that the model allows'
printf 'require:' >wishes
for i in $(seq 300); do printf ' argmin'; done >>wishes
feed question "$rill" decode -q -m "$examples/geo" --constraints wishes
exits 2; says "line 1: require: 300 actions in 1 phrases: at most 255 actions in 32 phrases can be required"
feed question "$rill" decode -q -m "$examples/geo" --no-repeat-ngram 1 --scorer "prefix:( (" --max-length 3
exits 2; says "line 1: no hypothesis is left at timestep 2: scorer prefix masks all actions that the model allows"
feed question "$rill" decode -q -m "$examples/geo" --no-repeat-ngram 1 --min-length 60
exits 2; says ": no-repeat-ngram-size 1, the model or a heuristic excludes all actions"
cat >picky.lua <<'LUA'
rill.scorer{ name = "picky", score = function(rows)
  for i = 1, rows.n do
    local first, final = rows:range(i)
    for r = first, final do
      if rows:text(i):find("^Ja") then rows:refuse(r, "no yes today") end
    end
  end
end }
LUA
feed lines "$rill" decode -q -m "$examples/de-en" --plugin picky.lua --scorer picky --n-best 1
exits 2; lines 3; says "line 2: no yes today"
verdict "$(good [ "$(grep -c line err)" = 1 ])" "that one alone"
feed question "$rill" decode -q -m "$examples/geo" --constraints nowhere
exits 1; says "nowhere"
feed question "$rill" decode -q -m "$examples/geo" --constraints wishes -o wishes
exits 1

# --- where a domain cannot tokenize texts, these are names, and numbers only of actions without names
cat >digits.lua <<'LUA'
rill.domain{
  name = "digits", summary = "numbers that are names", end_action = "end", separator = " ",
  actions = { "end", "9", "8", "7", "6", "5", "4", "3" },
  start = function(_, input) return 3 end,
  choices = function(_, left)
    if left == 0 then return { ["end"] = -0.1 } end
    return { ["5"] = -0.1, ["3"] = -0.2, ["7"] = -0.3 }
  end,
  advance = function(_, left) return left - 1 end,
}
rill.domain{
  name = "unnamed", summary = "the same without names", actions = 8, end_action = 0,
  start = function(_, input) return 3 end,
  choices = function(_, left) return left == 0 and { [0] = -0.1 } or { [4] = -0.1, [6] = -0.2, [2] = -0.3 } end,
  advance = function(_, left) return left - 1 end,
  finalize = function(_, h) return "done" end,
}
LUA
echo x >x
while IFS='|' read -r scorer wanted; do
  feed x "$rill" decode -q --plugin digits.lua --domain digits --scorer "${scorer//\// ||| }"
  exits 0; line_is 1 "$wanted"
done <<'END'
ban:7|5 5 5
ban:5|3 3 3
ban:5/3|7 7 7
ban:5 5|5 3 5
prefix:7 3|7 3 5
allow: 7 3 |3 3 3
END
for wrong in 4x 1 0 12345678901; do
  feed x "$rill" decode -q --plugin digits.lua --domain digits --scorer "ban:$wrong"
  exits 2; says "line 1: ban: \"$wrong\": the model has no action \"$wrong\""
done
while IFS='|' read -r scorer wanted; do
  feed x "$rill" decode -q --plugin digits.lua --domain unnamed --ids --scorer "$scorer"
  exits 0; line_is 1 "$wanted"
done <<'END'
ban:4|6 6 6 0
prefix:2 6|2 6 4 0
END
feed x "$rill" decode -q --plugin digits.lua --domain unnamed --scorer ban:8
exits 2; says 'the model has no action "8"'
# also of tries, and of outputs that are scored
printf '7 3 3\n3 3 7\n' >set
run "$rill" trie --plugin digits.lua --domain digits -o names.trie set
exits 0
feed x "$rill" decode -q --plugin digits.lua --domain digits --scorer trie:names.trie
exits 0; line_is 1 "3 3 7"
finish
