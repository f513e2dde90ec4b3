#!/usr/bin/env bash
# What writing a plugin takes is installed, and the lines of docs/guides/plugins.md build the templates against that copy alone.
#   usage: plugin_templates.sh RILL CHECK_JSON DATA TOY_PLUGIN BUILD ROOT CC...
set -eu
. "${0%/*}/lib.sh"
cd - >/dev/null
build=$(absolute "$5") root=$(absolute "$6")
cd "$work"
compiler=() # whole paths, since `cc` is to be a name for it
for word in "${@:7}"; do compiler+=("$(command -v "$word" || printf '%s' "$word")"); done
for tool in pkg-config meson ninja; do
  command -v "$tool" >/dev/null || { echo "no $tool"; exit 77; }
done

DESTDIR="$work/place" meson install -C "$build" --no-rebuild --quiet >log 2>&1 || { cat log; exit 1; }
pc=$(find place -name rill.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
sed -i "s|^prefix=.*|prefix=$work/place$prefix|" "$pc"
export PKG_CONFIG_PATH="$work/${pc%/*}" PATH="$work/place$prefix/bin:$PATH"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir rill)
export LD_LIBRARY_PATH

# --- what goes with the command
share=place$prefix/share
for file in rill/convert/convert_mt.py rill/convert/torch_files.py bash-completion/completions/rill.bash zsh/site-functions/_rill; do
  verdict "$(good [ -s "$share/$file" ])" "$file is installed"
done
run rill convert --no-such
verdict "$(good [ "$status" != 0 ])" "the installed converter runs"
says_not "cannot find the converters"
run rill convert ptb --help
exits 0; prints "usage: rill convert ptb "

# --- the commands of the page, verbatim, with the compiler of this build for `cc`
mkdir tools && printf '#!/bin/sh\nexec %s "$@"\n' "${compiler[*]}" >tools/cc && chmod +x tools/cc
export PATH="$work/tools:$PATH"
block() { # block KIND NUMBER: that block of the page
  awk -v fence="\`\`\`$1" -v wanted="$2" '/^```/ { if (inside) inside = 0; else { inside = 1; n += shown = $0 == fence } next }
    inside && shown && n == wanted' "$root/docs/guides/plugins.md"
}
commands() { # commands NUMBER: run that block of commands
  block sh "$1" >"block$1"
  verdict "$(good [ -s "block$1" ])" "the page has a block of commands $1"
  run sh -eu "block$1"
}
shows() { # shows NUMBER: that was printed, however the page folds it
  cat out err | tr -s ' \n' ' ' >printed
  block text "$1" | tr -s ' \n' ' ' >shown
  verdict "$(good [ -s shown ])" "the page shows what is printed $1"
  verdict "$(good cmp -s shown printed)" "other output than the page shows: $(cat shown)"
}
commands 1 # copy the templates
exits 0
commands 2 # cc
exits 0; silent
commands 3 # rill check
exits 0; shows 1
commands 4 # a domain that looks at its neighbours
exits 1; shows 2
commands 5 # where there is nothing to choose, nothing is tried
exits 1; shows 3
commands 6 # meson
exits 0; prints "2/2"
plugindir=$(pkg-config --variable=plugindir rill)
for name in rill-mine rill-gap; do
  verdict "$(good [ -e "$plugindir/$name.so" ])" "$name is installed in plugindir"
done

# --- found by name: what is here comes first, then what is installed, under each of its forms
mkdir elsewhere && cd elsewhere
echo b_a__ >word
for name in mine rill-mine rill-mine.so; do
  feed word rill decode --plugin "$name" --domain template -q
  exits 0; lines 1
done
run rill list heuristics --plugin nucleus
exits 1; says "plugin nucleus: found neither a file of that path nor a plugin of that name in $plugindir"
cp "$(pkg-config --variable=templatedir rill)/lua/nucleus.lua" "$plugindir"
for name in nucleus nucleus.lua; do
  run rill list heuristics --plugin "$name"
  exits 0; prints "nucleus:EPSILON"
done
# by the name of an installed one and by its file it is loaded once
echo "return { plugins = { '$plugindir/nucleus.lua' }, domain = 'template', heuristics = { 'nucleus:0.1' } }" >both.lua
feed word rill run both.lua -q --plugin nucleus --plugin mine
exits 0; lines 1
echo 'rill.heuristic{ name = "here", apply = function(b) end }' >nucleus.lua
run rill list heuristics --plugin nucleus.lua
exits 0; prints "  here "
mkdir mine # a folder is no plugin
feed word rill decode --plugin mine --domain template -q
exits 0
echo 'error("a script of a bad kind", 0)' >mine.lua
run rill list --plugin mine.lua
exits 1; says "a script of a bad kind"

# --- all that the folder holds builds and runs
templates=$(pkg-config --variable=templatedir rill)
# shellcheck disable=SC2046
cc -std=c17 -O2 -Wall -Wextra -Werror -o hello_beam "$templates/hello_beam.c" $(pkg-config --cflags --libs rill) -lm
run ./hello_beam "walk shop clean"
exits 0; prints "sunny rainy rainy 0.01344"
# shellcheck disable=SC2046
cc -std=c17 -O2 -Wall -Wextra -Werror -shared -fPIC -o rill-neural.so "$templates/neural_domain.c" $(pkg-config --cflags rill) -lm
run rill list domains --plugin ./rill-neural.so
exits 0; prints "neural"
for script in "$templates"/lua/*.lua; do
  run rill list --plugin "$script"
  exits 0; silent
done

finish
