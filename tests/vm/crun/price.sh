# sh /test/price.sh FOLDER ROUNDS: what a container costs: one run of /bin/sleep 0 by the stock crun, by the one
# with libpinfold, and by that one with the annotation. Prints the least and the median of the rounds in ms.
. /words
folder=$1
once() { # NAME CRUN
  read -r before _ </proc/uptime
  $2 --cgroup-manager=cgroupfs run --no-pivot -b /b price </dev/null >/said 2>&1 || { cat /said; exit 1; }
  read -r after _ </proc/uptime
  echo $((${after%.*}${after#*.}0 - ${before%.*}${before#*.}0)) >>/run/price.$1
}
for round in $(seq $2); do
  bundle price '' && sed -i 's/100000/0/' /b/config.json
  once stock $folder/stock/crun
  once linked $folder/pinned/crun
  pinned price 2 && sed -i 's/100000/0/' /b/config.json
  once pinned $folder/pinned/crun
done
for name in stock linked pinned; do
  sort -n /run/price.$name | sed -n "1h;$((($2 + 1) / 2)){H;x;s/\n/ /;s/^/$name /p}"
done
