#!/usr/bin/env bash
# rill evidence and what decodes with it: lists, lattices, lines that are wrong, files of other models; and that a first search of one's own
# gives the same bytes as a list, a file and a second run.
set -eu
. "${0%/*}/lib.sh"

for i in {1..60}; do printf 'w%d w%d w%d w%d\n' $((i % 17)) $((i * 7 % 17)) $((i * i % 17)) $((i * 5 % 13)); done >in
search=(-m "$tiny" -q -k 6 --max-candidates 6 --absolute 5)

# --- a list, evidence, a second run: the same to the byte as a run of both
feed in "$rill" decode "${search[@]}" --n-best 6
exits 0; cp out list
feed in "$rill" decode "${search[@]}" --n-best 3
exits 0; cp out plain
run "$rill" evidence list -m "$tiny" -o evidence
exits 0; silent; prints_nothing
for parameters in "" ,T=1 ,T=3,p=0.5,r=0.6,lambda=0.5 ,theta=0.5/1/2/-1/3; do
  feed in "$rill" decode "${search[@]}" --n-best 3 --lmbr "evidence$parameters"
  exits 0; counts_only; cp out by_file
  feed in "$rill" decode "${search[@]}" --n-best 3 --lmbr-self "6$parameters"
  exits 0; counts_only; same out by_file
  differ by_file plain
  for how in "--workers 3" "--method top-up -n 3" "--budget 9 --max-items 40"; do
    # shellcheck disable=SC2086
    feed in "$rill" decode "${search[@]}" --n-best 3 --lmbr-self "6$parameters" $how
    exits 0; same out by_file
    # shellcheck disable=SC2086
    feed in "$rill" decode "${search[@]}" --n-best 3 --lmbr "evidence$parameters" $how
    exits 0; same out by_file
  done
done
feed in "$rill" decode "${search[@]}" --lmbr-self 6,T=1 --config checking.lua
exits 0; cp out checked
feed in "$rill" decode "${search[@]}" --lmbr-self 6,T=1 --unordered
exits 0; sort -n out | cut -f2 >ordered; same ordered checked
(
  # A pipe is answered line by line.
  for _ in 1 2 3; do read -r line; echo "$line"; sleep 0.1; done
) <in | "$rill" decode "${search[@]}" --lmbr-self 6,T=1 >out 2>err
head -3 checked >three; same out three

# --- a script sets it, with paths relative to its folder, and tunes parameters
mkdir -p folder
cp evidence folder/
cat >folder/run.lua <<END
return { model = "$tiny", lmbr = "evidence,T=1", options = { k = 6, max_candidates = 6 }, heuristics = { "absolute:5" } }
END
feed in "$rill" run folder/run.lua -q
exits 0; cp out script
same script checked
sed 's/lmbr = "evidence,T=1"/lmbr_self = "6,T=1"/' folder/run.lua >folder/self.lua
feed in "$rill" run folder/self.lua -q
exits 0; same out script
paste in checked >dev.tsv
cat >folder/grid.lua <<END
return { model = "$tiny", options = { k = 6, max_candidates = 6 }, heuristics = { "absolute:5" },
  sweep = rill.sweep({ T = { 1, 30 }, p = { 0.8 }, r = { 0.7 } }, function(config, at)
    config.scorers = { { "lmbr", ("evidence,T=%g,p=%g,r=%g"):format(at.T, at.p, at.r) } }
  end) }
END
run "$rill" tune folder/grid.lua --dev dev.tsv --quiet
exits 0; prints "100.00"

# --- numbers of actions, and a piped list
run "$rill" list actions -m "$tiny"
exits 0
awk -F ' \\|\\|\\| ' 'NR == FNR { id[$1] = NR - 1; next }
  { n = split($2, word, " "); text = ""; for (i = 1; i <= n; i++) text = text id[word[i]] " "
    print $1 " ||| " text " ||| " $3 " ||| " $NF }' <(sed 's/^[0-9]*[[:blank:]]//' out) list >numbers
run "$rill" evidence numbers --ids -m "$tiny" -o by_number
exits 0; silent; same by_number evidence
feed list "$rill" evidence -m "$tiny"
exits 0; same out evidence

# --- a lattice is the list of its paths
cat >lattice <<'END'
0 ||| 0 ||| 1 ||| a1 ||| -0.5
0 ||| 0 ||| 1 ||| a2 a3 ||| -1
0 ||| 1 ||| 2 ||| a4 ||| -0.25
0 ||| 0 ||| 2 ||| a5 ||| -2
1 ||| 0 ||| 1 ||| a1 ||| 0
END
cat >paths <<'END'
0 ||| a1 a4 ||| x ||| -0.75
0 ||| a2 a3 a4 ||| x ||| -1.25
0 ||| a5 ||| x ||| -2
1 ||| a1 ||| 0
END
head -2 in >two
run "$rill" evidence lattice --lattice -m "$tiny" -o by_lattice
exits 0; silent
run "$rill" evidence paths -m "$tiny" -o by_paths
exits 0; silent
feed two "$rill" decode "${search[@]}" --lmbr by_lattice,T=1
exits 0; cp out from_lattice
feed two "$rill" decode "${search[@]}" --lmbr by_paths,T=1
exits 0; same out from_lattice

# --- invalid lines are reported and left out
cat >wrong <<'END'
0 ||| a1 ||| -1
no list
0 ||| a1 ||| much
2 ||| zz ||| -1
2 ||| a2 ||| nan
1 ||| a2 ||| -1
4 ||| a3 ||| -1
4 ||| a99999 ||| -1
3 ||| a2 ||| -1
5.0 ||| a2 ||| -1
END
printf '6 ||| a2 ||| -1.%070d\n6 ||| a2 ||| \n' 0 >>wrong
run "$rill" evidence wrong -m "$tiny" -o some
exits 2; prints_nothing
says 'line 2: expected "ID ||| OUTPUT ||| ... ||| SCORE": the line is left out'
says "line 3: "; says "line 4: "; says "line 5: "; says "line 6: the id is smaller"; says "line 9: the id is smaller"
for line in 10 11 12; do says "line $line: expected \"ID ||| OUTPUT ||| ... ||| SCORE\": the line is left out"; done
says "\"ID ||| OUTPUT ||| ... ||| SCORE\": the line is left out"
head -5 in >five
feed five "$rill" decode "${search[@]}" --lmbr some
exits 2; lines 5; says "line 2: some has no evidence for input 1"; says "line 3: "; says "line 4: "; says_not "line 5"
line_is 2 ""
printf '0 ||| 1 ||| 0 ||| a1 ||| 0\n0 ||| 0 ||| 1 ||| ||| 0\n1 ||| 1 ||| 2 ||| a1 ||| 0\n2 ||| 0 ||| 1 ||| a1 ||| 0\n' >odd_lattice
run "$rill" evidence odd_lattice --lattice -m "$tiny" -o some
exits 2; says "line 1: "; says "line 2: "; says "input 1: no path leads from node 0 to node"

# --- nothing to make, and nothing to make it with
echo keep >kept
run "$rill" evidence /dev/null -m "$tiny" -o kept
exits 1; says ": the file has no evidence"
verdict "$(good [ "$(cat kept)" = keep ])" "what stood there is left"
run "$rill" evidence list
exits 1; says "no model: set -m DIR (or --domain NAME for a domain without files)"
run "$rill" evidence list -m "$tiny" -o list
exits 1; says ": this run reads the file, so it cannot be overwritten"
run "$rill" evidence list list -m "$tiny"
exits 1; says "expected one n-best list, found another, \"list\""
run "$rill" evidence list -m "$tiny" --scale 0
exits 1; says '--scale: "0" is not a number above 0'
run "$rill" evidence list -m "$data/shiftreduce/tiny" -o some
exits 2; says "\" is not shift, combine or a label of the parser"

# --- files of another model, damaged files, and files that are no evidence
feed in "$rill" decode -q -m "$odd" --lmbr evidence
exits 1; says "evidence is evidence of another model, which has "
head -c 900 evidence >short
feed in "$rill" decode "${search[@]}" --lmbr short
exits 1; says "short: "; says "it is truncated"
feed in "$rill" decode "${search[@]}" --lmbr list
exits 1; says ": the file is damaged, or \`rill evidence\` did not make it"
feed in "$rill" decode "${search[@]}" --lmbr nowhere
exits 1; says "nowhere"
feed in "$rill" decode "${search[@]}" --lmbr evidence,T=x
exits 1; says 'lmbr: found "T=x", expected FILE or self=N, followed by lambda, T, p, r, theta=A/B/C/D/E and, with'
feed in "$rill" decode "${search[@]}" --lmbr-self 0
exits 1; says 'lmbr: found "self=0", expected FILE or self=N, followed by lambda, T, p, r, theta=A/B/C/D/E and,'

# --- a limit that cuts all short: the best that ended is the output
feed in "$rill" decode -m "$tiny" -q -k 1 --max-length 3 --at-limit best-ended --n-best 1
exits 0; cp out ended
feed in "$rill" decode -m "$tiny" -q -k 1 --max-length 3 --n-best 1
exits 0
verdict "$(good [ "$(grep -c 'truncated= 1' ended || true)" -le "$(grep -c 'truncated= 1' out || true)" ])" "no more are cut short"
finish
