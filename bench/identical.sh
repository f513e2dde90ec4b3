#!/usr/bin/env bash
# Does the schedule change an answer? The grid of bench/identical.c on the three test sets, one process per set.
# usage: bench/identical.sh [--save] [--quick]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/common.sh

save=0 quick=()
for option in "$@"; do
  case $option in
  --save) save=1 ;;
  --quick) quick=(--quick) ;;
  *) echo "identical: unknown option $option" >&2; exit 2 ;;
  esac
done

program=build/bench/identical
[ -x $program ] || { echo "identical: build first (./dev build)" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
{
  describe_machine
  for name in geo jobs atis; do
    [ -d "examples/models/$name" ] || continue
    questions_of "$name" "$work/$name.txt"
    echo "+ $program ${quick[*]} $tokenized semparse examples/models/$name $source"
    # shellcheck disable=SC2086
    $program "${quick[@]}" $tokenized semparse "examples/models/$name" "$work/$name.txt" || echo failed >"$work/failed"
  done
  [ ! -e "$work/failed" ] && echo "all the same" || echo "NOT all the same"
} | tee "$work/identical.txt"
[ ! -e "$work/failed" ] || status=1
if [ $save = 1 ]; then
  mkdir -p bench/results
  cp "$work/identical.txt" bench/results/identical.txt
fi
exit $status
