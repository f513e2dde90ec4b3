#!/usr/bin/env bash
# The commands of docs/scripting.md and examples/lua/README.md, run as a reader would run them.
#
# A ```lua block whose first line is `-- NAME.lua` becomes that file. In a ```console block a line that begins with "$ " is a
# command, run in a shell where `rill` is the command and `examples` the folder of the repository; the lines behind it are what
# it must print, standard error included. In them "…" stands for anything, and a line of that alone for any number of lines; a
# tab is shown as four blanks.
#   usage: tutorial.sh RILL CHECK_JSON DATA TOY_PLUGIN ROOT PAGE
set -eu
. "${0%/*}/../cli/lib.sh"
root=$5 page=$6

mkdir bin && ln -s "$rill" bin/rill && PATH=$PWD/bin:$PATH
ln -s "$root/examples" examples
mkdir blocks

# Write the page's pieces in their order: blocks/N.file is a file, the first line its name; blocks/N.run a command, the first line,
# and what it prints; blocks/N.at the number of its line.
awk '
  function close_piece() { if (piece != "") close(piece); piece = "" }
  function open_piece(kind) {
    close_piece(); n++
    piece = sprintf("blocks/%03d.%s", n, kind)
    at = sprintf("blocks/%03d.at", n); print NR > at; close(at)
  }
  /^```/ && inside == "" { inside = substr($0, 4); first = 1; if (inside == "") inside = "text"; next }
  /^```/ { inside = ""; close_piece(); next }
  inside == "lua" && first { first = 0; if ($0 ~ /^-- [a-z0-9_]+\.lua$/) { open_piece("file"); print $2 > piece } }
  inside == "lua" && piece != "" { print > piece }
  inside == "console" && /^\$ / { open_piece("run"); print substr($0, 3) > piece; next }
  inside == "console" && piece != "" { print > piece }
  END { close_piece() }' "$root/$page"

as_pattern() { # as_pattern TEXT: a shell pattern of it
  local text=$1
  text=${text//\\/\\\\}; text=${text//\*/\\*}; text=${text//\?/\\?}; text=${text//[/\\[}
  printf '%s' "${text//…/*}"
}

# Does what was printed fit? `skip` is set while any number of lines may be passed over.
fits() { # fits WANTED GOT
  local -a wanted got
  local i=0 line skip=0
  mapfile -t wanted <"$1"
  mapfile -t got <"$2"
  for line in "${wanted[@]}"; do
    if [ "$line" = … ]; then skip=1; continue; fi
    line=$(as_pattern "$line")
    while [ $skip = 1 ] && [ $i -lt ${#got[@]} ] && [[ ${got[i]} != $line ]]; do i=$((i + 1)); done
    [ $i -lt ${#got[@]} ] && [[ ${got[i]} == $line ]] || return 1
    i=$((i + 1)) skip=0
  done
  [ $skip = 1 ] || [ $i -eq ${#got[@]} ]
}

shopt -s nullglob
ran=0
for piece in blocks/*; do
  case $piece in
  *.file) tail -n +2 "$piece" >"$(head -n 1 "$piece")" ;;
  *.run)
    tail -n +2 "$piece" >wanted
    command=$(head -n 1 "$piece")
    status=0
    bash -c "$command" </dev/null >raw 2>&1 || status=$?
    sed 's/\t/    /g' raw >out
    : >err
    ran=$((ran + 1))
    verdict "$(good fits wanted out)" "$page, line $(cat "${piece%.run}.at"): other output than the page shows"
    ;;
  esac
done
verdict "$(good [ $ran -gt 0 ])" "$page: there are commands to run"
finish
