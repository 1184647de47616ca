# The service in a guest: serve.sh VERB ARGUMENT...
#   start PROGRAM CONFIG ROOT [OPTION...]   until it is ready
#   run PROGRAM CONFIG ROOT [OPTION...]     until it ends
#   admit-later CONFIG ROOT FILE            a command in the background, as soon as a service runs
#   later                                   the result of that command
#   hang CLIENT                             clients in the background
#   watch CLIENT                            changes of the API, in the background
#   changed TEXT                            waits for such a change and prints it
#   gentle|rough CONFIG ROOT FILE PROGRAM   commands while the service is stopped, or killed
#   wait TEXT [TIMES] | kill | kill-in SECONDS | reload | stop
#   footprint                               its memory and open files
#   cost COMMAND...                         its CPU time and memory during a command; also in /tmp/figures
#   metric NAME                             its value
#   pauses                                  how many processes of sandboxes can run on which CPUs
dir=/run/pinfold
log=$dir/log

# Waits until this many lines of the log match (default: one), and prints the last of them.
wait_for() {
  until [ "$(grep -c "$1" "$log")" -ge "${2:-1}" ]; do sleep 0.1; done
  grep "$1" "$log" | tail -n 1
}

# start PROGRAM CONFIG ROOT [OPTION...]
start() {
  local program=$1 config=$2 root=$3
  shift 3
  mkdir -p $dir
  : >"$log"
  # With the capabilities of pinfold.service, and those that a scenario adds.
  local caps=-all,+dac_override,+kill,+sys_nice,+sys_ptrace$MORE_CAPS
  setsid /usr/bin/setpriv --bounding-set=$caps "$program" --config "$config" --cgroup-root "$root" \
    --log-level debug "$@" </dev/null >>"$log" 2>&1 &
  echo $! >$dir/pid
  until grep -q "serves state directory" "$log"; do
    kill -0 $! || { cat "$log"; exit 1; }
    sleep 0.1
  done
  echo ready
}

kill_service() {
  kill -9 "$(cat $dir/pid)"
  # Its parent may not have reaped it.
  while grep '^State:' "/proc/$(cat $dir/pid)/status" 2>/dev/null | grep -qv zombie; do sleep 0.1; done
}

# Stops the process at once, so that it answers nothing, and kills it later.
kill_in() {
  kill -STOP "$(cat $dir/pid)"
  (sleep "$1"; kill -9 "$(cat $dir/pid)") </dev/null >/dev/null 2>&1 &
}

# How many of the sandboxes' processes can run on which CPUs.
pauses() {
  local file
  echo "pauses on:" $(for file in $(grep -lx pause /proc/[0-9]*/comm); do
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "${file%comm}status"
  done | sort | uniq -c) .
}

footprint() {
  local pid
  pid=$(cat $dir/pid)
  echo "RSS $(awk '/VmRSS/ {print $2}' "/proc/$pid/status") kB, $(ls "/proc/$pid/fd" | wc -l) open files"
}

# Its CPU time so far, in ms.
cpu_ms() { awk '{print ($14 + $15) * 10}' "/proc/$(cat $dir/pid)/stat"; }

cost() {
  local before began
  before=$(cpu_ms)
  began=$(date +%s)
  "$@" || return
  echo "$(footprint), $(($(cpu_ms) - before)) ms of CPU in $(($(date +%s) - began)) s: ${*##*/}" | tee -a /tmp/figures
}

stop() {
  kill -TERM "$(cat $dir/pid)"
  wait_for "has stopped"
  while [ -e $dir/agent.sock ]; do sleep 0.1; done
}

reload() {
  kill -HUP "$(cat $dir/pid)"
  wait_for reloaded
}

# Repeats a command of run_client until it succeeds, at most 20 times.
repeat() {
  local try
  for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    command_of "$@" && return
  done
  echo "never done: $*" >>$dir/lost
  return 1
}

# Runs a command; a failure is recorded with the command's error.
command_of() {
  "$@" >"$dir/out.$client" 2>"$dir/err.$client" && return
  local status=$?
  { echo "$status: $*"; cat "$dir/err.$client"; } >>"$dir/failures"
  return $status
}

is_listed() { pinfold status -o name --config "$config" --cgroup-root "$root" | grep -qx "default/$1"; }

# Admits and removes pods; each answer must be true. After an error the command is repeated.
run_client() {
  local number=0 uid
  while [ ! -e $dir/end ]; do
    number=$((number + 1))
    uid=load-$client-$number
    sed "s/NAME/$uid/g" "$file" >"$dir/pod.$client"
    repeat pinfold admit -o json --config "$config" --cgroup-root "$root" "$dir/pod.$client" || return
    sed -n "s|.*\"cpus\": \"\(.*\)\".*|pod$uid/main \1|p" "$dir/out.$client" >>$dir/exclusive
    is_listed $uid || echo "$uid: its admission is lost" >>$dir/lost
    while ! command_of pinfold remove --pod $uid --config "$config" --cgroup-root "$root" && is_listed $uid; do :; done
    is_listed $uid && echo "$uid: its removal is lost" >>$dir/lost
  done
  echo "$number" >>$dir/cycles
}

# load gentle|rough CONFIG ROOT FILE PROGRAM
load() {
  local how=$1 client round
  config=$2 root=$3 file=$4
  rm -f $dir/end $dir/cycles
  : >$dir/lost
  : >$dir/failures
  local clients=
  for client in 1 2 3; do
    run_client &
    clients="$clients $!"
  done
  for round in 1 2; do
    wait_for ": admitted" $(($(grep -c ": admitted" "$log") + 3)) >/dev/null
    if [ "$how" = gentle ]; then stop; else kill_service; fi
    start "$5" "$config" "$root" || break
    reload
  done
  touch $dir/end
  wait $clients
  cat $dir/lost
  [ "$how" = rough ] || cat $dir/failures
  # The clients together admit and remove at least three pods.
  [ $(($(tr '\n' '+' <$dir/cycles)0)) -ge 3 ] || { echo "too few: $(cat $dir/cycles)"; exit 1; }
  [ ! -s $dir/lost ] && { [ "$how" = rough ] || [ ! -s $dir/failures ]; } && echo "nothing is lost"
}

verb=$1
shift
case $verb in
  start) start "$@" ;;
  run)
    program=$1 config=$2 root=$3
    shift 3
    exec "$program" --config "$config" --cgroup-root "$root" "$@" 2>"$log"
    ;;
  admit-later)
    rm -f $dir/agent.sock
    (
      until [ -S $dir/agent.sock ]; do sleep 0.1; done
      pinfold admit --config "$1" --cgroup-root "$2" "$3"
      echo "exit status $?"
    ) </dev/null >$dir/later 2>&1 &
    ;;
  later)
    until grep -q "^exit status" $dir/later; do sleep 0.1; done
    echo "admitted: $(grep -c ": admitted" $log), $(tail -n 1 $dir/later)"
    ;;
  hang)
    setsid "$1" hang $dir/agent.sock $dir/api.sock </dev/null >$dir/hang 2>&1 &
    until grep -q hangs $dir/hang; do
      kill -0 $! || { cat $dir/hang; exit 1; }
      sleep 0.1
    done
    echo hangs
    ;;
  watch)
    setsid "$1" watch $dir/api.sock </dev/null >$dir/changes 2>&1 &
    until grep -q watches $dir/changes; do
      kill -0 $! || { cat $dir/changes; exit 1; }
      sleep 0.1
    done
    echo watches
    ;;
  changed)
    until grep "$1" $dir/changes; do sleep 0.1; done
    ;;
  gentle | rough) load $verb "$@" ;;
  wait) wait_for "$@" ;;
  footprint) footprint ;;
  cost) cost "$@" ;;
  metric) wget -q -O - http://127.0.0.1:9470/metrics | sed -n "s/^$1 //p" ;;
  pauses) pauses ;;
  kill) kill_service ;;
  kill-in) kill_in "$1" ;;
  reload) reload ;;
  stop) stop ;;
esac
