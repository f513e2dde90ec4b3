#!/usr/bin/env bash
# --device: selection, refusals and messages, and results that do not depend on schedule or workers. On the stand-in for a GPU.
set -eu
. "${0%/*}/lib.sh"
model=$data/mt/shared
printf 'ein mann spielt\n\n>>de<< two dogs run in\na\nzwei hunde laufen\neine frau liest ein buch .\n' >text
unset RILL_CUDA_HOST_MEMORY

texts() { awk -F ' [|][|][|] ' '{ print $1 " " $2 }' "$1"; }

# --- the same outputs as the processor's
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o cpu
exits 0
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o device --device cuda-host
exits 0
texts cpu >wanted
texts device >found
same wanted found
run "$rill" info -m "$model" --device cuda-host:0
exits 0; prints ", on cuda-host:0"
run "$rill" info -m "$model" --device auto
exits 0
run "$rill" decode -m "$model" -v -k 5 -i text -o next --device auto
exits 0; says 'mt: the model runs on '

if [ -n "${RILL_TEST_RACES:-}" ]; then  # with several workers: the checks below concern the messages
  run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host:1,cuda-host:0,cuda-host:1
  exits 0; same device next
  finish
  exit
fi

# --- recurrent models too, with their alignments
for recurrent in rnn rnn-simple; do
  for device in cpu cuda-host; do
    run "$rill" decode -m "$data/mt/$recurrent" -q -k 5 --n-best 3 --alignment -i text -o next --device $device
    exits 0
    awk -F ' [|][|][|] ' '{ print $1 " " $2 " " $3 }' next >"$device.texts"
  done
  same cpu.texts cuda-host.texts
done

# --- results to the last byte for any schedule, thread order and number of workers; a run file can set the device too
run "$rill" decode -m "$model" -v -k 5 -i text -o next --device cuda-host
exits 0; says "captured as CUDA graphs"
counts='s/.*: \([0-9]*\) runs launched .*, \([0-9]*\) captured .*, \([0-9]*\) replayed.*/\1 \2 \3/p'
read -r direct captured replayed < <(sed -n "$counts" err)
verdict "$(good [ $((2 * ${replayed:-0})) -ge $((direct + captured)) ])" "a third of the runs are replays: $direct $captured $replayed"
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host -n 1
exits 0; same device next
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host --workers 2
exits 0; same device next
RILL_CUDA_HOST_SEED=5 run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host
exits 0; same device next
printf 'return { model = "%s", options = { k = 5 }, n_best = 3, device = "cuda-host" }\n' "$model" >script.lua
run "$rill" run script.lua -q -i text -o next
exits 0; same device next

# --- to the last byte by several devices, whose workers share input and output
for list in cuda-host:1 cuda-host:0,cuda-host:1 cuda-host,cuda-host:0 cuda-host:1,cuda-host:0,cuda-host:1; do
  run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device $list --stats stats.json
  exits 0; same device next
  json "$(echo $list | tr , '\n' | wc -l)" workers stats.json
done
json 'cuda-host:1, cuda-host (a stand-in for tests)' devices.2 stats.json
for workers in 3 4; do
  run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host:0,cuda-host:1 --workers $workers
  exits 0; same device next
done
for bound in "--memory 8M" "--max-nodes 40" "--unordered"; do
  # shellcheck disable=SC2086
  run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o one --device cuda-host $bound
  # shellcheck disable=SC2086
  run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host:0,cuda-host:1 --workers 4 $bound
  exits 0
  sort -s -t' ' -k1,1n one >sorted_one
  sort -s -t' ' -k1,1n next >sorted_next
  same sorted_one sorted_next
done
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device "cuda-host:0, cuda-host:1" --workers 1 --stats stats.json
exits 0; same device next; json 1 workers stats.json
printf 'return { model = "%s", options = { k = 5 }, n_best = 3, device = "cuda-host:0,cuda-host:1" }\n' "$model" >script.lua
run "$rill" run script.lua -q -i text -o next --stats stats.json
exits 0; same device next; json 1 workers stats.json; says "device: a script's functions use one worker"
run "$rill" run script.lua -q -i text -o next --stats stats.json --workers 2
exits 0; same device next; json 2 workers stats.json
echo 'calls = 0; return { options = { k = 5 }, scorers = { function(rows) calls = calls + 1 end } }' >counts.lua
run "$rill" decode --config counts.lua -m "$model" -q --n-best 3 -i text -o next --device cuda-host:0,cuda-host:1 --stats stats.json
exits 0; same device next; json 1 workers stats.json # what a script counts is one worker's
run "$rill" check -m "$model" -i text --device cuda-host:0,cuda-host:1
exits 0
run "$rill" info -m "$model" --device cuda-host:0,cuda-host:1
exits 0; prints "devices      cuda-host:0, "; prints "             cuda-host:1, "
run "$rill" bench -m "$model" -i text --device cuda-host:0,cuda-host:1 --repeat 1 --methods stream-all
exits 0

# --- auto takes the GPU (here the stand-in under its name), unless it lacks what the run needs or cannot be used
mkdir modules
module=$(echo "$RILL_MODULES"/rill-cuda-host-*.so)
auto() { # auto MESSAGE OPTION...
  local message=$1
  shift
  RILL_MODULES=$PWD/modules run "$rill" decode -m "$model" -v -k 5 --n-best 3 -i text -o next --device auto "$@"
  exits 0; says "$message"
}
cp "$module" modules/"$(basename "${module/cuda-host/cuda}")"
auto 'mt: the model runs on cuda:0, '; same device next
auto 'the processor, not a GPU: device: cuda multiplies weights in f32, bf16 and f16, not in int8' --weights int8
auto 'mt: the model runs on cpu' --weights int8
echo broken >modules/"$(basename "${module/cuda-host/cuda}")"
auto 'mt: the model runs on cpu'; same cpu next
cp err said
run grep -c 'the processor, not a GPU' said
prints 1 # it is looked for once

# --- the host waits for results, and works while the device computes
run "$rill" decode -m "$model" -q -k 5 -n 20 -i text -o next --device cuda-host --stats stats.json
exits 0
for name in waited hidden; do
  "$check_json" stats.json "seconds.$name" >value
  run grep -qx '[0-9.e-]*[1-9][0-9.e-]*' value
  exits 0
done
run "$rill" decode -m "$model" -q -k 5 -n 20 -i text -o next --stats stats.json
exits 0; json 0.0 seconds.waited stats.json; json 0.0 seconds.hidden stats.json

# --- fast: results may depend on the batch, and rill bench says so; the CPU has no such mode
run "$rill" info -m "$model" --device cuda-host --fast
exits 0; prints ", fast"
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host --fast -n 1
exits 0
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o fast --device cuda-host --fast -n 40
exits 0
texts cpu >wanted
texts fast >found
same wanted found
differ next fast
run "$rill" bench -m "$model" -q -i text --device cuda-host --fast -k 5 --repeat 1 --methods fixed:n=1,fixed:n=5
exits 0; says "methods with equal search settings gave different outputs, which --fast permits"
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --fast
exits 0; same cpu next; says "fast: it has no effect on the processor: leave it out"

# --- --profile lists each operation of a device too
run "$rill" decode -m "$model" -q -i text --device cuda-host --profile --stats stats.json
exits 0; says "limit: unknown for this device"
run grep -c '"operation"' stats.json
exits 0

# --- what cannot be had, in one sentence
refused() { # refused MESSAGE OPTION...
  local message=$1
  shift
  run "$rill" decode -m "$model" -q -i text "$@"
  exits 1; says "$message"
}
refused 'mt: device: expected cpu, cuda, cuda:NUMBER or auto, found "gpu"' --device gpu
refused 'mt: device: cuda-host:7: GPU 7' --device cuda-host:7
refused 'mt: device: expected cuda-host or cuda-host:NUMBER, found "cuda-host:x"' --device cuda-host:x
refused 'multiplies weights in f32, bf16 and f16, not in int8' --device cuda-host --weights int8
refused 'weights: cpu does not multiply in f16: use bf16 or f32' --weights f16
refused 'mt: device: cuda-host:2: GPU 2' --device cuda-host:0,cuda-host:2
refused 'device: cuda-host:0 and cpu are of different kinds, whose scores differ: list devices of one kind' --device cuda-host:0,cpu
refused 'device: an entry of the list is empty' --device cuda-host:0,,cuda-host:1

# --- a bound that does not hold what a worker takes in any case
refused 'memory: a worker of domain mt needs 2424832 bytes before it decodes anything' --device cuda-host --memory 1M
says 'memory: a worker of domain mt needs 2424832 bytes before it decodes anything, and its share of 1048576 bytes'

# --- more memory than the device has: an error, and nothing leaks
RILL_CUDA_HOST_MEMORY=1000 run "$rill" decode -m "$model" -q -i text --device cuda-host
exits 1; says 'the device is out of memory'

finish
