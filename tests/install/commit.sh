#!/bin/sh
# commit.sh BUILD: another commit makes ninja compile one small object again.
set -eu
source=$(find "$1/src/commands/cli" -name commit.cpp)
used=$(ninja -C "$1" -t query "${source#"$1"/}" | sed -n '/outputs:/,$p' | sed 1d | grep -v '^ *all$\|PHONY' | tr -d ' ')
case $used in
*commit.cpp.o) [ "$(echo "$used" | wc -l)" = 1 ] || { echo "the commit is compiled into: $used"; exit 1; } ;;
*) echo "the commit is compiled into: $used"; exit 1 ;;
esac
[ "$(wc -l <"$source")" -lt 10 ]
