#!/usr/bin/env bash
# rill eval: plain and n-best hypotheses, canonical forms, counts that do not fit.
set -eu
. "${0%/*}/lib.sh"

printf 'answer ( a )\nb c\nd\n' >refs
evaluate() { run "$rill" eval --refs refs "$@"; }

# --- plain lines
printf 'answer  ( a )\n\nd d\n' >hyp
evaluate hyp --json -
exits 0; silent
cp out r.json
json 3 inputs r.json; json 1 exact r.json; json 1 oracle r.json; json 1 missing r.json; json false nbest r.json
evaluate hyp
exits 0; prints "inputs"; prints "33.33 %"; prints "missing"
feed hyp "$rill" eval --refs refs --json -
exits 0; same out r.json
feed hyp "$rill" eval --refs refs --json - -
exits 0; same out r.json
# a file has the same, beside the text
evaluate hyp
cp out text
evaluate hyp --json new.json
exits 0; silent; same out text; same new.json r.json
cp refs kept
for path in refs hyp; do
  evaluate hyp --json $path
  exits 1; says "--json are the same file"; prints_nothing; same refs kept
done
evaluate hyp --json no/such.json
exits 1; says "no/such.json"; prints_nothing
evaluate hyp --json
exits 1; says "option --json needs a value: --json FILE"
printf 'answer ( a )\nb c\nd' >right
evaluate right
exits 0; prints "100.00 %"

# --- fields after outputs, and outputs that contain bars
printf 'answer ( a ) ||| 0-0\nb c ||| 0-0\nd ||| 0-0\n' >fields
evaluate fields
exits 1; says 'fields: line 1: the line has "|||" but is not of an n-best list: decode with --n-best 1'; says "--n-best 1"; prints_nothing
sed 's/^/0\t/' fields | head -1 >fields.numbered
evaluate fields.numbered
exits 1; says ': the line has "|||" but is not of an n-best list: decode with --n-best 1'
printf 'answer ( a )\nb c ||| d\nd\n' >later
evaluate later
exits 0; prints "66.67 %"
printf 'a ||| b\n' >bars
run "$rill" eval --refs bars bars
exits 0; prints "100.00 %"
feed bars "$rill" eval --refs - -
exits 1; says "cannot both be standard input"

# --- n-best lists
printf '%s\n' "0 ||| x ||| f ||| -1" "0 ||| answer ( a ) ||| f ||| -2" "2 ||| d ||| f ||| -1" >nbest
evaluate nbest --json -
cp out r.json
exits 0; json 1 exact r.json; json 2 oracle r.json; json 1 missing r.json; json true nbest r.json
printf '%s\n' "0 |||  ||| f ||| -1" "2 ||| d ||| f ||| -1" "1 ||| b c ||| f ||| -1" >shuffled
evaluate shuffled --json -
cp out r.json
exits 0; json 2 exact r.json; json 0 missing r.json

# --- lines in any order
printf '2\td\n0\tanswer ( x )\n1\t\n' >numbered
evaluate numbered --json -
cp out r.json
exits 0; json 1 exact r.json; json 1 missing r.json; json false nbest r.json
"$rill" decode -m "$tiny" -q --unordered -n 1 >numbered <<<"$(printf 'w0 w1 w2\nw3\nw4 w5 w6')"
"$rill" decode -m "$tiny" -q >in_order <<<"$(printf 'w0 w1 w2\nw3\nw4 w5 w6')"
sort -rn numbered >backwards
run "$rill" eval --refs in_order backwards
exits 0; prints "100.00 %"
printf '1\tb c\n0\tx\n1\td\n' >twice
evaluate twice
exits 1; says "twice: line 3: id 1 occurs twice"
printf '1\tb c\n0\tx\n' >short
evaluate short
exits 1; says "short has 2 lines, and refs has 3: expected equal numbers"
printf '1\tb c\n3\tx\n' >beyond
evaluate beyond
exits 1; says "line 2"; says "id 3"
printf '1\tb c\nx\n' >mixed
evaluate mixed
exits 1; says "mixed: line 2"; says "<TAB>"

# --- two columns
printf 'q one\tanswer ( a )\nq two\tb c\nq three\td\n' >two.tsv
run "$rill" eval --test-set two.tsv right
exits 0; prints "100.00 %"
run "$rill" eval --refs two.tsv --tsv right
exits 1; says "unknown option --tsv: use --test-set FILE with inputs and references in two columns"
run "$rill" eval --refs refs --test-set two.tsv right
exits 1; says "--refs cannot be combined with --test-set: both name references"
run "$rill" eval --test-set refs right
exits 1; says "line 1"; says "two columns"

# --- canonical forms
printf '( lambda $0 e ( and ( a $0 ) ( b $0 ) ) )\n' >lf_refs
printf '( lambda $0 e ( and ( b $0 ) ( a $0 ) ) )\n' >lf
run "$rill" eval --refs lf_refs lf --json -
cp out r.json
json 0 exact r.json
run "$rill" eval --domain semparse --refs lf_refs lf --json -
cp out r.json
exits 0; json 1 exact r.json; json semparse domain r.json
run "$rill" eval -m "$tiny" --refs lf_refs lf --json -
cp out r.json
exits 0; json 1 exact r.json
printf '( broken ( form\n' >broken
run "$rill" eval --domain semparse --refs lf_refs broken --json -
cp out r.json
exits 0; json 0 exact r.json
run "$rill" eval --domain semparse --refs broken broken --json -
cp out r.json
exits 0; json 1 exact r.json

# --- bleu; the figures are sacreBLEU's for the same lines
cat >bleu_refs <<'END'
The cat sat on a mat.
He paid 1,000.50 euros "twice" in 3-4 days, for example & more ...
Nothing of the kind
A dog and a man
END
cat >bleu <<'END'
The cat sat on the mat.
He paid 1,000.50 euros - "twice" - in 3-4 days, e.g. &amp; more...
completely different
A dog, a man
END
run "$rill" eval --metric bleu --refs bleu_refs bleu
exits 0; prints "46.04  73.7/58.8/40.0/25.9 (BP = 1.000 ratio = 1.056 hyp_len = 38 ref_len = 36)"
run "$rill" eval --metric bleu --refs bleu_refs bleu --json -
prints '"bleu_percent": 46.0447315'
cp out r.json
json bleu metric r.json; json 36 reference_tokens r.json; json 38 output_tokens r.json; json 1.0 brevity_penalty r.json
for order in 0:28/38 1:20/34 2:12/30 3:7/27; do # of words, pairs and so on
  verdict "$(good awk -v p="${order#*:}" '{ split(p, n, "/"); good = ($1 - 100 * n[1] / n[2]) ^ 2 < 1e-12 } END { exit !good }' \
    <("$check_json" r.json "precisions.${order%:*}"))" "the precision of order ${order%:*} is ${order#*:}"
done
sed 3s/.*// bleu >bleu_gap # what is missing counts as empty
run "$rill" eval --metric bleu --refs bleu_refs bleu_gap --json -
prints '"bleu_percent": 47.0209569'
cp out r.json
json 1 missing r.json
echo 'a b &amp;lt; &amp;quot;' >twice # escapes are undone one kind after the other
echo 'a b < &quot ;' >once
run "$rill" eval --metric bleu --refs once twice --json -
prints '"bleu_percent": 100'
# Precisions 75 and 33.3, and without a match 100 / (2 * 2) and 100 / (4 * 1): their geometric mean.
echo 'a b c d' >some
echo 'a b x d' >few
run "$rill" eval --metric bleu --refs few some --json -
prints '"bleu_percent": 35.3553391'
{
  awk '{ print NR - 1 " ||| nothing like it at all ||| F0= -1 ||| -1" }' bleu_refs # first outputs are bad
  awk '{ print NR - 1 " ||| " $0 " ||| F0= -2 ||| -2" }' bleu_refs
} | sort -s -n -k1,1 >bleu_nbest
run "$rill" eval --metric bleu --refs bleu_refs bleu_nbest --json -
cp out r.json
json 100.0 oracle_percent r.json; json true nbest r.json
run "$rill" eval --metric bleu --refs bleu_refs bleu_nbest
exits 0; prints "oracle     100.00"
run "$rill" eval --metric blue --refs bleu_refs bleu
exits 1; says 'unknown metric "blue" (did you mean bleu?)'; says "exact, bleu"

# --- mistakes
printf 'a\nb\n' >two_lines
evaluate two_lines
exits 1; says "two_lines has 2 lines, and refs has 3: expected equal numbers"; prints_nothing
printf 'a\nb\nc\nd\n' >four_lines
evaluate four_lines
exits 1; says "four_lines has 4 lines, and refs has 3: expected equal numbers"
echo "3 ||| z ||| f ||| 1" >>nbest
evaluate nbest
exits 1; says "line 4"; says "id 3"; says " has no reference: there are 3 in "
printf '0 ||| a ||| f ||| 1\nplain\n' >mixed
evaluate mixed
exits 1; says "mixed: line 2"
run "$rill" eval right
exits 1; says "--refs"
run "$rill" eval --refs no-such right
exits 1; says "no-such"
evaluate no-such
exits 1; says "no-such"
evaluate right right
exits 1; says "expected one file of hypotheses, found another"
run "$rill" eval --refs refs --domain semparze right
exits 1; says "did you mean"
if [ -w /dev/full ]; then
  status=0
  "$rill" eval --refs refs right >/dev/full 2>err || status=$?
  exits 1; says "cannot write standard output"
fi

# --- plain lines: only equality is counted, and the report says what was ignored
printf '%s\n' "a b" "c d" >lines_alone
run "$rill" eval --refs lines_alone lines_alone
exits 0; prints "exact"; says "lines were compared as text, because no model was given"
for told in "--metric exact" "--domain semparse" "--json -"; do
  # shellcheck disable=SC2086
  run "$rill" eval --refs lines_alone $told lines_alone
  exits 0; says_not "--metric bleu"
done

finish
