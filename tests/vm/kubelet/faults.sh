# Plants faults for tests/vm/kubelet-observe.yaml.in, in the guest: faults.sh VERB ARGUMENT
#   interrupt NUMBER   succeeds if `pinfold audit` names this interrupt, and ends with 1 if it does not
#   pin CPUS | unpin   a process of the system on these CPUs
#   move CPUS | back   the processes of the container with this cpuset leave its group
case $1 in
  interrupt)
    pinfold audit --fail-on error >/tmp/audit || exit 3
    grep -E "interrupts?: (.*[ ,])?$2([ ,]|\$)" /tmp/audit
    ;;
  pin)
    taskset -c "$2" sleep 100000 </dev/null >/dev/null 2>&1 &
    echo $! >/tmp/pinned
    ;;
  unpin) kill "$(cat /tmp/pinned)" ;;
  move)
    file=$(grep -lx "$2" $(find /sys/fs/cgroup/kubepods -name cpuset.cpus)) || exit 1
    echo "${file%/*}/cgroup.procs" >/tmp/moved-from
    cat "${file%/*}/cgroup.procs" >/tmp/moved
    for process in $(cat /tmp/moved); do echo "$process" >/sys/fs/cgroup/cgroup.procs || exit 1; done
    ;;
  back) for process in $(cat /tmp/moved); do echo "$process" >"$(cat /tmp/moved-from)" || true; done ;;
esac
