# Sourced by use_*, with the arguments STAGE SOURCE CMAKE CC CXX. Not a program.
set -euo pipefail
stage=$1 source=$2 cmake=$3 cc=$4 cxx=$5
here=$source/tests/package
prefix=$stage/usr
libdir=$(dirname "$(find "$prefix" -name 'libpinfold.so.0' -print -quit)")
work=$stage/$(basename "$0")
rm -rf "$work"
export CC=$cc CXX=$cxx
launcher=()
[ -z "${CCACHE:-}" ] ||
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER="$CCACHE" -DCMAKE_CXX_COMPILER_LAUNCHER="$CCACHE")
# expect PROGRAM [OUTPUT]: the default output is the CPUs of one container.
expect() {
  local expected=${2:-main: 1-2}
  local printed
  printed=$(cd "$work" && rm -rf consumer-state && LD_LIBRARY_PATH=$libdir "$1")
  [ "$printed" = "$expected" ] || { echo "'$1' printed '$printed', expected '$expected'"; exit 1; }
}
