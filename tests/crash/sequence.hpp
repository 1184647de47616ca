#pragma once

#include <cstddef>
#include <vector>

#include "pinfold/checkpoint/store.hpp"

namespace pinfold::checkpoint::testing {

/// The state after each of `count` mixed transactions on a small node: pods come and go, with and
/// without exclusive CPUs and memory, so that one, two, all three files change, or none. The first
/// state is that of an idle node. Every state passes `expect_valid`.
[[nodiscard]] std::vector<Files> make_sequence(std::size_t count);

/// The kubelet reads both files, and every CPU is either shared or assigned once.
void expect_valid(const Files& files);

}  // namespace pinfold::checkpoint::testing
