#!/usr/bin/env bash
# The spelling corrector of examples/lua, a whole domain in Lua, as a user runs it: by all methods, from a configuration, with a
# language of the user's.
#   usage: spelling.sh RILL CHECK_JSON DATA TOY_PLUGIN ROOT
set -eu
. "${0%/*}/../cli/lib.sh"
plugin=$5/examples/lua/spelling.lua

spell() { feed "$1" "$rill" decode --plugin "$plugin" --domain spelling "${@:2}"; }

cat >typed <<'END'
teh old hose by teh watre
i recieved yuor leter yesterdya
wich way is rihgt
  We  wnt to the LIBRERY
becuase he culd not undrstand
thankyou for youre ltter
END
cat >meant <<'END'
the old house by the water
i received your letter yesterday
which way is right
we want to the library
because he could not understand
thank you for your letter
END

spell typed
exits 0; same out meant; says "6 inputs"

# --- the methods that prune give the same hypotheses with the same scores, for any batches
spell typed -q -k 6 --n-best 6 --method var-stream
exits 0; lines 36; prints "0 ||| the old house by the water |||"; prints "length= 26"
cp out best
for method in var-batch var-stream var-stream-fifo top-up stream-all; do
  spell typed -q -k 6 --n-best 6 --method $method -n 1
  exits 0; same out best
  spell typed -q -k 6 --n-best 6 --method $method -n 4 --budget 13 --sort length
  exits 0; same out best
done
spell typed -q -k 6 --n-best 6 --heuristic absolute:9 --method var-stream
exits 0; cp out pruned
spell typed -q -k 6 --n-best 6 --heuristic absolute:9 --method stream-all -n 2 --config checking.lua
exits 0; same out pruned

# --- the others decode it too
spell typed -q -k 10 --method fixed-stream
exits 0; same out meant
spell typed -q -k 10 --method fixed
exits 0; same out meant
spell typed -q --method greedy
exits 0; lines 6; line_is 6 "thank you for your letter"; differ out meant

# --- bad inputs fail alone
printf '%s\n' 'teh watre' '' 'route 66' 'naïve' 'hte sea' >odd
spell odd -q
exits 2; lines 5; line_is 1 "the water"; line_is 5 "the sea"
says_not "line 2:"
says "line 3: '6' is neither a letter nor a space"
says "line 4: 'ï' is neither a letter nor a space"

# --- a language of one's own, from a model directory; without a file of words there is none
mkdir words empty
echo 'a tea at ten. eat a tea.' >words/words.txt
printf '%s\n' tae 'a te' >short
spell short -q -m words
exits 0; line_is 1 "tea"; line_is 2 "a tea"
spell short -q -m empty
exits 1; says 'options.read: cannot open words.txt: No such file'; prints_nothing
echo 123 >empty/words.txt
spell short -q -m empty
exits 1; says "domain spelling: words.txt has no words to learn from"
mkdir model && cp words/words.txt model && echo '{"rill": {"domain": "spelling", "options": {"k": 4}}}' >model/config.json
feed short "$rill" decode --plugin "$plugin" -m model -q
exits 0; line_is 1 "tea"
run "$rill" info --plugin "$plugin" -m model
exits 0; prints "learned from 7 words"; prints "corrects the spelling"

# --- scores of outputs: both sides in canonical form; and a scorer that speaks of letters
printf '%s\n' 'The old  house by the water' >reference
spell <(head -1 typed) -q -o output
run "$rill" eval --plugin "$plugin" --domain spelling --refs reference output
exits 0; prints "100"
cat >no_h.lua <<'END'
rill.scorer{ name = "no-h", score = function(rows)
  local h = rows:find("h")
  for r = 1, rows.size do rows:ban(r, h) end
end }
END
spell <(echo 'wat he sea') -q --plugin no_h.lua --scorer no-h
exits 0; verdict "$(if grep -q h out; then echo 0; else echo 1; fi)" "no h was expected"

# --- the configuration form
cat >run.lua <<END
return { plugins = { "$plugin" }, domain = "spelling", options = { k = 6, method = "stream-all" }, n_best = 6 }
END
feed typed "$rill" decode --config run.lua -q
exits 0; same out best
cat >echo.lua <<'END'
local echo = rill.domain{
  name = "echo", actions = { "yes", "no" },
  start = function(self, input) return { text = input.text } end,
  advance = function(self, state) return state end,
  choices = function(self, state) return { [state.text] = 0 }, true end,
}
return { domain = echo }
END
feed <(printf '%s\n' no yes) "$rill" decode --config echo.lua -q
exits 0; line_is 1 no; line_is 2 yes
feed <(printf '%s\n' no maybe) "$rill" decode --config echo.lua -q
exits 1; says 'domain echo: score of input 1 ("maybe"): script echo.lua: choices: "maybe" is not among the names of the actions'

finish
