#include <gtest/gtest.h>
#include <pinfold/decide.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "described_machine.hpp"
#include "draw.hpp"

// pinfold_decide on machines, states and requests of every kind, with a workspace of exactly the
// size that it asks for.
namespace pinfold::test {
namespace {

using Prepared = std::unique_ptr<pinfold_machine, decltype(&pinfold_machine_free)>;

struct Site : DescribedMachine {
  std::size_t kinds = 0;
  std::uint32_t options = 0;
  std::int32_t policy = 0;
  Prepared machine{nullptr, &pinfold_machine_free};
};

/// Sockets and NUMA nodes may cross, cores may have different sizes, CPU numbers may have gaps.
Site any_site(std::int32_t profile) {
  Site site;
  const int nodes = draw(0, 9) == 0 ? draw(17, 64) : draw(1, 9);
  const int cpus = draw(1, 12) * nodes;
  const int threads = draw(1, 4);
  const int per_socket = draw(1, cpus);
  const int gap = draw(1, 3);
  for (int node = 0; node < nodes; ++node) site.numa.push_back(node * gap);
  const bool crosses = draw(0, 3) == 0;
  const bool has_far_siblings = draw(0, 1) == 0;
  const int cores = (cpus + threads - 1) / threads;
  for (int i = 0; i < cpus; ++i) {
    const int core = has_far_siblings ? i % cores : i / threads;
    const int socket = core * threads / per_socket;
    const int node = crosses ? draw(0, nodes - 1) : i * nodes / cpus;
    site.cpus.push_back({i * gap, core, socket, node * gap, draw(0, 1) == 0 ? -1 : core / 2});
  }
  for (pinfold_cpu& cpu : site.cpus) cpu.cache = site.cpus.front().cache == -1 ? -1 : cpu.core / 2;
  site.kinds = static_cast<std::size_t>(draw(0, 3));
  for (std::size_t i = 0; i < site.kinds * site.numa.size(); ++i) {
    site.memory.push_back(static_cast<std::uint64_t>(draw(0, 20)));
  }
  for (int i = 0; i < nodes * nodes; ++i)
    site.distances.push_back(static_cast<std::uint32_t>(draw(10, 40)));
  site.reserved.push_back(site.cpus[static_cast<std::size_t>(draw(0, cpus - 1))].cpu);
  site.options = static_cast<std::uint32_t>(draw(0, 255));
  if ((site.options & PINFOLD_DISTRIBUTE_CPUS_ACROSS_CORES) != 0) {
    site.options &= ~std::uint32_t{PINFOLD_FULL_PCPUS_ONLY};  // the kubelet refuses both
  }
  const bool may_have_strategy =
      profile == PINFOLD_PROFILE_FIXED || profile == PINFOLD_PROFILE_KUBELET_1_38;
  if (may_have_strategy && (site.options & PINFOLD_PREFER_MOST_ALLOCATED_NUMA_NODE) == 0) {
    site.options |= static_cast<std::uint32_t>(draw(0, 2)) << 8U;
  }
  site.policy = draw(0, 3);

  pinfold_machine_description description = site.describe();
  description.topology_policy = site.policy;
  description.scope = draw(0, 1);
  description.profile = profile;
  description.options = site.options;
  std::array<char, 200> message{};
  pinfold_machine* made = nullptr;
  RC_ASSERT(pinfold_machine_make(&description, &made, message.data(), message.size()) ==
            PINFOLD_OK);
  site.machine.reset(made);
  return site;
}

/// A state, and requests one after the other.
class Life {
 public:
  explicit Life(const Site& site) : site_(site), owners_(site.cpus.size()), memory_(200) {
    state_.owners = owners_.data();
    state_.owner_count = owners_.size();
    state_.allocations = memory_.data();
    state_.allocation_capacity = memory_.size();
    RC_ASSERT(pinfold_state_clear(site.machine.get(), &state_) == PINFOLD_OK);
  }

  void step(bool is_fixed) {
    if (next_ > 1 && draw(0, 3) == 0) {
      pinfold_state_release(&state_, static_cast<std::uint32_t>(draw(1, static_cast<int>(next_))));
      return;
    }
    const auto before = owners_;
    const auto count = static_cast<std::size_t>(draw(1, 3));
    std::vector<pinfold_decide_container> containers;
    std::vector<std::vector<std::uint64_t>> bytes(count);
    const pinfold_hint hint = {any_mask(), draw(0, 1)};
    const pinfold_resource_hints device = {&hint, static_cast<std::size_t>(draw(0, 1))};
    for (std::size_t i = 0; i < count; ++i) {
      containers.push_back(pinfold_decide_container PINFOLD_DECIDE_CONTAINER_INIT);
      pinfold_decide_container& container = containers.back();
      container.owner = next_++;
      container.milli_cpu =
          draw(0, 4) == 0 ? 1500 : 1000 * draw(0, static_cast<int>(owners_.size()));
      for (std::size_t kind = 0; kind < site_.kinds; ++kind) {
        bytes[i].push_back(static_cast<std::uint64_t>(draw(0, 30)));
      }
      container.memory = bytes[i].data();
      container.memory_kinds = bytes[i].size();
      if (draw(0, 3) == 0) {
        container.devices = &device;
        container.device_count = 1;
      }
    }
    pinfold_decide_request request = PINFOLD_DECIDE_REQUEST_INIT;
    request.containers = containers.data();
    request.container_count = count;
    request.guaranteed = draw(0, 5) == 0 ? 0 : 1;
    std::vector<pinfold_placement> placements(count);
    // Not a vector: sanitizers see every byte beyond it.
    const std::size_t size = pinfold_decide_workspace(site_.machine.get(), &request);
    const auto workspace = std::make_unique<std::byte[]>(size);
    std::array<char, 400> message{};
    const pinfold_code code =
        pinfold_decide(site_.machine.get(), &state_, &request, placements.data(), workspace.get(),
                       size, message.data(), message.size());
    RC_LOG() << code << " " << message.data() << "\n";
    RC_ASSERT(code == PINFOLD_OK || code == PINFOLD_REJECTED);
    if (code == PINFOLD_REJECTED) {
      if (is_fixed) RC_ASSERT(owners_ == before);
      return;
    }
    if (!is_fixed) return;  // a kubelet can give fewer, and some in use
    for (std::size_t i = 0; i < owners_.size(); ++i) {
      // No one loses a CPU, and the reserved one has no owner.
      if (before[i] != PINFOLD_SHARED) RC_ASSERT(owners_[i] == before[i]);
      if (site_.cpus[i].cpu == site_.reserved.front()) RC_ASSERT(owners_[i] == before[i]);
    }
    for (const pinfold_decide_container& container : containers) {
      const bool is_whole = container.milli_cpu % 1000 == 0 && request.guaranteed != 0;
      RC_ASSERT(std::count(owners_.begin(), owners_.end(), container.owner) ==
                (is_whole ? container.milli_cpu / 1000 : 0));
    }
  }

 private:
  [[nodiscard]] std::uint64_t any_mask() const {
    return std::uint64_t{1} << draw(0, static_cast<int>(site_.numa.size()) - 1);
  }

  const Site& site_;
  std::vector<std::uint32_t> owners_;
  std::vector<pinfold_allocation> memory_;
  pinfold_state state_ = PINFOLD_STATE_INIT;
  std::uint32_t next_ = 1;
};

RC_GTEST_PROP(Decide, GivesExactlyTheCpusAskedFor, ()) {
  const Site site = any_site(PINFOLD_PROFILE_FIXED);
  Life life(site);
  for (int i = draw(1, 12); i > 0; --i) life.step(true);
}

RC_GTEST_PROP(Decide, KeepsToTheRulesOfAKubelet, ()) {
  const Site site = any_site(draw(136, 138));
  Life life(site);
  for (int i = draw(1, 12); i > 0; --i) life.step(false);
}

}  // namespace
}  // namespace pinfold::test
