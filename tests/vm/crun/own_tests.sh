# sh /test/own_tests.sh FOLDER NAME...: crun's own tests, of these names, with the crun of Debian (stock), with
# that of FOLDER/pinned, and with that one and containers that all ask for CPUs. Prints a result in TAP for
# each of the latter two; what the stock crun does not pass here is no finding.
. /words
folder=$1
shift
export PYTHONHOME=$folder/home INIT=$folder/init PYTHONDONTWRITEBYTECODE=1
# crun makes another root, which it cannot from an initramfs: a copy of the mount is one that it can leave.
mkdir -p /n
# tests CRUN FOLDER NAME: prints "ok NAME", "skip NAME" or "not NAME" for each test.
tests() {
  unshare -m sh -c "mount --rbind / /n && cd /n && mount --move . / && OCI_RUNTIME=$1 exec chroot . sh -c \
    'cd /run && /usr/bin/python3.11 $2/test_$3.py'" 2>&1 </dev/null |
    tee /run/last.log | sed -n 's/^ok [0-9]* - \([^ ]*\) #SKIP/skip \1/p; s/^\(ok\|not\).* - \([^ ]*\)$/\1 \2/p'
  # On cgroup v1 the tests of deletion leave a process that has been killed, but is frozen.
  [ ! -e /sys/fs/cgroup/freezer/frozen ] || echo THAWED >/sys/fs/cgroup/freezer/frozen/freezer.state
}
total=0
compare() { # WHAT FOLDER NAME
  tests $folder/pinned/crun $2 $3 >/own
  while read -r result test; do
    total=$((total + 1))
    case $(grep " $test\$" /own) in
      "ok $test") echo "ok $total - $test $1" ;;
      "skip $test") echo "ok $total - $test $1 # SKIP" ;;
      *) if [ $result = ok ]; then
           echo "not ok $total - $test $1"
           (echo "$test $1:" && cat /run/last.log) >>/run/failed.log
         else
           echo "not ok $total - $test $1 # TODO the stock crun fails, too"
         fi ;;
    esac
  done </stock
}
for name in "$@"; do
  tests $folder/stock/crun $folder/tests $name >/stock
  compare 'with libpinfold' $folder/tests $name
  compare 'with libpinfold, which has the container' $folder/annotated $name
done
echo 1..$total
