# sh /test/killed_at_each.sh STAGE CALL...: kills the hook of a stage at each of these calls.
stage=$1
shift
for call in "$@"; do
  number=1
  while sh /test/killed.sh $stage $call any $number; status=$?; [ $status -eq 0 ]; do
    number=$((number + 1))
  done
  [ $status -eq 3 ] || exit 1
  echo "$stage: $((number - 1)) times killed at $call"
done
