# sh /test/systemd.sh: starts Debian's systemd with a bus, as process 1 of a separate PID namespace, because
# the guest already has an init. `inside` runs a command in that namespace.
set -e
units=/etc/systemd/system
mkdir -p $units /run/dbus /etc/dbus-1 /tmp
[ -e /sys/fs/cgroup/cgroup.controllers ] ||
  { mkdir /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd; }
printf '[Unit]\nDefaultDependencies=no\nRequires=dbus.service\n' >$units/default.target
printf '[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=/run/dbus/system_bus_socket\n' >$units/dbus.socket
cat >$units/dbus.service <<'END'
[Unit]
DefaultDependencies=no
Requires=dbus.socket
[Service]
Type=notify
NotifyAccess=main
ExecStart=/usr/bin/dbus-daemon --config-file=/etc/dbus-1/bus.conf --address=systemd: --nofork --nopidfile
END
cat >/etc/dbus-1/bus.conf <<'END'
<busconfig>
  <type>system</type>
  <listen>systemd:</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/> <allow own="*"/> <allow send_destination="*"/> <allow receive_sender="*"/>
  </policy>
</busconfig>
END
printf 'root:x:0:0::/:/bin/sh\n' >/etc/passwd
printf 'root:x:0:\n' >/etc/group
cat >/usr/bin/inside <<'END'
#!/bin/sh
exec nsenter -t $(pidof systemd) -m -p "$@"
END
chmod +x /usr/bin/inside
# Its groups are at the top, not below that of the guest's agent.
grep -o ' /sys/fs/cgroup[^ ]* ' /proc/mounts | while read -r root; do
  [ ! -e $root/cgroup.procs ] || echo $$ >$root/cgroup.procs
done
setsid env container=other unshare --pid --mount --fork --mount-proc /lib/systemd/systemd --log-target=console \
  --log-level=info --show-status=no </dev/null >/run/systemd.log 2>&1 &
for try in $(seq 200); do
  [ -S /run/dbus/system_bus_socket ] && inside systemctl is-active dbus.service >/dev/null 2>&1 && exit
  usleep 200000
done
cat /run/systemd.log
exit 1
