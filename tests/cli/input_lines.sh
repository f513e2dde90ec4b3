#!/usr/bin/env bash
# Lines of every domain: blank lines, byte order marks, and names that a model does not know.
set -eu
. "${0%/*}/lib.sh"
models=$data/../../examples/models
cat >echo.lua <<'END'
rill.domain{
  name = "echo", summary = "a letter per letter", actions = { "end", "x" }, end_action = "end", separator = "",
  start = function(_, input)
    assert(input.text:find("%g"), "a blank line came to the domain")
    return #input.text, { note = input.text == "odd" and "an odd one" or nil }
  end,
  choices = function(_, left) return { [left > 0 and "x" or "end"] = -0.5 } end,
  advance = function(_, left) return left - 1 end,
}
END

# --- a blank line is an empty line, and no error
# ASCII spaces, Unicode spaces, and control characters.
printf '\n  \nw1\n\t\r\n\302\240\342\200\203\343\200\200\357\273\277\342\200\213\n\001\037\177\n' >blanks
for options in "-m $tiny" "-m $tiny --tokenized" "-m $data/mt/shared" "-m $data/mt/shared --tokenized" "-m $data/mt/fsmt" \
  "-m $data/shiftreduce/tiny" "-m $data/shiftreduce/tiny --tokenized" "-m $data/shiftreduce/tiny --input-format tree" \
  "--plugin $toy --domain toy" "--plugin echo.lua --domain echo"; do
  word=w1
  case $options in *tree*) word='(TOP (NN w1))' ;; *mt/*tokenized) word=a ;; *mt/*) word='ein mann' ;; esac
  sed "s/w1/$word/" blanks >lines
  for how in "" "--workers 2" "--method var-batch --sort length" "--min-length 1 -k 3 --length-penalty 1" "--max-nodes 1000"; do
    # shellcheck disable=SC2086
    feed lines "$rill" decode -q $options $how
    exits 0; counts_only; lines 6
    for line in 1 2 4 5 6; do line_is $line ""; done
  done
  # shellcheck disable=SC2086
  feed lines "$rill" decode $options --n-best 3 --stats stats.json
  exits 0
  verdict "$(good contains "2 ||| " out)" "the third line is decoded"
  verdict "$(good [ "$(grep -c '^[01345] |||  ||| logp= 0 length= 0 ||| 0$' out)" = 5 ])" "each blank line has one output, of nothing"
  json 6 inputs stats.json; json 0 failed stats.json
done
feed blanks "$rill" decode -q -m "$data/mt/shared" --alignment --word-scores
exits 0; line_is 1 " |||  ||| WordScores="
printf '?!\n' >signs
feed signs "$rill" decode -q -m "$tiny"
exits 0; silent; lines 1; line_is 1 ""

# --- a line of an output is one to readers for whom Unicode's ends of lines end one, too
cat >ends.lua <<'END'
rill.domain{
  name = "ends", summary = "all that ends a line", actions = { "end", "x" }, end_action = "end", separator = "",
  start = function(_, input) return 1 end,
  choices = function(_, left) return { [left > 0 and "x" or "end"] = -0.5 } end,
  advance = function(_, left) return left - 1 end,
  finalize = function() return "a\vd\fe\x1cf\x1dg\x1eh\u{85}i\u{2028}j\u{2029}k" end,
}
END
split_lines() { python3 -c 'import sys; sys.exit(len(open(sys.argv[1], newline="").read().splitlines()) != int(sys.argv[2]))' "$1" "$2"; }
printf 'x\ny\n' >inputs
printf '{"text": "x"}\n{"text": "y"}\n' >objects
ends() { feed "$1" "$rill" decode --plugin ends.lua --domain ends -q "${@:2}"; exits 0; verdict "$(good split_lines out 2)" "lines: $*"; }
ends inputs; line_is 1 "a d e f g h i j k"
ends inputs --unordered; prints "$(printf '\t')a d e f g h i j k"
ends inputs --n-best 1; line_is 1 "0 ||| a d e f g h i j k ||| logp= -1 length= 1 ||| -1"
ends inputs --tsv-column 1; line_is 2 "y$(printf '\t')a d e f g h i j k"
ends objects --jsonl --trace trace.jsonl --trace-trees
sed -n 1p out >object; json "$(printf 'a\vd\fe\034f\035g\036h\302\205i\342\200\250j\342\200\251k')" outputs.0.text object
verdict "$(good split_lines trace.jsonl "$(wc -l <trace.jsonl)")" "lines of a trace"

# --- a byte order mark is not part of the first word: of inputs from files and pipes, of references, of a model's files
mark=$(printf '\357\273\277')
printf 'w1 w2\nw3\n' >plain
{ printf '%s' "$mark"; cat plain; } >marked
run "$rill" decode -q -m "$tiny" --tokenized -i plain
cp out answers
run "$rill" decode -q -m "$tiny" --tokenized -i marked
exits 0; same out answers
"$rill" decode -q -m "$tiny" --tokenized < <(printf '%s' "$mark"; sleep 0.01; cat plain) >out
same out answers
{ printf '%s' "$mark"; cat answers; } >references
run "$rill" eval --metric exact --refs references answers
exits 0; cp out judged
run "$rill" eval --metric exact --refs answers answers
exits 0; same out judged
if [ -d "$models/geo" ]; then
  # with_marks MODEL: a copy whose text files begin with marks
  with_marks() {
    local file
    rm -rf copy; mkdir copy; cp "$models/$1"/* copy
    for file in copy/*.json copy/*.tsv copy/*.vocab; do
      [ -e "$file" ] || continue
      { printf '%s' "$mark"; cat "$models/$1/${file##*/}"; } >"$file"
    done
  }
  for name in geo gum de-en; do
    head -n 3 "$models/../questions/$name.txt" >some
    run "$rill" decode -q -m "$models/$name" -i some
    exits 0; cp out answers
    with_marks $name
    run "$rill" decode -q -m copy -i some
    exits 0; same out answers
  done

  # --- words are parted by spaces of all kinds, of a line and of a JSON line; a mark that a text begins with is no part of it
  spaces='u0009\011 u000b\013 u000c\014 u0085\302\205 u00a0\302\240 u1680\341\232\200 u2000\342\200\200
    u2001\342\200\201 u2002\342\200\202 u2003\342\200\203 u2004\342\200\204 u2005\342\200\205 u2006\342\200\206
    u2007\342\200\207 u2008\342\200\210 u2009\342\200\211 u200a\342\200\212 u2028\342\200\250 u2029\342\200\251
    u202f\342\200\257 u205f\342\201\237 u3000\343\200\200'
  joined='u200b\342\200\213 u2060\342\201\240 ufeff\357\273\277' # without width: translators join what is around them
  while IFS='|' read -r name text more; do
    printf '%s\n' "$text" >plain
    printf '{"text": "%s"}\n{"text": "\\ufeff%s"}\n' "$text" "$text" >objects
    for space in $spaces $more; do
      printf '%b\n' "${text// /${space:5}}" >>plain
      printf '{"text": "%s"}\n' "${text// /\\${space:0:5}}" >>objects
    done
    run "$rill" decode -q -m "$models/$name" -i plain
    exits 0; verdict "$(good [ "$(sort -u out | wc -l)" = 1 ])" "$name: spaces of all kinds part words"
    answer=$(head -n 1 out)
    run "$rill" decode -q -m "$models/$name" -i objects --jsonl
    exits 0
    sed 's/^.*"outputs": \[{"text": "//; s/", "score".*//' out | sort -u >found
    verdict "$(good [ "$(cat found)" = "$answer" ])" "$name: JSON lines too"
  done <<END
gum|The dog barks .|$joined
geo|what states border texas|$joined
atis|flights from boston to denver|$joined
de-en|Ein Hund läuft schnell .|
de-en-rnn|Ein Hund läuft schnell .|
END

  # --- names that neither the lexicon nor the vocabulary has are reported once per line
  cat >asked <<'END'
flights from London to Paris
Show me flights from Boston to Denver, I want them on Monday.
i'd fly to "zorg city" and back to "zorg city"
I'll go to Las Palmas; is Ürümqi's airport near Ulan-Bator?
Howdy, flights to St. Louis. Thanks! Grüezi: Zürich?
SHOW FLIGHTS FROM LONDON

from 'zorg' to Boston, don't y'all know 'em
flights from london to paris
END
  cat >told <<'END'
rill: warning: line 1: names that the model does not know: London, Paris
rill: warning: line 3: names that the model does not know: zorg
rill: warning: line 4: names that the model does not know: Palmas, Ürümqi, Ulan-Bator
rill: warning: line 5: names that the model does not know: Zürich
rill: warning: line 8: names that the model does not know: zorg
END
  feed asked "$rill" decode -q -m "$models/atis"
  exits 0; lines 9; same err told
  feed asked "$rill" decode -q -m "$models/atis" --workers 3 --sort length
  exits 0; same err told
  cp out answers
  feed asked "$rill" decode -q -m "$models/atis" --unknown-names
  exits 0
  sed 's/ ||| .*//' out >texts
  same texts answers
  verdict "$(good [ "$(sed -n '1s/.* ||| //p;2s/.* ||| //p;7p' out | tr '\n' ';')" = "London, Paris;; ||| ;" ])" "the field has the names"
  printf 'return { model = "%s", unknown_names = true, n_best = 2 }\n' "$models/atis" >names.lua
  feed asked "$rill" run names.lua -q
  exits 0; prints "0 ||| "; prints " ||| London, Paris ||| logp= "
  feed asked "$rill" decode -q -m "$models/atis" --tokenized
  exits 0; silent

  # --- a semantic parser without its lexicon warns where that changes results
  rm -rf copy; mkdir copy; cp "$models/geo"/* copy; rm copy/lexicon.tsv
  printf 'where is c0\n' >placed
  feed placed "$rill" decode -q -m copy
  exits 0; says "copy/lexicon.tsv is missing: without this lexicon"; verdict "$(good [ "$(wc -l <err)" = 1 ])" "it is said once"
  feed placed "$rill" decode -q -m copy --workers 3
  exits 0; verdict "$(good [ "$(wc -l <err)" = 1 ])" "it is said once"
  feed placed "$rill" decode -q -m copy --tokenized
  exits 0; silent
fi

# --- a script's domain has notes too
printf 'even\nodd\n' >two
feed two "$rill" decode -q --plugin echo.lua --domain echo
exits 0; lines 2; line_is 2 xxx; says "rill: warning: line 2: an odd one"
verdict "$(good [ "$(wc -l <err)" = 1 ])" "nothing is said of the other"
sed 's/"an odd one"/{}/' echo.lua >bad.lua
feed two "$rill" decode -q --plugin bad.lua --domain echo
exits 1; says "note must be a string, not a table"

finish
