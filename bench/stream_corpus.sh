#!/usr/bin/env bash
# A corpus through the German-English model: 200,000 lines of the shared texts, repeated and shuffled, from a pipe into a file.
# After each tenth: lines done, lines per second since the last tenth, and the process's memory, which should not grow.
# usage: bench/stream_corpus.sh [--save] [--lines N] [--threads T] [SEARCH OPTION OF rill decode...]     RILL_MT_MODEL: another model
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 lines=200000 threads=1 code=0
read_options "save lines: threads: ..." "$@"

model=${RILL_MT_MODEL:-examples/models/de-en}
need_build build/rill
[ -d "$model" ] || { echo "stream: no model $model"; exit 0; }
[ -f "$data/mt/multi30k/train.de" ] || { echo "stream: no texts under $data"; exit 0; }
work=$(mktemp -d)
decoder=
trap '[ -z "$decoder" ] || kill $decoder 2>/dev/null || true; rm -rf "$work"' EXIT

# Numbers that make the same order everywhere, for shuf.
randomness() { awk 'BEGIN { for (x = 1; ; ) { x = (x * 16807) % 2147483647; printf "%c", x % 95 + 32 } }'; }

corpus() {
  local text=("$data/mt/multi30k/train.de" "$data/mt/multi30k/val.de" "$data/mt/tatoeba/train.de")
  while cat "${text[@]}"; do :; done 2>/dev/null | head -n "$lines" | shuf --random-source=<(randomness 2>/dev/null)
}

of_process() { sed -n "s/^$1:[[:space:]]*\([0-9]*\).*/\1/p" "/proc/$decoder/status" 2>/dev/null || true; }

# A row of the table each time another tenth of the lines is done.
watch() {
  local step=$((lines / 10)) next=0 done=0 before=0 then now rss peak
  then=$(date +%s%N)
  printf '%10s %10s %10s %10s\n' lines lines/s "MB now" "MB peak"
  while rss=$(of_process VmRSS) peak=$(of_process VmHWM) && [ -n "$rss" ]; do
    done=$(wc -l <"$work/out")
    if [ "$done" -gt "$next" ]; then
      now=$(date +%s%N)
      awk -v d="$done" -v n=$((done - before)) -v t=$((now - then)) -v r="$rss" -v p="$peak" \
        'BEGIN { printf "%10d %10.1f %10.1f %10.1f\n", d, n / t * 1e9, r / 1024, p / 1024 }'
      then=$now before=$done next=$((done / step * step + step))
    fi
    sleep 0.2
  done
}

run() {
  describe_machine
  [ $# -gt 0 ] || set -- --method var-stream -k 5 -n 32 --absolute 1.5 --max-candidates 5
  set -- build/rill decode -m "$model" "$@" --threads "$threads"
  echo "+ corpus of $lines lines | $* >out"
  mkfifo "$work/lines"
  : >"$work/out"
  corpus >"$work/lines" &
  "$@" --stats "$work/stats.json" -o "$work/out" <"$work/lines" 2>"$work/summary" &
  decoder=$!
  watch
  wait $decoder || code=$?
  decoder=
  tail -n 1 "$work/summary"  # after a message for each line that failed
  [ $code = 0 ] || [ $code = 2 ] || return $code
  echo "lines in $lines, out $(wc -l <"$work/out"); the model's memory at its peak:" \
    "$(sed -n 's/.*"memory_peak": \([0-9]*\).*/\1/p' "$work/stats.json") bytes"
}

run "${rest[@]}" | tee "$work/stream.txt"
if [ $save = 1 ]; then
  mkdir -p bench/results
  sed "s|$data/|RILL_DATA/|g" "$work/stream.txt" >"bench/results/stream-${threads}t.txt"
fi
