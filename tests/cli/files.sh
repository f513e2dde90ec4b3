#!/usr/bin/env bash
# Files of every command: what stands in the place of one, streams that are closed, outputs that would destroy what is read, reports
# that are whole or not there.
set -eu
. "${0%/*}/lib.sh"

printf '%s\n' "w0 w1 w2" "w3" "w4 w5 w6" "w1" >four
cp -r "$tiny" model
"$rill" decode -m model -q <four >plain
feed four "$rill" decode -m model -q
exits 0; same out plain
echo 'rill.scorer{ name = "nothing", score = function(rows) end }' >plugin.lua
echo 'return { model = "model", sweep = rill.sweep{ k = {1, 2} } }' >run.lua
printf '%s\t%s\n' "w0 w1 w2" a >tsv
mkfifo pipe
ln -s /dev/null device

# --- a pipe, a device or a folder instead of a file is reported at once, by every reader
place() { # place KIND PATH
  case $1 in
  pipe) mkfifo "$2" ;;
  device) ln -s /dev/null "$2" ;;
  *) mkdir "$2" ;;
  esac
}
in_time() { run timeout 20 "$rill" "$@"; }
refused() { exits 1; says "cannot open $1: it is $2, expected a regular file"; }
for kind in "pipe:a pipe" "device:a device" ".:a directory"; do
  there=${kind%%:*} what=${kind#*:}
  for name in config.json source.vocab target.vocab model.safetensors lexicon.tsv; do
    rm -rf broken && cp -r model broken && rm -f broken/$name
    place "$there" broken/$name
    in_time decode -m broken -q -i four
    refused broken/$name "$what"
    if [ $name != lexicon.tsv ]; then
      in_time info broken
      exits 1; says broken/$name
    fi
  done
  in_time decode -m model -q -i four --plugin $there
  exits 1; says "it is $what"
  place "$there" there.lua
  in_time decode -m model -q -i four --plugin there.lua
  refused there.lua "$what"
  in_time run there.lua
  refused there.lua "$what"
  in_time tune there.lua --dev tsv
  refused there.lua "$what"
  rm -rf there.lua
  in_time run run.lua -q -i four --refs $there
  refused $there "$what"
  in_time eval --refs $there plain
  refused $there "$what"
  in_time bench -m model --test-set $there --repeat 1
  refused $there "$what"
  in_time tune run.lua --dev $there
  refused $there "$what"
done
small="ulimit -v 900000" # which programs with a sanitizer do not start in
bash -c "$small; exec '$rill' --version" >/dev/null 2>&1 || small=:
for name in config.json source.vocab; do  # larger than the limit, and no memory is allocated for it
  rm -rf broken && cp -r model broken
  truncate -s 1100M broken/$name
  run bash -c "$small; exec '$rill' decode -m broken -q -i four"
  exits 1; says "broken/$name is larger than 1073741824 bytes, the limit for such a file"
done
in_time decode -m model -q -i .
exits 1; says "cannot open .: it is a directory, expected a file"
# what a shell puts in a file's place has somebody who writes
run "$rill" eval --refs <(cat plain) plain
exits 0; prints "100.00"
"$rill" bench -m model --test-set tsv --repeat 1 --methods greedy >of_file
feed tsv "$rill" bench -m model --test-set - --repeat 1 --methods greedy
exits 0; line_is 1 "$(sed -n 1p of_file)"
run "$rill" bench -m model --test-set <(cat tsv) --repeat 1 --methods greedy
exits 0; line_is 1 "$(sed -n 1p of_file)"

# --- streams that are closed from the start: nothing lands in a file that has their number, nothing is lost without a word
printf '%s\n' "w0" "w1" >two
"$rill" decode -m model -q -i two >two_plain
printf 'bad\0line\n' | cat two - >bad
command="decode with streams closed"
status=0
"$rill" decode -m model -q -i bad -o results 2>&- || status=$?
: >err; cp results out
exits 2; lines 3; verdict "$(good cmp -s <(head -n 2 results) two_plain)" "results alone are in their file"
for closed in stdout all; do
  rm -f results s.json
  status=0
  if [ $closed = stdout ]; then
    "$rill" decode -m model -q -i two --stats s.json 2>err >&- || status=$?
    says "cannot write standard output"
  else
    "$rill" decode -m model -q -i two --stats s.json <&- >&- 2>&- || status=$?
  fi
  : >out
  exits 1; json 2 inputs s.json
  verdict "$(good [ "$(grep -cxFf two_plain s.json || true)" = 0 ])" "no results in the statistics"
done
status=0
"$rill" decode -m model -q <&- >out 2>err || status=$?
exits 1; says "cannot read standard input:"; prints_nothing
for words in "list" "--version" "--help" "info model" "decode --help" "eval --refs plain plain" \
  "bench -m model -q --test-set tsv --repeat 1"; do
  status=0
  # shellcheck disable=SC2086
  "$rill" $words 2>err >&- || status=$?
  : >out
  exits 1; says "cannot write standard output"
  [ -w /dev/full ] || continue
  status=0
  # shellcheck disable=SC2086
  "$rill" $words 2>err >/dev/full || status=$?
  exits 1; says "cannot write standard output"
done
for words in "--version" "decode --help" "list settings"; do # one write and more
  # shellcheck disable=SC2086
  { sleep 0.1; status=0; "$rill" $words 2>err || status=$?; echo "$status" >code; } | true
  read -r status <code
  exits 141; silent
done

# --- no input of any kind is overwritten
cp plain references
for path in model/config.json model/model.safetensors ./model/../model/source.vocab plugin.lua; do
  for option in -o --stats --trace; do
    cp "$path" before
    run "$rill" decode -m model --plugin plugin.lua -q -i four $option "$path"
    exits 1; says "$path: this run reads the file"; same before "$path"; prints_nothing
  done
done
cp references before
run "$rill" run run.lua -q -i four --refs references -o references
exits 1; same before references
cp model/config.json before
run "$rill" tune run.lua --dev tsv -q --json model/config.json
exits 1; says ": this run reads the file, so it cannot be overwritten"; same before model/config.json
run "$rill" bench -m model -q --test-set tsv --repeat 1 --json model/config.json
exits 1; says ": this run reads the file, so it cannot be overwritten"; same before model/config.json
run "$rill" decode -m model -q -i four -o model/results
exits 0
run "$rill" decode -m model -q -i four -o model/results
exits 0; same model/results plain

# --- a report is whole, or what was there before; it stays what it was in all but its content
echo before >s.json; chmod 640 s.json; ln -s s.json link
run "$rill" decode -m model -q -i four --stats link
exits 0; json 4 inputs s.json
verdict "$(good [ -L link -a "$(stat -c %a s.json)" = 640 ])" "a link stays a link, and the mode is the old one"
echo before >s.json; ln s.json twin
run "$rill" decode -m model -q -i four --stats s.json
exits 0; json 4 inputs twin; json 4 inputs s.json
rm twin link
echo before >s.json; cp s.json before
run "$rill" decode -m model -q -i four --stats s.json -o no/such/folder
exits 1; same s.json before
run "$rill" bench -m model -q --test-set tsv --repeat 1 --json no/such/folder
exits 1; says "no/such/folder"; prints_nothing  # reported before anything runs
verdict "$(good [ -z "$(find . -name '*.partial')" ])" "nothing is left beside"

# --- standard output by another name is what it is
{ echo before; cat plain; } >wanted
for name in /dev/stdout /proc/self/fd/1; do
  echo before >log
  "$rill" decode -m model -q -i four -o $name >>log
  same log wanted
done

"$rill" decode -m model -q -i four -o /dev/null >&- 2>err && status=0 || status=$?
command="decode to /dev/null with stdout closed"
exits 0

# --- a run that is killed leaves results, and no report that looks like one
cat >hang.lua <<'END'
rill.scorer{ name = "hang", score = function(rows)
  for i = 1, #rows.item_id do
    if rows.item_id[i] == 2 then print("hangs") while true do end end
  end
end }
END
for workers in 1 2; do
  echo before >s.json
  : >results; : >err
  "$rill" decode -m model -q -i four -o results --stats s.json --plugin hang.lua --scorer hang --script-steps 0 --method fixed -n 1 \
    --workers $workers 2>err &
  decoder=$!
  for ((i = 0; i < 400; i++)); do ! grep -q hangs err || [ $workers = 2 -a "$(wc -l <results)" -lt 2 ] || break; sleep 0.05; done
  cp results out # what was finished before is there while the third is being decoded
  kill -KILL $decoder
  wait $decoder 2>/dev/null || true
  command="decode with $workers workers, killed" status=0
  lines 2; verdict "$(good cmp -s results <(head -n 2 plain))" "finished lines are written though the next takes long"
  same s.json before
  verdict "$(good [ "$(find . -name '*.partial')" = "./s.json.$decoder.partial" ])" "what is not whole says so by its name"
  rm -f ./*.partial
done

# --- a signal that ends the process leaves nothing beside: the first to a bench, the second to a decode
paste four four >fours
await() { for ((i = 0; i < 400; i++)); do ! grep -q hangs err || break; sleep 0.05; done; }
: >err
"$rill" bench -m model -q --test-set fours --methods fixed --scorer hang --plugin hang.lua --script-steps 0 --json b.json >out 2>err &
bench=$!
await
command="bench, told to end" status=0
kill -TERM $bench
wait $bench 2>/dev/null || status=$?
exits 143; verdict "$(good [ -z "$(find . -name '*.partial')" -a ! -e b.json ])" "nothing is left of the report"
: >err
"$rill" decode -m model -q -i four --stats b.json --plugin hang.lua --scorer hang --script-steps 0 >out 2>err &
decoder=$!
await
command="decode, told to end twice" status=0
kill -TERM $decoder
for ((i = 0; i < 400; i++)); do ! grep -q "same signal" err || break; sleep 0.05; done
says "rill: not stopped yet: the same signal again ends it at once"
verdict "$(good kill -TERM $decoder)" "one signal lets it finish what it is at"
wait $decoder 2>/dev/null || status=$?
exits 143; verdict "$(good [ -z "$(find . -name '*.partial')" -a ! -e b.json ])" "nothing is left of the report"
ulimit -c 0
for signal in QUIT:131 XCPU:152; do # these no one heeds: the first ends it
  : >err
  env --default-signal=QUIT,XCPU "$rill" decode -m model -q -i four --stats b.json --plugin hang.lua --scorer hang --script-steps 0 \
    >out 2>err &
  decoder=$!
  await
  command="decode, ended by SIG${signal%:*}" status=0
  kill -"${signal%:*}" $decoder
  wait $decoder 2>/dev/null || status=$?
  exits "${signal#*:}"; verdict "$(good [ -z "$(find . -name '*.partial')" -a ! -e b.json ])" "nothing is left of the report"
done

# --- a file that may grow no more ends with a whole line, and what others wrote stays
yes "w0 w1 w2" | head -n 200 >many
"$rill" decode -m model -q -i many >plain_many
limited() { bash -c 'ulimit -f 1; exec "$@"' - "$@"; }
whole() { # whole FILE WANTED
  verdict "$(good [ -s "$1" ])" "something is written to $1"
  verdict "$(good cmp -s "$1" <(head -n "$(wc -l <"$1")" "$2"))" "$1 ends with a whole line"
}
run limited "$rill" decode -m model -q -i many -o results
exits 1; says "cannot write results:"; whole results plain_many
run limited "$rill" decode -m model -q -i many --n-best 3 -o results
exits 1; "$rill" decode -m model -q -i many --n-best 3 >wanted; whole results wanted
echo before >log
run bash -c "ulimit -f 1; exec '$rill' decode -m model -q -i many >>log"
exits 1; says "cannot write standard output"; { echo before; cat plain_many; } >wanted; whole log wanted
head -c 30 plain_many >log # another's half of a line
run bash -c "ulimit -f 1; exec '$rill' decode -m model -q -i many >>log"
exits 1; { head -c 30 plain_many; cat plain_many; } >wanted; whole log wanted

# --- results are written before the message about them
cat >stop.lua <<'END'
local begun = 0
rill.scorer{ name = "stop", score = function(rows)
  if rows.timestep[1] == 0 then begun = begun + 1 end
  if begun ~= 2 then return end
  begun = 3
  io.popen("kill -INT $PPID"):close() -- os.execute() would ignore it
end }
END
printf '%s\n' "w0 w1 w2" "w0 w1 w2" >twins
interrupted() {
  run env --default-signal=INT "$rill" decode -m model -q -i twins --plugin stop.lua --unsafe-scripts --scorer stop --method fixed -n 1 \
    "$@"
}
interrupted -o results
exits 130; says "interrupted: the results of 1 line are written"; whole results plain_many
if [ -w /dev/full ]; then
  interrupted -o /dev/full
  says "cannot write /dev/full:"; says_not "are written"
fi

finish
