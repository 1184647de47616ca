# sh /test/killed_mini.sh MINI_RUNTIME STRIDE CALL...: kills the mini-runtime at every STRIDEth of
# these calls. Afterwards runs the pod again, or, after those with an even number, removes it; so
# STRIDE is odd. Then nothing is left.
mini=$1 stride=$2
shift 2
agent="--state-dir /run/state --cgroup-root /sys/fs/cgroup/mini --config /run/config.yaml"
run="$mini /run/state /sys/fs/cgroup/mini /run/config.yaml /run/pod.yaml main"
bad() { echo "$*"; exit 1; }
nothing_left() {
  [ ! -d /sys/fs/cgroup/mini/poddb-1 ] || bad "$*: its group is left"
  pinfold status $agent -o json >/run/status || bad "$*: status"
  grep -q '"pods": \[\]' /run/status || bad "$*: a pod is left: $(cat /run/status)"
  grep -q '"sharedPool": "0-7"' /run/status || bad "$*: CPUs are missing: $(cat /run/status)"
}
recover() {
  pinfold reconcile $agent >/dev/null || bad "$*: reconcile"
  if [ $((number % 2)) -eq 1 ]; then
    $run grep Cpus_allowed_list /proc/self/status >/run/printed || bad "$*: does not run again"
    grep -q 'Cpus_allowed_list:.2-3$' /run/printed || bad "$*: $(cat /run/printed)"
  elif pinfold status $agent | grep -q db; then
    pinfold remove $agent --pod db >/dev/null || bad "$*: remove"
  fi
}
for call in "$@"; do
  number=1
  while
    /init kill-at $call any $number $run true >/dev/null 2>&1
    [ $? -eq 137 ]
  do
    recover "$call $number"
    nothing_left "$call $number"
    number=$((number + stride))
  done
  [ $number -gt 1 ] || bad "never killed at $call"
done
number=2
$run sleep 1000 &
while ! grep -q sleep /proc/$(cat /sys/fs/cgroup/mini/poddb-1/main/cgroup.procs 2>/dev/null)/cmdline 2>/dev/null; do usleep 20000; done
kill -9 $!
while [ -n "$(cat /sys/fs/cgroup/mini/poddb-1/main/cgroup.procs)" ]; do usleep 20000; done
recover running
nothing_left running
