# What can follow a power cut during a reconfiguration or its undo, on copies of the remaining
# state.
set -e
of() { echo "--state-dir /copies/$1 --no-enforce"; }
is_for() { # COPY [--config FILE]: the state is for that configuration, or for that of the directory
  copy=$1
  shift
  pinfold reconfigure $(of $copy) --dry-run "$@" | grep -q "the node is the same" ||
    { echo "$copy: the state is not for its configuration"; exit 1; }
}
rm -rf /copies
mkdir -m 0700 /copies
for copy in forward back; do cp -a /var/lib/pinfold /copies/$copy; done
# Before the admission there is nothing to reconfigure.
if ! pinfold reconfigure $(of forward) --config /test/new.yaml --dry-run 2>/copies/error >/dev/null; then
  grep -q "does not exist" /copies/error
  exit 0
fi
pinfold reconfigure $(of forward) --config /test/new.yaml
is_for forward --config /test/new.yaml
pinfold reconfigure $(of forward) --undo
is_for forward --config /test/old.yaml
if pinfold reconfigure $(of back) --undo 2>/copies/error; then
  is_for back
else
  grep -q "was not reconfigured" /copies/error
fi
