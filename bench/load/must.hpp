#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "pinfold/base/result.hpp"

namespace pinfold::load {

/// Why the load cannot continue. main() prints it and ends the program.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void require(bool is_ok, const std::string& message) {
  if (!is_ok) throw Failure(message);
}
template <class T>
T must(Result<T> result) {
  if (!result) throw Failure(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace pinfold::load
