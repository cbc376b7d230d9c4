#!/bin/sh
# A fresh clone: make, make install elsewhere, and a client program against it. Takes some minutes;
# less with a MESON_FLAGS whose objects ccache has.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PREFIX DESTDIR BUILD MAKEFLAGS MAKELEVEL 2>/dev/null || :
git clone --quiet "$here/../.." "$work/clone"
make -C "$work/clone"
make -C "$work/clone" install PREFIX=/opt/x DESTDIR="$work/root"
[ -x "$work/root/opt/x/bin/recount" ] || { echo 'nothing in /opt/x' >&2; exit 1; }
ROOT=$work/root sh "$here/test.sh" "$work/clone/build" "${CXX:-c++}"
