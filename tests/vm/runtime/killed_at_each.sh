# sh /test/killed_at_each.sh STAGE FIRST STRIDE CALL...: kills the hook of a stage at every STRIDEth
# of these calls, from number FIRST on.
stage=$1 first=$2 stride=$3 times=0
shift 3
for call in "$@"; do
  number=$first
  while sh /test/killed.sh $stage $call any $number; status=$?; [ $status -eq 0 ]; do
    number=$((number + stride))
    times=$((times + 1))
  done
  [ $status -eq 3 ] || exit 1
  echo "$stage: killed at $call up to number $((number - stride))"
done
echo "$times times killed"
