# What the bench scripts share; to be read with `.` from the repository's root.
set -eu

data=${RILL_DATA:-../shared/data}

# The command line's surroundings, for results that are kept.
describe_machine() {
  echo "date: $(date -u +%Y-%m-%dT%H:%MZ)"
  echo "commit: $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors," \
    "load $(cut -d ' ' -f 1 /proc/loadavg)"
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
