#!/bin/bash
# guest-run keeps its word: a wrong verdict here would make every guest test worthless.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
failures=0

check() { # SENTENCE COMMAND...
  if "${@:2}"; then echo "ok: $1"; else
    echo "FAILED: $1"
    failures=$((failures + 1))
  fi
}

guest() { # TIMEOUT SCRIPT_TEXT [BINARY...]; sets $code and $console
  console=$("$here/guest-run" --timeout "$1" <(echo "$2") "${@:3}" 2>&1)
  code=$?
}

guest_is_running() { grep -qs "$TMPDIR/[t]mp" /proc/[0-9]*/cmdline; }

gone_within() { # TENTHS
  for ((i = 0; i < $1; i++)); do
    guest_is_running || return 0
    sleep 0.1
  done
  return 1
}

start_and_kill() { # SIGNAL
  "$here/guest-run" --timeout 60 <(echo 'sleep 600') >/dev/null 2>&1 &
  until guest_is_running || ! kill -0 $!; do sleep 0.1; done
  kill "-$1" $!
  wait $! 2>/dev/null
}

# The whole path, because busybox's sh prefers its own sort.
guest 120 '/usr/bin/sort --version; echo 0; exit 137' /usr/bin/sort
check "the script's exit code comes back" test "$code" = 137
check "the console comes back, and a given binary runs with its libraries" \
  grep -q 'sort (GNU coreutils)' <<<"$console"

guest 120 'exit 0'
check "success comes back" test "$code" = 0

guest 120 'echo c >/proc/sysrq-trigger; sleep 600'
check "a panic is 125" test "$code" = 125

start=$SECONDS
guest 8 'sleep 600'
check "a script that hangs is 124" test "$code" = 124
check "a script that hangs is ended in time" test $((SECONDS - start)) -le 20

start_and_kill TERM
check "SIGTERM ends the guest" gone_within 10
check "guest-run leaves no file behind" test -z "$(ls -A "$TMPDIR")"

start_and_kill KILL
check "SIGKILL ends the guest" gone_within 60

exit $((failures > 0))
