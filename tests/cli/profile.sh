#!/usr/bin/env bash
# --profile: the cost of operations as a table and as JSON. Counts are exact: an LSTM decoder has a cell per expansion.
set -eu
. "${0%/*}/lib.sh"
examples=$data/../../examples
geo=$examples/models/geo questions=$examples/questions/geo.txt


# rows_are COUNT PROGRAM OPERATION: in the table on standard error.
rows_are() { verdict "$(good [ "$(awk -v p="$2" -v o="$3" '$1 == p && $2 == o {print $4}' err)" = "$1" ])" "$2 $3: $1 rows"; }

feed "$questions" "$rill" decode -m "$geo" -q
exits 0
cp out plain

feed "$questions" "$rill" decode -m "$geo" -q --profile --stats stats.json
exits 0
same out plain
says "GFLOP/s in fp32"
has_json stats.json profile.limits_per_thread.f32_flops profile.limits_per_thread.bytes profile.operations.0.share_of_limit
expansions=$("$check_json" stats.json expansions)
rows_are "$expansions" step lstm
rows_are "$expansions" score best
json encode profile.operations.0.program stats.json
json f32 profile.operations.0.arithmetic stats.json

# --- several workers' counts are added up
feed "$questions" "$rill" decode -m "$geo" -q --profile --workers 2
exits 0
same out plain
rows_are "$expansions" step lstm

# --- int8 is named, and bench has a table for each method
head -n 2 "$examples/questions/de-en.txt" >two
feed two "$rill" decode -m "$examples/models/de-en" -q --weights int8 --profile --stats stats.json
exits 0
verdict "$(good quietly "$check_json" stats.json profile.operations.0)" "operations in int8"
verdict "$(good contains '"arithmetic": "int8"' stats.json)" "arithmetic of int8"
run "$rill" bench -m "$geo" -i "$questions" --methods greedy,fixed --repeat 1 -q --profile --json bench.json
exits 0
verdict "$(good [ "$(grep -c '^step  *lstm ' out)" = 2 ])" "a table for each of two methods"
has_json bench.json methods.0.profile.operations.0.seconds methods.1.profile.limits_per_thread.int8_flops

# --- bf16 weights are multiplied in bf16 where rill_cpu_isa() (kernels/kernels.c) says so, else in fp32
feed two "$rill" decode -m "$examples/models/de-en" -q --weights bf16 --profile --stats stats.json
exits 0
says "in bf16"
if grep -qw amx_bf16 /proc/cpuinfo || { grep -q AuthenticAMD /proc/cpuinfo && grep -qw avx512_bf16 /proc/cpuinfo; }; then
  verdict "$(good contains '"arithmetic": "bf16"' stats.json)" "arithmetic of bf16 weights: bf16"
else
  verdict "$(good [ "$(grep -c '"arithmetic": "bf16"' stats.json)" = 0 ])" "arithmetic of bf16 weights: f32"
fi

# --- a domain without a device's graph has no profile, and the command says so before it decodes
feed "$questions" "$rill" decode --plugin "$toy" --domain toy -q --profile
exits 1
says "profile: domain toy has no profiles, because it runs no graphs on a device"
prints_nothing

finish
