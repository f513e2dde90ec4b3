#!/usr/bin/env bash
# rill trace: what it refuses, what it leaves out; and what Chromium makes of pages of pictures, bench's and tune's too, on a screen and
# on a phone.
set -eu
. "${0%/*}/lib.sh"
tests=$5

printf '%s\n' "w0 w1 w2" "w3" "w4 w5 w6" "w1 </script><b>" >four
"$rill" decode -m "$tiny" -q four -o outputs -n 2 --trace run.jsonl --trace-trees --absolute 2 --max-length 9 --stats stats 2>err
"$rill" decode -m "$tiny" -q four -o outputs --trace plain.jsonl 2>err

# --- the file
run "$rill" trace run.jsonl
exits 0; says "run.html: "; says "trees of 4 inputs"; prints_nothing
verdict "$(good [ "$(grep -c '</script>' run.html)" = 2 ])" "texts end no script"
if grep -qE 'https?://|src=|@import|url\(' <(sed 's#http://www.w3.org/2000/svg##' run.html); then verdict 0 "the page needs the network"; fi
run "$rill" trace run.jsonl -o less.html --timesteps 3 --trees 1 --title "a <title> & more"
exits 0
says "less.html has the first 3 of"; says "less.html has trees of the first 1 of"
verdict "$(good contains '<title>a &lt;title> &amp; more</title>' less.html)" "the title"
cp less.html before
run "$rill" trace four -o less.html
exits 1; says "four: line 1: expected an event of \`rill decode --trace\`"
same less.html before
# A run that was stopped within a line has charts of the lines before; an invalid line elsewhere is an error.
head -c -9 run.jsonl >cut.jsonl
run "$rill" trace cut.jsonl
exits 0; says "warning: cut.jsonl: the last line, $(wc -l <run.jsonl), is incomplete: it is left out"
verdict "$(good [ "$(grep -c "is incomplete" err)" = 1 ])" "it is said once"
sed '2s/.$//' run.jsonl >bad.jsonl
run "$rill" trace bad.jsonl
exits 1; says "bad.jsonl: line 2: expected an event of \`rill decode --trace\`"
run "$rill" trace run.jsonl -o page.SVG
exits 1; says "-o page.SVG: expected the name of an HTML page, as in "
run "$rill" trace
exits 1; says "no trace"
run "$rill" trace missing.jsonl
exits 1; says "missing.jsonl"
run "$rill" trace run.jsonl plain.jsonl
exits 1; says "expected one trace, found another, \"plain.jsonl\""
run "$rill" trace run.jsonl -o ./run.jsonl
exits 1; says "are the same file"
run "$rill" trace -
exits 1; says "the trace must be a file, because it is read twice"
printf '{"event":"run"}\n' >empty.jsonl
run "$rill" trace empty.jsonl
exits 1; says ": the trace has no timesteps; \`rill decode --trace FILE\` writes a trace"
# Memory depends on the trace's size, for any numbers in it.
small="ulimit -v 900000" # which programs with a sanitizer do not start in
bash -c "$small; exec '$rill' --version" >/dev/null 2>&1 || small=:
printf '{"event":"timestep","items":[100000000],"hypotheses":{"item":[0,0]}}\n' >far.jsonl
run bash -c "$small; exec '$rill' trace far.jsonl"
exits 0; says "trees of 100000001 inputs"
printf '{"event":"timestep","items":[9,5,7],"hypotheses":{"item":[0,1,1,2]}}\n' >few.jsonl
run "$rill" trace few.jsonl --trees 6
exits 0; says "few.html has trees of the first 6 of 10 inputs"
verdict "$(good contains '"hypotheses":{"item":[1,1]}' few.html)" "the candidates of the other inputs are left out"
printf '{"event":"timestep","items":[-1],"hypotheses":{"item":[0]}}\n' >odd.jsonl
run "$rill" trace odd.jsonl
exits 1; says "odd.jsonl: a candidate belongs to no input of its timestep"
run "$rill" decode -m "$tiny" four --trace-trees
exits 1; says "--trace-trees has no effect without --trace FILE"

# --- in a browser
browser=$(command -v chromium || command -v chromium-browser || true)
if [ -z "$browser" ]; then
  finish || exit 1
  echo "skipped: no chromium, so no page was looked at"
  exit 77
fi
look() { # look PAGE WIDTH: what trace_page.js found, in result.json
  { sed '$d' "$1" | sed '$d'; printf '<script>\n'; cat "$tests/trace_page.js"; printf '</script></body></html>\n'; } >page.html
  command="$1 in Chromium, $2 pixels"
  status=0
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" --window-size="$2,900" \
    --virtual-time-budget=2000 --dump-dom "$work/page.html" >out 2>err || status=$?
  exits 0
  python3 -c '
import re, sys, urllib.parse
found = re.search(r"data-result=\"([^\"]*)\"", open("out", encoding="utf-8").read())
print(urllib.parse.unquote(found.group(1)) if found else "{\"wrong\": [\"the script did not come to its end\"]}")' >result.json
  verdict "$(good contains '"wrong":[]' result.json)" "$(head -c 400 result.json)"
}
for width in 1200 500; do
  look run.html $width
  json 4 facts.0 result.json
  json "$("$check_json" stats timesteps)" facts.1 result.json
  json 4 bars result.json
  json 10 stages result.json
  json "Input 3" items.3.title result.json
  json 'in w1 </script><b>' items.3.text result.json
  for i in 0 1 2 3; do
    verdict "$(good [ "$("$check_json" result.json "items.$i.best")" -gt 0 ])" "input $i has a way to its best output"
  done
done
look less.html 1200
json 0 items.1.nodes result.json
verdict "$(good contains 'Left out for size: this page has only the first 3 of' result.json)" "the page says what it lacks"
"$rill" trace plain.jsonl 2>err
look plain.html 800
json 0 items.0.nodes result.json
feed four "$rill" decode -m "$tiny" -q --workers 2 -o outputs --trace two.jsonl --trace-trees
"$rill" trace two.jsonl 2>err
verdict "$(good [ -s two.html ])" "a page of two workers"

# --- bench's and tune's
long=stream-all:n=3:k=4:max-items=50:length-penalty=0.5:max-length=12:flush-every=5
"$rill" bench -m "$tiny" -i four -q --repeat 3 --methods "greedy,$long,fixed" --plot bench.html --json bench.json >table 2>err
grid() { printf 'return { model = "%s", sweep = rill.sweep(%s) }\n' "$tiny" "$1" >run.lua; }
tune() { "$rill" tune run.lua --dev dev.tsv -q "$@" >table 2>err; }
for i in 0 1 2 3 4 5 6 7; do printf 'w%d w%d w%d\nw%d\nw%d w%d\n' $i $(((i + 3) % 8)) $(((i * 5) % 8)) $i $(((i + 1) % 8)) $i; done >inputs
paste inputs <("$rill" decode -m "$tiny" -i inputs -q --method fixed --finish top -k 8 --n-best 2 |
  awk -F ' [|][|][|] ' '{rank[$1]++} rank[$1] == ($1 % 3 == 1) + 1 {print $2}') >dev.tsv
grid '{ delta = {0.01, 0.5, 2, 8}, k = {1, 3, 6}, M = {1, 12} }' && tune --plot tune.html --json tune.json
# The table's front as the picture has it.
awk '/^Pareto front/ { on = 1 }
  on && /^ *[0-9]/ { print "M=" $1 " delta=" $2 " k=" $3 (match($0, /and [0-9]+ alike/) ? " " substr($0, RSTART, RLENGTH) : "") }' \
  table >front
# Text of any kind, noise in the last digits, a single point, no point.
grid '{ ["<a&\"b>"] = {"x</script>&\"\001\195\169"}, c = {6 * 0.2} }, function() end' && tune --plot odd.html
grid '{ method = {"greedy"}, k = {5} }' && tune --plot none.html || true
for width in 1200 500; do
  look bench.html $width
  json 3 speeds result.json
  json greedy names.0 result.json
  for i in 0 1 2; do
    json "$("$check_json" bench.json methods.$i.run.timesteps)" timesteps.$i result.json
    panel="$("$check_json" bench.json methods.$i.method): $("$check_json" bench.json methods.$i.run.timesteps) timesteps, "
    verdict "$(good contains "$panel" <("$check_json" result.json methods.$i))" "the panel of method $i"
  done
  verdict "$(good grep -qE ' · 4 inputs · 3 timed runs · .*, 1 thread · rill ' <("$check_json" result.json run))" "what ran on what"
  look tune.html $width
  fronts=$("$check_json" tune.json $(for i in $(seq 0 23); do echo configurations.$i.front; done) | grep -c true)
  json 24 points result.json
  json "$fronts" front result.json
  json 'run.lua: exact against expansions' title result.json
  # The labels are the table's front, cheapest first, and a tip at a point has its values.
  json "[\"$(paste -sd '|' front | sed 's/|/","/g')\"]" labels result.json
  json "$(wc -l <front)" line result.json
  verdict "$(good contains 'M=12 delta=2 k=6: 66.67 %, 536 expansions' result.json)" "a point's tip"
done
look odd.html 800
json '["<a&\"b>=x</script>&\"\u0001é c=1.2"]' labels result.json
look none.html 800
json 'There is nothing to draw: no configuration was decoded.' note result.json
json 0 points result.json
finish
