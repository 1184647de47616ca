# What can follow a power cut during a resize, on a copy of what is left: the container has its old or
# its new CPUs, and keeps the one of its admission.
set -e
of="--state-dir /copies/state --no-enforce"
rm -rf /copies
mkdir -m 0700 /copies
cp -a /var/lib/pinfold /copies/state
# Before the admission there is nothing to resize.
if ! pinfold resize shop/queue --cpu 2 $of >/copies/out 2>/copies/error; then
  grep -q "does not exist\|no pod\|not active" /copies/error
  exit 0
fi
grep -q "resized from 1 to 2 CPUs\|already has 2 CPUs" /copies/out
pinfold resize shop/queue --cpu 1 $of | grep -q "resized from 2 to 1 CPU"
