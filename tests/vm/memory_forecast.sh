# Compares the service's memory alarms with what happens: memory_forecast.sh VERB ARGUMENT...
#   announced NUMA   waits for the alarm and for the end of the program grow, and prints how long before it the alarm came
#   over             waits for the end of the program grow
#   alarms           how many alarms the log has
#   ended            waits until the alarm is over
log=/run/pinfold/log

# Returns whether the program grow runs. Its parent may not have reaped it.
grows() {
  local file
  for file in $(grep -lx grow /proc/[0-9]*/comm 2>/dev/null); do
    grep -qs '^State:.*zombie' "${file%comm}status" || return 0
  done
  return 1
}

uptime_s() { cut -d. -f1 /proc/uptime; }

over() {
  while grows; do sleep 0.5; done
}

announced() {
  local said ahead
  until grep -q "memory: NUMA $1 is out of memory in about" $log; do
    grows || { echo "grow has ended, and no alarm has come"; exit 1; }
    sleep 0.5
  done
  said=$(uptime_s)
  grep "memory: NUMA $1 is out of memory" $log | head -n 1
  over
  ahead=$(($(uptime_s) - said))
  echo "the alarm came $ahead s before the end"
  [ $ahead -ge 30 ] && echo "in time"
}

case $1 in
  announced) announced "$2" ;;
  over) over && echo over ;;
  alarms) echo "alarms: $(grep -c "memory: .* in about" $log)" ;;
  ended)
    until grep "memory: .* no longer" $log; do sleep 0.5; done
    ;;
esac
