# What can follow a power cut during a resize, on a copy of the remaining state: the container has its
# old or its new CPUs, and keeps the one of its admission.
set -e
of="--state-dir /copies/state --no-enforce --config /test/old.yaml"
said() { # TEXT: the last resize
  grep -q "$1" /copies/out || { cat /copies/out; exit 1; }
}
rm -rf /copies
mkdir -m 0700 /copies
cp -a /var/lib/pinfold /copies/state
# Before the admission there is nothing to resize.
if ! pinfold resize shop/queue --cpu 2 $of >/copies/out 2>&1; then
  said "does not exist\|of an active pod"
  exit 0
fi
said "resized from 1 to 2 CPUs: 1-2 instead of 1\|already has 2 CPUs: 1-2"
pinfold resize shop/queue --cpu 1 $of >/copies/out 2>&1 || true
said "resized from 2 to 1 CPU: 1 instead of 1-2"
