# Shared by the bench scripts; to be sourced from the repository's root.
set -eu

data=${RILL_DATA:-../shared/data}
script=${0##*/}
script=${script%.sh}

# read_options "NAME..." ARGUMENT...: set the variables named after options: NAME becomes 1, NAME: takes the next argument. At
# the first unknown argument the script ends; if the last name is "...", the remaining arguments become the array `rest`.
read_options() {
  local names=" $1 " name
  shift
  while [ $# -gt 0 ]; do
    name=${1#--}
    case "$1:$names" in
    "--$name:"*" $name "*) printf -v "$name" 1 ;;
    "--$name:"*" $name: "*) [ $# -gt 1 ] || { echo "$script: option $1 needs a value" >&2; exit 2; }
      printf -v "$name" %s "$2" && shift ;;
    *" ... ") break ;;
    *) echo "$script: unknown option $1" >&2; exit 2 ;;
    esac
    shift
  done
  # shellcheck disable=SC2034
  rest=("$@")
}

# Of `threads` and `workers`: `hands` are the command's options, `suffix` names results, and `cores` is how many may be busy.
# Results of processors without AVX-512, and of AArch64, have their own files, since most ratios differ.
share_cores() {
  hands=(--threads "$threads" --workers "$workers")
  cores=$((threads * workers)) suffix=${threads}t
  if [ "$workers" != 1 ]; then suffix=${workers}w; fi
  case $(instructions) in AVX2) suffix+=-avx2 ;; NEON) suffix+=-neon ;; esac
}

# need_build PROGRAM
need_build() { [ -x "$1" ] || { echo "$script: build first (./dev build)" >&2; exit 1; }; }

instructions() {
  if [ "$(uname -m)" = aarch64 ]; then
    echo NEON
  elif grep -qw amx_tile /proc/cpuinfo; then
    echo AMX
  elif grep -qw avx512vl /proc/cpuinfo; then
    echo AVX-512
  else
    echo AVX2
  fi
}

# The command line's surroundings, for results that are kept.
describe_machine() {
  echo "date: $(date -u +%Y-%m-%dT%H:%MZ)"
  echo "commit: $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors," \
    "$(instructions), load $(cut -d ' ' -f 1 /proc/loadavg)"
  echo "compiler: $(cc --version | head -n 1)"
}

# questions_of NAME FILE: the test set's questions, or our own where there is no test set. Sets `source`, where they are from, and
# `tokenized`, the option that they need.
questions_of() {
  source=semparse/$1/test.tsv tokenized=--tokenized
  if [ -f "$data/$source" ]; then
    cut -f 1 "$data/$source" >"$2"
  else
    source=examples/questions/$1.txt tokenized=
    echo "no test set: RILL_DATA/semparse/$1/test.tsv is not there; using $source"
    cp "$source" "$2"
  fi
}
