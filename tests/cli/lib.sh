# What the shell tests of the command share. A test sources this file with the arguments that Meson gave it:
#   RILL CHECK_JSON DATA TOY_PLUGIN
# then runs commands with `run` or `feed` and looks at what they did: `exits`, `says`, `silent`, `prints`, `lines`.
# A failed check prints the command and its messages; the test continues, and `finish` exits with the verdict.
set -eu

# Tests send signals to what they start, which would go on for ever where one is ignored: in a job that a script started with &, or under
# nohup. Nothing in a shell can undo that but to begin again.
[ -z "$(trap -p)" ] || exec env --default-signal "$BASH" "$0" "$@"

absolute() { case $1 in /*) printf '%s' "$1" ;; *) printf '%s' "$PWD/$1" ;; esac; }
rill=$(absolute "$1") check_json=$(absolute "$2") data=$(absolute "$3") toy=$(absolute "$4") # Meson gives paths relative to where it runs
tiny=$data/semparse/tiny odd=$data/semparse/odd
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LC_ALL=C
echo 'return { options = { check = true } }' >checking.lua # --config checking.lua: heuristics and scorers are checked while decoding
checks=0 failures=0 status=0 command=

# run COMMAND...: nothing to read; what it prints is in files "out" and "err".
run() { feed /dev/null "$@"; }

# feed FILE COMMAND...
feed() {
  local input=$1
  shift
  command="$* < $input"
  status=0
  "$@" <"$input" >out 2>err || status=$?
}

verdict() { # verdict GOOD MESSAGE
  checks=$((checks + 1))
  if [ "$1" = 1 ]; then return 0; fi
  failures=$((failures + 1))
  printf 'FAILED: %s\n  command: %s\n  exit code %s\n  stdout:\n' "$2" "$command" "$status"
  head -c 600 out | sed 's/^/    /'
  printf '  stderr:\n'
  head -c 1500 err | sed 's/^/    /'
}

good() { if "$@"; then echo 1; else echo 0; fi; }
contains() { grep -qF -e "$1" "$2"; }
no_bytes() { [ ! -s "$1" ]; }

exits() { verdict "$(good [ "$status" -eq "$1" ])" "exit code $1 was expected"; }
says() { verdict "$(good contains "$1" err)" "stderr should say: $1"; }
says_not() { if contains "$1" err; then verdict 0 "stderr should not say: $1"; else verdict 1 ""; fi; }
silent() { verdict "$(good no_bytes err)" "nothing was expected on stderr"; }
# The counts of outputs that are cut short or too few, and nothing else; but where there is one processor, that it has no two threads.
counts_only() {
  local others
  others=$(grep -cv '^rill: warning: [0-9]* \(of [0-9]* inputs have \|threads were requested\)' err || true)
  verdict "$(good [ "$others" = 0 ])" "counts alone were expected on stderr"
}
prints() { verdict "$(good contains "$1" out)" "stdout should have: $1"; }
prints_nothing() { verdict "$(good no_bytes out)" "nothing was expected on stdout"; }
lines() { verdict "$(good [ "$(wc -l <out)" -eq "$1" ])" "$1 lines were expected on stdout, not $(wc -l <out)"; }
line_is() { verdict "$(good [ "$(sed -n "$1p" out)" = "$2" ])" "line $1 should be: $2"; }
same() { verdict "$(good cmp -s "$1" "$2")" "$1 and $2 should be equal"; }
differ() { if cmp -s "$1" "$2"; then verdict 0 "$1 and $2 should differ"; else verdict 1 ""; fi; }
# json VALUE PATH FILE
json() {
  local value
  value=$("$check_json" "$3" "$2" 2>&1) || value="(no JSON) $value"
  verdict "$(good [ "$value" = "$1" ])" "$3: $2 should be $1, not $value"
}
# The summary's seconds are those of the run: a few.
took() {
  verdict "$(good awk '/ in [0-9.]+ s, / { sub(/.* in /, ""); n++; bad += $1 + 0 > 300 } END { exit n != 1 || bad }' err)" "a few seconds"
}
has_json() { # has_json FILE PATH...
  verdict "$(good quietly "$check_json" "$@")" "JSON of $1 should have what was asked for: $*"
}
lacks_json() { # lacks_json FILE PATH
  verdict "$(good not quietly "$check_json" "$@")" "JSON of $1 should not have $2"
}
not() { ! "$@" 2>/dev/null; }
quietly() { "$@" >/dev/null; }

# threads_of N: how many threads the command uses when N are requested: at most the number of processors.
threads_of() {
  "$rill" decode -m "$tiny" -q --threads "$1" --stats - -o /dev/null </dev/null 2>/dev/null | sed -n 's/^ *"threads": \([0-9]*\).*/\1/p'
}

finish() {
  echo "$checks checks, $failures failures"
  [ "$failures" -eq 0 ]
}

# pictured KIND PAGE: the JSON that a page of pictures has of bench or tune.
pictured() { sed -n "/^{.*\"event\":\"$1\"}\$/p" "$2"; }
