#!/usr/bin/env bash
# The reference in docs/scripting.md and the code name the same things: neither has a name that the other lacks.
#
# The page marks each of its tables with <!-- names: KIND -->; the names are the words in `code` in the first column.
#   usage: reference.sh RILL CHECK_JSON DATA TOY_PLUGIN ROOT
set -eu
. "${0%/*}/../cli/lib.sh"
root=$5

cp "$root/tests/scripting/reference.lua" .
printf 'a\tx\n' >dev.tsv
cut -f 1 dev.tsv >inputs
feed inputs "$rill" run reference.lua -q
exits 0
cat err >told
feed inputs "$rill" run reference.lua -q --domain plain
exits 0
cat err >>told
run "$rill" tune reference.lua --dev dev.tsv -q
exits 2 # one point is refused
cat err >>told
# Run as an unsafe script, where it can traverse the tables; rill.names is the same in both.
printf 'for name in pairs(rill.ffi) do print("ffi " .. name) end\n' >ffi.lua
run "$rill" list schedulers --plugin ffi.lua --unsafe-scripts
exits 0
cat err >>told
grep -E '^[a-z_]+ [A-Za-z_0-9]+$' told | sort -u >code
verdict "$(good [ "$(wc -l <code)" -gt 200 ])" "the code tells its names"
verdict "$(good [ "$(wc -l <told)" -eq "$(grep -cE '^[a-z_]+ [A-Za-z_0-9]+$' told)" ])" "nothing else is told"

awk '
  /^<!-- names: / { kind = $3; next }
  kind != "" && /^\|/ {
    split($0, cell, " *[|] *")
    rest = cell[2]
    while (match(rest, /`[^`]+`/)) {
      word = substr(rest, RSTART + 1, RLENGTH - 2)
      rest = substr(rest, RSTART + RLENGTH)
      sub(/[({ \[].*/, "", word)
      sub(/.*[.:]/, "", word)
      print kind, word
    }
    next
  }
  kind != "" && !/^\|/ && !/^$/ { kind = "" }' "$root/docs/scripting.md" | sort >page
verdict "$(good [ -z "$(uniq -d page)" ])" "the page lists a name twice: $(uniq -d page | tr '\n' ';')"
verdict "$(good [ -z "$(comm -23 code page)" ])" "the page lacks: $(comm -23 code page | tr '\n' ';')"
verdict "$(good [ -z "$(comm -13 code page)" ])" "the code lacks what the page lists: $(comm -13 code page | tr '\n' ';')"
finish
