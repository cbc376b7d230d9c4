#!/bin/sh
# `make` builds everything that `make install` installs, and a PREFIX given after the first `make` counts: tried
# with a project of two small targets, since the real one takes minutes (fresh.sh).
set -eu
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
fail() { echo "$*" >&2; exit 1; }
command -v make >/dev/null || { echo 'make is not installed'; exit 77; }
unset PREFIX DESTDIR BUILD MESON_FLAGS MAKEFLAGS MAKELEVEL 2>/dev/null || :

mkdir -p "$root/src/count/library" "$root/scripts" "$root/tests"
touch "$root/scripts/deps" "$root/tests/summary.py" # nothing is installed or added up here
cp "$source/Makefile" "$root"
cat >"$root/meson.build" <<'END'
project('recount', 'cpp')
if import('fs').exists('decoder.h')
  add_project_arguments('-DHAVE_ZYDIS', language: 'cpp')
endif
subdir('src')
subdir('src/count/library')
END
echo "executable('recount', 'main.cpp', install: true)" >"$root/src/meson.build"
echo 'int main() {}' >"$root/src/main.cpp"
printf "shared_library('%s', 'library.cpp', soversion: '%s', install: true)\n" recount 2 recount-papi 1 >"$root/src/count/library/meson.build"
echo 'int library() { return 0; }' >"$root/src/count/library/library.cpp"

run() { make -C "$root" MESON_FLAGS= "$@" >"$root/log" 2>&1 || fail "make $*: $(cat "$root/log")"; }
run
run install PREFIX=/opt/x DESTDIR="$root/first"
[ -x "$root/first/opt/x/bin/recount" ] || fail "PREFIX=/opt/x after the first make: $(find "$root/first" -type f)"
find "$root/first/opt/x" -name librecount.so | grep -q . || fail 'librecount.so is not installed'
run install PREFIX=/opt/y DESTDIR="$root/second"
[ -x "$root/second/opt/y/bin/recount" ] || fail "another PREFIX: $(find "$root/second" -type f)"

# What the tests need and was installed after the first make is found.
touch "$root/decoder.h"
run test
grep -q HAVE_ZYDIS "$root/build/build.ninja" || fail 'make test does not look again for the decoder of instructions'

# The Makefile names all targets that the project installs.
make -C "$source" -n all BUILD="$build" >"$root/log"
ninja -C "$build" -t targets all >"$root/targets"
meson introspect "$build" --installed | python3 -c '
import json, pathlib, sys
build, log = pathlib.Path(sys.argv[1]).resolve(), open(sys.argv[2]).read().split()
made = [pathlib.Path(p) for p in json.load(sys.stdin)]
made = [str(p.relative_to(build)) for p in made if p.is_relative_to(build) and "meson-private" not in p.parts]
# Files that the configuration copies are there before.
targets = {line.split(":")[0] for line in open(sys.argv[3])}
lost = [p for p in made if p in targets and p not in log]
if lost or not made: sys.exit(f"make does not build {lost}, which is installed")
' "$build" "$root/log" "$root/targets"
