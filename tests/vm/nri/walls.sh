# For tests/vm/nri-walls*.yaml.in, in the guest: walls.sh VERB ARGUMENT...
#   timeout TIME             how long containerd waits for a plugin, from its next start on
#   interval SECONDS         how often the service looks for drift, from now on
#   halt PIDFILE | go PIDFILE    stops a process so that it answers nothing; continues it
#   plugin PROGRAM INDEX     the plugin of examples/nri, until it has synchronized
#   synchronized TIMES       waits until it has done so this often
#   end-plugin
#   sandboxes CPUS           sets the cpuset of all sandboxes
#   none-on CPUS             waits until no container has this cpuset
#   exclusive CPUS FILE      writes the containers with this cpuset to FILE, as stopSampling takes it
#   sampled TIMES            waits until the sampler has looked so often
#   group CPUS               makes a group that no runtime knows, waits until it has these CPUs, and removes it
#   kill-container UID       kills the containers of a pod
#   runs UID                 waits until a process of a container runs in this pod
kubepods=/sys/fs/cgroup/kubepods
log=/run/simple.log
pid=/run/simple.pid

groups_of_pauses() {
  local file
  for file in $(grep -lx pause /proc/[0-9]*/comm); do
    sed -n 's|^0::|/sys/fs/cgroup|p' "${file%comm}cgroup"
  done
}

synchronized() {
  until [ "$(grep -c synchronized $log)" -ge "$1" ]; do
    kill -0 "$(cat $pid)" || { cat $log; exit 1; }
    sleep 0.1
  done
  grep synchronized $log | tail -n 1
}

unknown_group() {
  local group=$kubepods/pod99999999-aaaa-4000-8000-000000000001/unknown process
  mkdir -p $group
  echo +cpuset >${group%/*}/cgroup.subtree_control
  sleep 1000 </dev/null >/dev/null 2>&1 &
  process=$!
  echo $process >$group/cgroup.procs
  until grep -qx "$1" $group/cpuset.cpus; do sleep 0.1; done
  sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$process/status
  kill -9 $process
  until rmdir $group 2>/dev/null; do sleep 0.1; done
  rmdir ${group%/*}
}

kill_containers() {
  local group process
  for group in $kubepods/pod"$1"/*/; do
    for process in $(cat "$group/cgroup.procs"); do
      grep -qx pause "/proc/$process/comm" && continue
      # The end of a container's first process ends the others.
      kill -9 "$process" || [ ! -e "/proc/$process" ] || exit 1
    done
  done
}

verb=$1
shift
case $verb in
  timeout) sed -i "s/plugin_request_timeout = .*/plugin_request_timeout = \"$1\"/" /etc/containerd/config.toml ;;
  interval)
    sed -i "/^reconcileIntervalSeconds/d" /etc/pinfold/agent.yaml
    echo "reconcileIntervalSeconds: $1" >>/etc/pinfold/agent.yaml
    sh /test/serve.sh reload
    ;;
  sampled) # each two samples end with a sleep of the sampler, the other process named init
    for process in $(pidof init); do [ $process -eq 1 ] || sampler=$process; done
    while [ $(sed -n 's/^voluntary_ctxt_switches:.//p' /proc/$sampler/status) -lt "$1" ]; do usleep 10000; done
    ;;
  halt) kill -STOP "$(cat "$1")" ;;
  go) kill -CONT "$(cat "$1")" ;;
  plugin)
    : >$log  # before the first look, which may come before the redirection
    setsid "$1" /var/run/nri/nri.sock "$2" 0-7 0-1 </dev/null >$log 2>&1 &
    echo $! >$pid
    synchronized 1
    ;;
  synchronized) synchronized "$1" ;;
  end-plugin) kill -9 "$(cat $pid)" ;;
  sandboxes) for group in $(groups_of_pauses); do echo "$1" >"$group/cpuset.cpus"; done ;;
  none-on) while grep -sqx "$1" $(find $kubepods -path '*/pod*/*/cpuset.cpus'); do sleep 0.1; done ;;
  exclusive)
    grep -lx "$1" $(find $kubepods -name cpuset.cpus) | sed "s|$kubepods/\(.*\)/cpuset.cpus|\1 $1|" | tee "$2"
    ;;
  group) unknown_group "$1" ;;
  kill-container) kill_containers "$1" ;;
  runs) while [ "$(cat $kubepods/pod"$1"/*/cgroup.procs 2>/dev/null | wc -l)" -lt 2 ]; do sleep 0.1; done ;;
esac
