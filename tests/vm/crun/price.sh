# sh /test/price.sh FOLDER ROUNDS: the cost of a container: a run of /bin/sleep 0 by the stock crun, by crun
# with libpinfold, and by the latter with the annotation. Prints the least and the median of the rounds in ms;
# a round is the mean of five runs, because the clock here has steps of 10 ms.
. /words
folder=$1
five() { # NAME CRUN
  read -r before _ </proc/uptime
  for run in 1 2 3 4 5; do
    $2 --cgroup-manager=cgroupfs run --no-pivot -b /b price </dev/null >/said 2>&1 || { cat /said; exit 1; }
  done
  read -r after _ </proc/uptime
  echo $(((${after%.*}${after#*.}0 - ${before%.*}${before#*.}0) / 5)) >>/run/price.$1
}
# The order rotates, because the kernel continues to remove cgroups for a while.
for round in $(seq $2); do
  case $((round % 3)) in
    0) order="stock linked pinned" ;;
    1) order="linked pinned stock" ;;
    *) order="pinned stock linked" ;;
  esac
  for name in $order; do
    [ $name = pinned ] && pinned price 2 || bundle price ''
    sed -i 's/100000/0/' /b/config.json
    [ $name = stock ] && five stock $folder/stock/crun || five $name $folder/pinned/crun
  done
done
for name in stock linked pinned; do
  sort -n /run/price.$name | sed -n "1h;$((($2 + 1) / 2)){H;x;s/\n/ /;s/^/$name /p}"
done
