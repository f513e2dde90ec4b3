#!/usr/bin/env bash
# A translation model in a pipe with lines of all kinds, for any length of time: memory stays constant, each line in is a
# line out, and an interrupted run leaves what was finished.
set -eu
. "${0%/*}/lib.sh"
model=$data/mt/shared
translate=("$rill" decode -m "$model" --method var-stream -k 2 -n 8 --max-length 4)

# corpus LINES: a few sentences in an order that does not repeat soon, so that batches differ
corpus() {
  awk -v lines="$1" 'BEGIN {
    split("ein mann spielt gitarre .|zwei hunde|a|eine frau liest ein buch . der hund liest im buch .||two dogs run", s, "|")
    for (x = 1; lines-- > 0;) { x = (x * 16807) % 2147483647; print s[x % 6 + 1] }
  }'
}

# wait_for LINES FILE: at most a minute
wait_for() {
  local i
  for ((i = 0; i < 1200; i++)); do
    if [ -e "$2" ] && [ "$(wc -l <"$2")" -ge "$1" ]; then return 0; fi
    sleep 0.05
  done
  return 1
}

of_process() { sed -n "s/^$2:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$1/status"; } # PID FIELD

# --- ten times the lines in the same memory. One worker: with several, one may lag, and then up to the limit of results wait
corpus 20000 >all
head -n 2000 all >some
mkfifo lines
command="a corpus through a pipe"
"${translate[@]}" --workers 1 -q --stats all.json -o answers <lines 2>err &
decoder=$!
exec 3>lines
cat some >&3
verdict "$(good wait_for 2000 answers)" "2,000 answers"
early=$(of_process $decoder VmHWM) space=$(of_process $decoder VmSize)
tail -n +2001 all >&3
verdict "$(good wait_for 20000 answers)" "20,000 answers"
late=$(of_process $decoder VmHWM)
exec 3>&-
wait $decoder || status=$?
exits 0
if [ "$space" -lt 100000000 ]; then # a sanitizer keeps what was freed, and reserves terabytes
  verdict "$(good [ "$late" -le $((early + early / 10)) ])" "the process should not grow: $early KB after 2,000 lines, $late after 20,000"
fi
run "${translate[@]}" --workers 1 -q --stats some.json -i some -o first
exits 0
few=$("$check_json" some.json memory_peak) many=$("$check_json" all.json memory_peak)
verdict "$(good [ "$many" -le $((few + few / 10)) ])" "the model's memory should not grow: $few bytes, then $many"
head -n 2000 answers >again
same first again

# --- a reader slower than we are gets the same, although the pipe is full while it sleeps
run "${translate[@]}" -q --n-best 2 -i all -o lists
exits 0
verdict "$(good [ "$(wc -c <lists)" -gt 500000 ])" "more than a pipe holds"
command="a slow reader"
"${translate[@]}" -q --n-best 2 -i all 2>err | (sleep 0.5; dd bs=1000 count=3 2>dd; sleep 0.5; cat) >slow
same lists slow

# --- a reader that has enough ends an endless corpus: no message, and the writer in front ends too
command="yes | rill decode | head"
set +e
yes 'zwei hunde' | "${translate[@]}" -q 2>err | head -n 3 >out
codes=("${PIPESTATUS[@]}")
set -e
verdict "$(good [ "${codes[1]}" = 141 ])" "exit code 141, not ${codes[1]}, when the reader goes away"
verdict "$(good [ "${codes[0]}" != 0 ])" "the writer in front should end too"
silent
lines 3

# --- Ctrl-C: what is finished is written, in order; with job control, since a shell keeps it from jobs in the background
interrupt() {  # interrupt LINES: send the signal after that many lines, then print how the run ended
  verdict "$(good wait_for "$1" out)" "$1 answers before the interruption"
  for _ in 1 2 3; do kill -INT $decoder 2>/dev/null || :; done  # as one signal: timeout(1) sends two; it may end before the last
  status=0
  wait $decoder || status=$?
  exits 130
}
command="Ctrl-C at work"  # the input never ends, so no signal comes too late
set -m
"${translate[@]}" -q <lines >out 2>err &
decoder=$!
(while cat all; do :; done) >lines 2>/dev/null &
writer=$!
set +m
interrupt 50
wait $writer || :
finished=$(wc -l <out)
says "rill: interrupted: the results of $finished lines are written"
verdict "$(good [ "$finished" -ge 50 ])" "what was finished is written"
(while cat answers; do :; done) 2>/dev/null | head -n "$finished" >again
same again out
command="Ctrl-C while waiting"
rm out
: >out
set -m
"${translate[@]}" -q --stats stats.json <lines >out 2>err &
decoder=$!
set +m
exec 3>lines
head -n 20 some >&3
interrupt 20
exec 3>&-
says "rill: interrupted: the results of 20 lines are written"
lines 20
json 20 inputs stats.json

# --- no line of these is lost, and lines that cannot be decoded are reported by number
command="lines of all kinds"
{
  printf 'a\001\002\003\004\005\006\007\010\011\013\014\016\017\020\033[31m\037\177b\n' # 1
  printf '\357\273\277ein mann\n\342\200\250\302\205\342\200\213\n'                      # 2, 3: marks, separators, nothing seen
  printf 'a\000b\n\355\240\200\n\300\200\n\360\237\230\200\n'                            # 4 NUL, 5, 6 not UTF-8, 7 an emoji
  for _ in {1..5000}; do printf 'hunde '; done                                           # 8
  printf '\n\r\n \t \n'                                                                  # 9, 10
  head -c 1000000 /dev/zero | tr '\0' 'a'                                                # 11
  printf '\nein mann'                                                                    # 12
} >kinds
feed kinds "${translate[@]}"
exits 2
lines 12
for line in "4: the line has a NUL byte" "5: byte 1 is not UTF-8" "6: byte 1 is not UTF-8" "8: expected at most" "11: expected at most"; do
  says "line $line"
done
says "12 inputs in "; says " (5 failed"
printf 'ein mann' | "${translate[@]}" -q >last 2>err
sed -n 12p out >again
same last again

finish
