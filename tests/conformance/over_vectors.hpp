#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "pinfold/simulate/simulate.hpp"

namespace pinfold::test {

/// The main function of a program that counts over the vectors of the files in its arguments: calls
/// add() for each, then returns finish(), or 2 if one cannot be read.
template <class Truth>
int run_over_vectors(int count, char** files) {
  Truth truth;
  bool is_readable = true;
  const auto report = [&](const Error& error) {
    fmt::print(stderr, "{}\n", error.message);
    is_readable = false;
  };
  for (int i = 1; i < count; ++i) {
    const auto done = simulate::for_each_vector(
        files[i], [&](const nlohmann::json& vector) { return truth.add(vector); }, report);
    if (!done) report(done.error());
  }
  const int status = truth.finish();
  return is_readable ? status : 2;
}

}  // namespace pinfold::test
