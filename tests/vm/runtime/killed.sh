# sh /test/killed.sh STAGE POINT...: runs a container, and kills the hook or the runtime at a point
# of a stage (run, createRuntime, start, running, poststop). Then kills the container's processes
# and removes the runtime's files, as after a reboot. Fails with a message if anything is left.
stage=$1
shift
group=/sys/fs/cgroup/runtime/killed
agent="--config /etc/pinfold/hook.yaml --cgroup-root /sys/fs/cgroup/pinfold"
bad() { echo "$stage $*"; exit 1; }
kill_container() {
  for process in $(cat $group/cgroup.procs 2>/dev/null); do kill -9 $process; done
  while [ -n "$(cat $group/cgroup.procs 2>/dev/null)" ]; do usleep 20000; done
}
# The runtime may be dead, and its hook not yet.
wait_for_hook() {
  read -r hook </run/hook.pid || bad "no hook has run"
  while [ -d /proc/$hook ]; do usleep 20000; done
}
rm -f /b/killed/rootfs/ran /run/killed /run/hook.pid
case $stage in
  createRuntime)
    echo "$stage $*" >/run/kill
    oci run --no-pivot -d -b /b/killed c >/dev/null 2>&1
    wait_for_hook
    [ -e /run/killed ] && [ -e /b/killed/rootfs/ran ] && bad "$*: the container runs"
    ;;
  run) # CALL FILE NUMBER of the runtime, in the foreground, where it is a single process
    /init kill-at "$@" oci run --no-pivot -b /b/killed c >/dev/null 2>&1 </dev/null
    [ $? -ne 137 ] || echo >/run/killed
    ;;
  start) # the same; without a point the container is never started
    oci create --no-pivot -b /b/killed c >/dev/null 2>&1 </dev/null || bad "$*: not created"
    [ $# -eq 0 ] || /init kill-at "$@" oci start c >/dev/null 2>&1
    [ $# -ne 0 -a $? -ne 137 ] || echo >/run/killed
    ;;
  running)
    oci run --no-pivot -b /b/killed c >/dev/null 2>&1 </dev/null &
    while [ ! -e /b/killed/rootfs/ran ]; do usleep 20000; done
    kill -9 $!
    echo >/run/killed
    pinfold reconcile $agent >/dev/null || bad "reconcile"
    [ "$(cat $group/cpuset.cpus)" = 2-3 ] || bad "the container lost its CPUs"
    ;;
  poststop)
    oci run --no-pivot -d -b /b/killed c >/dev/null 2>&1 </dev/null || bad "$*: not started"
    echo "$stage $*" >/run/kill
    oci delete -f c >/dev/null 2>&1
    wait_for_hook
    ;;
esac
rm -f /run/kill
kill_container
rm -rf /run/crun/c /run/runc/c
pinfold reconcile $agent >/dev/null || bad "$*: reconcile"
status=$(pinfold status $agent -o json)
[ "${status#*\"sharedPool\": \"0-7\"}" != "$status" ] || bad "$*: CPUs are missing: $status"
[ "${status#*\"pods\": \[\]}" != "$status" ] || bad "$*: a pod is left: $status"
left=$(find /sys/fs/cgroup/pinfold -mindepth 1 -type d; find /var/lib/pinfold -name '.pinfold_tmp*'
  grep -l entries /var/lib/pinfold/cpu_manager_state)
[ -z "$left" ] || bad "$*: left: $left"
rmdir $group 2>/dev/null
[ -e /run/killed ] || { echo "$stage $*: not killed"; exit 3; }
