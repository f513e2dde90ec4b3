#!/usr/bin/env bash
# examples/lua/native: what it binds decodes as the built-in heuristic and scorer do, and needs the user's trust.
#   usage: native.sh RILL CHECK_JSON DATA TOY_PLUGIN ROOT NATIVE_SO
set -eu
. "${0%/*}/../cli/lib.sh"
root=$5
case $6 in /*) library=$6 ;; *) library=$OLDPWD/$6 ;; esac
script=$root/examples/lua/native/native.lua questions=$root/examples/questions/geo.txt
export LD_LIBRARY_PATH=${library%/*}

# 2 ln 100 is where exp(-d/2) falls to 0.01.
feed "$questions" "$rill" decode -m "$root/examples/models/geo" --method stream-all -k 10 -n 10 \
  --heuristic absolute:9.210340371976182 --scorer word_reward:0.1
exits 0
mv out expected

feed "$questions" "$rill" run --unsafe-scripts "$script"
exits 0
same out expected

# Beside the script it is found without any path.
cp "$script" . && cp "$library" . && sed -i "s|\.\./\.\./models|$root/examples/models|" native.lua
unset LD_LIBRARY_PATH
feed "$questions" "$rill" run --unsafe-scripts native.lua
exits 0
same out expected

rm native.so
feed "$questions" "$rill" run --unsafe-scripts native.lua
says "native.lua:"
says "native.so"
says "(and not found in the script's directory)"
verdict "$(good [ "$status" -ne 0 ])" "a failure was expected"

feed "$questions" "$rill" run "$script"
says "--unsafe-scripts"
verdict "$(good [ "$status" -ne 0 ])" "a failure was expected"
prints_nothing

finish
