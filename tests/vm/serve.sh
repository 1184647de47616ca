# serve.sh start PROGRAM CONFIG ROOT | wait TEXT | kill | reload | stop: the service in a guest.
log=/run/pinfold/log

# Waits for a line of the log, and prints it.
wait_for() {
  until grep -m1 "$1" "$log"; do sleep 0.1; done
}

case $1 in
  start)
    mkdir -p /run/pinfold
    : >"$log"
    # With the capabilities of pinfold.service.
    caps=-all,+dac_override,+kill,+sys_nice,+sys_ptrace
    setsid /usr/bin/setpriv --bounding-set=$caps "$2" --config "$3" --cgroup-root "$4" \
      --log-level debug </dev/null >>"$log" 2>&1 &
    echo $! >/run/pinfold/pid
    until grep -q "serves state directory" "$log"; do
      kill -0 $! || { cat "$log"; exit 1; }
      sleep 0.1
    done
    echo ready
    ;;
  wait) wait_for "$2" ;;
  kill)
    kill -9 "$(cat /run/pinfold/pid)"
    # Its parent need not notice.
    while grep '^State:' "/proc/$(cat /run/pinfold/pid)/status" | grep -qv zombie; do sleep 0.1; done
    ;;
  reload)
    kill -HUP "$(cat /run/pinfold/pid)"
    wait_for reloaded
    ;;
  stop)
    kill -TERM "$(cat /run/pinfold/pid)"
    wait_for "has stopped"
    while [ -e /run/pinfold/agent.sock ]; do sleep 0.1; done
    ;;
esac
