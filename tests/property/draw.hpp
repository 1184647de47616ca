#pragma once

#include <rapidcheck.h>

namespace pinfold::test {

/// Uniform from the first case on; RapidCheck alone would begin with small numbers.
inline int draw(int low, int high) {
  return *rc::gen::resize(100, rc::gen::inRange(low, high + 1));
}

}  // namespace pinfold::test
