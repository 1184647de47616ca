#pragma once

#include <memory>
#include <string>

#include "pinfold/machine/machine.hpp"
#include "pinfold/place/cpu_policy.hpp"
#include "pinfold/place/words.hpp"
#include "pinfold/types/cpuset.hpp"
#include "pinfold/types/quantity.hpp"
#include "pinfold/types/rejection.hpp"

/// Converts the machine, amounts, sets and rejections between the manager and the policy.
namespace pinfold::cpu {

[[nodiscard]] std::unique_ptr<const place::CpuTree> tree_of(const Machine& machine);

/// Returns the amount as whole CPUs by the kubelet's rule: an amount less than a thousandth below a
/// whole number counts as that number. 0 for any other fraction; capped to the range of int.
[[nodiscard]] int whole_cpus(const Quantity& amount);

/// Returns the set as words of the machine.
[[nodiscard]] place::Cpus words_of(const CpuSet& cpus, const place::CpuTree& tree,
                                   place::Arena& arena);

/// Takes CPUs, in its own memory.
[[nodiscard]] tl::expected<CpuSet, std::string> take(const place::CpuPolicy& policy,
                                                     const CpuSet& available, int count);

/// Returns the kubelet's text, unwrapped.
[[nodiscard]] std::string text_of(const place::CpuFailure& failure);
[[nodiscard]] Rejection rejection_of(const place::CpuFailure& failure);

}  // namespace pinfold::cpu
