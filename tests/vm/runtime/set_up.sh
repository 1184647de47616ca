# sh /test/set_up.sh RUNTIME...: prepares a guest to start containers through the hook with `oci`.
set -e
mkdir -p /run /var/lib/pinfold /etc/pinfold /sys/fs/cgroup/pinfold
touch /run/hook.log
cat >/etc/pinfold/hook.yaml <<'END'
cpuManagerPolicy: static
reservedSystemCPUs: 0-1
topologyManagerPolicy: single-numa-node
memoryManagerPolicy: Static
systemReserved: {memory: 64Mi}
evictionHard: {memory.available: 64Mi}
reservedMemory: [{numaNode: 0, limits: {memory: 128Mi}}]
END
printf '#!/bin/sh\nexec %s "$@"\n' "$*" >/usr/bin/oci
chmod +x /usr/bin/oci
# bundle NAME CPUS MEMORY HOOK ARGUMENTS [ARGUMENTS_OF_POSTSTOP]
bundle() {
  mkdir -p /b/$1/rootfs/bin /b/$1/rootfs/proc /b/$1/rootfs/dev
  cp /bin/busybox /b/$1/rootfs/bin/
  for tool in sh sleep; do ln -sf busybox /b/$1/rootfs/bin/$tool; done
  cat >/b/$1/config.json <<END
{"ociVersion": "1.0.2",
 "process": {"terminal": false, "user": {"uid": 0, "gid": 0}, "cwd": "/",
             "args": ["/bin/sh", "-c", "echo >/ran; exec sleep 1000"], "env": ["PATH=/bin"]},
 "root": {"path": "rootfs"},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}],
 "hooks": {"createRuntime": [{"path": "$4", "args": $5}], "poststop": [{"path": "$4", "args": ${6:-$5}}]},
 "annotations": {"io.pinfold.cpu": "$2", "io.pinfold.memory": "$3",
                 "run.oci.hooks.stderr": "/run/hook.log"},
 "linux": {"cgroupsPath": "/runtime/$1", "namespaces": [{"type": "pid"}, {"type": "mount"}]}}
END
}
hook='["pinfold", "hook", "--config", "/etc/pinfold/hook.yaml", "--cgroup-root", "/sys/fs/cgroup/pinfold"]'
bundle one 2 64Mi /usr/bin/pinfold "$hook"
bundle two 2 64Mi /usr/bin/pinfold "$hook"
bundle big 20 64Mi /usr/bin/pinfold "$hook"
bundle typo 2 64Mi /usr/bin/pinfold "$hook"
sed -i 's/io.pinfold.memory/io.pinfold.memori/' /b/typo/config.json
bundle killed 2 64Mi /bin/sh '["sh", "/test/hook.sh", "createRuntime"]' '["sh", "/test/hook.sh", "poststop"]'
