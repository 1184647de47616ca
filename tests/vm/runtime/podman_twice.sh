# sh /test/podman_twice.sh: pod files, a hook that accepts those below /pods, and commands to run
# containers of them.
set -e
mkdir -p /pods
sed -i 's|"args": .*\]|"args": ["pinfold", "hook", "--pod-file-dir", "/pods"]|' \
  /usr/share/containers/oci/hooks.d/pinfold.json
grep -q pod-file-dir /usr/share/containers/oci/hooks.d/pinfold.json
cat >/pods/db.yaml <<'END'
metadata: {name: db, uid: db-1}
spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 64Mi}}}]}
END
cat >/pods/thief.yaml <<'END'
metadata: {name: thief, uid: db-1}
spec: {containers: [{name: main, resources: {limits: {cpu: 1, memory: 64Mi}}}]}
END
echo 'root:$6$SECRET:19000:' >/etc/secret
cp /etc/secret /pods/secret
ln -s /etc/secret /pods/link
cat >/usr/bin/run_pod <<'END'
#!/bin/sh
# run_pod NAME POD_FILE
exec podman run -d --name $1 --network none --log-driver none --security-opt seccomp=unconfined \
  --annotation io.pinfold.pod-file=$2 --annotation run.oci.hooks.stderr=/run/hook.log \
  --rootfs /b/rootfs /bin/sleep 1000 >/dev/null
END
cat >/usr/bin/refused <<'END'
#!/bin/sh
# refused NAME POD_FILE: prints why the hook refuses the container, and removes it. Fails if it runs
# or if podman or the hook print the secret.
rm -f /run/hook.log
run_pod $1 $2 2>/run/podman.log && exit 1
grep SECRET /run/podman.log /run/hook.log && exit 1
head -n 1 /run/hook.log | sed "s/container '[0-9a-f]*'/container 'ID'/"
podman rm -f $1 >/dev/null
END
cat >/usr/bin/cpus <<'END'
#!/bin/sh
# cpus NAME: the effective CPUs of the container's cgroup.
group=$(cut -d: -f3 /proc/$(podman inspect -f '{{.State.Pid}}' $1)/cgroup)
cat /sys/fs/cgroup$group/cpuset.cpus.effective
END
chmod +x /usr/bin/run_pod /usr/bin/refused /usr/bin/cpus
