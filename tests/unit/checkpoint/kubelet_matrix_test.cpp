// Every step from one kubelet to another, up and down, with running pods: how the other kubelet
// reads the state files unchanged, and converted. docs/rollback.md shows the tables.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "node_fixture.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/convert.hpp"

namespace pinfold::checkpoint {
namespace {

/// All nodes have the same machine and configuration; only the profile and the gate differ.
Node matrix_node(const Kubelet& kubelet, std::optional<Profile> profile = std::nullopt) {
  Config config = test::with_memory_manager(test::aligning_config("best-effort", "pod"));
  config.feature_gates["PodLevelResourceManagers"] = kubelet.pod_level_gate;
  config.profile = profile.value_or(profile_of(kubelet));
  return Node::make(test::machine_of({.numa = 2, .cpus = 16}), config).value();
}

PodSpec pod_with_a_reservation() {
  PodSpec pod = test::pod_of("team", {test::container("alone", {{"cpu", "2"}, {"memory", "1Gi"}}),
                                      test::container("web", {}), test::container("log", {})});
  pod.resources = test::container("", {{"cpu", "6"}, {"memory", "4Gi"}}).resources;
  return pod;
}

/// A kubelet with running pods.
struct Before {
  Kubelet kubelet;
  bool has_reservation = false;  ///< one of the pods has pod-level resources

  [[nodiscard]] std::string name() const {
    return to_string(kubelet) + (has_reservation ? ", pod-level pods" : "");
  }
};

NodeState running_on(const Before& before) {
  const Node node = matrix_node(before.kubelet);
  NodeState state = empty_state(node);
  std::vector<PodSpec> pods = {test::pod("database", {{"cpu", "2"}, {"memory", "1Gi"}}),
                               test::pod("shared", {{"cpu", "500m"}, {"memory", "1Gi"}})};
  if (before.has_reservation) pods.push_back(pod_with_a_reservation());
  for (const PodSpec& pod : pods) {
    state = std::get<Admitted>(decide(node, std::move(state), pod)).next;
  }
  return state;
}

KubeletFiles files_of(const NodeState& state, const Kubelet& kubelet) {
  return {write_cpu(state.cpu.checkpoint(), "static", kubelet),
          write_memory(state.memory.checkpoint(), "Static", kubelet)};
}

std::string file_of(StartStage stage) {
  return stage == StartStage::kCpuManager ? "CPU file" : "memory file";
}

/// Returns what running containers and pods lose when `kubelet` reads the files.
std::vector<std::string> lost(const NodeState& before, const KubeletFiles& files,
                              const Kubelet& kubelet) {
  const CpuCheckpoint cpu = **restore_cpu(files.cpu, "static", kubelet, {});
  const MemoryCheckpoint memory = **restore_memory(files.memory, "Static", kubelet);
  std::set<std::string> lost;
  for (const auto& entry : before.cpu.assignments) {
    const CpuSet* const now = cpu.assignments.find(entry.id());
    if (now == nullptr || *now != entry.value || cpu.default_set.intersects(entry.value)) {
      lost.insert("CPUs of " + to_string(entry.id()));
    }
  }
  for (const auto& entry : before.memory.assignments) {
    const auto* const now = memory.assignments.find(entry.id());
    for (std::size_t i = 0; i < entry.value.size(); ++i) {
      if (now == nullptr || now->size() <= i ||
          (*now)[i].numa_affinity != entry.value[i].numa_affinity) {
        lost.insert("NUMA nodes of " + to_string(entry.id()));
      }
    }
  }
  for (const auto& [pod, cpus] : before.cpu.pods) {
    if (!cpu.pods.contains(pod)) lost.insert("reservation");
  }
  for (const auto& [pod, blocks] : before.memory.pods) {
    if (!memory.pods.contains(pod)) lost.insert("reservation");
  }
  return {lost.begin(), lost.end()};
}

/// One cell of a table.
std::string cell(const NodeState& before, const KubeletFiles& files, const Kubelet& to) {
  const auto starts = would_start_as(to, matrix_node(to), files, {});
  if (!starts) return fmt::format("refuses the {}", file_of(starts.error().stage));
  const auto missing = lost(before, files, to);
  if (missing.empty()) return "starts";
  return fmt::format("starts without: {}", fmt::join(missing, ", "));
}

KubeletFiles converted(const KubeletFiles& files, const Kubelet& to) {
  return convert_for(to, files, {}).value().files;
}

constexpr Kubelet kColumns[] = {{35, false}, {36, false}, {36, true}, {37, false}, {37, true}};

std::vector<Before> rows() {
  std::vector<Before> rows;
  for (const Kubelet& kubelet : kColumns) {
    rows.push_back({kubelet, false});
    if (kubelet.pod_level_gate) rows.push_back({kubelet, true});
  }
  return rows;
}

std::string table(bool is_converted) {
  std::string text = "| from \\ to |";
  for (const Kubelet& to : kColumns) text += fmt::format(" {} |", to_string(to));
  text += "\n|---|";
  for ([[maybe_unused]] const Kubelet& to : kColumns) text += "---|";
  text += "\n";
  for (const Before& before : rows()) {
    const NodeState state = running_on(before);
    const KubeletFiles files = files_of(state, before.kubelet);
    text += fmt::format("| **{}** |", before.name());
    for (const Kubelet& to : kColumns) {
      text += fmt::format(" {} |", cell(state, is_converted ? converted(files, to) : files, to));
    }
    text += "\n";
  }
  return text;
}

/// The part of the page between two comments.
std::string documented(const std::string& name) {
  const std::string page = pinfold::read_file(PINFOLD_DOCS "/rollback.md").value();
  const std::string begin = fmt::format("<!-- {} -->\n", name);
  const std::size_t start = page.find(begin);
  const std::size_t end = page.find("<!-- end -->", start);
  if (start == std::string::npos || end == std::string::npos) return "not found";
  return page.substr(start + begin.size(), end - start - begin.size());
}

TEST(KubeletMatrix, IsTheOneOfThePage) {
  EXPECT_EQ(documented("as they are"), table(false));
  EXPECT_EQ(documented("converted"), table(true));
}

TEST(KubeletMatrix, AConvertedStateStartsAndNoContainerLosesAnything) {
  for (const Before& before : rows()) {
    const NodeState state = running_on(before);
    const KubeletFiles files = files_of(state, before.kubelet);
    for (const KubeletFormats& to : kubelets()) {
      SCOPED_TRACE(before.name() + " to " + to_string(to.kubelet));
      const KubeletFiles done = converted(files, to.kubelet);
      const auto starts = would_start_as(to.kubelet, matrix_node(to.kubelet), done, {});
      ASSERT_TRUE(starts) << starts.error().error;
      std::vector<std::string> expected;
      if (before.has_reservation && !to.kubelet.pod_level_gate) expected = {"reservation"};
      EXPECT_EQ(lost(state, done, to.kubelet), expected);
    }
  }
}

TEST(KubeletMatrix, IsTheSameFor138) {
  for (const bool gate : {false, true}) {
    for (const Before& before : rows()) {
      const NodeState state = running_on(before);
      const KubeletFiles files = files_of(state, before.kubelet);
      EXPECT_EQ(cell(state, files, {38, gate}), cell(state, files, {37, gate})) << before.name();
      if (before.kubelet == Kubelet{37, gate}) {
        EXPECT_EQ(files, files_of(state, {38, gate})) << before.name();
      }
    }
  }
}

TEST(KubeletMatrix, ANodeWritesTheFilesOfItsProfile) {
  for (const KubeletFormats& known : kubelets()) {
    const Kubelet& kubelet = known.kubelet;
    const Node node = matrix_node(kubelet);
    const NodeState state = running_on({kubelet, kubelet.pod_level_gate});
    KubeletFiles files;
    update(node, {}, state, files);
    EXPECT_EQ(files, files_of(state, kubelet)) << to_string(kubelet);
  }
}

TEST(KubeletMatrix, FixedStartsFromTheFilesOfEveryKubelet) {
  for (const KubeletFormats& known : kubelets()) {
    const Kubelet& kubelet = known.kubelet;
    const Node node = matrix_node({36, true}, Profile::kFixed);
    const NodeState state = running_on({kubelet, kubelet.pod_level_gate});
    KubeletFiles files = files_of(state, kubelet);
    const auto started = start(node, files, {});
    ASSERT_TRUE(started) << to_string(kubelet) << ": " << started.error().error;
    EXPECT_EQ(started->cpu.checkpoint(), state.cpu.checkpoint()) << to_string(kubelet);
    EXPECT_EQ(started->memory.checkpoint(), state.memory.checkpoint()) << to_string(kubelet);
  }
}

}  // namespace
}  // namespace pinfold::checkpoint
