#!/usr/bin/env bash
# Shell completion of `rill`, and the command that starts the converters.
#   usage: completion.sh RILL CHECK_JSON DATA TOY_PLUGIN RILL.BASH _RILL
set -eu
. "${0%/*}/lib.sh"
cd - >/dev/null
in_bash=$(absolute "$5") in_zsh=$(absolute "$6")
cd "$work"
mkdir folder && : >file.txt

cat >try.sh <<END
source "$in_bash"
COMP_WORDS=("\$@") COMP_CWORD=\$((\$# - 1))
_rill 2>/dev/null
printf '%s\n' "\${COMPREPLY[@]}"
END
completes() {  # completes "WANTED ..." WORD...: words after `rill`; the last one is being completed
  local wanted=$1
  shift
  run bash try.sh rill "$@"
  verdict "$(good [ "$(sort out | tr '\n' ' ')" = "$wanted " ])" "completions were expected to be: $wanted"
}
completes "decode" de
completes "--finish" decode --fin
completes "immediate one-step shrink top" decode --finish ""
completes "top" decode -m model --finish = t
completes "var-batch var-stream var-stream-fifo" decode --method var
completes "hf" bench --like h
completes "folder" decode -m fo
completes "file.txt" decode -i fi
completes "file.txt" decode fi
completes "methods metrics" list me
completes "eval evidence" help ev
completes "marian" convert m
completes "" decode -k fi
completes "" decode --no-such

# Each option of each help text is there, in both.
"$rill" --help | awk '/^Commands:/ { inside = 1; next } /^$/ { inside = 0 } inside { print $1 }' >commands
for command in $(grep -v convert commands); do
  "$rill" "$command" --help | grep -oE '^  (-., )?--[a-z0-9-]+' | grep -oE -e '--.*' >options || true
  sed -n "/^  $command)/,/^    esac/p" "$in_bash" >part.bash
  sed -n "/^  $command)/,/;;\$/p" "$in_zsh" >part.zsh
  while read -r option; do
    grep -qE "^    options=\"(.* )?$option[\" ]" part.bash || echo "bash: $command $option"
    grep -qE "^ *'\*$option[=[]" part.zsh || echo "zsh: $command $option"
  done <options
done >out
verdict "$(good no_bytes out)" "options that are not completed"
verdict "$(good [ "$(wc -l <commands)" -ge 13 ])" "all commands were looked at"
if command -v zsh >/dev/null; then
  run zsh -n "$in_zsh"
  exits 0; silent
fi

# --- converters: found from the command itself, whose exit code is theirs
run env PATH=/nowhere "$rill" convert bin
exits 1; says "the converters need Python and NumPy"
mkdir bin
printf '%s\n' '#!/bin/sh' 'printf "%s\n" "$@"' 'exit 7' >bin/python3
chmod +x bin/python3
run env PATH="$work/bin:$PATH" "$rill" convert bin "a b" --out c
exits 7
verdict "$(good [ "$(sed 1d out | tr '\n' '|')" = "bin|a b|--out|c|" ])" "arguments are passed on as they are"
verdict "$(good [ -r "$(head -n 1 out)" ])" "the converter is a file"
run env PATH="$work/bin:$PATH" "$rill" help convert
exits 7
if python3 -c 'import numpy' 2>/dev/null; then
  run "$rill" convert --help
  exits 0; prints "usage: rill convert "
  run "$rill" convert folder --out new
  exits 1; says "rill convert: folder: neither"
  run "$rill" convert missing --out new
  exits 2; says "invalid choice"
  : >folder/pytorch_model.bin
  run "$rill" convert folder --out new
  exits 1; says "rill convert: folder/config.json: not there"
else
  run "$rill" convert --help
  exits 0; prints "usage: rill convert"
fi
finish
