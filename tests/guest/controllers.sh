# Runs inside the guest: its kernel really has what the other tests rely on. When this fails, a
# failure of cgroup_v2.sh says nothing about sallyport.
group=/sys/fs/cgroup/controllers-test
failures=0

check() { # SENTENCE COMMAND...
  sentence=$1
  shift
  if "$@"; then echo "ok: $sentence"; else
    echo "FAILED: $sentence"
    failures=$((failures + 1))
  fi
}

inside() { # COMMAND..., as a member of the group
  (
    echo 0 >$group/cgroup.procs
    exec "$@"
  )
}

count() { # KEY FILE
  sed -n "s/^$1 //p" $group/$2
}

as_tester() { su tester -c "$1"; }

for controller in cpu memory pids io; do
  check "the root group hands down $controller" \
    grep -qw $controller /sys/fs/cgroup/cgroup.subtree_control
done
check "no cgroup v1 is in use" test -z "$(grep ' cgroup ' /proc/mounts)"
check "Landlock is on" grep -qw landlock /sys/kernel/security/lsm
check "overlayfs is there" grep -qw overlay /proc/filesystems
check "an ordinary user may make a user namespace" as_tester 'unshare -r true'
check "pivot_root works" unshare -m sh -c '
  mount -t tmpfs new /tmp && mkdir /tmp/old /tmp/usr && mount --bind /usr /tmp/usr && cd /tmp &&
  pivot_root . old && /usr/bin/busybox test -d /old/tmp'

mkdir $group

echo 32M >$group/memory.max
inside dd if=/dev/zero of=/dev/null bs=128M count=1 2>/dev/null
check "a process over memory.max is killed" test $? = 137
check "memory.events counts the kill" test "$(count oom_kill memory.events)" = 1
inside dd if=/dev/zero of=/dev/null bs=1M count=128 2>/dev/null
check "a process under memory.max is not" test $? = 0

echo '20000 100000' >$group/cpu.max
inside timeout 2 sh -c 'while :; do :; done' 2>/dev/null
check "a busy loop over cpu.max is throttled" test "$(count nr_throttled cpu.stat)" -ge 5
echo max >$group/cpu.max

echo 5 >$group/pids.max
inside sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 600 & done' 2>/dev/null
check "a fork over pids.max fails" test "$(count max pids.events)" -ge 1
check "what was forked before goes on" test "$(count populated cgroup.events)" = 1

echo 1 >$group/cgroup.kill
for i in $(seq 50); do [ "$(count populated cgroup.events)" = 0 ] || sleep 0.1; done
check "cgroup.kill empties the group" test "$(count populated cgroup.events)" = 0
check "an empty group can be removed" rmdir $group

exit $((failures > 0))
