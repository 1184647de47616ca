# The service in a guest: serve.sh VERB ARGUMENT...
#   start PROGRAM CONFIG ROOT [OPTION...]   until it is ready
#   run PROGRAM CONFIG ROOT [OPTION...]     until it ends
#   admit-later CONFIG ROOT FILE            a command in the background, as soon as a service is there
#   later                                   what that has led to
#   hang CLIENT                             clients in the background
#   wait TEXT | kill | reload | stop
dir=/run/pinfold
log=$dir/log

# Waits for a line of the log, and prints it.
wait_for() {
  until grep -m1 "$1" "$log"; do sleep 0.1; done
}

# start PROGRAM CONFIG ROOT [OPTION...]
start() {
  local program=$1 config=$2 root=$3
  shift 3
  mkdir -p $dir
  : >"$log"
  # With the capabilities of pinfold.service.
  local caps=-all,+dac_override,+kill,+sys_nice,+sys_ptrace
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
  # Its parent need not notice.
  while grep '^State:' "/proc/$(cat $dir/pid)/status" 2>/dev/null | grep -qv zombie; do sleep 0.1; done
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

verb=$1
shift
case $verb in
  start) start "$@" ;;
  run)
    program=$1 config=$2 root=$3
    shift 3
    exec "$program" --config "$config" --cgroup-root "$root" "$@" 2>>"$log"
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
  wait) wait_for "$1" ;;
  kill) kill_service ;;
  reload) reload ;;
  stop) stop ;;
esac
