#!/bin/sh
# scripts/deps on a machine where another apt holds the lock of the lists at first, and another dpkg its own.
set -eu
deps=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
export LOG="$root/log"
mkdir "$root/bin"
cat >"$root/bin/apt-get" <<'EOF'
#!/bin/sh
echo "apt-get $*" >>"$LOG"
case "$*" in
*update*) [ "$(grep -c update "$LOG")" -gt 2 ] || { echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)' >&2; exit 100; } ;;
*DPkg::Lock::Timeout=*install*a-package*) ;;
*) echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (dpkg)' >&2; exit 100 ;;
esac
EOF
printf '#!/bin/sh\nexit 1\n' >"$root/bin/dpkg-query"
printf '#!/bin/sh\nexec "$@"\n' >"$root/bin/sudo"
printf '#!/bin/sh\n' >"$root/bin/sleep"
chmod +x "$root"/bin/*
PATH="$root/bin:$PATH" sh "$deps" a-package >"$root/said" 2>&1 || { cat "$root/said"; exit 1; }
[ "$(grep -c update "$LOG")" = 3 ]
grep -q install "$LOG"
# Any other fault ends it at once.
printf '#!/bin/sh\necho "apt-get $*" >>"$LOG"\nexit 100\n' >"$root/bin/apt-get"
: >"$LOG"
! PATH="$root/bin:$PATH" sh "$deps" a-package >/dev/null 2>&1 || exit 1
[ "$(wc -l <"$LOG")" = 1 ]
