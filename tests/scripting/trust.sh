#!/usr/bin/env bash
# Run files, Lua plugins and model directories cannot run native code or write files without the user's permission: the same file named
# on the command line, or --unsafe-scripts.
set -eu
. "${0%/*}/../cli/lib.sh"
examples=$(cd "$data/../../examples" && pwd)
case $6 in /*) native=$6 ;; *) native=$OLDPWD/$6 ;; esac
geo=$examples/models/geo questions=$examples/questions/geo.txt
model="model = '$geo', input = '$questions'"
head -n 8 "$questions" | sed 's/$/\tx/' >dev.tsv
cp "$native" evil.so
config() { printf 'return %s\n' "$1" >run.lua; }
# Refused: the message names the option that allows it, and the one that allows everything.
forbidden() { exits 1; says "$1"; says "--unsafe-scripts"; says_not "native code ran"; prints_nothing; }

# --- native code
config "{ $model,
  plugins = { 'evil.so' }, sweep = rill.sweep{ k = {2} } }"
for how in "run run.lua" "decode --config run.lua" "tune run.lua --dev dev.tsv" "bench --config run.lua --methods greedy"; do
  # shellcheck disable=SC2086
  run "$rill" $how
  forbidden "rill: run.lua:2: plugins[1]: the script loads native code, which needs your permission: repeat it as an"
  # shellcheck disable=SC2086
  run "$rill" $how --workers 2
  forbidden "--plugin ./evil.so"
done
config "{ $model, plugins = { 'evil.so' }, heuristics = { 'native' } }"
cp evil.so other.so
ln -s evil.so link.so
run "$rill" run run.lua -q --plugin ./other.so # another file, though its bytes are the same
exits 1; says "--plugin ./evil.so"
cp evil.so evil.so.lua
config "{ $model, plugins = { 'evil.so.lua' } }"
run "$rill" run run.lua -q
exits 1; says "evil.so.lua"; says_not "native code ran"
config "{ $model, plugins = { 'evil.so' }, heuristics = { 'native' } }"
"$rill" decode -q -m "$geo" -i "$questions" >wanted
for word in "--plugin evil.so" "--plugin ./evil.so" "--plugin $PWD/link.so" "--unsafe-scripts"; do
  for workers in 1 2; do
    # shellcheck disable=SC2086
    run "$rill" run run.lua -q --workers $workers $word
    exits 0; same out wanted; says "native code ran"
  done
done
run "$rill" tune run.lua --dev dev.tsv --plugin ./evil.so
exits 1; says " has no sweep and no tune. Add a grid to the table that it returns,
    sweep = rill.sweep{ delta ="
# Scripts among the plugins stay in the sandbox, and get no further by it.
printf 'io.open("stolen", "w")\n' >reach.lua
config "{ $model, plugins = { 'reach.lua' } }"
run "$rill" run run.lua
exits 1; says "reach.lua:1: 'io' is not available to sandboxed scripts"
printf 'rill.heuristic{ name = "kept", apply = function(b) end }\nreturn { plugins = { "evil.so" }, output = "stolen" }\n' >plugin.lua
run "$rill" decode -q -m "$geo" -i "$questions" --plugin plugin.lua --heuristic kept
exits 0; silent; same out wanted; verdict "$(good [ ! -e stolen ])" "a plugin's table writes nothing"
config "{ $model, plugins = { 'plugin.lua' }, heuristics = { 'kept' } }"
run "$rill" run run.lua -q
exits 0; silent; same out wanted; verdict "$(good [ ! -e stolen ])" "nor one that a run file names"
printf 'rill.ffi.open("./evil.so")\n' >ffi.lua
run "$rill" list heuristics --plugin ffi.lua
exits 1; says "--unsafe-scripts"; says_not "native code ran"

# --- a model's directory
mkdir m && cp "$geo"/* m/
for key in '"plugins": ["evil.so"]' '"plugin": "evil.so"' '"output": "stolen"'; do
  sed "s|\"rill\": {|\"rill\": {$key, |" "$geo/config.json" >m/config.json
  cp evil.so m/evil.so
  run "$rill" decode -q -m m -i "$questions"
  says_not "native code ran"; verdict "$(good [ ! -e stolen ])" "config.json writes nothing: $key"
  sed "s|\"options\": {|\"options\": {$key, |" "$geo/config.json" >m/config.json
  run "$rill" decode -q -m m -i "$questions"
  exits 1; says_not "native code ran"; verdict "$(good [ ! -e stolen ])" "nor do its settings: $key"
done

# --- files
echo precious >victim
for key in "output -o" "stats --stats" "trace --trace"; do
  name=${key% *} option=${key#* }
  config "{ $model,
    $name = 'victim' }"
  for how in "run run.lua" "decode --config run.lua"; do
    # shellcheck disable=SC2086
    run "$rill" $how -q
    forbidden "rill: run.lua:2: $name: the script writes to a file, which needs your permission: repeat it as an option, $option victim,"
    verdict "$(good [ "$(cat victim)" = precious ])" "the file is as it was"
    # shellcheck disable=SC2086
    run "$rill" $how -q "$option" given
    exits 0; verdict "$(good [ -s given ])" "an option goes before"; verdict "$(good [ "$(cat victim)" = precious ])" "and alone"
    rm given
  done
  run "$rill" run run.lua -q --unsafe-scripts
  exits 0; verdict "$(good [ "$(cat victim)" != precious ])" "the user's word counts"
  echo precious >victim
  # A command that writes nothing asks for no permission.
  config "{ $model, $name = 'victim', sweep = rill.sweep{ k = {2} } }"
  run "$rill" tune run.lua --dev dev.tsv -q
  exits 0
  run "$rill" bench --config run.lua -q --repeat 1 --methods greedy
  exits 0; verdict "$(good [ "$(cat victim)" = precious ])" "the file is as it was"
done
config "{ $model, output = 'victim', sweep = rill.sweep{ k = {2} } }"
run "$rill" run run.lua -q
forbidden "-o victim"
config "{ $model, output = '-', input = '$questions' }"
run "$rill" run run.lua -q
exits 0; same out wanted
config "{ $model, output = '/dev/stderr' }"
run "$rill" run run.lua -q
forbidden "-o /dev/stderr"

finish
