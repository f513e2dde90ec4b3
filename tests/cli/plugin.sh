#!/usr/bin/env bash
# A domain from a plugin that needs no files, bad inputs that only a domain can refuse, and runs that break off.
set -eu
. "${0%/*}/lib.sh"

toy() { feed "$1" "$rill" decode --plugin "$toy" --domain toy "${@:2}"; }
printf '%s\n' alpha beta gamma '!bad x' delta '!dead' epsilon >seven

toy seven
exits 2; lines 7; says "rill: line 4: "; says "rill: line 6: "; says "7 inputs in "; says " (2 failed"
line_is 4 ""; line_is 6 ""
cp out plain
for method in var-batch var-stream var-stream-fifo top-up stream-all; do
  toy seven -q --method $method -n 2 --config checking.lua
  exits 2; same out plain
  toy seven -q --method $method -n 3 --budget 7 --sort length
  exits 2; same out plain
done
toy seven -q --unordered --method stream-all
exits 2
sort -n out | cut -f2- >sorted
same sorted plain
toy seven -q --n-best 2
exits 2; verdict "$(good [ "$(cut -d' ' -f1 out | uniq | tr '\n' ' ')" = "0 1 2 4 6 " ])" "failed inputs have no lines"
toy seven -q --stats s.json --domain-args seed=5
exits 2; json toy domain s.json; json null model s.json; json 2 failed s.json
differ out plain

# --- a domain's own option, before or after its --plugin
cp out seeded
toy seven -q --toy-seed 5
exits 2; same out seeded
feed seven "$rill" decode -q --toy-seed=5 --domain toy --plugin "$toy"
exits 2; same out seeded
toy seven -q --toy-seed five
exits 1; says 'toy-seed: "five" is not a whole number from 0 to 1000000'
toy seven -q --toy-sead 5
exits 1; says "unknown option --toy-sead; did you mean --toy-seed?"
feed seven "$rill" decode -q --toy-seed 5 -m "$2"
exits 1; says "unknown option --toy-seed"
feed seven "$rill" decode -q --domain semparse --plugin "$toy" --toy-seed 5 -m /
exits 1; says 'domain semparse has no option toy-seed, found the value "5"'
run "$rill" decode --help --plugin "$toy"
exits 0; prints "--toy-seed N"; prints "which space is searched (default 1; toy)"
run "$rill" info --domain toy --plugin "$toy"
exits 0; prints "options      --toy-seed N: which space is searched (default 1)"

# --- an option that the command has itself would never reach the domain; other commands may have no such option
named() { # named OPTION
  printf 'rill.domain{ name = "mine", actions = { "end" }, start = print, choices = print, advance = print,\n' >mine.lua
  printf '  options = { { name = "%s", argument = "A" } } }\n' "$1" >>mine.lua
}
named input
feed seven "$rill" decode --domain mine --plugin mine.lua
exits 1; says 'domain mine: its option --input has the name of an option of the command: rename it'
run "$rill" check --plugin mine.lua
exits 1; says 'domain mine: its option --input has the name of an option of the command: rename it'
run "$rill" list options --plugin mine.lua
exits 0; prints "input=A"
named help
feed seven "$rill" decode --plugin mine.lua --help
exits 1; says 'domain mine: its option --help has the name of an option of the command: rename it'
named repeat
feed seven "$rill" bench --plugin mine.lua
exits 1; says 'domain mine: its option --repeat has the name of an option of the command: rename it'
feed seven "$rill" decode --plugin mine.lua --help
exits 0; prints "--repeat A"
run "$rill" eval --plugin mine.lua --test-set seven seven
says_not 'hidden'

# --- a heuristic that looks at other items changes results with the schedule, and the setting check finds it
toy seven -q --heuristic mixing -n 1
cp out alone
toy seven -q --heuristic mixing -n 7
exits 2; differ out alone
toy seven -q --heuristic mixing -n 7 --config checking.lua
exits 1; says "mixing"
toy seven -q --heuristic mixing:3
exits 1; says "mixing"
run "$rill" bench --plugin "$toy" --domain toy -i seven -q --repeat 1 --heuristic mixing --methods var-stream:n=7,var-stream:n=1
exits 1; prints "DIFFERS from var-stream:n=7"; says "different outputs"

# --- an aborted run: finished results are written, the reason is reported, and so are the statistics
toy seven -q --domain-args fail_step=3 --stats s.json
exits 1; says "rill: "; has_json s.json timesteps inputs
# results that waited for an input which never finished come all the same, each on its own line
seq 10 40 >thirty
toy thirty -q --domain-args own_bound=1
exits 0; cp out whole
seen=0
for call in 4 5 6 8 11; do
  toy thirty -q --domain-args "own_bound=1 fail_score=$call"
  exits 1; says "injected failure in call $call of score"
  seen=$((seen + $(grep -c '^$' out || true)))
  paste -d'\t' out whole | awk -F'\t' -v n="$(wc -l <out)" 'NR <= n && $1 != "" && $1 != $2' >wrong
  verdict "$(good no_bytes wrong)" "lines of a run that broke off are those of a whole run"
  verdict "$(good [ -n "$(tail -n 1 out)" ] || [ ! -s out ])" "no empty line stands at the end"
  cut -f1 out >lines_out
  toy thirty -q --domain-args "own_bound=1 fail_score=$call" --n-best 1
  exits 1; verdict "$(good [ "$(wc -l <out)" -eq "$(grep -c . lines_out || true)" ])" "the n-best form has no lines for them"
done
verdict "$(good [ "$seen" -gt 0 ])" "some lines are empty"
toy seven --domain-args fail_open=1
exits 1; says "rill: "; prints_nothing
toy seven --domain-args fail_open=1 -o untouched
exits 1; verdict "$(good [ ! -e untouched ])" "no output is created when the model cannot be opened"
toy seven --domain-args no_such=1
exits 1; says "no_such"

# --- without the plugin there is no such domain; a plugin loaded twice is refused
feed seven "$rill" decode --domain toy
exits 1; says 'unknown domain "toy"'
toy seven --plugin "$toy"
exits 1; says "toy"
run "$rill" info --plugin "$toy" --domain toy
exits 0; prints "toy"; prints "search"
run "$rill" eval --plugin "$toy" --domain toy --refs plain plain
exits 0; prints "inputs"

# --- a model in its own directory, with defaults
mkdir model && printf '{"rill": {"domain": "toy", "options": {"method": "top-up", "k": 3, "n": 2}}}' >model/config.json
feed seven "$rill" decode --plugin "$toy" -m model -q --stats s.json
exits 2; json top-up options.method s.json; json 3 options.beam_size s.json
feed seven "$rill" decode --plugin "$toy" -m model -q --stats s.json --method greedy
exits 2; json greedy options.method s.json; json 1 options.beam_size s.json

finish
