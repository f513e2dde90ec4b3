#!/usr/bin/env bash
# A device on the command line: what is chosen, refused and said, and answers that do not depend on schedule or workers. On the stand-in.
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

# --- to the last byte whatever the schedule, the order of threads and the workers; a run file says it too
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host -n 1
exits 0; same device next
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host --workers 2
exits 0; same device next
RILL_CUDA_HOST_SEED=5 run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host
exits 0; same device next
printf 'return { model = "%s", search = { k = 5 }, n_best = 3, device = "cuda-host" }\n' "$model" >script.lua
run "$rill" run script.lua -q -i text -o next
exits 0; same device next

# --- the host waits for answers, and works while others are worked out
run "$rill" decode -m "$model" -q -k 5 -n 20 -i text -o next --device cuda-host --stats stats.json
exits 0
for name in waited hidden; do
  "$check_json" stats.json "seconds.$name" >value
  run grep -qx '[0-9.e-]*[1-9][0-9.e-]*' value
  exits 0
done
run "$rill" decode -m "$model" -q -k 5 -n 20 -i text -o next --stats stats.json
exits 0; json 0.0 seconds.waited stats.json; json 0.0 seconds.hidden stats.json

# --- fast: answers may depend on the batch, and rill bench says so; the processor has nothing of it
run "$rill" info -m "$model" --device cuda-host --fast
exits 0; prints ", fast"
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --device cuda-host --fast -n 1
exits 0
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o fast --device cuda-host --fast -n 40
exits 0
texts fast >found
same wanted found
differ next fast
run "$rill" bench -m "$model" -q -i text --device cuda-host --fast -k 5 --repeat 1 --methods fixed:n=1,fixed:n=5
exits 0; says "gave different outputs, as they may with --fast"
run "$rill" decode -m "$model" -q -k 5 --n-best 3 -i text -o next --fast
exits 0; same cpu next; says "fast: nothing on the processor becomes faster by it"

# --- what each operation costs is told of a device too
run "$rill" decode -m "$model" -q -i text --device cuda-host --profile --stats stats.json
exits 0; says "limit: not known of this device"
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
refused 'mt: device: cuda-host:7: there is no GPU 7' --device cuda-host:7
refused 'mt: device: expected cuda-host or cuda-host:NUMBER, found "cuda-host:x"' --device cuda-host:x
refused 'multiplies weights in f32, bf16 and f16, not in int8' --device cuda-host --weights int8
refused 'fast: answers may depend on the batch, and --deterministic forbids that' --device cuda-host --fast --deterministic
refused 'weights: the processor multiplies in f32, bf16 and int8: f16 is for GPUs' --weights f16
refused 'backend: onednn computes products on the cpu, not on cuda-host' --device cuda-host --backend onednn

# --- memory that the device does not have: an error, and nothing is left behind
RILL_CUDA_HOST_MEMORY=1000 run "$rill" decode -m "$model" -q -i text --device cuda-host
exits 1; says 'the device has no memory left'

finish
