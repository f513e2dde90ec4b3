#!/usr/bin/env bash
# Scripts as plugins of the command: every command takes them, wherever the option stands, under limits that options set.
set -eu
. "${0%/*}/../cli/lib.sh"

printf '%s\n' alpha beta gamma delta >four
decode() { feed four "$rill" decode --plugin "$toy" --domain toy "$@"; }
cat >cut.lua <<'END'
print("cut.lua", "is read")
rill.heuristic{
  name = "cut", arguments = "DELTA", summary = "as absolute does",
  create = function(text) return tonumber(text) or error("a number is needed, as in cut:2", 0) end,
  apply = function(b, delta) b.keep = b.path_score:ge(b.best - delta) end,
}
rill.scorer{ name = "nothing", score = function(rows) end }
rill.scheduler{ name = "in-turn", choose = function(f) return f.item_id:order() end }
END

# --- every command knows what a script declares; order of options does not matter
decode -q --heuristic absolute:0.5
cp out expected
decode -q --plugin cut.lua --heuristic cut:0.5
exits 0; same out expected; says "$(printf 'cut.lua\tis read')"
decode -q --heuristic cut:0.5 --scorer nothing --scheduler in-turn --plugin cut.lua
exits 0; same out expected
decode -q --heuristic cut:0.5
exits 1; says 'unknown heuristic "cut"'
run "$rill" list --plugin cut.lua
exits 0; prints "cut:DELTA"; prints "as absolute does"; prints "nothing"; prints "in-turn"
run "$rill" info --domain toy --plugin cut.lua --plugin "$toy"
exits 0; prints "toy"
run "$rill" eval --plugin cut.lua --refs expected expected
exits 0; prints "exact"
run "$rill" bench --plugin "$toy" --domain toy -i four -q --repeat 1 --plugin cut.lua \
  --methods var-stream:heuristic=cut:0.5,var-stream:heuristic=absolute:0.5
exits 0
decode -q --plugin cut.lua --heuristic cut:x
exits 1; says "a number is needed, as in cut:2"; prints_nothing
decode --plugin cut.lua --help
exits 0; says "is read"; prints "--script-steps N"

# --- options of a domain in Lua, in every source of options
cat >ring.lua <<'END'
rill.domain{
  name = "ring", actions = { "on", "off" }, end_action = "off", max_length = 9,
  options = {
    { name = "turns", argument = "N", type = "number", default = 2, help = "how often it says on" },
    { name = "loud-one", help = "say it in capitals" },
    { name = "after", argument = "TEXT", help = "what comes last" },
    { name = "from", argument = "FILE", type = "path", help = "nothing" },
  },
  open = function(options)
    local given = options.given
    return { turns = given.turns, loud = given.loud_one, after = given.after or "", from = given.from or "" }
  end,
  start = function(self) return 0 end,
  choices = function(self, n) return { [n < self.turns and "on" or "off"] = 0 } end,
  advance = function(self, n) return n + 1 end,
  finalize = function(self, h)
    local text = ("on "):rep(#h.actions) .. self.after .. self.from
    return self.loud and text:upper() or text
  end,
}
END
echo x >x
feed x "$rill" decode -q --plugin ring.lua --domain ring
exits 0; line_is 1 "on on "
feed x "$rill" decode -q --turns 3 --after end --plugin ring.lua --domain ring --loud-one
exits 0; line_is 1 "ON ON ON END"
feed x "$rill" decode -q --plugin ring.lua --domain ring --turns many
exits 1; says 'turns: "many" is not a number'; says_not "inf"
run "$rill" info --domain ring --plugin ring.lua
exits 0; prints "options      --turns N: how"; prints "             --loud-one: say it in capitals"
run "$rill" decode --help --plugin ring.lua
exits 0; prints "--turns N"; prints "how often it says on (default 2; ring)"; prints "--loud-one "
# a model's own, whether it names its domain or the user does; those of another domain are not for this one
mkdir -p nameless other
echo '{"rill": {"options": {"turns": 3}}}' >nameless/config.json
feed x "$rill" decode -q --plugin ring.lua --domain ring -m nameless
exits 0; line_is 1 "on on on "
run "$rill" info --plugin ring.lua --domain ring nameless
exits 0; prints "recommended  turns 3"
echo '{"rill": {"domain": "ring", "options": {"turns": "x"}}}' >nameless/config.json
run "$rill" info --plugin ring.lua nameless
exits 1; says 'turns: "x" is not a number'; prints "problem      nameless/config.json: "; prints "domain       ring: "
prints "files        config.json"; says_not "names no domain"
echo '{"rill": {"options": {"heuristics": ["nothing"]}}}' >nameless/config.json
run "$rill" info --plugin ring.lua nameless
exits 1; prints 'problem      nameless/config.json: unknown heuristic "nothing"'; prints "files        config.json"
echo '{"rill": {"domain": "toy", "options": {"toy_seed": 3}}}' >other/config.json
feed x "$rill" decode -q --plugin ring.lua --plugin "$toy" --domain ring -m other
exits 0; line_is 1 "on on "
mkdir -p there
cat >there/run.lua <<'END'
return { domain = "ring", turns = 1, loud_one = true, after = "z", from = "f" }
END
feed x "$rill" run there/run.lua -q --plugin ring.lua --after y
exits 0; line_is 1 "ON YTHERE/F"
echo 'return { domain = "ring", turns = "1" }' >there/run.lua
feed x "$rill" run there/run.lua -q --plugin ring.lua
exits 0; line_is 1 "on "
echo 'return { domain = "ring", loud_one = 3 }' >there/run.lua
feed x "$rill" run there/run.lua -q --plugin ring.lua
exits 1; says "there/run.lua:1: loud_one: \"3\" is not true or false"
# the file's own plugin brings the keys; a mistake has its place
cat >there/run.lua <<'END'
return { plugins = { "../ring.lua" }, domain = "ring", turns = 3,
  heuristics = { function(b) end } }
END
for workers in 1 2; do
  feed x "$rill" run there/run.lua -q --workers $workers
  exits 0; line_is 1 "on on on "
done
sed 's/turns = 3/turns = "3x"/' there/run.lua >there/bad.lua
feed x "$rill" run there/bad.lua -q
exits 1; says 'there/bad.lua:1: turns: "3x" is not a number'
# many of them
cat >many.lua <<'END'
for d = 1, 12 do
  local options = {}
  for i = 1, 30 do options[i] = { name = "option-" .. d .. "-" .. i, argument = "N", type = "number" } end
  rill.domain{ name = "many" .. d, actions = { "on", "off" }, end_action = "off", options = options,
    start = function() return 0 end, choices = function() return { off = 0 } end, advance = function() return 0 end,
    finalize = function(self) return tostring(self.given.option_7_30) end }
end
END
echo 'return { domain = "many7", option_7_30 = 4 }' >there/run.lua
feed x "$rill" run there/run.lua -q --plugin many.lua
exits 0; line_is 1 "4.0"
feed x "$rill" decode -q --plugin many.lua --domain many7 --option-7-30 5
exits 0; line_is 1 "5.0"
run "$rill" decode --help --plugin many.lua
exits 0; prints "--option-12-30 N"
run "$rill" decode --plugin many.lua --optoin-12-30 5
exits 1; says "unknown option --optoin-12-30; did you mean --option-12-30?"
# called as the lists are that a reader of run files keeps for itself
cat >names.lua <<'END'
rill.domain{ name = "names", actions = { "on", "off" }, end_action = "off",
  options = { { name = "choices", argument = "A" }, { name = "settings", argument = "A" }, { name = "point" },
    { name = "also", argument = "A" } },
  start = function() return 0 end, choices = function() return { off = 0 } end, advance = function() return 0 end,
  finalize = function(self) local g = self.given return g.choices .. g.settings .. tostring(g.point) .. g.also end }
END
echo 'return { domain = "names", choices = "a", settings = "b", point = true, also = "c", n_best = 1 }' >there/run.lua
feed x "$rill" run there/run.lua -q --plugin names.lua
exits 0; prints "abtruec"
# with its own default form
sed 's/options = {/& { name = "mark", argument = "[=FORM]" },/; s/return g.choices/return g.mark/' names.lua >mark.lua
for form in '"wide"' 3; do
  echo "return { domain = 'names', mark = $form, settings = 'b', also = 'c' }" >there/run.lua
  feed x "$rill" run there/run.lua -q --plugin mark.lua
  exits 0; line_is 1 "$(echo "$form" | tr -d '"')bnilc"
done
echo "return { domain = 'names', mark = {}, settings = 'b', also = 'c' }" >there/run.lua
feed x "$rill" run there/run.lua -q --plugin mark.lua
exits 1; says "mark: true, false, a string or a number was expected, not a table"

refused_options() { # refused_options LIST SENTENCE
  printf 'rill.domain{ name = "r", actions = 2, start = print, choices = print, advance = print, options = %s }\n' "$1" >bad.lua
  run "$rill" list --plugin bad.lua
  exits 1; says "$2"
}
refused_options '{ {} }' "an entry has no name"
refused_options '{ 3 }' "was expected, not a number"
refused_options '3' "options is a number"
refused_options '{ { name = "n-best", argument = "K" } }' 'option "n-best": the name is taken: use another'
refused_options '{ { name = "pretty" } }' 'option "pretty": the name is taken: use another'
refused_options '{ { name = "aa", argument = "A" }, { name = "aa" } }' 'option "aa": the name is taken: use another'
for name in k i - -- -a a- a_b "A B"; do # what would be no option of a command line, or another's letter
  refused_options "{ { name = \"$name\", argument = \"A\" } }" "option \"$name\": the name must have 2 to 40 of a-z, 0-9 and -"
done
refused_options '{ { name = "aa", argument = "A", type = "int" } }' 'type "int": text, path, number or switch was expected'
refused_options '{ { name = "aa", type = "number" } }' "must have either the type \"switch\" or an argument"
refused_options '{ name = "aa", argument = "A" }' \
  'bad.lua:1: rill.domain: options: a list { {name = "NAME", ...}, ... } was expected, not a table with the key "'
refused_options '{ aa = { argument = "A" } }' 'was expected, not a table with the key "aa"'
refused_options '{ nil, { name = "aa" }, [9] = 3 }' "a list without gaps was expected"
refused_options '{ { name = "aa", zzzz = "A" } }' \
  'unknown key "zzzz": expected name, argument, type, default or help'
refused_options '{ { name = "aa", argumnt = "A" } }' 'bad.lua:1: rill.domain: options: unknown key "argumnt": did you mean "argument"?'
refused_options '{ { "aa", argument = "A" } }' "rill.domain: options: a key must be a string, not 1"
refused_options '{ { name = "aa", argument = "A", type = "number", default = "many" } }' \
  'bad.lua:1: rill.domain: options: aa: the default "many" is not a number'
refused_options '{ { name = "aa", default = 1 } }' "aa: the default of a switch must be true or false"
refused_options '{ { name = "aa", argument = "A", default = true } }' "default must be a string"
# defaults, by their types, where nothing was given
cat >defaults.lua <<'END'
rill.domain{ name = "defaults", actions = { "on", "off" }, end_action = "off",
  options = { { name = "number", argument = "N", type = "number", default = 2.5 }, { name = "on-switch", default = true },
    { name = "off-switch", default = false }, { name = "text", argument = "T", default = "t" }, { name = "none", argument = "T" } },
  open = function(o) return o.given end,
  start = function() return 0 end, choices = function() return { off = 0 } end, advance = function() return 0 end,
  finalize = function(g) return ("%s %s %s %s %s"):format(g.number + 1, g.on_switch, g.off_switch, g.text, g.none) end }
END
feed x "$rill" decode -q --plugin defaults.lua --domain defaults
exits 0; line_is 1 "3.5 true nil t nil"
feed x "$rill" decode -q --plugin defaults.lua --domain defaults --number 1 --text u --none v --off-switch
exits 0; line_is 1 "2.0 true true u v"
run "$rill" list options --plugin defaults.lua
exits 0; prints "(default 2.5)"; prints "(default true)"

# --- a key of configurations would take what is meant for the option
sed 's/options = .*/options = { { name = "domain-args", argument = "A" } } }/' bad.lua >hidden.lua
run "$rill" list --plugin hidden.lua
exits 0; prints "domain-args=A"
echo 'return { plugins = { "../hidden.lua" }, domain = "r" }' >there/run.lua
feed x "$rill" run there/run.lua -q
exits 1; says 'domain "r": its option "domain_args" has the name of a configuration key: it needs another name'

sed 's/"domain-args"/"heuristics"/' hidden.lua >hidden-list.lua
echo 'return { plugins = { "../hidden-list.lua" }, domain = "r" }' >there/run.lua
feed x "$rill" run there/run.lua -q
exits 1; says 'domain "r": its option "heuristics" has the name of a configuration key: it needs another name'

# --- what a script prints stands on stderr, with the progress line out of its way
cat >talk.lua <<'END'
local n = 0
local function work() -- as long on every machine, and together long enough for a progress line
  local begin = os.clock()
  while os.clock() < begin + 0.06 do end
end
rill.heuristic{ name = "talk", apply = function(b) work() n = n + 1 print("call " .. n) rill.log("quietly") end }
END
decode --unsafe-scripts --plugin talk.lua --heuristic talk --progress
exits 0; says "call 1"; says_not "quietly"; says "done  "
verdict "$(good [ "$(tr '\r' '\n' <err | grep -c 'done.*call')" = 0 ])" "no line of a script's is written behind the progress"
decode --unsafe-scripts -q -v --plugin talk.lua --heuristic talk
exits 0; says "rill: quietly"

# --- what cannot be loaded
run "$rill" list --plugin no_such.lua
exits 1; says "rill: plugin no_such.lua: found neither a file of that path nor a plugin of that name in "; prints_nothing
mkdir folder.lua
run "$rill" list --plugin folder.lua
exits 1; says "cannot open folder.lua: it is a directory"
echo 'local x = = 1' >wrong.lua
run "$rill" list --plugin wrong.lua
exits 1; says "rill: wrong.lua:1: unexpected symbol"
printf 'local function f() error("late") end\nrill.scorer{name = "s", score = print}\nf()\n' >late.lua
run "$rill" list --plugin late.lua
exits 1; says "rill: late.lua:1: late"; says "late.lua:3: in the main chunk"
run "$rill" list --plugin cut.lua --plugin cut.lua
exits 1; says 'heuristic "cut" is registered already'

# --- limits
echo 'for i = 1, 100000 do end rill.scorer{name = "counted", score = function(rows) end}' >counted.lua
run "$rill" list scorers --script-steps 1000000 --plugin counted.lua
exits 0; prints counted
run "$rill" list scorers --plugin counted.lua --script-steps 50000
exits 1; says "counted.lua:1: stopped after 50000 instructions in one call"; says "--script-steps"
echo 'while true do end' >endless.lua
run "$rill" list scorers --plugin endless.lua --script-steps 1000000000000 --script-seconds 0.05
exits 1; says "endless.lua:1: stopped after 0.05 seconds in one call"; says "--script-seconds"
run "$rill" list scorers --plugin endless.lua --script-steps 0 --script-seconds 0.05
exits 1; says "endless.lua:1: stopped after 0.05 seconds in one call"
run "$rill" list scorers --plugin counted.lua --script-steps 1000000 --script-seconds 0
exits 0
run "$rill" list scorers --plugin counted.lua --script-steps 0
exits 0; prints counted
echo 'local s = ("x"):rep(3000000)' >large.lua
run "$rill" list scorers --plugin large.lua
exits 0
run "$rill" list scorers --plugin large.lua --script-memory 2M
exits 1; says "script large.lua: out of memory"; says "--script-memory"
for wrong in "--script-memory 0" "--script-memory 2" "--script-memory x" "--script-steps -1" "--script-steps 1.5" "--script-seconds -1" \
  "--script-seconds nan" "--script-memory" "--unsafe-scripts=1"; do
  # shellcheck disable=SC2086
  run "$rill" list $wrong
  exits 1; says "${wrong%%[ =]*}"; prints_nothing
done

# --- files and the system are shut unless they are opened
echo 'local f <close> = io.open("made", "w") f:write("x") rill.scorer{name = "opened", score = function(rows) end}' >opened.lua
run "$rill" list scorers --plugin opened.lua
exits 1; says "opened.lua:1: 'io' is not available to sandboxed scripts: --unsafe-scripts enables it"
verdict "$(good [ ! -e made ])" "nothing was written"
run "$rill" list scorers --plugin opened.lua --unsafe-scripts
exits 0; prints opened
verdict "$(good [ -e made ])" "the file was written"
echo 'os.exit(0)' >leave.lua
run "$rill" list --plugin leave.lua --unsafe-scripts
exits 1; says "a script cannot end the process"

# --- a failure in mid-run: the reason, the input, and what was done
cat >late_failure.lua <<'END'
local n = 0
rill.heuristic{ name = "late", apply = function(b) n = n + 1 if n > 30 then local x = nil + 1 end end }
rill.heuristic{ name = "endless", apply = function(b) pcall(function() while true do end end) end }
END
seq 1 40 >forty
feed forty "$rill" decode --plugin "$toy" --domain toy -q -n 1 --plugin late_failure.lua --heuristic late
exits 1; says "heuristic late, while decoding input"; says "late_failure.lua:2: attempt to perform arithmetic on a nil value"
says "stack traceback:"
cp out part
feed forty "$rill" decode --plugin "$toy" --domain toy -q -n 1
exits 0
verdict "$(good [ -s part ])" "something was done"
verdict "$(good cmp -s part <(head -n "$(wc -l <part)" out))" "what was done is the beginning of the whole"
decode -q --plugin late_failure.lua --heuristic endless --script-steps 10000
exits 1; says "late_failure.lua:3: stopped after 10000 instructions"; prints_nothing
finish
