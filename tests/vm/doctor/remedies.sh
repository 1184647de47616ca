# Steps of doctor-remedies.yaml: sh remedies.sh STEP [...]
set -e
export LC_ALL=C NO_COLOR=1
cgroup=/sys/fs/cgroup
cpuset=$cgroup
[ -e $cgroup/cgroup.controllers ] || cpuset=$cgroup/cpuset

# Doctor's result for a check, and the command that it prints for it.
said() { pinfold doctor >/tmp/said || [ $? = 1 ]; grep "^[x!?+] $1 " /tmp/said; }
remedy() { sed -n "/^[x!?] $1 /,/^    [^ ]/s/^    \([^ ]\)/\1/p" /tmp/said | head -n 1; }

# The settings of the kernel that no remedy below may change for good.
settings() {
  for file in $cpuset/cpuset.cpus $cpuset/cpuset.cpus.effective $cpuset/*/cpuset.cpus \
    $cpuset/*/cpuset.cpus.partition $cpuset/*/cpuset.cpu_exclusive /sys/devices/system/cpu/online; do
    [ ! -e "$file" ] || echo "$file $(cat "$file")"
  done
}

# remedied CHECK: doctor complains, its command runs as printed, and the check is ok with no setting
# changed.
remedied() {
  said "$1" | grep -v '^+' || { echo "doctor does not see $1"; exit 1; }
  command=$(remedy "$1")
  [ -n "$command" ] || { echo "no command for $1"; exit 1; }
  echo "$command"
  sh -e -c "$command"
  said "$1" | grep '^+' || { cat /tmp/said; exit 1; }
  settings >/tmp/after
  cmp /tmp/before /tmp/after
}

groups() { # on cgroup v1 a group has no CPUs before it gets some
  mkdir -p $cpuset/kubepods $cpuset/judge
  [ $cpuset != $cgroup ] || return 0
  for group in kubepods judge; do
    cat $cpuset/cpuset.cpus >$cpuset/$group/cpuset.cpus
    cat $cpuset/cpuset.mems >$cpuset/$group/cpuset.mems
  done
}

case $1 in
  before) groups; settings >/tmp/before ;;
  narrowed) echo 4-5 >$cpuset/kubepods/cpuset.cpus; remedied live-cpusets ;;
  partition) echo 4-5 >$cpuset/judge/cpuset.cpus
    if [ $cpuset = $cgroup ]; then
      echo root >$cpuset/judge/cpuset.cpus.partition
      said partitions | grep '^x'
      sh -e -c "$(remedy partitions)"
      echo >$cpuset/judge/cpuset.cpus # the remedy leaves the CPUs of the group to its owner
    else
      rmdir $cpuset/kubepods # an exclusive group has no CPUs of another one
      echo 1 >$cpuset/judge/cpuset.cpu_exclusive
      said partitions | grep '^x'
      sh -e -c "$(remedy partitions)"
      groups
    fi
    said partitions | grep '^+'
    settings >/tmp/after
    cmp /tmp/before /tmp/after ;;
  offline) echo 0 >/sys/devices/system/cpu/cpu7/online; remedied offline-cpus ;;
  controllers) # a group with an affinity and no cpuset, like services of systemd
    rmdir $cgroup/kubepods $cgroup/judge $cgroup/pinfold 2>/dev/null || true
    echo -cpuset >$cgroup/cgroup.subtree_control
    mkdir -p $cgroup/service
    taskset -c 0-1 sleep 100000 </dev/null >/dev/null 2>&1 &
    echo $! >$cgroup/service/cgroup.procs
    said cgroup-enabled | grep '^x'
    case $(uname -r) in
      6.1.*) grep 'caution: before Linux 6.2' /tmp/said; allowed=0-7 ;;
      *) ! grep 'caution:' /tmp/said || exit 1; allowed=0-1 ;;
    esac
    sh -e -c "$(remedy cgroup-enabled)"
    said cgroup-enabled | grep '^+'
    grep Cpus_allowed_list /proc/$!/status
    grep "^Cpus_allowed_list:.$allowed\$" /proc/$!/status # what the caution is about
    kill $! ;;
esac
