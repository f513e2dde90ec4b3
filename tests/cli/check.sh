#!/usr/bin/env bash
# rill check: correct plugins pass; faulty ones are reported with the reason.
#   usage: check.sh RILL CHECK_JSON DATA TOY_PLUGIN CHECK_PLUGIN TEMPLATE_DOMAIN TEMPLATE_HEURISTIC NEURAL ROOT
set -eu
. "${0%/*}/lib.sh"
cd - >/dev/null
bad=$(absolute "$5") examples=()
for file in "${@:6:3}"; do examples+=("$(absolute "$file")"); done
root=$9
cd "$work"

# tells THING WORDS...: the line about THING contains WORDS
tells() {
  local thing=$1 words
  shift
  grep -e "^$thing" out >line || true
  verdict "$(good [ "$(wc -l <line)" -eq 1 ])" "a line about $thing was expected"
  for words; do verdict "$(good contains "$words" line)" "the line about $thing should have: $words"; done
}

# --- what is good
for file in "${examples[@]}"; do
  case $file in
  *template.so)
    run "$rill" check --plugin "$file"
    exits 1; lines 1; tells "domain template: FAILED" "no generated input had a choice between actions" # letters have no gaps
    printf '%s\n' b_a__ _a_ 'not a word' >words
    run "$rill" check --plugin "$file" -i words --runs 1
    exits 0; silent; lines 1; tells "domain template: " "runs of 3 inputs agree"
    ;;
  *heuristic.so)
    run "$rill" check --plugin "$file" --heuristic gap:1 --heuristic gap:0.25
    exits 0; lines 2; tells "heuristic gap:1: " "runs agree"; tells "heuristic gap:0.25: " "runs agree"
    run "$rill" check --plugin "$file"
    exits 1; says "1 of 1 not tested"; tells "heuristic gap: not tested: it needs arguments: set --heuristic gap:D" 'gap: "" is not'
    ;;
  esac
done
for model in semparse/tiny shiftreduce/tiny mt/shared; do
  run "$rill" check -m "$data/$model" --runs 1
  exits 0; silent; lines 1; tells "domain ${model%%/*}: " "agree"
done
run "$rill" check --plugin "$toy" --domain-args own_bound=1 --domain toy
exits 1; tells "domain toy: " "agree"; tells "heuristic mixing: FAILED" " gives input " "another result alone than in a batch of"
run "$rill" check --heuristic absolute:2 --scorer word_reward:0.2 --scheduler top-up --seed 7 --runs 2
exits 0; lines 3; tells "heuristic absolute:2: " agree; tells "scorer word_reward:0.2: " agree; tells "scheduler top-up: " agree
run "$rill" check --plugin "$root/examples/lua/spelling.lua" --runs 1
exits 0; tells "domain spelling: " agree
if [ -n "${RILL_TEST_RACES:-}" ]; then finish; exit; fi  # the checks below concern the report
run "$rill" check --plugin "$root/examples/lua/schedulers.lua" --runs 5
exits 0; lines 3
run "$rill" check --plugin "$root/examples/lua/nucleus.lua" --heuristic nucleus:1e-2 -m "$tiny" --runs 1
exits 0; lines 2; tells "domain semparse: " agree; tells "heuristic nucleus:1e-2: " agree
lua() { # lua FILE OPTION...: every thing of an example, with good arguments
  run "$rill" check --plugin "$root/examples/lua/$1.lua" --runs 4 "${@:2}"
  exits 0; silent; lines $((($# - 1) / 2))
}
lua absolute_live --heuristic absolute_live:1
lua bigram --scorer repeat_penalty:1 --scorer bigram:1
lua builtin --heuristic lua-absolute:2 --heuristic lua-relative:0.1 \
  --heuristic lua-relative_local:0.1 --heuristic lua-patience:0.5 --scorer lua-max_candidates:2
lua entropy_width --heuristic entropy_width:1,2
lua funnel --heuristic funnel:0.9,2
lua largest_gap --heuristic largest_gap:1
lua length_aware --heuristic length_aware:2,-0.05
lua lexicon --scorer 'lexicon:1,a c'
lua settled --heuristic settled:2
lua word_reward --scorer lua-word_reward:0.3

# --- what is not
run "$rill" check --plugin "$bad" --runs 5
exits 1; says "14 of 15 failed"; lines 15
tells "domain letters: " "agree" "its choices are not log-probabilities although unnormalised is not set"
tells "domain by-rows: FAILED: input 0" "alone (var-batch) \"" "in a batch of " "score -" "a row's result depends on other rows of the call"
tells "domain by-node: FAILED: input 0" "a row's result depends on other rows of the call, on their number or order, or on its node or slot"
tells "domain by-time: FAILED: input 0" "two equal runs on one model differ"
tells "domain by-model: FAILED: input 0" "with 3 workers" "share memory that they write"
tells "domain by-threads: FAILED: input 0" "with 2 threads"
tells "domain nan: FAILED: alone (var-batch): domain nan: choices of input 0 at timestep 2 are not sorted, or not numbers"
tells "domain shares: FAILED: its choices look like probabilities" "natural logarithms are expected"
tells "domain spoils: FAILED: input 0 at timestep 0: the choices of a state differ after its children were made: first 6, the best action" \
  "step (in Lua, advance) changes the parent's state"
tells "domain wears: FAILED: input 0 at timestep 1: the choices of a state differ when it is called again" \
  "score() changes data that it reads"
tells "domain no-input: FAILED: no input could be decoded" "nothing suits it" "-i FILE"
tells "heuristic counting: FAILED" "an instance gives other results for the same inputs in a second run: it keeps state; each call has"
tells "heuristic shared: FAILED" "two equal runs differ: it keeps state"
tells "scorer by-rows: FAILED" "scorer by-rows gives input"
tells "scheduler garbage: FAILED" "scheduler garbage chose item"
cp out first
run "$rill" check --plugin "$bad" --runs 5
same out first
run "$rill" check --plugin "$bad" --domain by-rows --threads 4 --workers 2 --seed 3
exits 1; tells "domain by-rows: FAILED" "a row's result depends on other rows of the call"
tells "domain by-threads: FAILED" "with 4 threads"

cat >remembers.lua <<'END'
local seen = 0
rill.heuristic{
  name = "upvalue",
  apply = function(b) seen = seen + 1; b:narrow(1 + seen % 3) end,
}
rill.heuristic{
  name = "instance",
  create = function() return { seen = 0 } end,
  apply = function(b, self) self.seen = self.seen + 1; b:narrow(1 + self.seen % 3) end,
}
rill.heuristic{
  name = "mixing",
  apply = function(b) b:narrow(b.n > 1 and 1 or 9) end,
}
END
run "$rill" check --plugin remembers.lua
exits 1; says "3 of 3 failed"
tells "heuristic upvalue: FAILED" "two equal runs differ"
tells "heuristic instance: FAILED" "an instance gives other results for the same inputs in a second run: it keeps state; each call has"
tells "heuristic mixing: FAILED" "heuristic mixing gives input "

# --- domains in Lua: numbers that are no log-probabilities, and states that change under their children
# domain NAME ADVANCE CHOICES [MORE]: a state has words and a sum
domain() {
  cat <<END
rill.domain{
  name = "$1", actions = { "a", "b", "end" }, end_action = "end", max_length = 5, ${4:-}
  start = function() return { sum = 0, words = { 0 } } end,
  advance = function(self, s, action) $2 end,
  choices = function(self, s, depth)
    local w = 1 + (s.sum + 3 * #s.words) % 4
    local a, b, e = w, 2, 1 + depth
    local all = a + b + e
    $3
  end,
}
END
}
good='return { sum = s.sum + #action, words = { action, table.unpack(s.words) } }'
logs='return { a = math.log(a / all), b = math.log(b / all), ["end"] = math.log(e / all) }'
{
  domain right "$good" "$logs"
  domain same 's.sum = s.sum + #action return s' "$logs"
  domain nested 's.words[#s.words + 1] = action return { sum = s.sum, words = s.words }' "$logs"
  domain wears "$good" "s.sum = s.sum + 1 $logs"
  domain shares "$good" 'return { a = a / all, b = b / all, ["end"] = e / all }'
  # some are not legal, and what is left adds up to less
  domain fewer "$good" 'return { a = a / all, b = depth < 2 and b / all or nil, ["end"] = e / all }'
  domain scores "$good" 'return { a = a, b = b, ["end"] = e - 2.5 }'
  domain costs "$good" 'return { a = -a / 9, b = -b / 9, ["end"] = -e / 9 }'
  domain said "$good" 'return { a = a, b = b, ["end"] = e - 2.5 }' 'unnormalised = true,'
  domain told "$good" 'return { a = a / all, b = b / all, ["end"] = e / all }' 'unnormalised = true,'
  domain unsaid "$good" "$logs" 'unnormalised = 1,'
} >states.lua
run "$rill" check --plugin states.lua --runs 1
exits 1; lines 11; says "5 of 11 failed, 1 not tested"
for name in right said told; do
  tells "domain $name: " agree
  if contains "log-prob" line; then verdict 0 "nothing is wrong with $name"; fi
done
tells "domain same: FAILED: input 0 at timestep 0: the choices of a state differ after its children were made" \
  "step (in Lua, advance) changes the parent's state" '"a" at'
tells "domain nested: FAILED" "after its children were made"
tells "domain wears: FAILED" "when it is called again"
tells "domain shares: FAILED" "probabilities" "natural logarithms"
tells "domain fewer: FAILED" "probabilities" "natural logarithms"
tells "domain scores: " agree "its choices are not log-probabilities although unnormalised is not set, so certificates are wrong"
tells "domain costs: " agree "; its choices are not log-probabilities although unnormalised is not set, so certificates are wrong"
tells "domain unsaid: not tested"
says "unnormalised: true or false was expected, not a number"
printf 'x\n' >an-input
run "$rill" decode --plugin states.lua --domain said --certify -i an-input
exits 1; says "certify needs scores that are log-probabilities; this model's are not"

# --- what a scorer declares about itself
cat >boasts.lua <<'END'
local function score(rows) rows:reward(nil, 0.5) end
rill.scorer{ name = "honest", score = score, max_bonus = function() return 0.5 end }
rill.scorer{ name = "humble", score = score, max_bonus = function() return 0.25 end }
END
run "$rill" check --plugin boasts.lua --runs 2
exits 1; says "1 of 2 failed"
tells "scorer honest: " agree
tells "scorer humble: FAILED" "scorer humble adds more to an action of input" "than its declared max_bonus"

# --- plugins that no option names are tried too, or a line says what that takes
run "$rill" check --plugin "$bad" --heuristic absolute:2 --heuristic counting --runs 2
exits 1; lines 16; tells "heuristic absolute:2: " agree; tells "heuristic counting: FAILED"; tells "scheduler garbage: FAILED"
says "14 of 16 failed"
run "$rill" check --plugin "$root/examples/lua/bigram.lua" --scorer repeat_penalty:1 --runs 2
exits 1; lines 2; tells "scorer repeat_penalty:1: " agree; tells "scorer bigram: not tested: it needs arguments: set --scorer bigram:"
says "1 of 2 not tested"
cat >locked.lua <<'END'
rill.domain{
  name = "locked", actions = { "a", "b", "end" }, end_action = "end", max_length = 4,
  options = { { name = "key", argument = "TEXT" } },
  open = function(o) if o.given.key ~= "of-gold" then return nil, "it is locked" end return {} end,
  start = function() return 0 end,
  choices = function(self, n) return { a = -1, b = -2 - n, ["end"] = n - 3 } end,
  advance = function(self, n) return n + 1 end,
}
END
run "$rill" check --plugin locked.lua --heuristic absolute:2 --runs 1
exits 1; says "it is locked"; says "1 of 2 not tested"; tells "domain locked: not tested: it cannot be opened"
run "$rill" check --plugin locked.lua --domain locked --runs 1
exits 1; says "1 of 1 failed"; tells "domain locked: FAILED: it cannot be opened"
# an option of a domain goes to all that have it, and to no others
run "$rill" check --plugin locked.lua --plugin remembers.lua --key of-gold --domain semparse -m "$tiny" --runs 1
exits 1; says "domain semparse has no option key"
run "$rill" check --plugin locked.lua --key of-gold --heuristic absolute:2 --runs 1
exits 0; silent; lines 2; tells "domain locked: " agree; tells "heuristic absolute:2: " agree
run "$rill" check --plugin locked.lua --plugin "$toy" --key of-gold --toy-seed 3 --runs 1
exits 1; tells "domain locked: " agree; tells "domain toy: " agree

# --- masks lost by Lua's `and`, `or`, `not`; no report when every mask is used, or when one is unused only in some calls
cat >masks.lua <<'END'
rill.heuristic{
  name = "both",
  apply = function(b)
    b.keep = b.path_score:ge(b.best - 4) and b.path_score:ge(b.best - 9)
  end,
}
rill.heuristic{
  name = "either",
  apply = function(b)
    local near = b.path_score:ge(b.best - 4)
    local ended = b.ended:eq(1) b.keep = near or ended
  end,
}
rill.heuristic{
  name = "none",
  apply = function(b)
    local far = b.path_score:lt(b.best - 6)
    if not far then b:narrow(1) end
  end,
}
rill.scorer{
  name = "deep",
  score = function(rows)
    local deep = rows.timestep:gt(2)
    if deep then rows:reward(nil, 0.1) end
  end,
}
END
run "$rill" check --plugin masks.lua --runs 5
exits 1; says "4 of 8 failed"; lines 8
for line in 4 11 17 24; do tells "mask masks.lua:$line: FAILED" "write a & b, a | b, ~a"; done
tells "heuristic both: " "runs agree"
cat >masks.lua <<'END'
rill.heuristic{
  name = "good",
  apply = function(b)
    local near, few, late = b.path_score:ge(b.best - 4), b.path_score:index():le(3), b.timestep:gt(2)
    if late:any() then b.keep = (near & few) | ~late end
  end,
}
rill.heuristic{
  name = "counted",
  apply = function(b)
    local near = b.path_score:ge(b.best - 4)
    b:narrow(near:count() + 1)
  end,
}
END
run "$rill" check --plugin masks.lua --runs 5
exits 0; silent; lines 2

# a run defined by a script: each link of its chains, with anonymous functions
cat >run.lua <<'END'
return {
  options = { k = 3 },
  heuristics = {
    { "absolute", 3 },
    function(b)
      b.keep = b.path_score:ge(b.best - 4) and b.path_score:index():le(3)
    end,
  },
  scorers = { function(rows) rows:reward(nil, 0.1) end },
}
END
run "$rill" check run.lua
exits 1; lines 4; says "1 of 4 failed"
tells "heuristic absolute:3: " agree; tells "heuristic script-heuristic-1: " agree; tells "scorer script-scorer-1: " agree
tells "mask run.lua:6: FAILED"
run "$rill" check run.lua -m "$tiny" --runs 1
exits 1; lines 5; tells "domain semparse: " agree; tells "mask run.lua:6: FAILED"
run "$rill" check "$root/examples/lua/run.lua" --runs 1
exits 0; silent; lines 3
run "$rill" check run.lua run.lua
exits 1; says "expected one run file, found another"

# a mask that a failed call left unused is not reported
cat >masks.lua <<'END'
rill.heuristic{
  name = "failing",
  apply = function(b)
    local near = b.path_score:ge(b.best - 4)
    b.keep = near & (b.best)[0]
  end,
}
END
run "$rill" check --plugin masks.lua --runs 5
exits 1; tells "heuristic failing: FAILED" "masks.lua:5: "; says "1 of 1 failed"

# --- what is cut in a message is cut between characters
long=$(printf '\303\251%.0s' $(seq 40))
printf '%s\n' "x$long" >accents # a single input is decoded beside itself
run "$rill" check --plugin "$bad" --domain by-rows -i accents --runs 1
exits 1; tells "domain by-rows: FAILED" "input 0, \"x${long:0:58}\": alone"

# --- what cannot be tried
run "$rill" check
exits 1; says "nothing to check"; prints_nothing
run "$rill" check --heuristic nonsense:1
exits 1; tells "heuristic nonsense:1: FAILED" 'unknown heuristic "nonsense"'
run "$rill" check -m no/such
exits 1; says "no/such"
run "$rill" check --plugin "$root/examples/lua/nucleus.lua" --runs 0
exits 1; says "--runs"
: >nothing
run "$rill" check -m "$tiny" -i nothing
exits 1; says "nothing: expected inputs, found none"
run "$rill" check -m "$tiny" -i no-such-file
exits 1; says "no-such-file"

finish
