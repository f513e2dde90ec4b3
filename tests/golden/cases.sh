#!/usr/bin/env bash
# What is decoded: the groups of the suite "golden", a function each. Read by golden.sh, which has `decodes` and `again`.
#
# The same questions go through each model in these ways:
#   wide     k = 50 and all inputs in flight, nothing pruned: steps of hundreds of rows; then each input alone, and on two threads
#   mixed    items at all depths in one timestep; then each input alone
# pruned   with the model's own settings
#   lifted, among, ruled   with scorers that have actions looked up which the model ranks low (scored_picks.lua)
# Inputs longer than 40 words are among them; translation has them once more with outputs of more than 100 actions.
set -eu

# Together, alone, on two threads: the same bytes. Threads do nothing on a device. The stand-in takes seconds for an input, so it has two of
# them. wide NAME INPUTS OPTION...
wide() {
  local name=$1 inputs=$2 most=$most
  shift 2
  case ${on[*]} in *cuda-host) most=2 ;; esac
  decodes "$name" "$inputs" "$@" --method fixed -k 50 -n 40 --budget 0 --n-best 2
  again "$name" "$inputs" "$@" --method fixed -k 50 -n 1 --budget 0 --n-best 2
  [ ${#on[@]} -gt 0 ] || again "$name" "$inputs" "$@" --method fixed -k 50 -n 40 --budget 0 --n-best 2 --threads 2
}

# mixed NAME INPUTS OPTION...
mixed() {
  local name=$1 inputs=$2
  shift 2
  decodes "$name" "$inputs" "$@" -k 16 --absolute 30 --n-best 2 --method top-up -n 12 --refill 0.9 --budget 0
  again "$name" "$inputs" "$@" -k 16 --absolute 30 --n-best 2 --method var-batch -n 1 --budget 0
}

# Each scorer of scored_picks.lua, then all in a chain. score_picks NAME INPUTS BONUS SHARE OPTION...
score_picks() {
  local name=$1 inputs=$2 bonus=$3 share=$4 scorer
  shift 4
  for scorer in "lifted:$bonus" "among:$share" ruled word_reward:0.5; do
    decodes "$name-${scorer%:*}" "$inputs" "$@" -k 10 -n 40 --budget 0 --n-best 2 --plugin "$here/scored_picks.lua" --scorer "$scorer"
  done
  decodes "$name-all" "$inputs" "$@" -k 10 -n 40 --budget 0 --n-best 2 --plugin "$here/scored_picks.lua" \
    --scorer "lifted:$bonus" --scorer "among:$share" --scorer ruled --scorer word_reward:0.5
}

# pruned MODEL INPUTS: with the model's own settings
pruned() { decodes "$1-pruned" "$2" -m "$root/examples/models/$1" --n-best 2 --word-scores; }

questions() { # questions MODEL
  local model=$root/examples/models/$1
  wide "$1-wide" "$1" -m "$model"
  mixed "$1-mixed" "$1" -m "$model"
  pruned "$1" "$1"
  score_picks "$1" "$1:18-37" 6 2 -m "$model" --max-length 40
}

group_geo() { questions geo; }
group_jobs() { questions jobs; }
group_atis() { questions atis; }

group_gum() {
  local model=$root/examples/models/gum
  wide gum-wide gum -m "$model"
  mixed gum-mixed gum:1-30 -m "$model"
  pruned gum gum:24-38
  score_picks gum gum:22-33 6 2 -m "$model"
}

# translates_pruned WEIGHTS, recurs WEIGHTS
translates_pruned() {
  decodes "de-en-$1-pruned" de-en -m "$root/examples/models/de-en" --weights "$1" -n 40 --n-best 2 --alignment
}
recurs() {
  decodes "recurrent-$1" de-en:9-32 -m "$root/examples/models/de-en-rnn" --weights "$1" -n 40 --n-best 2 --alignment
}

# translates WEIGHTS
translates() {
  local model=$root/examples/models/de-en
  wide "de-en-$1-wide" de-en:1-24 -m "$model" --weights "$1" --max-length 8
  mixed "de-en-$1-mixed" de-en:4-30 -m "$model" --weights "$1" --max-length-factor 0.6
  translates_pruned "$1"
  # Outputs of more than 100 actions, of inputs of up to 118 words.
  local long=(-k 4 --min-length 110 --max-length 160 --n-best 2 --alignment --word-scores)
  decodes "de-en-$1-long" de-en:33-38 -m "$model" --weights "$1" "${long[@]}"
  again "de-en-$1-long" de-en:33-38 -m "$model" --weights "$1" "${long[@]}" -n 1
}

# A device's alone: what was made on the stand-in. `golden.sh make f16 ... cuda-host` makes it anew. These weights hold the model's own
# numbers, so texts are those of f32.
group_f16() {
  decodes de-en-f16 de-en:1-12 -m "$root/examples/models/de-en" --weights f16 -n 40 --n-best 2 --alignment
  as_on_processor de-en-f16 de-en:1-12 -m "$root/examples/models/de-en" -n 40 --n-best 2
  again de-en-f16 de-en:1-12 -m "$root/examples/models/de-en" --weights f16 -n 1 --n-best 2 --alignment
}

group_f32() {
  translates f32
  local model=$root/examples/models/de-en
  score_picks de-en de-en:1-12 11 40 -m "$model" --max-length 16
  # With few states some items are sent back and begin again.
  again de-en-f32-pruned de-en -m "$model" -n 40 --n-best 2 --alignment --max-nodes 450
  decodes de-en-limit de-en:14-24 -m "$model" --n-best 2 --max-length 6 --at-limit end --count-end --unknown-penalty 2
  decodes de-en-soft de-en:1-4 -m "$model" --alignment=soft --n-best 2
  decodes de-en-shares de-en:35-36 -m "$model" --alignment=0.1 --n-best 2
  local listed=(-m "$model" --shortlist "$here/lexicon.txt,300,10" --n-best 2)
  decodes de-en-shortlist de-en:1-36 "${listed[@]}" --word-scores
  again de-en-shortlist de-en:1-36 "${listed[@]}" --word-scores -n 1
  decodes de-en-shortlist-lifted de-en:1-8 "${listed[@]}" -k 4 --max-length 20 --plugin "$here/scored_picks.lua" --scorer lifted:9
}

group_bf16() { translates bf16; }
group_int8() {
  translates int8
  decodes de-en-int8-shortlist de-en:9-24 -m "$root/examples/models/de-en" --weights int8 --n-best 2 \
    --shortlist "$here/lexicon.txt,300,10"
}

# Attention over GRUs: of a row's past only its state is kept.
group_recurrent() {
  local model=$root/examples/models/de-en-rnn weights
  wide recurrent-wide de-en:1-16 -m "$model" --max-length 8
  mixed recurrent-mixed de-en:4-30 -m "$model" --max-length-factor 0.6
  for weights in f32 bf16 int8; do
    recurs $weights
    again recurrent-$weights de-en:9-32 -m "$model" --weights $weights -n 1 --n-best 2 --alignment
  done
  decodes recurrent-ensemble de-en:19-38 -m "$root/examples/models/de-en" -m "$model" --n-best 2 --word-scores
  again recurrent-ensemble de-en:19-38 -m "$root/examples/models/de-en" -m "$model" --n-best 2 --word-scores -n 1
  decodes recurrent-logits de-en:1-8 -m "$model" --scores logits --n-best 2
  decodes recurrent-lifted de-en:1-8 -m "$model" --n-best 2 -k 4 --max-length 20 --plugin "$here/scored_picks.lua" --scorer lifted:11
}

# Marian's own decoders, whose nodes read their parent's state: tiny ones, since none is shipped.
group_students() {
  local data=$root/tests/data/mt name weights
  local both=(--tokenized -m "$data/ssru" -m "$data/shared" -m "$data/average" --n-best 2 --word-scores --alignment)
  for name in ssru ssru-pre average average-pre; do
    wide students-$name students --tokenized -m "$data/$name" --max-length 12
    mixed students-$name-mixed students --tokenized -m "$data/$name"
  done
  for weights in bf16 int8; do
    decodes students-$weights students --tokenized -m "$data/ssru" --weights $weights -n 40 --n-best 2 --alignment
    again students-$weights students --tokenized -m "$data/ssru" --weights $weights -n 1 --n-best 2 --alignment
  done
  decodes students-ensemble students "${both[@]}"
  again students-ensemble students "${both[@]}" -n 1
}

# Families of transformers, tiny ones: one of each way in which norms stand, positions are had and layers are made.
group_families() {
  local data=$root/tests/data/mt name weights
  for name in m2m mbart bart-untied t5-gated umt5; do
    wide families-$name families --tokenized -m "$data/$name" --max-length 12
    mixed families-$name-mixed families --tokenized -m "$data/$name"
  done
  for weights in bf16 int8; do
    for name in mbart t5-gated; do
      decodes families-$name-$weights families --tokenized -m "$data/$name" --weights $weights -n 40 --n-best 2
      again families-$name-$weights families --tokenized -m "$data/$name" --weights $weights -n 1 --n-best 2
    done
  done
  for name in m2m t5; do
    local two=$name-odd
    [ $name = m2m ] || two=t5-gated
    decodes families-$name-two families --tokenized -m "$data/$name" -m "$data/$two" --n-best 2 --word-scores --alignment
    again families-$name-two families --tokenized -m "$data/$name" -m "$data/$two" --n-best 2 --word-scores --alignment -n 1
  done
}

# With a variant that has 64 positions: longer inputs fail, longer outputs are cut.
group_ensemble() {
  local model=$root/examples/models/de-en short weights
  short=$(variant 1 4 64)
  wide ensemble-wide de-en:1-16 -m "$model" -m "$short" --max-length 6
  mixed ensemble-mixed de-en:4-24 -m "$model" -m "$short" --max-length-factor 0.4
  local behind=(--n-best 2 --word-scores --alignment)
  for weights in f32 bf16 int8; do
    decodes ensemble-$weights de-en:19-38 -m "$model" -m "$short" --weights $weights "${behind[@]}"
    again ensemble-$weights de-en:19-38 -m "$model" -m "$short" --weights $weights "${behind[@]}" -n 1
  done
  decodes ensemble-turned de-en:19-38 -m "$short" -m "$model" "${behind[@]}"
  # No output ends before the length limit, which is the shorter model's even if a longer one is set.
  decodes ensemble-limit de-en:1-3 -m "$model" -m "$short" --n-best 2 -k 3 --min-length 64
  decodes ensemble-most de-en:1-3 -m "$model" -m "$short" --n-best 2 -k 2 --min-length 64 --max-length 100
  decodes ensemble-lifted de-en:1-8 -m "$model" -m "$short" --n-best 2 -k 4 --max-length 20 \
    --plugin "$here/scored_picks.lua" --scorer lifted:11
}

# For processors and devices that are emulated: each shipped model in each kind of weights, a few inputs; and in int8 alone, where sets of
# instructions differ that differ in nothing else.
group_brief() {
  local most=2 name weights
  for name in geo jobs atis; do pruned $name $name; done
  pruned gum gum:24-38
  for weights in f32 bf16; do translates_pruned $weights && recurs $weights; done
  decodes ensemble-f32 de-en:19-38 -m "$root/examples/models/de-en" -m "$(variant 1 4 64)" --weights f32 \
    --n-best 2 --word-scores --alignment
  group_brief_int8
}
group_brief_int8() {
  local most=2
  translates_pruned int8 && recurs int8
}

# Six decoder layers.
group_deep() {
  local deep weights
  deep=$(variant 2 6 256)
  for weights in f32 bf16 int8; do
    decodes deep-$weights de-en:1-32 -m "$deep" --weights $weights --n-best 2 --max-length 12 --alignment
    again deep-$weights de-en:1-32 -m "$deep" --weights $weights --n-best 2 --max-length 12 --alignment -n 1
  done
}

# Every way of searching that is not the plain one, alone, and all of them in one batch. MODEL, INPUTS, what outputs may have to contain.
variants_of() {
  local name=$1 inputs=$2 word=$3 way
  local model=(-m "$root/examples/models/$name" --n-best 3)
  local ways=("plain --ids" "cube-naive --cube naive" "cube-accelerated --cube accelerated" "exact --exact --exact-rows 300"
    "certify --certify" "certify-pruned --certify --absolute 0.7" "beam-of-6 -k 6 --certify"
    "best-ended --at-limit best-ended --max-length 9" "groups -k 6 --groups 3 --diversity 0.7"
    "groups-repeats --groups 2 --no-repeat-ngram 2" "samples --sample 3 --temperature 1.3"
    "samples-top-p --sample 3 --top-k 0 --top-p 0.8 --seed 7" "lmbr-self --lmbr-self 4,theta=-0.1/0.3/0.2/0.2/0.1"
    "repeats --no-repeat-ngram 2 --repetition-penalty 1.3" "shrink --finish shrink"
    "immediate --finish immediate --patience 0.5" "bound --stop bound --length-penalty 0.8" "top --stop top" "hf --like hf"
    "fairseq --like fairseq" "marian --like marian" "ct2 --like ct2")
  for way in "${ways[@]}"; do
    # shellcheck disable=SC2086
    gathers "${way%% *}" "$inputs" "${model[@]}" ${way#* }
    # shellcheck disable=SC2086
    figures "$name-${way%% *}" "$inputs" "${model[@]}" ${way#* }
    [ "${way%% *}" != plain ] || grep ' ||| ' found | "$rill" evidence --ids -m "$root/examples/models/$name" -o evidence 2>/dev/null
  done
  gathers require "$inputs" "${model[@]}" --scorer "require:$word"
  gathers ban "$inputs" "${model[@]}" --scorer "ban:$word"
  gathers lmbr "$inputs" "${model[@]}" --lmbr evidence
  gathered "variants-$name"
  # The same inputs with separate options each; then with separate constraints too; then with exact search.
  local mixed=("variants-$name" "${model[@]}" --jsonl) more
  awk -v word="$word" '{ print NR % 7 == 3 ? "require:" word : NR % 7 == 5 ? "ban:" word : "" }' \
    "$here/inputs/variants-$name.txt" >constraints
  figures "$name-mixed" "${mixed[@]}"
  for more in "mixed" "constrained --constraints constraints" "searched --exact --exact-rows 60"; do
    way=variants-$name-${more%% *}
    case $more in *\ *) more=${more#* } ;; *) more= ;; esac
    # shellcheck disable=SC2086
    decodes "$way" "${mixed[@]}" $more
    # shellcheck disable=SC2086
    again "$way" "${mixed[@]}" $more -n 1
    # shellcheck disable=SC2086
    again "$way" "${mixed[@]}" $more -n 32 --workers 2
  done
}
group_variants() {
  variants_of geo geo:1-20 "state:t"
  variants_of gum gum:1-8 "NP"
  variants_of de-en de-en:1-10 "a man"
}

# Figures of the schedule, which are exact: how full timesteps are under a budget, and which inputs are encoded together.
group_schedule() {
  local name method model
  for name in geo jobs atis gum de-en; do
    model=$root/examples/models/$name
    for method in greedy var-batch var-stream var-stream-fifo top-up stream-all; do
      figures $name-$method $name:1-30 -m "$model" --method $method -n 6
    done
    for method in var-stream var-stream-fifo top-up stream-all; do
      figures $name-$method-budget $name:1-30 -m "$model" --method $method -n 6 --max-items 16 --budget 24
    done
    [ $name = de-en ] || for method in fixed fixed-stream; do figures $name-$method $name:1-30 -m "$model" --method $method -n 6; done
  done
  # With few states some items are sent back and begin again.
  figures gum-nodes gum:1-30 -m "$root/examples/models/gum" --max-items 16 --max-nodes 700
  figures de-en-nodes de-en:1-30 -m "$root/examples/models/de-en" --max-items 16 --max-nodes 120
  for method in top-up var-stream stream-all; do
    decodes encode_order-$method encode_order --plugin "$here/encode_order.lua" --domain encode_order --method $method -n 4 --max-items 8 \
      --n-best 2
  done
}
