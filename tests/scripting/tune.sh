#!/usr/bin/env bash
# rill tune: grids and searches of a script's own on a dev set; its table, front, picture and JSON, each computed here once more.
set -eu
. "${0%/*}/../cli/lib.sh"
examples=$(cd "$data/../../examples" && pwd)
geo=$examples/models/geo

# A dev set on which pruning costs something: what a wide beam finds for a model of random weights, and for every third input the
# second best of it, so that an oracle has something to find.
for i in 0 1 2 3 4 5 6 7; do printf 'w%d w%d w%d\nw%d\nw%d w%d\n' $i $(((i + 3) % 8)) $(((i * 5) % 8)) $i $(((i + 1) % 8)) $i; done >inputs
"$rill" decode -m "$tiny" -i inputs -q --method fixed --finish top -k 8 --n-best 2 |
  awk -F ' [|][|][|] ' '{rank[$1]++} rank[$1] == ($1 % 3 == 1) + 1 {print $2}' >references
paste inputs references >dev.tsv
tune() { run "$rill" tune run.lua --dev dev.tsv "$@"; }
script() { printf 'return { model = "%s", %s }\n' "$tiny" "$1" >run.lua; }

# The rows of the first table: parameters, exact, oracle, expansions, mark.
rows() { awk -v n="$1" '/^$/ {part++} part == 1 && NF && !/exact%/ {
  mark = $NF == "*"
  line = ""
  for (i = 1; i <= n + 2; i++) line = line $i " "
  print line $(n + 5) " " mark }' out; }
# Which rows no other beats, by quality in column Q and expansions in column E: computed the plain way.
front_of() { awk -v q="$1" -v e="$2" '{row[NR] = $0; quality[NR] = $q + 0; cost[NR] = $e + 0}
  END { for (i = 1; i <= NR; i++) {
    beaten = 0
    for (j = 1; j <= NR; j++)
      if (quality[j] >= quality[i] && cost[j] <= cost[i] && (quality[j] > quality[i] || cost[j] < cost[i])) beaten = 1
    sub(/[01]$/, "", row[i]); print row[i] (beaten ? 0 : 1) } }'; }
check_front() { # check_front PARAMETERS QUALITY-COLUMN
  rows "$1" >marked
  front_of "$2" $(($1 + 3)) <marked >computed
  same marked computed
  verdict "$(good grep -q ' 1$' marked)" "something is on the front"
  verdict "$(good grep -q ' 0$' marked)" "something is not"
}

# --- a grid
script 'sweep = rill.sweep{ delta = {0.01, 0.5, 2, 8}, k = {1, 3, 6}, M = {1, 12} }'
tune --plot front.html --json points.json
exits 0; silent; prints "24 inputs, 24 configurations, 1 thread

"; prints "Pareto front, cheapest first"; prints "(exact)"
check_front 3 4
cp marked by_exact
# The second table has the front once more, cheapest first, equal points as one.
awk '/^Pareto front/ {on = 1} on && /^ *[0-9]/ {print $4, $8}' out >listed
awk '$7 {print $4, $6}' marked | sort -u -k2,2n >expected
same listed expected
verdict "$(good [ "$(awk '{n += NR > 0} /and [0-9]+ alike/ {for (i = 1; i <= NF; i++) if ($i == "and") n += $(i + 1)} END {print n}' \
  <(awk '/^Pareto front/ {on = 1} on && /^ *[0-9]/' out))" = "$(grep -c ' 1$' marked)" ])" "all marked points are listed or counted"
# Each parameter's values end below its name.
verdict "$(good awk '!NF { part++ } part == 1 && /exact%/ { for (i = 1; i <= 3; i++) { at[i] = index($0, " " $i " ") + length($i); n++ } }
  part == 1 && NF && !/exact%/ { for (i in at) bad += substr($0, at[i], 2) !~ /[0-9] / } END { exit n != 3 || bad }' <(sed 's/^/ /' out))" \
  "the table has columns"
tune --metric oracle
exits 0; prints "(oracle)"
check_front 3 5
# The JSON has the same.
json 24 inputs points.json; json exact metric points.json; json '{"M":1,"delta":0.01,"k":1}' configurations.0.configuration points.json
has_json points.json configurations.23.exact_percent configurations.23.run.options.beam_size \
  configurations.23.seconds configurations.23.expansions configurations.0.front
"$check_json" points.json $(for i in $(seq 0 23); do echo configurations.$i.front; done) | sed 's/true/1/; s/false/0/' >fronts
awk '{print $7}' by_exact >marks
same fronts marks
# Noise in the last digits of a parameter is for machines.
script 'sweep = rill.sweep({ c = {6 * 0.2, 1e-30 / 3, 12345678901234567, "1.2000000000000002x"} }, function() end)'
tune
exits 0; prints "        1.2 "; prints " 3.333333333e-31 "; prints " 12345678901234567 "; prints "1.2000000000000002x "
# Each point is what the run alone is.
"$rill" decode -m "$tiny" -i inputs -q --absolute 8 -k 6 --max-candidates 12 --n-best 6 --stats one.json >one.nbest
"$rill" eval -m "$tiny" --refs references --json - one.nbest >eval.json
wanted="12 8 6 $(printf '%.2f %.2f' "$("$check_json" eval.json exact_percent)" "$("$check_json" eval.json oracle_percent)")"
verdict "$(good [ "$("$check_json" eval.json exact)" -lt "$("$check_json" eval.json oracle)" ])" "the oracle knows better than the best"
verdict "$(good grep -q "^$wanted $("$check_json" one.json expansions) " by_exact)" "a row should begin: $wanted"

# --- interrupted: what was tried before is shown (--foreground: else timeout interrupts twice, which kills)
script 'tune = function(try) while true do for i = 1, 5e6 do end pcall(try, { k = 3 }) end end'
run timeout --foreground --preserve-status -s INT 3 "$rill" tune run.lua --dev dev.tsv --json stopped.json
exits 130; says "rill: run.lua: interrupted: earlier trials are kept"; prints "Pareto front, cheapest first"
verdict "$(good [ "$(grep -c interrupted err)" = 1 ])" "an interruption should be told once"
json 24 inputs stopped.json
script "sweep = rill.sweep{ k = { $(seq -s, 1 60000) } }"
run timeout --foreground --preserve-status -s INT 3 "$rill" run run.lua -i inputs
exits 130; says "rill: run.lua: interrupted: earlier trials are kept"; prints "k  exact%"

# --- the page of pictures has what --json has; how it looks is trace_page.sh's affair
pictured tune front.html >page.json
for path in inputs metric script hardware configurations.7.configuration configurations.23.expansions \
  $(for i in $(seq 0 23); do echo configurations.$i.front; done); do
  json "$("$check_json" points.json $path)" $path page.json
done
verdict "$(good contains '<title>run.lua: exact against expansions</title>' front.html)" "a title"
# Text of any kind does no harm.
script 'sweep = rill.sweep({ ["<a&\"b>"] = {"x</script>&\"\001\255\195\169"} }, function(config) end)'
tune --plot odd.html --json odd.json -q
exits 0
verdict "$(good [ "$(grep -c '</script>' odd.html)" = 2 ])" "texts end no script"
pictured tune odd.html >page.json
json "$("$check_json" odd.json configurations.0.configuration)" configurations.0.configuration page.json

# --- a search of the script's own
cat >run.lua <<END_OF_SCRIPT
return { model = "$tiny", options = { k = 6, max_candidates = 12 }, sweep = rill.sweep{ n = {1, 2} },
  tune = function(try)
    local low, high = 0, 16
    local best = try{ delta = high }
    for i = 1, 4 do
      local middle = (low + high) / 2
      local r = try{ delta = middle }
      assert(r.exact <= r.oracle and r.failed >= 0 and r.seconds > 0 and r.timesteps > 0 and not r.refused)
      if r.oracle < best.oracle then low = middle else high = middle end
    end
    local r = try{ method = "greedy" }
    print("refused: " .. r.refused)
    print(r.exact .. " " .. r.expansions)
    r = try({ own = 2 }, function(config, point) config.heuristics = { function(b) b.keep = b.path_score:ge(b.best - point.own) end } end)
    print(r.expansions == try{ delta = 2 }.expansions)
  end }
END_OF_SCRIPT
tune --json points.json --plot own.html
exits 2; says "refused: beam_size cannot be combined with method greedy, which has a beam of one hypothesis"; says "0.0 inf"; says "true"
prints "24 inputs, 8 configurations, "; prints "refused: beam_size cannot be combined with method greedy"
head_of_table=$(awk '/exact%/ {print $1, $2, $3; exit}' out)
verdict "$(good [ "$head_of_table" = "delta method own" ])" "columns as they came"
has_json points.json configurations.5.refused
json "$("$check_json" points.json configurations.5.refused)" configurations.5.refused <(pictured tune own.html)
# Results before an error are reported.
script 'tune = function(try) try{ k = 1 } try{ k = 2 } error("enough") end'
tune --json points.json
exits 1; says "run.lua:1: enough"; prints "24 inputs, 2 configurations, "; prints "
Pareto front, cheapest first: no other configuration has at least this quality for less ("; has_json points.json configurations.1.front
script 'tune = function(try)
  for i = 1, 3 do
    pcall(try, { i = i }, function(c, p) c.heuristics = { function(b) if p.i == 2 then error("within") end end } end)
  end
end'
tune
exits 1; says "run.lua: i=2: "; says "run.lua:3: within"; prints "24 inputs, 1 configuration, "
script 'sweep = rill.sweep({ a = {1, 2} }, function(config, point) if point.a == 2 then error("at two") end end)'
tune -q
exits 1; says "at two"; prints "24 inputs, 1 configuration, "
script 'tune = function(try) while true do end end'
tune --script-steps 100000
exits 1; says "--script-steps"; prints_nothing
script 'tune = function(try) for k = 1, 3 do try{ k = k } for i = 1, 30000 do end end end'
tune --script-steps 100000 # less than all of it takes, more than a stretch does
exits 0; prints " inputs, 3 configurations, "
script 'tune = function(try) end'
tune
exits 1; says ": its function tune made no trial"
script 'tune = function(try) try{ dleta = 1 } end'
tune
exits 1; says 'run.lua:1: try: unknown parameter "dleta"; did you mean "delta"?'
script 'tune = function(try) try{ k = "many" } end'
tune
exits 1; says "options.k"

# --- options
script 'sweep = rill.sweep{ delta = {1, 4} }'
tune -k 3 -n 2 --json points.json -q
exits 0; json 3 configurations.1.run.options.beam_size points.json; json 2 configurations.1.run.options.batch_size points.json
tune --absolute 3
exits 1; says "run.lua sets delta, but heuristics given as options replace all heuristics: leave one of the two out"; prints_nothing
script 'tune = function(try) try{ k = 2 } end'
tune -k 3
exits 1; says "run.lua sets k, which an option sets too: leave one of the two out"
script 'input = "inputs", references = "references", sweep = rill.sweep{ k = {1, 4} }'
run "$rill" tune run.lua -q
exits 0; prints "24 inputs, 2 configurations, "
run "$rill" tune run.lua -q --dev dev.tsv -m "$tiny" --threads 2
exits 0; prints "$(threads_of 2) thread"
# The examples' model and questions: on a dev set made of the model's own outputs quality is 100 %.
"$rill" decode -m "$geo" -i "$examples/questions/geo.txt" -q >answers
paste "$examples/questions/geo.txt" answers >geo.tsv
printf 'return { model = "%s", sweep = rill.sweep{ delta = {1, 10}, M = {3} } }\n' "$geo" >geo.lua
run "$rill" tune geo.lua --dev geo.tsv -q
exits 0; prints "100.00 100.00"

# --- plugins, and permissions of scripts: checked before the configuration runs
printf 'rill.heuristic{ name = "of_a_plugin", apply = function(b) end }\n' >plugin.lua
script 'heuristics = { "of_a_plugin" }, sweep = rill.sweep{ k = {1} }'
tune --plugin plugin.lua
exits 0; silent; prints " inputs, 1 configuration, "
tune --plugin no-such.so
exits 1; says "no-such.so"
printf 'io.open("run.lua"):close()\n' >>plugin.lua
tune --plugin plugin.lua
exits 1; says "--unsafe-scripts enables it"
tune --plugin plugin.lua --unsafe-scripts
exits 0; silent
script 'tune = function(try) for i = 1, 1e5 do end try{ k = 1 } end'
tune --script-steps 10000
exits 1; says "stopped after 10000 instructions"

# --- mistakes
script 'options = { k = 3 }'
tune
exits 1; says " has no sweep and no tune. Add a grid to the table that it returns,
    sweep = rill.sweep{ delta ="; says "rill.sweep{"; says "tune = function(try)"; prints_nothing
script 'sweep = rill.sweep{ k = {1} }'
run "$rill" tune run.lua
exits 1; says "no development set: set --dev FILE.tsv, with inputs and references in two columns (or input and references in"; says "--dev"
run "$rill" tune --dev dev.tsv
exits 1; says "no run file: rill tune FILE.lua --dev FILE.tsv"
run "$rill" tune run.lua run.lua
exits 1; says "expected one run file, found another"
tune --metric exakt
exits 1; says 'unknown metric "exakt"'; says "exact"
run "$rill" tune run.lua --dev inputs
exits 1; says "inputs: line 1: expected two columns separated by a tab"
: >empty
run "$rill" tune run.lua --dev empty
exits 1; says "the file has no inputs"
run "$rill" tune run.lua --dev no-such
exits 1; says "no-such"
cp dev.tsv kept.tsv
tune --plot dev.tsv
exits 1; says "--dev and --plot are the same file"; same dev.tsv kept.tsv
cp run.lua kept.lua
tune --json run.lua
exits 1; says "the configuration and --json are the same file"; same run.lua kept.lua
tune --plot -
exits 1; says "standard output"; prints_nothing
tune --plot no/such.html
exits 1; says "no/such.html"
tune --plot front.svg
exits 1; says "--plot front.svg: expected the name of an HTML page, as in front.html"
tune --svg front.svg
exits 1; says "unknown option --svg: use --plot FILE.html: its page saves charts as SVG"

finish
