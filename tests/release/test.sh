#!/bin/sh
# test.sh SOURCE: tests/release/run is skipped for want of a network only, and fails when debootstrap fails with one.
# Exit 77: no root or no mount namespaces here.
set -eu
[ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null || { echo 'SKIP: needs root and mount namespaces'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
printf '#!/bin/sh\necho E: no such script\nexit 1\n' >"$work/bin/debootstrap"
chmod +x "$work/bin/debootstrap"

expect() { # STATUS_OF_WGET STATUS TEXT
  printf '#!/bin/sh\nexit %s\n' "$1" >"$work/bin/wget"
  chmod +x "$work/bin/wget"
  status=0
  PATH="$work/bin:$PATH" RECOUNT_RELEASES="$work/releases" "$source/tests/release/run" trixie >"$work/log" 2>&1 || status=$?
  if [ "$status" != "$2" ] || ! grep -q "$3" "$work/log"; then
    echo "wget $1: exit status $status, not $2 with \"$3\":" >&2
    cat "$work/log" >&2
    exit 1
  fi
  [ -z "$(ls "$work/releases")" ] || { echo "wget $1: a half-made system was left" >&2; exit 1; }
}

source=$1
expect 4 77 '^SKIP: Debian trixie: no network: http[^ ]*/debian/* cannot be reached$'
expect 0 1 'E: no such script'
expect 8 1 'E: no such script'
