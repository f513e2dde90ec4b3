#!/usr/bin/env bash
# Writes expected/ anew: write_expected.sh "GROUP ..." RILL KERNEL_SET VARY_MODEL ROOT. What is in it afterwards is what `git diff` is for.
set -eu
groups=$1
shift
rm -rf "$4/tests/golden/expected"
mkdir "$4/tests/golden/expected"
for group in $groups; do bash "$4/tests/golden/golden.sh" make "$group" "$@"; done
