# sh /test/churn.sh NUMBER: creates and deletes NUMBER containers next to one in the shared pool.
# Every fifth is killed with its runtime while it is created, every fifth while it is deleted, each
# time at a different moment. Fails with a message if a CPU is lost or the neighbour does not follow.
. /words
bad() { echo "container $i: $*"; touch /run/end; exit 1; }
# killed_within MS COMMAND...: kills the command at a moment up to MS after its start.
killed_within() {
  limit=$1
  shift
  "$@" </dev/null >/said 2>&1 &
  usleep $((i * 7919 % limit * 1000))
  kill -9 $! 2>/dev/null && killed=$((killed + 1))
  wait $! 2>/dev/null
}
# What an engine does after a crash of its runtime.
clean_up() {
  oci delete -f $1 </dev/null >/said 2>&1
  for group in $cpuset/runtime/$1 /sys/fs/cgroup/*/runtime/$1; do
    [ -d $group ] || continue
    while [ -n "$(cat $group/cgroup.procs)" ]; do kill -9 $(cat $group/cgroup.procs) 2>/dev/null; usleep 20000; done
    rmdir $group
  done
  rm -rf /run/crun/$1
}
delete() {
  [ $((i % 5)) -ne 1 ] || killed_within 700 oci delete -f $1
  clean_up $1
}
follows() {
  expected=$(shared_pool)
  [ "$(cpus s0)" = "$expected" ] || bad "the neighbour has '$(cpus s0)', expected '$expected'"
}
i=0 killed=0
bundle s0 '"io.pinfold.cpu": "500m", "io.pinfold.memory": "16Mi"'
run s0 || bad "the neighbour does not run: $(cat /said)"
while [ $i -lt $1 ]; do
  i=$((i + 1))
  pinned x$i $((i % 2 + 1))
  if [ $((i % 5)) -eq 0 ]; then
    killed_within 1500 oci run --no-pivot -b /b x$i
  else
    run x$i || bad "does not run: $(cat /said)"
  fi
  [ $i -lt 3 ] || delete x$((i - 2))
  [ $((i % 10)) -ne 4 ] || follows
done
for last in $((i - 1)) $i; do clean_up x$last; done
pinfold reconcile >/dev/null || bad "reconcile"
[ "$(shared_pool)" = 0-7 ] || bad "CPUs are lost: the shared pool is '$(shared_pool)'"
follows
[ $(pinfold status -o json | grep -c '"uid": "oci-x') -eq 0 ] || bad "a pod is left"
touch /run/end
echo "$i containers, $killed kills, nothing is lost"
