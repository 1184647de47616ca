#pragma once

#include <string>

namespace sample {

int defined_here() { return 1; }

struct lower {
  lower(int) {}
  virtual ~lower() = default;
  virtual int value() const { return 0; }
};

struct Derived : lower {
  using lower::lower;
  virtual int value() const { return 1; }
};

void declared(int first);

}  // namespace sample
