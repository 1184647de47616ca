# Controls the container runtime of a guest: runtime.sh VERB
#   boot      starts it, imports its images, and starts the program that calls it
#   kill      ends it with SIGKILL
#   restart   ends it if it runs, and starts it
log=/run/containerd.log
pid=/run/containerd.pid

times_booted() { grep -c "containerd successfully booted" $log; }

start() {
  touch $log
  before=$(times_booted)
  setsid containerd </dev/null >>$log 2>&1 &
  echo $! >$pid
  until [ "$(times_booted)" -gt "$before" ]; do
    kill -0 "$(cat $pid)" || { tail -n 20 $log; exit 1; }
    sleep 0.1
  done
}

# Sends a signal and waits for the end. A zombie counts as ended: its parent may not reap it.
end() {
  kill -"$1" "$(cat $pid)"
  while grep '^State:' "/proc/$(cat $pid)/status" 2>/dev/null | grep -qv zombie; do sleep 0.1; done
}

case $1 in
  boot)
    start
    ctr -n k8s.io images import /usr/lib/pinfold/images.tar || exit 1
    setsid pinfold-cri serve /usr/lib/pinfold/cri.desc /run/containerd/containerd.sock \
      /run/pinfold-cri.sock </dev/null >>$log 2>&1 &
    until [ -S /run/pinfold-cri.sock ]; do
      kill -0 $! || { tail -n 20 $log; exit 1; }
      sleep 0.1
    done
    ;;
  kill) end KILL ;;
  restart)
    end TERM 2>/dev/null
    start
    ;;
esac
