#!/bin/sh
# Makes containerd start containers with crun, which takes half of runc's time in a guest:
#   sh crun.sh install     this script becomes runc, which containerd looks for at each call
# The crun of Debian 12 rejects versions of the OCI specification after 1.0. No container of the
# scenarios has a field that 1.0 does not have, so each gets that version.
if [ "$1" = install ]; then
  rm /usr/bin/runc
  cp "$0" /usr/bin/runc
  chmod 755 /usr/bin/runc
  ln -sf /proc/self/fd/0 /dev/stdin  # crun opens it to update a container
  exit
fi
# Containers of pods with a number from 900 on run in the groups of their sandboxes, as those of a
# runtime class without container groups: nri/foreign.hpp.
enter_sandbox() {
  grep -q '"io.kubernetes.cri.sandbox-name":"x[-0-9]*-9[0-9][0-9]"' "$1" || return 1
  grep -q '"io.kubernetes.cri.container-type":"container"' "$1" || return 1
  path=$(sed -n 's|.*"cgroupsPath":"\([^"]*\)/[^/"]*".*|\1|p' "$1")
  sandbox=$(sed -n 's|.*"io.kubernetes.cri.sandbox-id":"\([^"]*\)".*|\1|p' "$1")
  echo $$ >"/sys/fs/cgroup$path/$sandbox/cgroup.procs"
}
manager=
for argument in "$@"; do
  if [ "$previous" = --bundle ]; then
    sed -i 's/"ociVersion":"1\.[0-9.]*"/"ociVersion":"1.0.2"/' "$argument/config.json"
    enter_sandbox "$argument/config.json" && manager=--cgroup-manager=disabled
  fi
  previous=$argument
done
# shellcheck disable=SC2086  # one word or none
exec crun $manager "$@"
