# The queues of the guest's network card, eth0, in a guest: queues.sh VERB ARGUMENT...
#   set QUEUE=MASK...  writes masks of CPUs: RPS of rx-N, XPS of tx-N
#   masks              prints them, each queue as "rx-0=f"
#   keep               keeps them
#   differs            prints those that differ from what was kept, byte for byte, or "none"
#   interrupts         prints the CPUs of the card's interrupts
#   unquiet            reconciles, and prints the masks that could not be written, "rx-0=9: REASON", or "none"
file_of() { echo "/sys/class/net/eth0/queues/$1/$(case $1 in rx*) echo rps ;; *) echo xps ;; esac)_cpus"; }

masks() {
  for directory in /sys/class/net/eth0/queues/*; do
    queue=${directory##*/}
    echo "$queue=$(cat "$(file_of "$queue")")"
  done
}

interrupts() {
  for number in $(sed -n 's/^ *\([0-9]*\):.* eth0-.*/\1/p' /proc/interrupts); do
    cat "/proc/irq/$number/smp_affinity_list"
  done
}

unquiet() {
  pinfold reconcile --config /etc/pinfold/config.yaml -o json >/tmp/reconciled
  sed -n "s|^ *\"write '\(.*\)' to '.*/queues/\(.*\)/.*': \(.*\)\".*|\2=\1: \3|p" /tmp/reconciled
}

case $1 in
  set)
    shift
    for one; do
      echo "${one#*=}" >"$(file_of "${one%%=*}")" || exit 1
    done
    ;;
  masks) echo $(masks) ;;
  keep) masks >/tmp/masks ;;
  differs) masks | grep -vxFf /tmp/masks || echo none ;;
  interrupts) echo $(interrupts) ;;
  unquiet) unquiet | grep . || echo none ;;
esac
