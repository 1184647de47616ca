# change.sh DRIVER NAME CONFIG [OPTION...]: `pinfold reconfigure` while programs record; then the
# other steps of the scenario use that configuration too.
driver=$1 name=$2 config=$3
shift 3
[ $# -gt 0 ] || set -- --config "$config"
"$driver" during /recordings "$name" pinfold reconfigure "$@" &&
  "$driver" same "$config" && cp "$config" /etc/pinfold/config.yaml && echo "$name: done"
