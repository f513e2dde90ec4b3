#!/bin/sh
# Install into an empty folder, then build and run a program that knows nothing but that copy: headers, library and
# pkg-config file are complete and the command starts.
# usage: install_check.sh BUILD_DIRECTORY SOURCE_DIRECTORY COMPILER...
set -eu
build=$1 source=$2
shift 2
command -v pkg-config >/dev/null 2>&1 || exit 77
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

DESTDIR="$place" meson install -C "$build" --no-rebuild --quiet
pc=$(find "$place" -name rill.pc)
[ -n "$pc" ] || { echo "no rill.pc was installed"; exit 1; }
prefix=$(sed -n 's/^prefix=//p' "$pc")
export PKG_CONFIG_PATH="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$place"

# Copied away so that no header beside the example can help.
mkdir "$place/user"
cp "$source/examples/hello_beam.c" "$place/user/"
# shellcheck disable=SC2046
"$@" -std=c17 -Wall -Wextra -Werror -o "$place/user/hello_beam" "$place/user/hello_beam.c" $(pkg-config --cflags --libs rill) -lm
library=$(dirname "$(find "$place$prefix" -name 'librill.so' | head -n 1)")
LD_LIBRARY_PATH="$library" "$place/user/hello_beam" "walk shop clean" >"$place/user/out.txt"
[ -s "$place/user/out.txt" ] || { echo "hello_beam printed nothing"; exit 1; }

cat >"$place/user/script.c" <<'END'
#include <rill/rill.h>
#include <rill/script.h>
int main(void)
{
    static const char text[] = "return rill.version";
    rill_context *ctx;
    rill_script *script;
    if (rill_context_create(&ctx, NULL) < 0) return 1;
    rill_status status = rill_script_load_text(&script, ctx, "script", text, sizeof text - 1, NULL);
    rill_context_destroy(ctx);
    return status < 0;
}
END
# shellcheck disable=SC2046
"$@" -std=c17 -Wall -Wextra -Werror -o "$place/user/script" "$place/user/script.c" $(pkg-config --cflags --libs rill-script)
LD_LIBRARY_PATH="$library" "$place/user/script" || { echo "a script could not be loaded"; exit 1; }

LD_LIBRARY_PATH="$library" "$place$prefix/bin/rill" --version
[ "$(pkg-config --modversion rill)" = "$(LD_LIBRARY_PATH="$library" "$place$prefix/bin/rill" --version | sed 's/[^0-9.]//g')" ] ||
  { echo "rill --version and rill.pc disagree"; exit 1; }
[ -n "$(find "$place$prefix" -name 'rill.1*')" ] || { echo "no man page"; exit 1; }
