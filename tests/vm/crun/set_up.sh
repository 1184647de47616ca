# sh /test/set_up.sh CRUN LIBRARY [MANAGER]: prepares a guest for crun; `oci` is crun. `sh /test/set_up.sh library`
# installs libpinfold afterwards.
set -e
if [ "$1" = library ]; then
  ln -s "$(cat /test/library)" /usr/lib/libpinfold.so.0
  exit
fi
mkdir -p /run /test /var/lib/pinfold
chmod 700 /var/lib/pinfold
echo "$2" >/test/library
cat >/var/lib/pinfold/config.yaml <<'END'
cpuManagerPolicy: static
reservedSystemCPUs: 0-1
topologyManagerPolicy: single-numa-node
memoryManagerPolicy: Static
systemReserved: {memory: 64Mi}
evictionHard: {memory.available: 64Mi}
reservedMemory: [{numaNode: 0, limits: {memory: 128Mi}}]
END
printf '#!/bin/sh\nexec %s --cgroup-manager=%s "$@"\n' "$1" "${3:-cgroupfs}" >/usr/bin/oci
chmod +x /usr/bin/oci
# crun needs all controllers of cgroup v1.
[ -e /sys/fs/cgroup/cgroup.controllers ] || for name in devices pids freezer; do
  [ -d /sys/fs/cgroup/$name ] || { mkdir /sys/fs/cgroup/$name; mount -t cgroup -o $name cgroup /sys/fs/cgroup/$name; }
done
mkdir -p /b/rootfs/bin /b/rootfs/proc /b/rootfs/dev
cp /bin/busybox /b/rootfs/bin/
for tool in sh sleep grep; do ln -s busybox /b/rootfs/bin/$tool; done
cat >/words <<'END'
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  cpuset=/sys/fs/cgroup effective=cpuset.cpus.effective
else
  cpuset=/sys/fs/cgroup/cpuset effective=cpuset.effective_cpus
fi
# bundle ID ANNOTATIONS [PATH]: the next container, which sleeps
bundle() {
  cat >/b/config.json <<JSON
{"ociVersion": "1.0.2",
 "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "env": ["PATH=/bin"], "args": ["/bin/sleep", "100000"]},
 "root": {"path": "rootfs"},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}],
 "annotations": {$2},
 "linux": {"cgroupsPath": "${3:-/runtime/$1}", "namespaces": [{"type": "pid"}, {"type": "mount"}]}}
JSON
}
pinned() { bundle "$1" "\"io.pinfold.cpu\": \"$2\", \"io.pinfold.memory\": \"16Mi\""; }
run() { oci run --no-pivot -d -b /b "$1" </dev/null >/said 2>&1; }
# The CPUs of a container's first process.
cpus() { sed -n 's/^Cpus_allowed_list:\t//p' /proc/$(head -n 1 $cpuset/runtime/$1/cgroup.procs)/status; }
scope_cpus() { cat $cpuset/system.slice/crun-$1.scope/container/$effective; }
shared_pool() { pinfold status -o json | sed -n 's/^  "sharedPool": "\(.*\)",*$/\1/p'; }
END
