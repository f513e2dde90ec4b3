#!/usr/bin/env bash
# rill decode between two processes: results come as soon as they can, and a closed pipe ends it quietly.
set -eu
. "${0%/*}/lib.sh"
command="decode in a pipe"

printf '%s\n' "w0 w1 w2" "w3" "w4 w5 w6 w7 w8" "w1" >four
"$rill" decode -m "$tiny" -q <four >plain

# wait_for LINES FILE: at most 20 seconds
wait_for() {
  local i
  for ((i = 0; i < 400; i++)); do
    if [ "$(wc -l <"$2")" -ge "$1" ]; then return 0; fi
    sleep 0.05
  done
  return 1
}

# --- interactive use: each line is answered before the next is sent
mkfifo questions
"$rill" decode -m "$tiny" -q <questions >answers 2>err &
decoder=$!
exec 3>questions
for i in 1 2 3 4; do
  sed -n "${i}p" four >&3
  verdict "$(good wait_for "$i" answers)" "answer $i while the pipe is open"
done
printf 'w9 w' >&3 # half a line is no line yet
sleep 0.2
verdict "$(good [ "$(wc -l <answers)" -eq 4 ])" "no answer to half a line"
printf '0\n' >&3
verdict "$(good wait_for 5 answers)" "an answer once it is whole"
exec 3>&-
status=0
wait $decoder || status=$?
verdict "$(good [ $status -eq 0 ])" "exit code 0 at the end of the conversation"
head -n 4 answers >first_four
same first_four plain

# --- a slow writer and a file give the same
(while read -r line; do sleep 0.05; printf '%s\n' "$line"; done <four) | "$rill" decode -m "$tiny" -q >slow 2>err
same slow plain

# --- the reader goes away: more than a pipe holds must be written for that to be noticed
for ((i = 0; i < 8000; i++)); do echo "w0 w1 w2"; done >much
echo 0 >code
{ "$rill" decode -m "$tiny" -i much 2>err || echo $? >code; } | head -n 1 >out
status=$(cat code)
verdict "$(good [ "$status" = 141 ])" "exit code 141 when the reader goes away"
silent
line_is 1 "$(sed -n 1p plain)"
echo 0 >code
{ "$rill" list 2>err || echo $? >code; } | true
verdict "$(good [ "$(cat code)" = 141 -o "$(cat code)" = 0 ])" "quiet end of a list"
silent

# --- standard input or output closed from the start
status=0
"$rill" decode -m "$tiny" -q <&- >out 2>err || status=$?
exits 1; says "standard input"
status=0
"$rill" decode -m "$tiny" -q -i four >&- 2>err || status=$?
: >out
exits 1; says "standard output"

# --- progress: only text and an erased line
status=0
for _ in 1 2 3 4; do cat much; done >more
"$rill" decode -m "$tiny" --progress -q -i more >out 2>err || status=$?
exits 0
lines 32000
verdict "$(good grep -qE '% +[1-9][0-9]* done' err)" "inputs that are done are counted"

finish
