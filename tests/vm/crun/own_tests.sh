# sh /test/own_tests.sh FOLDER NAME...: runs crun's own tests of these names with Debian's crun (stock), with
# the crun of FOLDER/pinned, and with the latter when all containers ask for CPUs. Prints a TAP result for each
# of the last two; a test that the stock crun fails here is no finding.
. /words
folder=$1
shift
export PYTHONHOME=$folder/home INIT=$folder/init PYTHONDONTWRITEBYTECODE=1
# crun changes its root, which is impossible in an initramfs, so a copy of the mount becomes the root
# first.
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
