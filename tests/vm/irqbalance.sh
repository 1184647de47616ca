# Debian's irqbalance in a guest with network cards: irqbalance.sh VERB ARGUMENT...
#   start PROGRAM CPUS  starts it, to leave these CPUs alone and to balance every second
#   signal NAME         sends it a signal
#   up CARD             lets the interrupts of a card begin, and waits until irqbalance has placed them
#   cpus                prints the CPUs of all cards' interrupts: "0 2"
#   banned MASK         waits until irqbalance leaves these CPUs alone: "00000016"
log=/run/irqbalance/log

interrupts() { sed -n "s/^ *\([0-9]*\):.* $1-.*/\1/p" /proc/interrupts; }

# It prints all that it knows in each round.
rounds() { grep -c "^-----" $log; }
wait_for_rounds() {
  local end=$(($(rounds) + $1))
  while [ "$(rounds)" -lt $end ]; do sleep 0.2; done
}

start() {
  mkdir -p /run/irqbalance
  rm -f /run/irqbalance/*
  IRQBALANCE_BANNED_CPULIST=$2 setsid "$1" --foreground --debug --interval=1 </dev/null >$log 2>&1 &
  echo $! >/run/irqbalance.pid
  until ls /run/irqbalance/*.sock 2>/dev/null; do
    kill -0 $! || { cat $log; exit 1; }
    sleep 0.1
  done
}

up() {
  ip link set "$1" up || exit 1
  local number
  for number in $(interrupts "$1"); do
    until grep -q "Interrupt $number node_num" $log; do sleep 0.2; done
  done
  wait_for_rounds 5
}

cpus() {
  local number
  for number in $(interrupts 'eth[0-9]'); do cat "/proc/irq/$number/smp_affinity_list"; done | tr ',' '\n' | sort -u
}

banned() {
  until [ "$(sed -n 's/^Banned CPUs: //p' $log | tail -n 1)" = "$1" ]; do sleep 0.2; done
  wait_for_rounds 5
}

case $1 in
  start) shift; start "$@" ;;
  signal) kill -s "$2" "$(cat /run/irqbalance.pid)" ;;
  up) up "$2" ;;
  cpus) echo $(cpus) ;;
  banned) banned "$2" ;;
esac
