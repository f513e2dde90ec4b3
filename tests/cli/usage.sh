#!/usr/bin/env bash
# The command without a model: commands, options and their mistakes.
set -eu
. "${0%/*}/lib.sh"

# --- commands
run "$rill"
exits 1; says "expected a command"
run "$rill" --help
exits 0; silent; prints "Commands:"; prints "decode"; prints "Examples:"
run "$rill" help
exits 0; prints "Commands:"
run "$rill" --version
exits 0; silent; prints "rill 0."
run "$rill" dcode
exits 1; says 'did you mean "decode"?'; prints_nothing
run "$rill" xyzzy
exits 1; says 'unknown command "xyzzy"'
run "$rill" --quiet
exits 1; says "before the command"
run "$rill" help benhc
exits 1; says 'did you mean "bench"?'
for command_name in decode run tune evidence eval bench check info list; do
  run "$rill" "$command_name" --help
  exits 0; silent; prints "Usage: rill $command_name"; prints "Examples:"
  verdict "$(good [ -z "$(awk 'length > 100' out)" ])" "no line of a help text is longer than 100 columns"
  cp out first
  run "$rill" help "$command_name"
  exits 0; same out first
done
# -h has the main options, on one screen
short() { # short COMMAND N: N options that --help has too
  run "$rill" "$1" --help
  grep -oE '^  (-., )?--[a-z-]+' out >all
  run "$rill" "$1" -h
  exits 0; silent; prints "Usage: rill $1"; prints "\`rill $1 --help\` shows all options"
  grep -oE '^  (-., )?--[a-z-]+' out >main
  verdict "$(good [ "$(wc -l <main)" = "$2" ])" "-h has $2 options"
  verdict "$(good [ -z "$(grep -vxFf all main)" ])" "-h has options that --help has"
  verdict "$(good [ -z "$(awk 'length($0) > 80' out)" ])" "lines of 80 columns at most"
  verdict "$(good [ "$(wc -l <out)" -le 40 ])" "-h fits one screen"
}
short decode 15; short run 15; short score 13; short tune 13; short evidence 7; short eval 7; short bench 16; short check 13; short info 6
if "$rill" --help | grep -q '^  serve '; then short serve 13; fi
for command_name in trie trace list; do
  run "$rill" "$command_name" --help
  exits 0; cp out first
  verdict "$(good [ "$(wc -l <out)" -le 40 ])" "--help fits one screen"
  run "$rill" "$command_name" -h
  exits 0; same out first
done
run "$rill" decode --help
for setting in method beam-size batch-size max-in-flight max-batch-hypotheses refill-threshold max-children \
  finish stop-after patience min-length max-length length-penalty n-best distinct sort flush-every unordered max-nodes memory \
  like keep stop at-limit count-end max-length-factor word-penalty unknown-penalty; do
  prints "--$setting"
done

# --- options
run "$rill" decode --max-itms 5
exits 1; says "did you mean --max-items?"
run "$rill" decode --max-item=5
exits 1; says "did you mean --max-items?"
run "$rill" decode --budg 5
exits 1; says "did you mean --budget?"
run "$rill" decode --xyzzy-plugh
exits 1; says "unknown option --xyzzy-plugh"
run "$rill" decode -Z
exits 1; says "unknown option -Z"
run "$rill" decode -method greedy
exits 1; says "did you mean --method?"
run "$rill" decode -k
exits 1; says "option -k needs a value"
run "$rill" decode --budget
exits 1; says "option --budget needs a value: --budget B"
run "$rill" decode --unordered=1
exits 1; says "takes no value"
run "$rill" decode file.txt
exits 1; says 'no model: set -m DIR (or --domain NAME for a domain without files)'
run "$rill" decode "$tiny" -i file.txt
exits 1; says "name a model with -m"
run "$rill" decode -m "$tiny" -i one.txt two.txt
exits 1; says 'inputs are given both with -i, "one.txt", and as an argument, "two.txt": use one of the two'
run "$rill" bench file.txt
exits 1; says 'unexpected argument "file.txt": name inputs with -i; --help shows the usage'
run "$rill" bench --method greedy
exits 1; says "did you mean --methods?"
for word in -k0 -k-3 -kten -k5x "--k=99999999999" --n=0 --budget=-1 --refill=2 --refill=nan --max-candidates=0 \
  --stop-after=0 --patience=0 --sort=random --finish=bottom --threads=0 --threads=two; do
  run "$rill" decode -m "$tiny" "$word"
  exits 1; says "rill: "; prints_nothing
done
for option in -k -n --method --budget --n-best --max-items --refill --max-candidates --stop-after --patience --sort --memory \
  --min-length --max-length --min-width --length-penalty --word-penalty --flush-every --threads --workers -o; do
  run "$rill" decode -m "$tiny" $option '' # as a shell's variable that is not set gives it
  exits 1; says "rill: "; prints_nothing
done
run "$rill" decode -m "$tiny" -k ''
says '--beam-size: "" is not a whole number'
run "$rill" decode --method var-steam
exits 1; says 'unknown method "var-steam"'; says '"var-stream"'

echo 'return { k = 3 }' >run.lua
feed /dev/null "$rill" decode -m "$tiny" -q --plugin run.lua
exits 0; says "warning: run.lua: the plugin registers nothing; use a run file with \`rill run\` or --config"

# --- models
run "$rill" decode
exits 1; says "no model"; says "-m DIR"
run "$rill" decode -m no/such/model
exits 1; says "no/such/model"; says "No such file or directory"
mkdir empty
run "$rill" decode -m empty
exits 1; says "empty"; says "no config.json"; says "set domain to one of"
theirs() { # theirs FILES MESSAGE
  rm -rf theirs && mkdir theirs
  # shellcheck disable=SC2086
  (cd theirs && touch $1)
  [ ! -e theirs/config.json ] || echo '{"add_source_eos": true}' >theirs/config.json
  for command in decode info; do
    if [ $command = decode ]; then run "$rill" decode -m theirs; else run "$rill" info theirs; fi
    exits 1; says "$2"
  done
}
theirs "config.json model.bin shared_vocabulary.json" "theirs/model.bin: expected 8 bytes of header length, the file has 0 bytes"
theirs "model.bin shared_vocabulary.json" "theirs/model.bin: expected 8 bytes of header length, the file has 0 bytes"
named() { # the same where the domain is named
  theirs "$@"
  run "$rill" decode -m theirs --domain mt
  exits 1; says "$2"
}
named "opus.npz decoder.yml source.spm" \
  "theirs/opus.npz: if this is a model of Marian or Nematus, convert it with rill convert theirs --out NEW"
named "model2.pt model1.pt dict.en.txt dict.de.txt" "convert it with rill convert fairseq theirs/model1.pt --out NEW"
theirs "config.json model.safetensors.index.json" "theirs/config.json names no domain"
theirs "readme.txt" "model theirs: there is no config.json"
echo '{}' >file
run "$rill" decode -m file
exits 1; says "model file: it is a file: use its folder (unpack an archive first)"; says "set domain to the name"
mkdir silent_config && echo '{}' >silent_config/config.json
run "$rill" decode -m silent_config
exits 1; says "silent_config/config.json names no domain"
for type in llama gpt2 qwen3_moe; do
  printf '{"model_type": "%s"}' $type >silent_config/config.json
  run "$rill" decode -m silent_config
  exits 1; says "silent_config/config.json: model_type \"$type\" is a decoder-only language model"; says "with the option domain"
done
echo '{"model_type": "whisper"}' >silent_config/config.json
run "$rill" decode -m silent_config
exits 1; says 'silent_config/config.json: model_type "whisper" is unknown'
says "marian, fsmt"; says "; or name the domain in \"rill\": {\"domain\": ...}, or set domain to one of mt, semparse, shiftreduce"
run "$rill" decode -m "$tiny" --domain semprase
exits 1; says 'unknown domain "semprase"'; says 'did you mean "semparse"?'
says_not config.json
config() { # config JSON MESSAGE
  mkdir -p bad && printf '%s' "$1" >bad/config.json
  run "$rill" decode -m bad
  exits 1; says "bad/config.json"; says "$2"
}
config '{"rill": ' ":1:"
config '{"rill": {"optoins": {}, "domain": "semparse"}}' '"optoins" under "rill": the options are in "options"'
config '{"rill": {"domain": "semparse", "search": {"k": 3}}}' '"search" under "rill": the options are in "options"'
config '{"rill": {"domain": "semprase"}}' 'bad/config.json: unknown domain "semprase"; did you mean "semparse"?'
config '[]' ": expected an object"
config '{"rill": 3}' '"rill" must be an object'
config '{"rill": {"domain": 3}}' "a domain's name"
config '{"rill": {"domain": "semparse", "backend": "x"}}' "\"backend\" under \"rill\": rill's own kernels compute"
config '{"rill": {"domain": "semparse", "heuristics": ["absolute:1"]}}' '"heuristics" under "rill" belongs under "options"'
config '{"rill": {"domain": "semparse", "options": []}}' '"options" must be an object'
config '{"rill": {"domain": "semparse", "options": {"max_itms": 3}}}' 'did you mean "max-items"?'
config '{"rill": {"domain": "semparse", "options": {"k": "many"}}}' "whole number"
config '{"rill": {"domain": "semparse", "options": {"k": [1]}}}' "beam_size: a list is not a whole number from 1 to 65536"
config '{"rill": {"domain": "semparse", "options": {"method": "greedy", "k": 5}}}' "beam_size cannot be combined with method greedy"
config '{"rill": {"domain": "semparse", "options": {"heuristics": 3}}}' '"heuristics" must be "NAME:ARGS", or a list of them'
search() { config "{\"rill\": {\"domain\": \"semparse\", \"options\": {$1}}}" "$2"; }
search '"k": true' 'beam_size: true is not a whole number from 1 to 65536'
search '"refill": true' 'refill_threshold: true is not a number from 0 to 1'
search '"memory": true' 'memory: true is not a number of bytes from'
search '"absolute": true' 'prune_absolute: true is not a text or a number'
search '"absolute": "avg"' 'absolute: "avg" is not a number from 0, such as 2.5'
search '"absolute": 2, "prune_absolute": 1' 'absolute "2" and prune_absolute "1" are one option, given twice'
search '"prune_absolute": 2, "prune-absolute": 1' 'prune_absolute is given twice, "2" and "1"'
search '"weights": true' 'weights: true is not one of f32|bf16|f16|int8'
search '"shortlist": ""' 'shortlist: "" is not the path of a file'
search '"shortlist": 3' 'shortlist: 3 is not the path of a file'
search '"heuristics": ["absolut:3"]' 'bad/config.json: unknown heuristic "absolut": did you mean "absolute"?'
search '"heuristics": ["zzzz:3"]' 'unknown heuristic "zzzz": `rill list` shows all, and plugins add more'
search '"scorers": ["wordreward:1"]' 'unknown scorer "wordreward": did you mean "word_reward"?'
search '"scheduler": "topup"' 'unknown scheduler "topup": did you mean "top-up"?'
config '{"rill": {"domain": "a", "domain": "b"}}' "duplicate"

# --- what a name holds does not command the terminal
escape=$(printf '\033[31m\302\233')
run "$rill" decode -m "no${escape}such"
exits 1; says 'no\x1b[31m\u009bsuch'; says_not "$escape"
if script -qec true /dev/null >/dev/null 2>&1; then # util-linux has it: runs a command on a terminal
  printf 'rill.heuristic{ name = "red", summary = "a %s line", apply = function(b) end }\n' "$escape" >red.lua
  run script -qec "'$rill' list heuristics --plugin red.lua" /dev/null
  exits 0; prints '\x1b[31m\u009b'
  run "$rill" list heuristics --plugin red.lua
  exits 0; prints "$escape"
fi

# --- lists
run "$rill" list
exits 0; silent; prints "domains"; prints "semparse"; prints "var-stream"; prints "absolute:"; prints "least-advanced"
verdict "$(good awk 'match($0, /[^ ]   *[^ ]/) && RSTART + RLENGTH != 30 { bad = 1 } END { exit bad }' out)" \
  "what names mean begins in one column"
run "$rill" list methods
exits 0; prints "stream-all"; verdict "$(good [ "$(grep -c heuristics out)" = 0 ])" "only methods were asked for"
run "$rill" list heuristics
exits 0; prints "relative_local:R"; verdict "$(good [ "$(grep -c 'max_candidates\|patience' out)" = 0 ])" "settings are no heuristics"
run "$rill" list heuristcs
exits 1; says 'did you mean "heuristics"?'
run "$rill" list methods domains
exits 1; says "\": expected one kind"
run "$rill" list likes
exits 0; lines 5; prints "  hf "; prints "  fairseq "; prints "  marian "; prints "  ct2 "
run "$rill" list outputs
exits 0; prints "  alignment[=FORM] "; prints "  unknown-names "; prints "  pretty "
run "$rill" list options
exits 0; prints "  of mt"; prints "  weights=f32|bf16|f16|int8"; prints "  input-format=auto|tree|tagged|text"
run "$rill" list settings
exits 0; prints "  max-in-flight=N "; prints "  distinct "; prints "like=hf|fairseq|marian|ct2"
run "$rill" list --plugin no-such.so
exits 1; says "no-such.so"
# a model's actions: one line for each, by number; each name on one line, for any characters in it
run "$rill" list actions "$tiny"
exits 0; silent
verdict "$(good [ "$(cut -f 1 out | tr '\n' ' ')" = "$(seq -s ' ' 0 $(($(wc -l <out) - 1))) " ])" "actions are numbered"
cp out actions
cat >odd.lua <<'END'
local names = { "plain", "tab\there", "a\1b", "back\\slash", "\27[31m" }
for i = #names, 59998 do names[i + 1] = "name " .. i end
names[#names + 1] = "end"
rill.domain{
  name = "odd", actions = names, end_action = "end",
  start = function() return {} end, choices = function() return { ["end"] = 0 } end, advance = function() return {} end,
}
END
run "$rill" list actions --plugin odd.lua --domain odd
exits 0; silent; lines 60000
tab=$(printf '\t')
line_is 1 "0${tab}plain"; line_is 2 "1$tab"'tab\there'; line_is 3 "2$tab"'a\x01b'; line_is 4 "3$tab"'back\\slash'
line_is 5 "4$tab"'\x1b[31m'; line_is 59999 "59998${tab}name 59998"
"$rill" list actions --plugin odd.lua --domain odd 2>told | head -n 1 >out
verdict "$(good no_bytes told)" "a reader that goes away is no error"
run "$rill" list actions
exits 1; says "no model: rill list actions -m DIR"
run "$rill" list actions no/such
exits 1; says "no/such"
run "$rill" list methods --domain mt
exits 1; says "-m is only for actions: rill list actions -m DIR"
if [ -n "$toy" ]; then
  run "$rill" list domains --plugin "$toy"
  exits 0; prints "toy"
fi

# --- names of other toolkits mean the same; where their values differ, the message says how
one() { # one OPTION...: decodes a line
  run "$rill" decode -m "$tiny" -q --n-best 2 -i input "$@"
  exits 0; says "1 of 1 inputs"
}
printf 'w3 w1\n' >input
one -k 3 -n 2 --max-length 7 --length-penalty 1
cp out expected
for words in "--beam-size 3 --batch-size 2" "--num-beams 3 --mini-batch 2" "--num_beams=3 --batch_size=2" "--beam 3 --max-batch-size 2" \
  "-b 3 -n2" "--beam-width 3 --max-sentences 2 --compute-type float32"; do
  # shellcheck disable=SC2086
  one $words --max-new-tokens 7 --lenpen 1
  same out expected
done
refused() { # refused MESSAGE OPTION...
  run "$rill" decode -m "$tiny" "${@:2}"
  exits 1; says "rill: $1"
}
refused '-k "3" and --num-beams "4" are one option, given twice' -k 3 --num-beams 4
refused '--num-beams "4" and --beam-size "5" are one option, given twice' --num-beams 4 --beam-size 5
refused '--num_beams is given twice, "4" and "5"' --num_beams 4 --num_beams 5
refused '--input "one" and -i "two" are one option, given twice' --input one -i two
refused 'unknown option --num-beam; did you mean --num-beams?' --num-beam 4
refused 'option --n-best needs a value: --n-best N (in Marian it is a switch)' --n-best --quiet
refused "unknown option --max-len-b: for fairseq's ax + b, set max-length-factor to a and max-length to b" --max-len-b 200
refused 'unknown option --int8: set weights to int8' --int8
refused 'unknown option --do_sample: to sample, set num-samples to the number of outputs' --do_sample
refused 'unknown option --refs: `rill eval` compares outputs with references' --refs file
refused 'unknown option -r: `rill eval` compares outputs with references' -r file
refused 'unknown option --check: `rill check` checks heuristics, scorers and schedulers' --check
refused '--beam-size 3 differs from --num-samples 5, the number of samples' -k 3 --num-samples 5
refused 'option --n-best needs a value: --n-best N (in Marian it is a switch)' --n-best -b 12
refused 'option --n-best needs a value: --n-best N (in Marian it is a switch)' --n-best -k 5
refused 'option --beam-size needs a value: --beam-size K' --beam-size --quiet
refused 'option --normalize needs a value: --normalize A (in Marian alone it means 1)' --normalize
refused 'option --lenpen needs a value: --lenpen A' --lenpen
refused 'the value of --alignment follows "=": write --alignment=hard' --alignment hard
refused 'the value of --jsonl follows "=": write --jsonl=key' --jsonl key
refused 'unknown option --unk-penalty: set unknown-penalty' --unk-penalty 1
refused 'unknown option --greedy: set method to greedy' --greedy
refused 'unknown option --unnormalized: set length-penalty to 0' --unnormalized
refused 'unknown option --prefix: use --constraints FILE with' --prefix x
refused 'unknown option --suppress_sequences: use --constraints FILE with' --suppress_sequences x
refused 'unknown option --svg: use --plot FILE.html' --svg x
refused 'unknown option --cpu: set device to cpu, or leave it out' --cpu
run "$rill" decode -m Helsinki-NLP/opus-mt-de-en
exits 1; says "rill does not download models"
run "$rill" decode -m "$tiny" .
exits 1; says "input .: it is a directory, and inputs are files"
refused '--length-penalty: "mean" is not a number from' --length_penalty mean
run "$rill" decode -m "$tiny" -q -i /dev/null --length_penalty avg --lenpen 1 # avg is OpenNMT's 1
exits 0
refused '--workers: "0" is not auto, or a whole number from 1 to 1024' --workers 0
for word in bad-words max-tokens replace-unk replace_unknowns remove-bpe output-sampling target-prefix no-early-stop forced_bos_token_id; do
  refused "unknown option --$word: " --$word
done
run "$rill" bench -m "$tiny" --gpus 0
exits 1; says "rill: unknown option --gpus: set device to cuda:0,cuda:1 and so on"
run "$rill" eval --beam-size=5
exits 1; says "rill: unknown option --beam-size; --help lists all"
run "$rill" decode -m "$tiny" -k=5
exits 1; says 'rill: option -k takes its value without "=": -k 5'
run "$rill" decode -m ""
exits 1; says "rill: -m: the path is empty"
run "$rill" bench -m "$tiny" --methods greedy --methods fixed
exits 1; says "rill: --methods is given twice: write one list, --methods greedy,fixed"
run "$rill" decode -m "$tiny" -i one --input two
exits 1; says "-i \"one\" and --input \"two\" are one option, given twice"

# One value in two spellings is given once; two values are refused, and so are two spellings of a name or a path.
for words in "--workers 2 --workers 02" "--threads 1 --threads 01" "--max-length 7 --max-length 07" "--length-penalty 1.50 --lenpen 1.5" \
  "--script-memory 64M --script-memory 65536k" "--memory 1G --memory 1024M" "--prune-absolute 1.50 --absolute 15e-1"; do
  # shellcheck disable=SC2086
  run "$rill" decode -m "$tiny" -q -i /dev/null $words
  exits 0; silent
done
for word in avg none float32; do
  refused "--prune-absolute: \"$word\" is not a number from 0, such as 2.5" --prune-absolute=$word --prune-absolute=1
done
refused '--prune-absolute: "+2" is not a number from 0, such as 2.5' --prune-absolute +2
refused '--absolute: "-1" is not a number from 0, such as 2.5' --absolute -1
refused '--prune-relative: "2" is not a ratio of probabilities above 0 and at most 1' --prune-relative 2
refused '--relative-local: "0" is not a ratio of probabilities above 0 and at most 1' --relative-local 0
refused 'relative: "2" is not a ratio of probabilities above 0 and at most 1' --heuristic relative:2
refused 'unknown option --m; ' --m model
refused '--workers is given twice, "2" and "3"' --workers 2 --workers 3
refused '--workers is given twice, "1" and "auto"' --workers 1 --workers auto
refused '--script-memory is given twice, "64M" and "64G"' --script-memory 64M --script-memory 64G
refused '-i is given twice, "1" and "01"' -i 1 -i 01

# --- a model where none is expected: the message about it
run "$rill" list actions -m "$tiny"
exits 0; silent; same out actions
run "$rill" list "$tiny"
exits 1; says "list a model's actions with rill list actions -m $tiny"
run "$rill" list -m "$tiny"
exits 1; says "-m is only for actions: rill list actions -m DIR"
for command in run check tune decode bench; do
  run "$rill" $command "$tiny"
  exits 1; says "$tiny"; says "name a model with -m"
done

# --- help fits a terminal
for command in "" decode run tune evidence eval bench check info list; do
  # shellcheck disable=SC2086
  run "$rill" $command --help
  verdict "$(good [ -z "$(awk 'length($0) > 80' out)" ])" "lines of 80 columns at most"
done

# --- a plugin is called as it may be called
echo 'return { plugins = { "./x.so" } }' >own.lua
cp own.lua x.so
for path in own.lua ./own.lua; do
  run "$rill" run $path
  exits 1; says ", which needs your permission: repeat it as an option, --plugin ./x.so, or set --unsafe-scripts if"
done

# --- a terminal's line has an end when Ctrl-C kills
cat >interrupt.py <<'END'
import os, pty, signal, sys, time
pid, terminal = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while b"hangs" not in seen:
    seen += os.read(terminal, 4096)
os.write(terminal, b"\x03")
try:
    while part := os.read(terminal, 4096):
        seen += part
except OSError:
    pass
print("end of line" if seen.endswith(b"\n") else repr(seen), os.WTERMSIG(os.waitpid(pid, 0)[1]))
END
cat >hang.lua <<'END'
rill.scorer{ name = "hang", score = function(rows) print("hangs") while true do end end }
END
if ! python3 -c 'import os; os.openpty()' 2>err; then
  echo "skipped: Ctrl-C at a terminal, for none can be opened: $(tail -n 1 err)"
else
  printf 'w0 w1\n' >one_line
  run timeout 60 python3 interrupt.py "$rill" bench -m "$tiny" -i one_line --plugin hang.lua --scorer hang --script-steps 0
  exits 0; line_is 1 "end of line 2"
fi

finish
