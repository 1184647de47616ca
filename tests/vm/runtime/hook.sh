# Wraps pinfold's hook, to kill a runtime or its hook. /run/kill has "STAGE POINT". Points: the
# runtime before, during or after the hook; the hook at one of its calls (CALL FILE NUMBER), and
# with `both` also the runtime after it.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
hook="pinfold hook --config /etc/pinfold/hook.yaml --cgroup-root /sys/fs/cgroup/pinfold"
stage= point=
[ ! -e /run/kill ] || read -r stage point </run/kill
[ "$stage" = "$1" ] || exec $hook
rm /run/kill
echo $$ >/run/hook.pid
kill_runtime() {
  kill -9 $PPID
  echo >/run/killed
}
case $point in
  before) kill_runtime ;;
  during) kill_runtime; exec $hook ;;
  after) $hook; kill_runtime ;;
  both\ *)
    /init kill-at ${point#both }  $hook
    kill_runtime
    ;;
  *)
    /init kill-at $point $hook
    status=$?
    [ $status -ne 137 ] || echo >/run/killed
    exit $status
    ;;
esac
