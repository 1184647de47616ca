# The program own-cpus in containers of a guest: own_cpus.sh VERB ARGUMENT...
#   install PROGRAM VARIABLE...   puts it into the containers that have these environment variables
#   wait VARIABLE CPUS            until it has followed its container to these CPUs; prints where its threads may run
set -e

# The oldest process whose environment has the variable.
process_of() {
  for file in $(ls -v -d /proc/[0-9]*); do
    [ -e "$file/exe" ] || continue  # a thread of the kernel
    if tr '\0' '\n' <"$file/environ" 2>/dev/null | grep -q "^$1="; then
      echo "${file#/proc/}"
      return
    fi
  done
  echo "no process has $1" >&2
  exit 1
}

case $1 in
  install)
    program=$2
    shift 2
    for variable; do
      process=$(process_of "$variable")
      cp "$program" "/proc/$process/root/own-cpus"
    done
    ;;
  wait)
    process=$(process_of "$2")
    until tail -n 1 "/proc/$process/root/out" | grep -q "^CPUs $3: .* 0 not pinned"; do usleep 50000; done
    for file in $(grep -lx own-cpus /proc/[0-9]*/comm); do
      program=${file%/comm}
      tr '\0' '\n' <"$program/environ" | grep -q "^$2=" || continue
      # All threads but the first, which waits for changes.
      echo "threads on" $(for task in "$program"/task/*; do
        [ "${task##*/}" = "${program##*/}" ] || sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$task/status"
      done | sort -nu) .
    done
    ;;
esac
