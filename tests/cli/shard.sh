#!/usr/bin/env bash
# rill decode of several files, and of parts of them: parts joined are the whole, to the byte, in every form.
set -eu
. "${0%/*}/lib.sh"

printf '\xef\xbb\xbfw0 w1 w2\nw3\r\n\nw4 w5 w6 w7 w8\nw1' >one
: >none
touch out err
printf 'w2 w3\nw9 w1 w1\n' >two
printf 'w1 w2\na\0b\nw3 w4 w5' >three
whole() { "$rill" decode -m "$tiny" "$@" one none two three; }
cat one <(echo) two three >all

status=0
whole -q >plain 2>err || status=$?
command="decode of several files"
exits 2
says 'three: line 2: the line has a NUL byte'
"$rill" decode -m "$tiny" -q -i all >joined 2>/dev/null || true
same joined plain

# parts FORM OPTION...: their outputs and messages, joined
parts() {
  local form=$1 n i
  shift
  whole "$@" -q 2>err >"$form.whole" || true
  grep ': line ' err >"$form.said"
  for n in 1 2 3 5 40; do
    : >"$form.parts"
    : >err.parts
    for ((i = 1; i <= n; i++)); do whole "$@" -q --shard "$i/$n" >>"$form.parts" 2>>err.parts || true; done
    command="$form in $n parts"
    same "$form.parts" "$form.whole"
    grep ': line ' err.parts >said
    same said "$form.said"
  done
}
parts plain
parts list --n-best 3
parts numbered --method var-stream --unordered --max-items 1 -n 1
parts samples --sample 2 --n-best 2 --seed 5 --stop-after 2
parts rows --tsv-column 1 --workers 2
for i in {1..11}; do echo "prefix:a$((i % 3))"; done >rules
parts ruled --constraints rules --k 3

# --- standard input, as a file
for i in 1 2 3; do "$rill" decode -m "$tiny" -q --shard "$i/3" <two; done >stdin.parts 2>err
"$rill" decode -m "$tiny" -q two >stdin.whole 2>err
same stdin.parts stdin.whole
feed <(cat two) "$rill" decode -m "$tiny" --shard 1/2
exits 1; says "--shard divides files by their size: name files, because a pipe has no size"; prints_nothing
for word in 3 a/b 1/2/3 /2 1/ " 1/2" 1/+2; do
  run "$rill" decode -m "$tiny" --shard "$word" one
  exits 1; says "--shard must be I/N, part I of N, as in 1/8 for the first of eight: found \"$word\""; prints_nothing
done
for word in 0/3 4/3 1/0 -1/2; do
  run "$rill" decode -m "$tiny" --shard "$word" one
  exits 1; says "--shard: part ${word%/*} of ${word#*/} does not exist"; prints_nothing
done

# --- files: standard input among them; one that is not there costs nothing
feed two "$rill" decode -m "$tiny" -q one - three
exits 2
same out plain
echo kept >old
run "$rill" decode -m "$tiny" -q -o old one missing
exits 1; says "missing"
verdict "$(good [ "$(cat old)" = kept ])" "the old output is kept"
run "$rill" decode -m "$tiny" -q -o two one two
exits 1; says "are the same file"
printf 'return { model = "%s" }\n' "$tiny" >run.lua
run "$rill" run run.lua -q one none two three
exits 2
same out plain
finish
