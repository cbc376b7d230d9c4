#!/bin/sh
# Reading a counter register on arm64 jumps by a table. Where the compiler protects branches (Debian, Ubuntu and Fedora
# build arm64 packages so), a jump to an instruction that is no landing pad ends in SIGILL. Skipped without a compiler.
set -eu
root=$1
compiler=${CROSS_CXX:-aarch64-linux-gnu-g++}
command -v "$compiler" >/dev/null || { echo "SKIP: no $compiler (apt-get install g++-aarch64-linux-gnu)"; exit 77; }
object=$(mktemp)
trap 'rm -f "$object"' EXIT
printf '#include "count/perf/read_page.hpp"\nstd::uint64_t f(unsigned i) { return recount::perf::cpu_counter(i); }\n' |
  "$compiler" -std=c++20 -O2 -mbranch-protection=standard -I"$root/src" -x c++ -c - -o "$object"
code=$("${compiler%g++}objdump" -d "$object")
registers=$(printf '%s\n' "$code" | grep -cE 'mrs.*pm(evcntr[0-9]+|ccntr)_el0')
pads=$(printf '%s\n' "$code" | grep -cE '[[:space:]]bti[[:space:]]+j' || true)
[ "$registers" = 32 ] || { echo "$registers registers are read, not 32"; exit 1; }
[ "$pads" = 32 ] || { echo "$pads landing pads for $registers targets of an indirect branch"; exit 1; }
