# Runs inside the guest: `sallyport run` against the kernel's own cgroup v2 controllers, as root and
# as an ordinary user with delegated groups.
cgroups=/sys/fs/cgroup
result=/tmp/result.json
failures=0

# --- who launches ------------------------------------------------------------------------------

# What systemd's Delegate=yes does: the user gets the directory and three files, no limit file.
delegate() { # GROUP
  mkdir -p $1
  chown tester:tester $1 $1/cgroup.procs $1/cgroup.threads $1/cgroup.subtree_control
}

# The tree of a user whose terminals sit in a leaf each, as under user@1000.service.
tree=$cgroups/tree
delegate $tree
echo '+cpu +memory +pids' >$tree/cgroup.subtree_control
delegate $tree/terminal
(
  echo 0 >$tree/terminal/cgroup.procs
  exec sleep 100000 # the shell of the terminal
) &

# Replaces the calling shell, so that $! of a background launch is sallyport itself.
launch() { # [OPTION...] -- COMMAND...
  case $who in
  root) exec sallyport run "$@" ;;
  scope) # systemd-run --user --scope -p Delegate=yes: alone in a new group
    echo 0 >$cgroups/scope/cgroup.procs
    ;;
  terminal)
    echo 0 >$tree/terminal/cgroup.procs
    export SALLYPORT_CGROUP_PARENT=$tree
    ;;
  undelegated) ;; # in the root group, which belongs to root
  esac
  exec su -c 'exec sallyport run "$@"' -- tester sh "$@"
}

run() { # [OPTION...] -- COMMAND...
  [ $who != scope ] || delegate $cgroups/scope
  (launch --json "$@") >$result 2>/tmp/stderr
  code=$?
}

# --- what is expected of it --------------------------------------------------------------------

check() { # SENTENCE COMMAND...
  sentence=$1
  shift
  if "$@"; then echo "ok: $who: $sentence"; else
    echo "FAILED: $who: $sentence"
    echo "  exit code $code, stderr: $(cat /tmp/stderr)"
    echo "  result: $(cat $result)"
    failures=$((failures + 1))
  fi
}

exits_with() { [ $code = $1 ]; }
says() { tr -d ' \n' <$result | grep -q "$1"; }
says_not() { ! says "$1"; }
hit() { says "\"limits_hit\":\[[^]]*\"$1\""; }
not_hit() { ! hit "$1"; }
no_group_left() { [ -z "$(find $cgroups -name 'sallyport-*')" ]; }

# Every process that must not outlive its cell is a `sleep 7777`.
sleeper_runs() { ps -o args | grep -q '^sleep 7777'; }
no_sleeper_left() { ! sleeper_runs; }

nothing_left() {
  check "... and leaves no group" no_group_left
  check "... and leaves no process" no_sleeper_left
  [ $who != scope ] || find $cgroups/scope -depth -type d -exec rmdir {} \; # systemd does so
}

# --- the cases ---------------------------------------------------------------------------------

limits_come_from_cgroup_v2() {
  run -- echo hello
  check "a command runs" exits_with 0
  check "its cell is held by cgroup v2" says '"cgroup":"v2"'
  nothing_left
  run --require cgroup -- true
  check "--require cgroup is satisfied" exits_with 0
  nothing_left
}

memory() {
  run --memory 64MiB -- dd if=/dev/zero of=/dev/null bs=16M count=1
  check "a command within its memory runs" exits_with 0
  nothing_left
  run --memory 64MiB -- dd if=/dev/zero of=/dev/null bs=256M count=1
  check "a command over its memory is killed" exits_with 137
  check "the reason is memory" says '"reason":"memory"'
  nothing_left
  run --memory 64MiB -- sh -c 'dd if=/dev/zero of=/dev/null bs=256M count=1; sleep 7777'
  check "an oom kill of any process ends the cell" exits_with 137
  check "the reason is memory then too" says '"reason":"memory"'
  nothing_left
  run --memory 64MiB --timeout 60s --disk 200MiB --file-size 200MiB -- dd if=/dev/zero of=/tmp/big bs=1M count=128
  check "files in the scratch count as memory" exits_with 137
  check "the reason is memory for the scratch too" says '"reason":"memory"'
  nothing_left
}

processes() {
  # The subshell gives up at the first failed fork; the shell around it must go on.
  run --processes 10 -- sh -c '(for i in $(seq 30); do sleep 7777 & done); echo survived'
  check "a command that forks too much survives" exits_with 0
  check "it went on after the failed fork" says '"output":"survived'
  check "the limit on processes is listed" hit processes
  nothing_left
  run --processes 10 -- sh -c 'for i in 1 2 3; do sleep 7777 & done'
  check "a command within its processes runs" exits_with 0
  check "it does not hit that limit" not_hit processes
  nothing_left
}

# A single loop for three seconds: how many hundredths of a second of processor did it get?
burned() { sed -n 's/.*user \([0-9]*\)\.\([0-9][0-9]\).*/\1\2/p' $result; }

cpus() {
  loop='time -p timeout 3 sh -c "while :; do :; done"; true'
  run --cpus 0.2 --timeout 60s -- sh -c "$loop"
  check "the share of 0.2 processors is kept" test "$(burned)" -lt 120
  check "the limit on cpus is listed" hit cpus
  nothing_left
  run --cpus 2 --timeout 60s -- sh -c "$loop"
  check "without a tight share the loop gets a processor" test "$(burned)" -gt 200
  nothing_left
}

cpu_seconds() {
  run --cpu 1s --timeout 60s -- sh -c 'while :; do :; done'
  check "a command over its cpu seconds is killed" exits_with 137
  check "the reason is cpu" says '"reason":"cpu"'
  nothing_left
  run --cpu 1s --timeout 60s -- sh -c '
    for i in 1 2 3; do timeout 0.6 sh -c "while :; do :; done"; done
    sleep 7777'
  check "children that are gone count too" exits_with 137
  check "the reason is cpu for them too" says '"reason":"cpu"'
  nothing_left
}

timeout_kills_all() {
  run --timeout 2s -- sh -c '
    trap "" TERM INT HUP
    (setsid sleep 7777 &)
    sleep 7777 &
    kill -STOP $!
    sleep 7777'
  check "a command over its time ends with 124" exits_with 124
  check "the reason is timeout" says '"reason":"timeout"'
  nothing_left
}

killed_sallyport() {
  launch -- sleep 7777 &
  victim=$!
  for i in $(seq 100); do sleeper_runs || sleep 0.1; done
  check "the command is running" sleeper_runs
  kill -9 $victim
  wait $victim
  for i in $(seq 50); do no_sleeper_left || sleep 0.1; done
  check "kill -9 of sallyport ends the command" no_sleeper_left
  run -- true
  check "the next cell starts" exits_with 0
  nothing_left
}

without_delegation() {
  run -- true
  check "a cell works without a cgroup" exits_with 0
  check "the result says that there is none" says '"cgroup":"none"'
  run --require cgroup -- echo started
  check "--require cgroup refuses it" exits_with 125
  check "and nothing ran" says_not '"output":"started'
  nothing_left
}

for who in root scope terminal; do
  limits_come_from_cgroup_v2
  memory
  processes
  cpus
  cpu_seconds
  timeout_kills_all
done

# Not in a scope: nothing enters a dead one again, and systemd removes what is in it.
for who in root terminal; do killed_sallyport; done

who=undelegated
without_delegation

echo "failures: $failures"
exit $((failures > 0))
