#!/usr/bin/env bash
# The manual has every option of the help texts, and is well formed as far as groff can check.
set -eu
manual=$(readlink -f "$5")
. "${0%/*}/lib.sh"

sed 's/\\-/-/g' "$manual" >plain_manual
for command_name in decode run score trie tune evidence eval bench check info list; do
  run "$rill" "$command_name" --help
  exits 0
  sed -n 's/^  \(-[A-Za-z]\).*/\1/p; s/^  \(-[A-Za-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' out | sort -u >options
  while read -r option; do
    verdict "$(good grep -qE -e "$option([^a-z-]|\$)" plain_manual)" "the manual should explain $option of $command_name"
  done <options
done
verdict "$(good [ "$(grep -c . options)" -ge 1 ])" "options were found in the help texts"

# It is of this build: the libraries' descriptions of their options are in it, too.
run python3 "$data/../../tools/man.py" "$rill" "$data/../../docs/rill.1.in" fresh
exits 0; same fresh "$manual"

if command -v groff >/dev/null; then
  run groff -man -ww -z -Tutf8 "$manual"
  exits 0; silent
fi
finish
