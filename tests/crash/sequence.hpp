#pragma once

#include <cstddef>
#include <vector>

#include "pinfold/checkpoint/store.hpp"

namespace pinfold::checkpoint::testing {

/// The state after each of `count` mixed transactions on a small node: pods with and without
/// exclusive CPUs and memory are admitted and removed, so that no, one, two or all three files
/// change. The first state is that of an idle node. Every state passes `expect_valid`.
[[nodiscard]] std::vector<Files> make_sequence(std::size_t count);

/// Checks that the kubelet reads both files, and that every CPU is either shared or assigned once.
void expect_valid(const Files& files);

}  // namespace pinfold::checkpoint::testing
