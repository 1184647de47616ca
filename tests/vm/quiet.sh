# What quiet CPUs are about, in a guest: quiet.sh VERB ARGUMENT...
#   values           prints every value that may be changed: FILE VALUE, and the threads of the kernel
#   keep NAME        keeps them
#   same NAME [FILE] prints "same", or what differs from those that were kept, without this kind of file
#   off CPU...       prints "off", or fails and names what could move and is still on one of these CPUs
#   noisy SECONDS    produces work for unbound workqueues and for the interrupts of devices
#   overwrite CPUS   writes every interrupt that can move, as irqbalance would

threads() {
  for pid in $(cat /proc/2/task/2/children); do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    case $name in kworker/*) continue ;; esac
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

# Compares what exists both times: threads of the kernel come and go.
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
esac
