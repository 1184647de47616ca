# Steps of audit.yaml: sh audit.sh STEP
set -e
state=/var/lib/kubelet
config=$state/config.yaml
case $1 in
  kubelet) # its files, links to logs and process, without the kubelet itself
    mkdir -p /tmp/kubelet-state
    pinfold admit --no-enforce --state-dir /tmp/kubelet-state --config $config "$2"
    cp /tmp/kubelet-state/cpu_manager_state /tmp/kubelet-state/memory_manager_state $state/
    cp /usr/bin/dash /usr/bin/kubelet
    setsid /usr/bin/kubelet -c "sleep 100000; :" kubelet --config=$config </dev/null >/dev/null 2>&1 &
    ;;
  findings) # all of them, for errors: their number comes last
    pinfold audit --fail-on error ;;
  pin) # a system process on an exclusive CPU
    taskset -c 2 sleep 100000 </dev/null >/dev/null 2>&1 &
    echo $! >/tmp/pinned
    ;;
  unpin) kill "$(cat /tmp/pinned)" ;;
  move) # the last process of a container leaves its group
    procs=$(ls /sys/fs/cgroup/kubepods/burstable/pod6c1b/*/cgroup.procs)
    for file in $procs; do
      pid=$(tail -n 1 "$file")
      [ "$(cat "/proc/$pid/comm")" = pause ] && continue
      echo "$file" >/tmp/moved-from
      echo "$pid" >/tmp/moved
    done
    cat /tmp/moved >/sys/fs/cgroup/cgroup.procs
    ;;
  back) cat /tmp/moved >"$(cat /tmp/moved-from)" ;;
  watch) # an overlap that begins and ends during the watch
    group=$(dirname "$(cat /tmp/moved-from)")
    touch /tmp/watched
    pinfold audit --watch --interval 50 >/tmp/watched &
    echo 0-7 >"$group/cpuset.cpus"
    until grep -q overlaps /tmp/watched; do sleep 0.2; done
    echo 0-1,4-7 >"$group/cpuset.cpus"
    until grep -q cleared /tmp/watched; do sleep 0.2; done
    kill $!
    wait $! || [ $? = 1 ] # it found an overlap
    cat /tmp/watched
    ;;
  tree) # a copy of this node gives the same findings
    sh /test/audit-capture /tmp/tree
    find /tmp/tree -exec ls -ldn {} + >/tmp/before
    pinfold audit --root /tmp/tree --fail-on error
    find /tmp/tree -exec ls -ldn {} + >/tmp/after
    cmp /tmp/before /tmp/after
    ;;
esac
