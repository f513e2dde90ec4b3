#!/usr/bin/env bash
# The commands of a page, run as a reader would run them.
#
# A ```console block is run and compared. In it a line that begins with "$ " is a command; "> " goes on with it on the next line. The
# lines after a command are its expected output, standard error included: "…" stands for anything, a line of that alone for any number
# of lines, and a tab is shown as four blanks. Its exit code must be 0, or N where the command ends with "  # exit code N". Seconds and
# speeds are shown as they were once and not compared: those of the summary line, of its second half with --verbose, and of the tables
# of `rill bench`, `rill tune` and sweeps. Scores, numbers of six decimals or more, may differ by 0.001, for kernels of different processors
# differ in the last bits.
# A ```lua, ```python or ```c block whose first line is a comment with a file's name becomes that file. Other blocks are left alone.
#
# Commands run in a separate folder, with `rill` on the PATH, `build/rill` the same, and links to the repository's folders.
#   usage: pages.sh RILL CHECK_JSON DATA TOY_PLUGIN ROOT PAGE
set -eu
. "${0%/*}/../cli/lib.sh"
root=$5 page=$6

mkdir build blocks && ln -s "$rill" build/rill && PATH=$PWD/build:$PATH
for folder in docs examples framework tools; do ln -s "$root/$folder" $folder; done

# Write the parts of the page in order: blocks/N.NAME.file is a file; blocks/N.run a command and blocks/N.wanted its expected output;
# blocks/N.at has the number of its line.
awk '
  function close_piece() { if (piece != "") close(piece); piece = "" }
  function is_file(kind) { return kind == "lua" || kind == "python" || kind == "c" }
  function open_piece(kind) { close_piece(); piece = sprintf("blocks/%03d.%s", n, kind); printf "" > piece }
  /^```/ && inside == "" { inside = substr($0, 4); first = 1; if (inside == "") inside = "text"; next }
  /^```/ { inside = ""; close_piece(); next }
  is_file(inside) && first {
    first = 0
    if (match($0, /^(--|#|\/\*) [a-z0-9_]+\.(lua|py|c)/)) { n++; open_piece($2 ".file") }
  }
  is_file(inside) && piece != "" { print > piece }
  inside == "console" && /^\$ / {
    n++; at = sprintf("blocks/%03d.at", n); print NR > at; close(at)
    open_piece("run"); print substr($0, 3) > piece; next
  }
  inside == "console" && /^> / && piece ~ /run$/ { print substr($0, 3) > piece; next }
  inside == "console" && piece != "" { if (piece ~ /run$/) open_piece("wanted"); print > piece }
  END { close_piece() }' "$root/$page"

# What no two runs have in common.
mask() {
  sed -E 's/\t/    /g; s/ in [0-9.]+ s, [0-9.]+\/s/ in … s, …\/s/
    s/ +[0-9]+(\.[0-9]+)? +[0-9]+% +[0-9]+\.[0-9]( |$)/ … /; s/(^| +)[0-9]+\.[0-9]{4}( +)/ … /
    s/^((rill: )?seconds:) .*/\1 …/' "$1"
}

score='-?[0-9]+\.[0-9]{6,}'
matches() { # matches WANTED PATTERN GOT: one line, of whose text the pattern is made
  [[ $1 =~ $score ]] || { [[ $3 == $2 ]]; return; }
  [[ $(sed -E "s/$score/…/g" <<<"$3") == $2 ]] && paste <(grep -oE -e "$score" <<<"$1") <(grep -oE -e "$score" <<<"$3") |
    awk 'NF != 2 || $1 - $2 > 0.001 || $2 - $1 > 0.001 { wrong = 1 } END { exit wrong }'
}

as_pattern() { # as_pattern TEXT: a shell pattern of it
  local text=$1
  text=${text//\\/\\\\}; text=${text//\*/\\*}; text=${text//\?/\\?}; text=${text//[/\\[}
  printf '%s' "${text//…/*}"
}

# Does what was printed fit? `skip` is set while any number of lines may be passed over.
fits() { # fits WANTED GOT
  local -a wanted got
  local i=0 line pattern skip=0
  mapfile -t wanted < <(mask "$1")
  mapfile -t got < <(mask "$2")
  for line in "${wanted[@]}"; do
    if [ "$line" = … ]; then skip=1; continue; fi
    pattern=$line
    [[ ! $line =~ $score ]] || pattern=$(sed -E "s/$score/…/g" <<<"$line")
    pattern=$(as_pattern "$pattern")
    while [ $skip = 1 ] && [ $i -lt ${#got[@]} ] && ! matches "$line" "$pattern" "${got[i]}"; do i=$((i + 1)); done
    [ $i -lt ${#got[@]} ] && matches "$line" "$pattern" "${got[i]}" || return 1
    i=$((i + 1)) skip=0
  done
  [ $skip = 1 ] || [ $i -eq ${#got[@]} ]
}

shopt -s nullglob
ran=0
for piece in blocks/*; do
  case $piece in
  *.file) name=${piece#blocks/*.}; cp "$piece" "${name%.file}" ;;
  *.run)
    command=$(cat "$piece")
    wanted_status=$(sed -n 's/.*  # exit code \([0-9][0-9]*\)$/\1/p' "$piece")
    status=0
    bash -c "$command" </dev/null >out 2>&1 || status=$?
    : >err
    ran=$((ran + 1))
    [ -e "${piece%.run}.wanted" ] || : >"${piece%.run}.wanted"
    place="$page, line $(cat "${piece%.run}.at")"
    verdict "$(good [ $status = "${wanted_status:-0}" ])" "$place: exit code ${wanted_status:-0} was expected"
    verdict "$(good fits "${piece%.run}.wanted" out)" "$place: other output than the page shows"
    ;;
  esac
done
verdict "$(good [ $ran -gt 0 ])" "$page: there are commands to run"
finish
