#!/bin/sh
# Installs into a temporary directory and compiles a client program against it. With ROOT set, uses an existing
# installation there.
set -eu
build=$1 compiler=$2
here=$(cd "$(dirname "$0")" && pwd)
root=${ROOT:-}
if [ -z "$root" ]; then
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  DESTDIR=$root meson install -C "$build" --no-rebuild --quiet >/dev/null
fi
pc=$(find "$root" -name recount.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
export PKG_CONFIG_PATH="$(dirname "$pc")"
library=$(dirname "$(dirname "$pc")")
export LD_LIBRARY_PATH="$library"
# Where nothing can be counted, programs are compiled and not run.
run() { [ -n "$uncountable" ] || "$@"; }
uncountable=$("$(find "$root" -path '*/bin/recount')" doctor --for stat) && uncountable=
# shellcheck disable=SC2046
examples=$root$prefix/share/doc/recount/examples
for program in two_events page_faults; do
  libraries=recount
  [ $program = page_faults ] || libraries='recount recount-papi'
  source=$here/$program.cpp
  [ -e "$source" ] || source=$examples/$program.cpp
  $compiler "-std=$(pkg-config --variable=cpp_std recount)" -Wall -Wextra -Werror "$source" -o "$root/$program" \
    $(pkg-config --define-variable=prefix="$root$prefix" --cflags --libs $libraries)
  run "$root/$program"
done
# The example in C: strict C11, linked by the C compiler.
# shellcheck disable=SC2046
${CC:-gcc} "-std=$(pkg-config --variable=c_std recount)" -pedantic -Wall -Wextra -Werror "$examples/page_faults.c" -o "$root/in_c" \
  $(pkg-config --define-variable=prefix="$root$prefix" --cflags --libs recount)
run "$root/in_c"
# One version of the headers, the library and the project.
printf '#include <recount/recount.h>\n#include <stdio.h>\nint main(void) { return recount_version() == RECOUNT_VERSION_NUMBER && printf("%%d.%%d.%%d", RECOUNT_VERSION_MAJOR, RECOUNT_VERSION_MINOR, RECOUNT_VERSION_PATCH) < 0; }\n' >"$root/version.c"
# shellcheck disable=SC2046
${CC:-gcc} "$root/version.c" -o "$root/version" $(pkg-config --define-variable=prefix="$root$prefix" --cflags --libs recount)
[ "$("$root/version")" = "$(pkg-config --modversion recount)" ]
# A program whose kernel headers are newer than the library's: perf_event_attr has more fields.
mkdir -p "$root/newer/linux"
header=$(echo '#include <linux/perf_event.h>' | $compiler -E -x c++ - | sed -n 's/^# 1 "\(.*linux\/perf_event.h\)".*/\1/p' | head -n 1)
awk '/^struct perf_event_attr \{/ {inside=1} inside && /^};/ {print "\t__u64 more[4];"; inside=0} {print}' "$header" >"$root/newer/linux/perf_event.h"
# shellcheck disable=SC2046
$compiler -std=c++20 -Wall -Wextra -Werror -I"$root/newer" "$here/newer_headers.cpp" -o "$root/newer_headers" \
  $(pkg-config --define-variable=prefix="$root$prefix" --cflags --libs recount)
run "$root/newer_headers"
# The header of sections is for C as well.
printf '#include <recount/sections.h>\nint main(void) { recount_section_begin("a"); recount_section_mark("b"); recount_section_end("a"); return recount_sections_fd() != -1; }\n' >"$root/sections.c"
$compiler -x c -std=gnu99 -Wall -Wextra -Wconversion -Werror -I"$(find "$root" -type d -path '*/include')" "$root/sections.c" -o "$root/sections"
"$root/sections"
for page in recount.1 recount-sweep.1 recount-results.5; do
  find "$root" -name "$page" | grep -q . || { echo "not installed: $page" >&2; exit 1; }
done
for file in doc/recount/LICENSE doc/recount/CHANGELOG.md doc/recount/gallery/README.md bash-completion/completions/recount \
  zsh/site-functions/_recount fish/vendor_completions.d/recount.fish; do
  [ -s "$root$prefix/share/$file" ] || { echo "not installed: share/$file" >&2; exit 1; }
done
"$(find "$root" -path '*/bin/recount')" --version
[ -z "$uncountable" ] || { echo "SKIP: the programs were compiled and not run: $uncountable"; exit 77; }
