# sh /test/podman.sh: prepares a guest for podman containers from a directory, without a network.
set -e
mkdir -p /etc/containers /etc/pinfold /var/lib/pinfold /var/tmp /dev/shm /b/rootfs/bin /b/rootfs/proc /b/rootfs/dev \
  /b/rootfs/sys /b/rootfs/etc /b/rootfs/run
mount -t tmpfs tmpfs /dev/shm
cp /bin/busybox /b/rootfs/bin/
for tool in sh sleep; do ln -sf busybox /b/rootfs/bin/$tool; done
cat >/etc/containers/containers.conf <<'END'
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
no_pivot_root = true
runtime = "crun"
END
cat >/etc/containers/storage.conf <<'END'
[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
END
echo '{"default": [{"type": "insecureAcceptAnything"}]}' >/etc/containers/policy.json
cat >/var/lib/pinfold/config.yaml <<'END'
cpuManagerPolicy: static
reservedSystemCPUs: 0-1
topologyManagerPolicy: single-numa-node
END
cat >/usr/bin/run <<'END'
#!/bin/sh
# run NAME CPUS [OPTION...]
name=$1 cpus=$2
shift 2
exec podman run -d --name $name --network none --log-driver none --security-opt seccomp=unconfined \
  --annotation io.pinfold.cpu=$cpus --annotation io.pinfold.memory=64Mi "$@" --rootfs /b/rootfs /bin/sleep 1000
END
chmod +x /usr/bin/run
