#!/bin/sh
# compilers.sh SOURCE: a clang before 16 is refused by name when the build is set up. Exit 77: there is none here.
set -eu
clang=
for name in clang++ clang++-14 clang++-15; do
  command -v "$name" >/dev/null || continue
  if [ "$("$name" -dumpversion | cut -d. -f1)" -lt 16 ]; then clang=$name; break; fi
done
[ -n "$clang" ] || { echo 'SKIP: no clang before 16 here'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if CXX=$clang meson setup "$work/build" "$1" >"$work/log" 2>&1; then
  echo "$clang was accepted" >&2
  exit 1
fi
grep -q 'does not compile recount: g++ 12 or newer, or clang 16 or newer' "$work/log" || { tail -5 "$work/log" >&2; exit 1; }
