#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "node_fixture.hpp"
#include "pinfold/explain/explanation.hpp"
#include "provider_without_hints.hpp"
#include "uneven_machine.hpp"

/// Provokes each rejection in the table of docs/explain.md and checks its reason and message.
namespace pinfold::test {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr const char* kGpu = "example.com/gpu";

/// Admits the running pods, and explains the one that is rejected.
Explanation explained(Machine machine, const Config& config, const std::vector<PodSpec>& running,
                      const PodSpec& wanted, Node::Providers providers = {}) {
  const Node node = Node::make(std::move(machine), config, std::move(providers)).value();
  NodeState state = empty_state(node);
  for (const PodSpec& pod : running) {
    Decision decision = decide(node, std::move(state), pod);
    auto* const admitted = std::get_if<Admitted>(&decision);
    if (admitted == nullptr) throw std::logic_error("the running pods of a test must be admitted");
    state = std::move(admitted->next);
  }
  return explain(node, state, wanted);
}

/// Explains on two NUMA nodes of 8 CPUs and 16Gi.
Explanation explained(const Config& config, const std::vector<PodSpec>& running,
                      const PodSpec& wanted) {
  return explained(machine_of({}), config, running, wanted);
}

Machine with_threads() {
  MachineDescription description = machine_of({}).description();
  for (Cpu& cpu : description.cpus) cpu.core = CoreId{cpu.id.value / 2 * 2};
  return Machine::make(std::move(description)).value();
}

Config whole_cores() {
  Config config = aligning_config("none");
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  return config;
}

Config with_pod_level(Config config) {
  config.feature_gates["PodLevelResourceManagers"] = true;
  return config;
}

Config with_memory(const std::string& policy, const std::string& scope = "container") {
  return with_memory_manager(aligning_config(policy, scope));
}

PodSpec with_resources(const Texts& amounts, std::vector<Container> containers) {
  PodSpec pod = pod_of("web", std::move(containers));
  pod.resources = container("", amounts).resources;
  return pod;
}

Container init(std::string name, const Texts& amounts) {
  return container(std::move(name), amounts, ContainerKind::kInit);
}

Container sidecar(std::string name, const Texts& amounts) {
  return container(std::move(name), amounts, ContainerKind::kSidecar);
}

PodSpec requesting(const Texts& amounts) {
  PodSpec pod = test::pod("web", amounts);
  pod.containers[0].resources.limits.clear();
  return pod;
}

/// Rejects every pod.
class NoLicenses : public ProviderWithoutHints {
 public:
  [[nodiscard]] std::string name() const override { return "licenses"; }
  [[nodiscard]] Admission allocate(std::string& /*state*/, const PodSpec& /*pod*/,
                                   const Container& /*container*/,
                                   const TopologyHint& /*affinity*/) const override {
    return tl::unexpected(Rejection::unexpected("no license is left"));
  }
  void release(std::string& /*state*/, const ContainerId& /*container*/) const override {}
};

Explanation rejected_by_provider() {
  Node::Providers providers;
  providers.push_back(std::make_unique<NoLicenses>());
  return explained(machine_of({}), aligning_config("none"), {}, pod("web", {{"cpu", "1"}}),
                   std::move(providers));
}

Explanation rejected_by_accounting() {
  Config config = aligning_config("none");
  config.profile = Profile::kKubelet136;
  config.cpu_manager_policy_options["distribute-cpus-across-numa"] = "true";
  return explained(uneven_machine(), config, {}, pod("web", {{"cpu", "8"}, {"memory", "1Gi"}}));
}

/// An active pod changes its number of devices.
Explanation rejected_as_changed() {
  const PodSpec before = pod("web", {{kGpu, "1"}});
  return explained(machine_of({.devices = {{kGpu, {2, 0}}}}), aligning_config("none"), {before},
                   pod("web", {{kGpu, "2"}}));
}

Texts amounts(const char* cpus, const char* memory) { return {{"cpu", cpus}, {"memory", memory}}; }

/// NUMA nodes 0 and 1 have 12Gi free together, and NUMA node 2 has 4Gi. The pod needs 16Gi in two
/// parts. The running pods were admitted under the policy restricted.
Explanation rejected_in_parts(const char* policy, const char* cpus) {
  const auto config = [](const char* with) {
    Config made = with_memory(with, "pod");
    made.kube_reserved["memory"] = "1Mi";
    made.reserved_memory = {{0, {{"memory", "1Mi"}}}};
    return made;
  };
  TestNode before({.numa = 3}, config("restricted"));
  for (const auto& [name, memory] : Texts{{"a", "20Gi"}, {"b", "12Gi"}}) {
    if (!before.admit(pod(name, {{"cpu", "500m"}, {"memory", memory}})).empty()) {
      throw std::logic_error("the running pods of a test must be admitted");
    }
  }
  const Node node = Node::make(machine_of({.numa = 3}), config(policy)).value();
  return explain(node, before.state(),
                 pod_of("web", {container("one", amounts(cpus, "8Gi")),
                                container("two", amounts(cpus, "8Gi"))}));
}

std::vector<Explanation> topology_and_cores() {
  const Config single = aligning_config("single-numa-node");
  const Texts large = amounts("10", "2Gi");
  return {explained(single, {pod("a", amounts("4", "1Gi")), pod("b", amounts("4", "1Gi"))},
                    pod("web", amounts("6", "1Gi"))),
          explained(with_pod_level(aligning_config("single-numa-node", "pod")), {},
                    with_resources(large,
                                   {container("main", amounts("2", "1Gi")), container("log", {})})),
          explained(with_pod_level(single), {},
                    with_resources(large,
                                   {container("main", amounts("9", "1Gi")), container("log", {})})),
          explained(with_threads(), whole_cores(), {}, pod("web", amounts("3", "1Gi"))),
          explained(with_threads(), whole_cores(), {pod("a", amounts("12", "1Gi"))},
                    pod("web", amounts("4", "1Gi")))};
}

std::vector<Explanation> shared_pools() {
  const Config config = with_pod_level(with_memory("best-effort", "pod"));
  const Texts two = amounts("2", "2Gi");
  const Texts four = amounts("4", "4Gi");
  const auto all = [&](std::vector<Container> containers) {
    return explained(config, {}, with_resources(four, std::move(containers)));
  };
  return {all({container("main", amounts("4", "2Gi")), container("log", {})}),
          all({sidecar("proxy", amounts("4", "1Gi")), init("setup", {}), container("main", {})}),
          all({sidecar("proxy", two), init("setup", amounts("3", "1Gi")), container("main", {})}),
          all({container("main", amounts("2", "4Gi")), container("log", {})}),
          all({sidecar("proxy", amounts("2", "4Gi")), init("setup", {}), container("main", {})}),
          all({sidecar("proxy", two), init("setup", amounts("1", "3Gi")), container("main", {})})};
}

std::vector<Explanation> allocations() {
  const Config none = aligning_config("none");
  const Config memory = with_memory("none");
  return {explained(none, {pod("a", amounts("12", "1Gi"))}, pod("web", amounts("4", "1Gi"))),
          rejected_by_accounting(),
          explained(machine_of({.devices = {{kGpu, {1, 1}}}}), none, {pod("a", {{kGpu, "1"}})},
                    pod("web", {{kGpu, "2"}})),
          rejected_as_changed(),
          explained(memory, {pod("a", amounts("1", "8Gi")), pod("b", amounts("1", "8Gi"))},
                    pod("web", amounts("1", "17Gi"))),
          rejected_in_parts("single-numa-node", "500m"),
          explained(with_memory("best-effort"), {pod("a", amounts("1", "8Gi"))},
                    pod("web", amounts("1", "30Gi"))),
          rejected_in_parts("restricted", "1"),
          explained(with_memory("best-effort", "pod"), {pod("a", amounts("500m", "1Gi"))},
                    pod_of("web", {container("one", amounts("5", "10Gi")),
                                   container("two", amounts("5", "10Gi"))})),
          explained(memory, {}, pod("web", amounts("1", "1073741824500m"))),
          rejected_by_provider()};
}

std::vector<Explanation> requests() {
  const Config none = aligning_config("none");
  MachineDescription pages = machine_of({}).description();
  pages.numa_nodes[0].hugepages = {{"hugepages-2Mi", std::uint64_t{64} << 20U}};
  return {explained(none, {pod("a", amounts("14500m", "1Gi"))}, requesting({{"cpu", "1"}})),
          explained(none, {pod("a", amounts("1", "30Gi"))}, requesting({{"memory", "4Gi"}})),
          explained(Machine::make(std::move(pages)).value(), none, {},
                    pod("web", {{"cpu", "1"}, {"memory", "1Gi"}, {"hugepages-2Mi", "128Mi"}}))};
}

std::vector<Explanation> all_rejections() {
  std::vector<Explanation> all;
  for (const auto& some : {topology_and_cores(), shared_pools(), allocations(), requests()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Returns the first remedy as the reader sees it.
std::string first_remedy(const Explanation& explanation) {
  if (explanation.remedies.empty()) return "-";
  const Remedy& remedy = explanation.remedies.front();
  const bool is_about_pods =
      remedy.kind == Remedy::Kind::kPods || remedy.kind == Remedy::Kind::kMoves;
  return (is_about_pods ? "if " : "with ") + remedy.text;
}

TEST(Reasons, AreTheRowsOfThePage) {
  std::ifstream file(PINFOLD_EXPLAIN_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  std::size_t rows = 0;
  for (const Explanation& explanation : all_rejections()) {
    ASSERT_TRUE(explanation.rejection) << explanation.summary;
    const std::string row =
        fmt::format("| `{}` | {} | {} | {} |\n", explanation.rejection->reason,
                    explanation.rejection->message, explanation.summary, first_remedy(explanation));
    EXPECT_NE(page.str().find(row), std::string::npos) << row;
    ++rows;
  }
  std::size_t shown = 0;
  bool is_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) is_table = line == "## Every reason and message";
    if (is_table && line.starts_with("| `")) ++shown;
  }
  EXPECT_EQ(shown, rows);
}

}  // namespace
}  // namespace pinfold::test
