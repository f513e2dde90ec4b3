#!/usr/bin/env bash
# Back ends: what an option and a script choose, what is refused, and how near the answers lie. What needs oneDNN is left
# out where rill was built without it.
set -eu
. "${0%/*}/lib.sh"
model=$data/mt/shared
printf 'ein mann spielt\n\n>>de<< two dogs run in\na\nzwei hunde laufen\neine frau liest ein buch .\n' >text

# near FIRST SECOND: the same hypotheses in the same order with scores within 1e-4. Neighbours of equal score may change
# places, and the last of a list may be another of equal score.
near() {
  verdict "$(good awk -F ' [|][|][|] ' -v tolerance=1e-4 '
    function bad(what) { print "line " FNR ": " what; failed = 1; exit 1 }
    function off(a, b) { return a - b > tolerance || b - a > tolerance }
    NR == FNR { id[FNR] = $1; text[FNR] = $2; score[FNR] = $NF; at[$1, $2] = $NF; worst[$1] = $NF; lines = FNR; next }
    id[FNR] != $1 || off(score[FNR], $NF) { bad($0) }
    text[FNR] != $2 && (($1, $2) in at) && off(at[$1, $2], $NF) { bad("moved: " $0) }
    text[FNR] != $2 && !(($1, $2) in at) && off(worst[$1], $NF) { bad("new: " $0) }
    END { if (!failed && (FNR != lines || lines == 0)) exit 1 }' "$1" "$2")" "$1 and $2 should agree"
}

# --- the default has a name; other names are refused, and so are domains of one kind
run "$rill" decode -m "$model" -q -k 5 --n-best 5 -i text -o own
exits 0
run "$rill" decode -m "$model" -q -k 5 --n-best 5 -i text -o next --backend rill
exits 0
same own next
run "$rill" decode -m "$model" -q -i text --backend fast
exits 1
says 'mt: backend: expected rill or onednn, found "fast"'
run "$rill" decode --plugin "$toy" --domain toy -q -i text --backend onednn
exits 1
says 'domain toy has no option backend, "onednn" was given'
for weights in bf16 int8; do
  run "$rill" decode -m "$model" -q -i text --backend onednn --weights $weights
  exits 1
  says "mt: backend: onednn multiplies weights in f32 only, found \"$weights\""
done

run "$rill" decode -m "$model" -q -k 5 --n-best 5 -i text -o next --backend onednn
if [ "$status" -ne 0 ]; then
  says "mt: backend: this rill was built without oneDNN, or its library is gone"
  says "libdnnl-dev"
  echo "oneDNN is not there: what needs it was left out"
  finish
  exit
fi

# --- oneDNN: the same hypotheses, whatever kind of model; a script says it too
exits 0
near own next
run "$rill" info -m "$model" --backend onednn
prints ", products by onednn"
printf 'return { model = "%s", search = { k = 5 }, n_best = 5, backend = "onednn", weights = "f32" }\n' "$model" >script.lua
run "$rill" run script.lua -q -i text -o again
exits 0
same next again
for other in fsmt separate fsmt-tied; do
  run "$rill" decode -m "$data/mt/$other" -q -k 4 --n-best 4 --max-length 8 -i text -o own
  own_status=$status
  run "$rill" decode -m "$data/mt/$other" -q -k 4 --n-best 4 --max-length 8 -i text -o next --backend onednn
  exits "$own_status"
  near own next
done
printf 'how many rivers\nwhat is the river\nriver how\n' >questions
run "$rill" decode -m "$tiny" -q -k 4 --n-best 4 -i questions -o own
run "$rill" decode -m "$tiny" -q -k 4 --n-best 4 -i questions -o next --backend onednn
exits 0
near own next
printf 'the dog runs\na cat sees the dog\nthe\n' >sentences
run "$rill" decode -m "$data/shiftreduce/tiny" -q -k 4 --n-best 4 -i sentences -o own
run "$rill" decode -m "$data/shiftreduce/tiny" -q -k 4 --n-best 4 -i sentences -o next --backend onednn
exits 0
near own next

# --- deterministic: no schedule changes a byte
run "$rill" decode -m "$model" -m "$data/mt/ensemble" -q -k 5 --n-best 5 -i text -o own
run "$rill" decode -m "$model" -m "$data/mt/ensemble" -q -k 5 --n-best 5 -i text -o first --backend onednn --deterministic
exits 0
near own first
for threads in 1 2; do
  for method in var-batch var-stream stream-all; do
    run "$rill" decode -m "$model" -m "$data/mt/ensemble" -q -k 5 --n-best 5 -n 2 --method $method --threads $threads -i text \
      -o next --backend onednn --deterministic
    exits 0
    same first next
  done
done

finish
