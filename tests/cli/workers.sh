#!/usr/bin/env bash
# --workers: however many there are, the same bytes come out, in the same order, and a run ends in the same ways.
set -eu
. "${0%/*}/lib.sh"
examples=$data/../../examples
toy_options=(--plugin "$toy" --domain toy --domain-args "depth=6 actions=5")

# --- the same bytes, with the toy, whose model is shared, and with the shipped models
for ((i = 0; i < 300; i++)); do echo "in $i"; done >toy_lines
sed -i '100s/.*/!bad/;200s/.*//' toy_lines
compare() { # compare NAME LINES OPTION...
  local name=$1 input=$2 workers
  shift 2
  for workers in 1 2 3; do
    feed "$input" "$rill" decode -q --workers $workers "$@"
    verdict "$(good [ "$status" = 0 -o "$status" = 2 ])" "$name with $workers workers"
    mv out "$name.$workers"
    mv err "$name.err.$workers"
  done
  same "$name.1" "$name.2"
  same "$name.1" "$name.3"
  same "$name.err.1" "$name.err.2"
}
for options in "" "--n-best 4 -k 4" "--method stream-all --budget 20" "--method fixed -n 7" "--sort length:40" \
  "--sort longest-first --budget 8" "--max-nodes 12 -k 3" "--flush-every 3" "--config checking.lua --absolute 2"; do
  # shellcheck disable=SC2086
  compare toy toy_lines "${toy_options[@]}" $options
done
most=40 models="geo atis jobs de-en gum" aligned=$examples/models/de-en
[ -z "${RILL_TEST_RACES:-}" ] || { most=12 models="geo gum" aligned=$data/mt/shared; }
for model in $models; do
  for i in 1 2 3; do cat "$examples/questions/$model.txt"; done | head -n "$most" >lines
  compare "$model" lines -m "$examples/models/$model" --n-best 2 -k 4
done
compare aligned lines -m "$aligned" --alignment --word-scores

# --- by completion: the same lines in some order
feed toy_lines "$rill" decode -q "${toy_options[@]}" --unordered --workers 3
exits 2
sort -n out >sorted
feed toy_lines "$rill" decode -q "${toy_options[@]}" --unordered --workers 1
sort -n out >sorted_one
same sorted sorted_one

# --- counters, traces
feed toy_lines "$rill" decode "${toy_options[@]}" --workers 2 --stats stats.json --trace trace.json -o result
exits 2
says "line 100: toy: input 99 is bad"
says "300 inputs in "; says " (1 failed"
json 2 workers stats.json
json 300 inputs stats.json
verdict "$(good [ "$(grep -c '"event":"finished"' trace.json)" = 298 ])" "each item is finished once"
verdict "$(good [ "$(grep -o '"item":[0-9]*' trace.json | sort -u | wc -l)" = 298 ])" "items are the stream's"
# Each worker waits in its first timestep for the other's, so that neither has taken all lines before the other begins.
cat >meet.lua <<'END'
local met
rill.scorer{ name = "meet", score = function(rows)
  if met then return end
  met = true
  local file = io.open("begun", "a+")
  file:write("x"):flush()
  repeat until file:seek("end") == 2
  file:close()
end }
END
run timeout 120 "$rill" decode -q "${toy_options[@]}" -i toy_lines --workers 2 --plugin meet.lua --unsafe-scripts --scorer meet \
  --script-steps 0 --method fixed -n 1 --trace trace.json -o met
exits 2
traced=$(grep -o '"worker":[0-9]*' trace.json | sort -u | tr '\n' ' ')
verdict "$(good [ "$traced" = '"worker":0 "worker":1 ' ])" "traces name the workers, not: $traced"
same met toy.1

# --- ends
run "$rill" decode -q "${toy_options[@]}" --workers 0
exits 1
says "--workers"
feed toy_lines "$rill" decode -q "${toy_options[@]}" --workers auto
exits 2
feed toy_lines "$rill" decode -q --plugin "$toy" --domain toy --domain-args "depth=6 fail_step=9" --workers 2
exits 1
says "injected failure"
for ((i = 0; i < 40000; i++)); do echo "in $i"; done >much
echo 0 >code
{ "$rill" decode -q "${toy_options[@]}" --workers 2 -i much 2>err || echo $? >code; } | head -n 1 >out
status=$(cat code)
verdict "$(good [ "$status" = 141 ])" "exit code 141 when the reader goes away"
silent
feed much "$rill" decode -q "${toy_options[@]}" --workers 3 -o /dev/full
exits 1
says "No space left"

# --- a conversation, and its interruption
wait_for() {
  local i
  for ((i = 0; i < 400; i++)); do
    if [ "$(wc -l <"$2")" -ge "$1" ]; then return 0; fi
    sleep 0.05
  done
  return 1
}
mkfifo questions
env --default-signal=INT "$rill" decode -q "${toy_options[@]}" --workers 2 <questions >answers 2>err &
decoder=$!
exec 3>questions
for i in 1 2 3 4; do
  echo "in $((i - 1))" >&3
  verdict "$(good wait_for "$i" answers)" "answer $i while the pipe is open"
done
kill -INT $decoder
status=0
wait $decoder || status=$?
exec 3>&-
verdict "$(good [ $status -eq 130 ])" "exit code 130 after an interruption"
says "interrupted: the results of 4 lines are written"
feed toy_lines "$rill" decode -q "${toy_options[@]}"
head -n 4 out >first_four
same first_four answers

# --- the same on SIGTERM or SIGHUP: nothing finished is lost
for signal in TERM:143 HUP:129; do
  for workers in 1 2; do
    rm -f questions
    mkfifo questions
    : >answers # the last run's lines are not this one's
    env --default-signal=TERM,HUP "$rill" decode -q "${toy_options[@]}" --workers $workers --stats ended.json <questions >answers 2>err &
    decoder=$!
    exec 3>questions
    for i in 1 2 3 4; do echo "in $((i - 1))" >&3; done
    verdict "$(good wait_for 4 answers)" "four answers before ${signal%:*}"
    kill -"${signal%:*}" $decoder
    status=0
    wait $decoder || status=$?
    exec 3>&-
    verdict "$(good [ $status -eq "${signal#*:}" ])" "exit code ${signal#*:} after ${signal%:*}, not $status"
    says "interrupted: the results of 4 lines are written"
    same first_four answers
    json 4 inputs ended.json
  done
done

# --- a file that may grow no more is an error like any other
(
  ulimit -f 1
  status=0
  "$rill" decode -q "${toy_options[@]}" -i toy_lines -o capped 2>err || status=$?
  [ $status -eq 1 ]
) && good=1 || good=0
verdict "$good" "exit code 1 where a file may grow no more"
says "capped"

# --- scripts: each worker has its own
cat >run.lua <<'END'
print("loaded")
local calls = 0
local narrow = rill.heuristic{ name = "narrow", apply = function(b) calls = calls + 1; b.keep = b.path_score:ge(b.best - 3) end }
return {
  options = { k = 4, method = "var-stream", budget = function(step) return 6 end },
  heuristics = { narrow, function(b) b.keep = b.path_score:ge(b.best - 5) end },
  scorers = { function(rows) rows:reward(nil, 0.25) end },
}
END
for workers in 1 2 3; do
  feed toy_lines "$rill" decode -q "${toy_options[@]}" --config run.lua --workers $workers
  exits 2
  mv out scripted.$workers
  loads=$((workers == 1 ? 1 : workers + 1))
  verdict "$(good [ "$(grep -c loaded err)" = $loads ])" "the script runs $loads times for $workers workers"
done
same scripted.1 scripted.2
same scripted.1 scripted.3
differ scripted.1 toy.1
sed 's/scorers.*/scorers = { function(rows) error("no") end },/' run.lua >bad.lua
feed toy_lines "$rill" decode -q "${toy_options[@]}" --config bad.lua --workers 2
exits 1
says "bad.lua:7: no"

# --- a bench, and points: functions of the script have one thread
run "$rill" bench -q "${toy_options[@]}" -i toy_lines --methods var-stream,stream-all --repeat 1 --workers 2 \
  --config run.lua
prints "1 thread, 2 workers"
exits 2
cat >sweep.lua <<'END'
return { options = { k = 4 }, heuristics = { {"absolute", 2} }, sweep = rill.sweep{ delta = {1, 2} } }
END
run "$rill" run sweep.lua "${toy_options[@]}" -i toy_lines --workers 2
exits 2
lines 3
cp run.lua sweep.lua
sed -i 's/heuristics = .*/heuristics = { narrow }, sweep = rill.sweep{ k = {1, 2} },/; s/k = 4, //' sweep.lua
sed -i 's/, budget = function.*end }/ }/' sweep.lua
run "$rill" run sweep.lua "${toy_options[@]}" -i toy_lines --workers 2
prints " is a function of the script, which runs on one thread: set --workers 1"
run "$rill" run sweep.lua "${toy_options[@]}" -i toy_lines
exits 2

# --- threads: no more than processors; warned about once, and the outputs are the same
more="threads requested, but this process may use"
printf '%s\n' "w0 w1 w2" "w3" >two
"$rill" decode -m "$tiny" -q -i two >one_thread
echo "return { model = '$tiny', input = 'two', threads = 1024 }" >many.lua
for asks in "decode -m $tiny -i two --threads 1024" "run many.lua"; do
  # shellcheck disable=SC2086
  run "$rill" $asks -q --stats stats.json -o threaded
  exits 0; says "warning: 1024 $more"; same threaded one_thread
  verdict "$(good [ "$(wc -l <err)" = 1 ])" "one warning is enough"
  json "$(sed 's/.*may use \([0-9]*\) .*/\1/' err)" threads stats.json
done
if taskset -c 0 true 2>/dev/null || taskset -c 1 true 2>/dev/null; then
  one=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
  run taskset -c "$one" "$rill" bench -m "$tiny" -q -i two --methods greedy --repeat 1 --threads 2
  exits 0; says "warning: 2 $more 1 processor: using that many"; prints "1 thread"
  run taskset -c "$one" "$rill" decode -m "$tiny" -q -i two --workers 2
  silent
fi

finish
