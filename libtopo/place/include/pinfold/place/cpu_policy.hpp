#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pinfold/place/cpu_policy_options.hpp"
#include "pinfold/place/hints.hpp"
#include "pinfold/place/mask_sums.hpp"
#include "pinfold/place/take.hpp"

/// The CPU manager's static policy on plain sets of CPUs: no pods, no names, no state.
namespace pinfold::place {

/// A request for exclusive CPUs.
struct CpuRequest {
  int count = 0;
  std::optional<NumaMask> affinity = std::nullopt;
  CpusView reusable = {};  ///< may be taken in addition to the free CPUs; no words: none
};

/// A new number of exclusive CPUs for a container that has some.
struct CpuResize {
  int count = 0;
  CpusView current = {};
  CpusView baseline = {};  ///< of its admission; never taken away
  std::optional<NumaMask> affinity = std::nullopt;
};

/// Which sets of NUMA nodes have enough CPUs. Preferred are sets with as few NUMA nodes as an empty
/// machine would need; with align-by-socket also those within the fewest sockets.
class CpuRule final : public HintRule {
 public:
  /// A mask must contain all NUMA nodes of the request's reusable CPUs; its affinity is ignored.
  CpuRule(const CpuTree& tree, CpusView free, const CpuRequest& request, bool by_socket, int widest,
          Arena& arena);

  [[nodiscard]] Fit fit(NumaMask mask) const override;
  [[nodiscard]] bool may_prefer(int width) const override {
    return preferred_sockets_ > 0 || width == preferred_width_;
  }

 private:
  [[nodiscard]] int sockets_of(NumaMask mask) const;

  std::int64_t count_;
  NumaMask with_cpus_;
  NumaMask must_have_;
  MaskSums<std::int64_t> free_cpus_;
  int preferred_width_ = 0;
  int preferred_sockets_ = 0;  ///< 0: sockets do not matter
  std::size_t socket_words_ = 0;
  std::span<Word> sockets_;  ///< a set of sockets for each NUMA node
};

class CpuPolicy {
 public:
  /// Borrows the tree. `widest_hint`: hints of more NUMA nodes are not needed.
  CpuPolicy(const CpuTree& tree, const CpuPolicyOptions& options, const Quirks& quirks,
            int widest_hint);

  /// Sets the CPUs that never become exclusive. Domain: CPUs of the machine.
  void reserve(CpusView cpus);

  [[nodiscard]] const CpuTree& tree() const { return *rules_.tree; }
  [[nodiscard]] const CpuPolicyOptions& options() const { return options_; }
  [[nodiscard]] const TakeRules& rules() const { return rules_; }
  [[nodiscard]] CpusView reserved() const { return reserved_; }
  /// Returns the reserved CPUs and all their SMT siblings.
  [[nodiscard]] CpusView reserved_cores() const { return reserved_cores_; }

  /// Returns the CPUs of the shared pool that can become exclusive.
  [[nodiscard]] Cpus available(CpusView shared, Arena& arena) const;
  /// full-pcpus-only: checks that the request is for whole cores, and that enough are free.
  [[nodiscard]] tl::expected<void, CpuFailure> check_cores(CpusView shared, int count) const;
  [[nodiscard]] CpuRule hints(CpusView free, const CpuRequest& request, Arena& arena) const {
    return {tree(), free, request, options_.align_by_socket, widest_hint_, arena};
  }
  /// Chooses the CPUs of a request from the shared pool and its reusable ones: first within the
  /// affinity. Changes nothing.
  [[nodiscard]] Taken choose(CpusView shared, const CpuRequest& request, Arena& arena,
                             TakeSteps* steps) const;
  /// Chooses the CPUs of a resize: all current ones and more near them, or the baseline and those
  /// of the current ones that are nearest. Changes nothing. Domain: the baseline is part of the
  /// current CPUs, and has at most `count`.
  [[nodiscard]] Taken resize(CpusView shared, const CpuResize& request, Arena& arena,
                             TakeSteps* steps) const;
  /// Returns the most bytes that hints() and choose() together take from their arena, including a
  /// few sets of the caller's.
  [[nodiscard]] std::size_t bytes() const;
  /// Returns how many CPUs of a NUMA node are assigned, and how many can become exclusive.
  [[nodiscard]] NumaUsage usage(CpusView assigned, int numa) const;

 private:
  [[nodiscard]] Cpus near(CpusView cpus, NumaMask affinity, Arena& arena) const;

  CpuPolicyOptions options_;
  TakeRules rules_;
  int widest_hint_;
  std::vector<Word> reserved_;
  std::vector<Word> reserved_cores_;
};

}  // namespace pinfold::place
