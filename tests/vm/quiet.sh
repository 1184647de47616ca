# Checks of quiet CPUs, in a guest: quiet.sh VERB ARGUMENT...
#   values           prints every value that may be changed: FILE VALUE, and the threads of the kernel
#   keep NAME        keeps them
#   same NAME [FILE] prints "same", or the differences from the kept values, without this kind of file
#   off CPU...       prints "off", or fails and names what could move and is still on one of these CPUs
#   noisy SECONDS    produces work for unbound workqueues and for the interrupts of devices
#   overwrite CPUS   writes every interrupt that can move, as irqbalance would
#   crowd CPU        sends every interrupt that can move, and unbound work, to one CPU below 32
#   service CPU      starts a service of systemd that runs there two hundred times per second (see crun/systemd.sh)
#   moved CPUS       waits until systemd allows system.slice these CPUs: a systemd of a busy guest may answer too late,
#                    and the next reconciliation asks again
#   tracing          makes the kernel's events readable
#   disturbed PROGRAM CGROUP CPU...   runs it on each of these CPUs for 4 seconds while interrupts and unbound work
#                    are produced and commands are executed in its container, and prints its gaps and the events of
#                    these CPUs
#   facts CPU...     prints briefly what 'disturbed' saw, one fact per line: "gap CPU MICROSECONDS COUNT" for each
#                    power of two, "longest CPU MICROSECONDS" and "event KIND COUNT" (gaps_picture draws them)
#   named PROGRAM CGROUP CPU   runs it on this CPU next to an executed command and a service, while interrupts and
#                    unbound work are produced, and prints which kinds of noise 'pinfold noise' names
#   house CPUS       moves every process of user space outside of Pinfold's groups there, as systemd's AllowedCPUs does
#   remains PROGRAM CGROUP CPU...   runs it on each of these CPUs while interrupts and unbound work are produced, and
#                    prints what 'left' does for these CPUs
#   left FILE [KIND...]   prints "nothing else" if a report of 'pinfold noise' has only sources that
#                    docs/cookbook/quiet-cpus.md says remain, of these kinds or any; otherwise fails and prints the others
#   events CPU...    prints the interrupts and the unbound work of CPUs in that time, with how often each came
#   came KIND...     prints which of these kinds of events came to the CPUs of the program, or "none"

# The kernel's threads that may move. The kernel itself moves the others, such as rescuers of workqueues.
threads() {
  for pid in $(cat /proc/2/task/2/children); do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    flags=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d ' ' -f 7)
    [ $((${flags:-0} & 0x04000000)) = 0 ] || continue
    echo "thread $pid $name $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$pid/status")"
  done
}

files() {
  ls /proc/irq/*/smp_affinity_list /proc/irq/default_smp_affinity /sys/devices/virtual/workqueue/cpumask \
    /sys/devices/virtual/workqueue/*/cpumask /sys/class/net/*/queues/rx-*/rps_cpus 2>/dev/null
}

values() {
  for file in $(files); do
    value=$(cat "$file" 2>/dev/null) && echo "$file $value"
  done
  threads
}

# has LIST CPU
has() {
  echo "$1" | tr , '\n' |
    awk -F- -v cpu="$2" '{ last = $2 == "" ? $1 : $2; if (cpu + 0 >= $1 + 0 && cpu + 0 <= last + 0) found = 1 } END { exit !found }'
}

# has_bit MASK CPU, for CPUs below 32
has_bit() { [ $(((0x${1##*,} >> $2) & 1)) = 1 ]; }

# A file whose own value cannot be written again belongs to its driver or to one CPU.
may_move() { cat "$1" 2>/dev/null >/tmp/value && (cat /tmp/value >"$1") 2>/dev/null; }

off() {
  for file in $(files); do
    value=$(cat "$file" 2>/dev/null) || continue
    for cpu; do
      case $file in
        *_list) has "$value" "$cpu" || continue ;;
        *) has_bit "$value" "$cpu" || continue ;;
      esac
      may_move "$file" || continue
      echo "$file: $value"
      exit 1
    done
  done
  echo off
}

noisy() {
  end=$(($(date +%s) + $1))
  while [ "$(date +%s)" -lt $end ]; do
    dd if=/dev/zero of=/tmp/noise bs=64k count=64 conv=fsync 2>/dev/null
    sync
    echo >/dev/console
  done
}

overwrite() {
  for file in /proc/irq/*/smp_affinity_list; do
    (echo "$1" >"$file") 2>/dev/null
  done
}

crowd() {
  overwrite "$1"
  printf '%x\n' $((1 << $1)) >/sys/devices/virtual/workqueue/cpumask
}

tracefs=/sys/kernel/tracing

tracing() {
  mount -t tracefs tracefs $tracefs 2>/dev/null
  echo 0 >$tracefs/tracing_on
  echo 'next_comm == "scribe" || next_comm == "probe"' >$tracefs/events/sched/sched_switch/filter &&
    echo 1 >$tracefs/events/sched/sched_switch/enable &&
    echo 1 >$tracefs/events/irq/irq_handler_entry/enable &&
    echo 1 >$tracefs/events/workqueue/workqueue_execute_start/enable
}

# A script's process has the name of the script.
script() {
  printf '#!/bin/sh\n%s\n' "$2" >"$1"
  chmod +x "$1"
}

# Without a unit that needs it, systemd would take the cpuset controller from all groups.
service() {
  script /usr/bin/scribe 'while :; do usleep 5000; done'
  printf '[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/usr/bin/scribe\nDelegate=cpuset\nCPUAffinity=%s\n' "$1" \
    >/etc/systemd/system/scribe.service
  inside systemctl daemon-reload && inside systemctl start scribe.service && inside systemctl is-active scribe.service
}

moved() {
  until [ "$(inside systemctl show --property=AllowedCPUs --value system.slice)" = "$1" ]; do
    pinfold reconcile --config /etc/pinfold/config.yaml --cgroup-root /sys/fs/cgroup/pinfold >/dev/null
    sleep 0.5
  done
  echo moved
}

# Executes commands in a container, as its probes do.
probe() {
  script /usr/bin/probe true
  while [ ! -e /tmp/end ]; do
    sh -c "echo \$\$ >'$1/cgroup.procs' && exec /usr/bin/probe"
    usleep 100000
  done
}

# Produces console interrupts, and work for unbound workqueues: the execution of modprobe. (Ordered workqueues,
# such as the one that frees network namespaces, follow no mask before Linux 6.9.)
produce() {
  while [ ! -e /tmp/end ]; do
    echo >/dev/console
    mount -t nosuch none /tmp 2>/dev/null
  done
}

events() {
  for cpu; do
    sed -n -e "s/^.*: irq_handler_entry: \(.*\)/interrupt \1 on CPU $cpu/p" \
      -e "s/^ *kworker\/u.*: workqueue_execute_start: .*: function \(.*\)/kworker \1 on CPU $cpu/p" \
      -e "s/^.*: sched_switch: .*next_comm=scribe .*/service scribe on CPU $cpu/p" \
      -e "s/^.*: sched_switch: .*next_comm=probe .*/exec probe on CPU $cpu/p" $tracefs/per_cpu/cpu"$cpu"/trace
  done | sort | uniq -c
}

# disturbed PROGRAM CGROUP CPU...
disturbed() {
  local program=$1 group=$2 cpu pids=
  shift 2
  rm -f /tmp/end
  produce &
  probe "$group" &
  echo >$tracefs/trace
  echo 1 >$tracefs/tracing_on
  for cpu; do
    sh -c "echo \$\$ >'$group/cgroup.procs' && exec taskset -c $cpu '$program' 4" >"/tmp/gaps.$cpu" &
    pids="$pids $!"
  done
  # shellcheck disable=SC2086  # a list
  wait $pids
  echo 0 >$tracefs/tracing_on
  touch /tmp/end
  for cpu; do
    echo "gaps on CPU $cpu:"
    cat "/tmp/gaps.$cpu"
  done
  events "$@" | tee /tmp/events
}

facts() {
  for cpu; do
    awk -v cpu="$cpu" '$2 == "us" { print "gap", cpu, $1, $3 } $1 == "longest" { print $1, cpu, $2 }' "/tmp/gaps.$cpu"
  done
  awk '{ count[$2] += $1 } END { for (kind in count) print "event", kind, count[kind] }' /tmp/events
}

# Runs a command line on a CPU, in a group if one is given, until /tmp/end exists.
busy_on() {
  local cpu=$1 group=$2
  sh -c "[ -z '$group' ] || echo \$\$ >'$group/cgroup.procs'
    exec taskset -c $cpu sh -c 'while [ ! -e /tmp/end ]; do :; done'" &
}

# named PROGRAM CGROUP CPU
named() {
  local program=$1 group=$2 cpu=$3 kind found=
  rm -f /tmp/end
  # The container's first process is the oldest one in its group.
  sh -c "echo \$\$ >'$group/cgroup.procs' && exec taskset -c $cpu '$program' 20" >/dev/null &
  sleep 1
  busy_on "$cpu" "$group"
  busy_on "$cpu"
  produce &
  pinfold noise "$cpu" --config /etc/pinfold/config.yaml --for 3000 -o json >/tmp/noise
  touch /tmp/end
  for kind in timer interrupt workqueue exec task; do
    grep -q "\"kind\": \"$kind\"" /tmp/noise && found="$found $kind"
  done
  echo "named:$found"
}

house() {
  for process in /proc/[0-9]*; do
    readlink "$process/exe" >/dev/null || continue
    grep -q /pinfold/ "$process/cgroup" || taskset -apc "$1" "${process#/proc/}" >/dev/null
  done 2>/dev/null
  echo moved
}

# Rows "KIND PATTERN" of the table in the section "What remains".
remaining() {
  sed -n '/^### What remains/,/^## /s/^| `\([a-z-]*\)` | \([^|]*\)|.*/\1 \2/p' /test/quiet-cpus.md |
    awk '{ for (i = 2; i <= NF; ++i) { gsub(/[`,]/, "", $i); sub("/N", "/[0-9]+", $i); print $1, $i } }'
}

left() {
  local report=$1 kind name
  shift
  remaining >/tmp/remaining
  [ -s /tmp/remaining ] || { echo "no table in quiet-cpus.md"; exit 1; }
  [ "$(grep -c '"quietScore"' "$report")" -gt 0 ] || { echo "no report"; exit 1; }
  sed -n -e 's/^ *"\(kind\|name\)": "\(.*\)",*$/\1 \2/p' "$report" |
    awk -v kinds="$*" '$1 == "kind" { kind = $2 }
      $1 == "name" { $1 = ""; if (kinds == "" || index(" " kinds " ", " " kind " ")) print kind $0 }' |
    sort -u >/tmp/sources
  while read -r kind name; do
    if [ "$kind" = interrupt ]; then
      may_move "/proc/irq/$name/smp_affinity_list" || continue
    elif awk -v kind="$kind" -v name="$name" '$1 == kind && ($2 == "all" || name ~ "^" $2) { found = 1 }
        END { exit !found }' /tmp/remaining; then
      continue
    fi
    echo "$kind $name"
  done </tmp/sources >/tmp/others
  [ ! -s /tmp/others ] || { cat /tmp/others; exit 1; }
  echo "nothing else"
}

# remains PROGRAM CGROUP CPU...
remains() {
  local program=$1 group=$2
  shift 2
  rm -f /tmp/end
  # The container's first process starts all of them: others would be executed commands.
  sh -c "echo \$\$ >'$group/cgroup.procs'
    for cpu in $*; do taskset -c \$cpu '$program' 8 & done
    wait" >/dev/null &
  produce &
  sleep 1
  pinfold noise "$(echo "$@" | tr ' ' ,)" --config /etc/pinfold/config.yaml --for 4000 -o json >/tmp/noise
  touch /tmp/end
  wait
  left /tmp/noise
}

came() {
  local kind found=
  for kind; do
    grep -q " $kind " /tmp/events && found="$found $kind"
  done
  # shellcheck disable=SC2086  # a list
  echo ${found:-none}
}

# Compares only what exists both times: threads of the kernel come and go.
same() {
  values | grep -v "${2:-^$}" >/tmp/now
  awk '{ value = $NF; $NF = "" }
    NR == FNR { before[$0] = value; next }
    ($0 in before) && before[$0] != value { print $0 before[$0] " is now " value; differs = 1 }
    END { exit differs }' "/tmp/$1" /tmp/now && echo same
}

case $1 in
  values) values ;;
  keep) values >"/tmp/$2" ;;
  same) shift; same "$@" ;;
  off) shift; off "$@" ;;
  noisy) noisy "$2" ;;
  overwrite) overwrite "$2" ;;
  crowd) crowd "$2" ;;
  service) service "$2" ;;
  moved) moved "$2" ;;
  tracing) tracing ;;
  disturbed) shift; disturbed "$@" ;;
  facts) shift; facts "$@" ;;
  named) shift; named "$@" ;;
  house) house "$2" ;;
  remains) shift; remains "$@" ;;
  left) shift; left "$@" ;;
  events) shift; events "$@" ;;
  came) shift; came "$@" ;;
esac
