#!/usr/bin/env bash
# The cost of a trie of allowed outputs: time, memory and expansions of beams with and without one, for sets of several sizes.
#
# usage: bench/trie.sh RILL MODEL INPUTS [OUT]     one thread; the smallest of ROUNDS (3) alternating runs
#
# Sequences are drawn from the model's actions, four each, as identifiers of documents are, and end with the end action (END, by
# default the model's </s>). The model was not trained on them: this compares the cost of the search, not its results.
set -eu
rill=$(realpath "$1") model=$(realpath "$2") inputs=$(realpath "$3") out=${4:-/dev/stdout}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
end=${END:-$("$rill" list actions -m "$model" | awk -F'\t' '$2 == "</s>" { print $1 }')}
actions=$("$rill" list actions -m "$model" | wc -l)

seconds() { # seconds LOG COMMAND...: user and system time, and the most memory in MiB
  local log=$1
  shift
  /usr/bin/env python3 - "$log" "$@" <<'PYTHON'
import resource, subprocess, sys
with open(sys.argv[1], "w") as log:
    subprocess.run(sys.argv[2:], stdout=log, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss / 1024:.0f}")
PYTHON
}

{
  printf '%s, %s inputs, %s\n' "$(basename "$model")" "$(wc -l <"$inputs")" "$(uname -m)"
  printf '%10s %12s %9s %9s\n' sequences 'bytes' 'seconds' 'MiB'
  for n in ${SIZES:-1000 100000 1000000}; do
    awk -v n="$n" -v v="$actions" -v end="$end" 'BEGIN { srand(7)
      for (i = 0; i < n; i++) { for (j = 0; j < 4; j++) printf "%d ", 3 + int(rand() * (v - 4)); print end } }' >"$work/ids"
    read -r time memory <<<"$(seconds /dev/null "$rill" trie "$work/ids" -m "$model" -o "$work/$n" --ids)"
    printf '%10s %12s %9s %9s\n' "$n" "$(stat -c %s "$work/$n")" "$time" "$memory"
  done
  printf '\n%6s %12s %9s %9s\n' k set seconds MiB
  for k in ${BEAMS:-10 100 1000}; do
    for round in $(seq "${ROUNDS:-3}"); do
      for n in none ${SIZES:-1000 100000 1000000}; do
        scorer=()
        if [ "$n" != none ]; then scorer=(--scorer "trie:$work/$n"); fi
        printf '%s %s %s %s\n' "$k" "$n" $(seconds "$work/out" "$rill" decode -q -m "$model" -i "$inputs" --method fixed-stream -n 4 \
          -k "$k" --max-length 5 --workers 1 "${scorer[@]}" 2>/dev/null)
      done
    done
  done | sort -k1,1n -k2,2 -k3,3n | awk '!seen[$1, $2]++ { printf "%6s %12s %9s %9s\n", $1, $2, $3, $4 }'
} >"$out"
