# The kubelet of a guest: kubelet.sh VERB
#   prepare             before the container runtime starts: what kubelets need that an initramfs does not have
#   version PROGRAM     prints what it says of its version; runs it at most once in this guest
#   start PROGRAM [CALL FILE NUMBER]
#                       starts it; exits with 0 once its managers run, with 3 if it ends before that; with CALL, it is
#                       killed just before that system call
#   wait                waits for its end; exits with 3 if it was killed at its system call, else with 0
#   stop SIGNAL         sends it a signal and waits for its end; exits with 3 if it had ended before
#   pods                prints what it reports about its pods; exits with 3 if it has ended
log=/run/kubelet.log
pid=/run/kubelet.pid

# A zombie counts as ended: its parent may not reap it. Its number may belong to another process later.
runs() {
  [ -f $pid ] && grep '^State:' "/proc/$(cat $pid)/status" 2>/dev/null | grep -qv zombie && return
  rm -f $pid
  return 1
}

prepare() {
  # The kubelet's statistics find no device for a directory of the initramfs.
  for folder in /var/lib/kubelet /var/lib/containerd /var/log /dev/shm; do
    mkdir -p $folder
    mount -t tmpfs -o mode=0755 tmpfs $folder || exit 1
  done
  mkdir -p /dev/pts /etc/kubernetes/manifests
  mount -t devpts devpts /dev/pts || exit 1
  mount --make-rshared / || exit 1
  ln -sfn /run /var/run
  hostname node
  ip link set lo up || exit 1
}

# The answer stays next to the program, in snapshots too.
version() {
  answer=${1%/*}/version
  if [ ! -f "$answer" ]; then
    "$1" --version </dev/null >/run/kubelet-version 2>&1 || echo "status $?" >>/run/kubelet-version
    head -c 400 /run/kubelet-version >"$answer"
  fi
  cat "$answer"
}

start() {
  : >$log # first, because the log of an earlier kubelet also says that its managers run
  program=$1
  shift
  [ $# -eq 0 ] || set -- /init kill-at "$@"
  GOMAXPROCS=2 setsid "$@" "$program" --config /var/lib/kubelet/config.yaml --hostname-override node --v=4 \
    </dev/null >>$log 2>&1 &
  echo $! >$pid
  until grep -q "Starting Kubelet Plugin Manager" $log; do # the first step after starting its managers
    runs || exit 3
    sleep 0.5
  done
}

case $1 in
  prepare) prepare ;;
  version) version "$2" ;;
  start) shift && start "$@" ;;
  wait)
    while runs; do sleep 0.1; done
    ! grep -q "^kill-at: " $log || exit 3
    ;;
  stop)
    runs || exit 3
    kill -"$2" "$(cat $pid)"
    while runs; do sleep 0.1; done
    ;;
  pods)
    runs || exit 3
    wget -q -O - http://127.0.0.1:10255/pods
    ;;
esac
