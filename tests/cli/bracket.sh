#!/usr/bin/env bash
# rill eval --metric bracket: each rule of counting constituents on trees small enough to count by hand.
set -eu
. "${0%/*}/lib.sh"

# tally GOLD OUTPUT MATCHED OF_REFERENCE OF_OUTPUT: one pair of trees.
tally() {
  printf '%s\n' "$1" >refs
  printf '%s\n' "$2" >hyp
  run "$rill" eval --metric bracket --refs refs hyp --json -
  cp out r.json
  exits 0; silent
  json "$3" matched r.json; json "$4" reference_constituents r.json; json "$5" output_constituents r.json
}

cat='(TOP (S (NP (DT the) (NN cat)) (VP (VBD sat))))'

# --- labels and spans: S 0-3, NP 0-2, VP 2-3 against S 0-3, NP 0-1, VP 1-3
tally "$cat" "$cat" 3 3 3
json 1 exact r.json; json 100.0 bracket_percent r.json; json 3 right_tags r.json; json 3 words r.json
tally "$cat" '(TOP (S (NP (DT the)) (VP (NN cat) (VBD sat))))' 1 3 3
json 0 exact r.json; prints '"bracket_percent": 33.3333333'
tally "$cat" '(TOP (S (PP (DT the) (NN cat)) (VP (VBD sat))))' 2 3 3
tally "$cat" '(TOP (DT the) (NN cat) (VBD sat))' 0 3 0
json 0.0 bracket_percent r.json; json 0.0 precision_percent r.json; json 1 scored r.json
tally "$cat" '(TOP (S (NP (DT the) (NN cat)) (VP (VP (VBD sat)))))' 3 3 4
json 75.0 precision_percent r.json; json 100.0 recall_percent r.json; prints '"bracket_percent": 85.7142857'; json 0 exact r.json

# --- TOP is no constituent, nor is a bracket without a name
tally "$cat" '(S (NP (DT the) (NN cat)) (VP (VBD sat)))' 3 3 3
tally "$cat" '( (S (NP (DT the) (NN cat)) (VP (VBD sat))))' 3 3 3
tally '(TOP (UH oh))' '(TOP (UH oh))' 0 0 0
json 1 exact r.json

# --- function tags and traces
tally "$cat" '(TOP (S (NP-SBJ-1 (DT the) (NN cat)) (VP=2 (VBD sat) (NP (-NONE- *-1)))))' 3 3 3
json 1 exact r.json

tally "$cat" '(TOP (S (NP|QP (DT the) (NN cat)) (VP (VBD sat))))' 2 3 3

# --- PRT is ADVP, also among tags; a label of both is neither
tally '(TOP (VP (VB give) (PRT (RP up))))' '(TOP (VP (VB give) (ADVP (RP up))))' 2 2 2
tally '(TOP (VP (VB give) (PRT up)))' '(TOP (VP (VB give) (ADVP up)))' 1 1 1
json 2 right_tags r.json
tally '(TOP (VP (VB give) (PRT (RP up))))' '(TOP (VP (VB give) (ADVP|PRT (RP up))))' 1 2 2
tally '(TOP (VP (VB give) (ADVP|PRT-2 (RP up))))' '(TOP (VP (VB give) (ADVP|PRT (RP up))))' 2 2 2

# --- equal constituents match one by one
tally '(TOP (NP (NP (NN x)) (NP (NN y))))' '(TOP (NP (NP (NP (NN x))) (NN y)))' 2 3 3
tally '(TOP (NP (NP (NP (NN x)))))' '(TOP (NP (NN x)))' 1 3 1

# --- punctuation is in no span, wherever it hangs; brackets and currency are words
tally '(TOP (S (`` ``) (NP (NN x)) (, ,) (VP (VB y) (: -)) (. .) ('"'' ''"')))' \
  '(TOP (S (`` ``) (NP (NN x) (, ,)) (VP (VB y) (: -) (. .) ('"'' ''"'))))' 3 3 3
json 1 exact r.json; json 2 words r.json
tally '(TOP (S (NP (NN x)) (. .)))' '(TOP (S (NP (NN x)) (NP (. .))))' 2 2 2
tally '(TOP (NP (NP (NN x)) (-LRB- -LRB-) (NN y)))' '(TOP (NP (NP (NN x) (-LRB- -LRB-)) (NN y)))' 1 2 2
tally '(TOP (NP (NP (NN x)) ($ $) (CD 5)))' '(TOP (NP (NP (NN x) ($ $)) (CD 5)))' 1 2 2

tally '(TOP (NP (NP (NN x)) (: (NN y))))' '(TOP (NP (, (NN x)) (NP (. (NN y)))))' 1 2 2

# --- a reference with nothing but punctuation does not count, for any output
printf '%s\n%s\n%s\n' '(TOP (FRAG (: -) (. .)))' '(TOP (NP (. .)))' "$cat" >refs
printf '%s\n%s\n%s\n' '(TOP (FRAG (: -) (. .)))' '(TOP (. .' "$cat" >hyp
run "$rill" eval --metric bracket --refs refs hyp --json -
cp out r.json
exits 0; silent
json 2 empty r.json; json 1 scored r.json; json 1 exact r.json; json 100.0 exact_percent r.json; json 0 broken r.json; json 3 inputs r.json
run "$rill" eval --metric bracket --refs refs hyp
exits 0; prints 'empty           2  references with punctuation only, left out'
tally '(TOP (NP (. .) (NN x)))' '(TOP (NP (. .) (NN x)))' 1 1 1
json 0 empty r.json; json 1 exact r.json

# --- the reference's tags decide which words are punctuation; tags are counted over the other words
tally '(TOP (S (NP (NN x)) (VP (VB y)) (. .)))' '(TOP (S (NP (NN x)) (VP (NN y) (NN .))))' 3 3 3
json 1 right_tags r.json; json 50.0 tags_percent r.json
tally '(TOP (S (NP (NN x)) (VP (VB y))))' '(TOP (S (NP (NN x)) (VP (. y))))' 3 3 3

# --- outputs with different words: reported, and left out of all counts; different quotes are not different words
printf '%s\n%s\n%s\n' "$cat" "$cat" '(TOP (S (`` ``) (NN x)))' >refs
printf '%s\n%s\n%s\n' '(TOP (S (NP (DT a) (NN cat)) (VP (VBD sat))))' '(TOP (NP (DT the) (NN cat)))' '(TOP (S (`` ") (NN x)))' >hyp
run "$rill" eval --metric bracket --refs refs hyp --json -
cp out r.json
exits 0; says 'reference line 1: output left out: word 1 is "a", and "the"'
says 'reference line 1: output left out: word 1 is "a", and "the" in the reference'; says_not 'line 3'
json 2 skipped r.json; json 1 scored r.json; json 1 matched r.json; json 1 reference_constituents r.json; json 3 inputs r.json

# --- no output and no tree: nothing of the reference is found
printf '%s\n\n%s\n' "$cat" '(TOP (S (NP (DT the) (NN cat)' >hyp
printf '%s\n%s\n%s\n' "$cat" "$cat" "$cat" >refs
run "$rill" eval --metric bracket --refs refs hyp --json -
cp out r.json
exits 0; says 'reference line 3: the output is not a tree: column'
json 1 missing r.json; json 1 broken r.json; json 3 scored r.json; json 3 matched r.json
json 9 reference_constituents r.json; json 3 output_constituents r.json; json 50.0 bracket_percent r.json
run "$rill" eval --metric bracket --refs refs hyp
exits 0; prints 'labelled F1; precision 100.00 (3 of 3), recall 33.33 (of 9)'; prints 'broken'; prints 'missing'
yes x | head -20 >hyp
yes "$cat" | head -20 >refs
run "$rill" eval --metric bracket --refs refs hyp
exits 0; says 'reference line 10:'; prints 'broken         20  outputs that are not trees'; says_not 'reference line 11:'

# --- n-best lists: the first output counts, the best is the oracle's
printf '%s\n%s\n' "$cat" "$cat" >refs
{
  echo "0 ||| (TOP (S (NP (DT the)) (VP (NN cat) (VBD sat)))) ||| f ||| -1"
  echo "0 ||| (TOP (S (PP (DT the) (NN cat)) (VP (VBD sat)))) ||| f ||| -2"
  echo "0 ||| $cat ||| f ||| -3"
  echo "1 ||| $cat ||| f ||| -1"
  echo "1 ||| (TOP (NP (DT the) (NN cat))) ||| f ||| -2"
} >nbest
run "$rill" eval --metric bracket --refs refs nbest --json -
cp out r.json
exits 0; says 'reference line 2'
json 4 matched r.json; prints '"bracket_percent": 66.6666667'; json 100.0 oracle_percent r.json; json 1 exact r.json
json 2 oracle_exact r.json; json 0 skipped r.json; json true nbest r.json

# --- references that are no trees
printf '%s\nno tree\n' "$cat" >refs
run "$rill" eval --metric bracket --refs refs hyp
exits 1; says 'reference line 2 is not a tree: '; prints_nothing

finish
