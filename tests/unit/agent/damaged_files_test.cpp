#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "../../crash/memory_fs.hpp"
#include "node_samples.hpp"
#include "pinfold/agent/kept_state.hpp"
#include "pinfold/agent/known_machine.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"

/// Damages every byte of every file of the state directory.
namespace pinfold::agent {
namespace {

using checkpoint::testing::Disk;
using checkpoint::testing::Image;
using checkpoint::testing::MemoryFs;
using testing::HasSubstr;

Node node_with_memory() {
  Config config;
  config.memory_manager_policy = "Static";
  config.system_reserved = {{"memory", "64Mi"}};
  config.eviction_hard.emplace()["memory.available"] = "64Mi";
  config.reserved_memory = {{0, {{"memory", "128Mi"}}}};
  return test::static_node(std::move(config));
}

/// CPU 7 is offline.
Machine machine_without_a_cpu() {
  MachineDescription description = test::two_sockets().description();
  description.cpus.pop_back();
  return Machine::make(std::move(description)).value();
}

/// The result of opening a directory.
struct Opened {
  std::string error;     ///< why opening fails
  std::string warnings;  ///< one per line
  AgentState state;
  Metrics metrics;
  ProcessList processes;
  CpuSet offline;
};

checkpoint::Store open_store(const Image& image) {
  return checkpoint::Store::open(std::make_unique<MemoryFs>(std::make_shared<Disk>(image))).value();
}

Opened open_image(const Node& node, const Machine& observed, const Image& image) {
  Opened out;
  AgentOptions options;
  options.log = [&](LogLevel /*level*/, std::string_view message) {
    out.warnings += fmt::format("{}\n", message);
  };
  auto store = open_store(image);
  out.offline = known_machine(observed, store, options.log).offline;
  auto kept = KeptState::restore(node, std::move(store), options);
  if (!kept) {
    out.error = kept.error().message;
    return out;
  }
  out.processes = (*kept)->processes().value_or(ProcessList());
  out.state = (*kept)->state();
  out.metrics = (*kept)->metrics();
  return out;
}

class DamagedFiles : public testing::Test {
 protected:
  DamagedFiles() {
    const auto disk = std::make_shared<Disk>();
    {
      auto kept = KeptState::restore(
                      node_, checkpoint::Store::open(std::make_unique<MemoryFs>(disk)).value(), {})
                      .value();
      AgentState next = kept->state();
      for (const char* const name : {"x", "y"}) {
        Decision decision =
            decide(node_, std::move(next.node), test::pod(name, {test::guaranteed("a", 2)}));
        next.node = std::get<Admitted>(std::move(decision)).next;
      }
      EXPECT_TRUE(kept->commit(node_, std::move(next)));
      Metrics metrics;
      metrics.observe(std::chrono::milliseconds(3));
      kept->set_metrics(metrics);
      EXPECT_TRUE(kept->checkpoint_journal());
      kept->keep_processes({{"podx/a", {{4711, 12345}, {4712, 67890}}}});
    }
    for (const auto& [name, inode] : disk->names) sound_[name] = disk->inodes[inode].now;
    expected_ = open(sound_);
  }

  [[nodiscard]] Opened open(const Image& image) const {
    return open_image(node_, observed_, image);
  }

  /// Expects that damage either has no effect or is reported once, with the file's name, and that
  /// no pod loses its CPUs. Returns whether it is reported.
  [[nodiscard]] bool is_reported(const std::string& name, const Image& image) const {
    const Opened seen = open(image);
    if (!seen.error.empty()) {  // nothing starts, so no CPU is given away
      EXPECT_THAT(seen.error, HasSubstr(name));
      return true;
    }
    const NodeState& node = seen.state.node;
    EXPECT_EQ(node.cpu.checkpoint(), expected_.state.node.cpu.checkpoint());
    EXPECT_EQ(node.memory.checkpoint(), expected_.state.node.memory.checkpoint());
    for (const PodUid& uid : {PodUid("x"), PodUid("y")}) {
      EXPECT_TRUE(node.find(uid) != nullptr || node.held.contains(uid)) << uid.value;
    }
    const bool is_same = seen.state == expected_.state && seen.metrics == expected_.metrics &&
                         seen.processes == expected_.processes && seen.offline == expected_.offline;
    const bool is_named = seen.warnings.find(name) != std::string::npos;
    EXPECT_TRUE(is_same || is_named) << seen.warnings;
    EXPECT_EQ(seen.warnings.find(name), seen.warnings.rfind(name)) << seen.warnings;
    return is_named;
  }

  const Node node_ = node_with_memory();
  const Machine observed_ = machine_without_a_cpu();  ///< a CPU fewer than in .pinfold_node
  Image sound_;
  Opened expected_;
};

const std::string kEveryFile[] = {
    std::string(checkpoint::kCpuFileName),  std::string(checkpoint::kMemoryFileName),
    std::string(checkpoint::kPodsFileName), std::string(checkpoint::kNodeFileName),
    std::string(kMetricsFileName),          std::string(kProcessesFileName)};

TEST_F(DamagedFiles, AreSoundBefore) {
  EXPECT_EQ(expected_.error, "");
  EXPECT_EQ(expected_.warnings, "");
  EXPECT_EQ(expected_.state.node.pods.size(), 2U);
  EXPECT_EQ(expected_.processes.size(), 1U);
  EXPECT_NE(expected_.metrics, Metrics());
  EXPECT_EQ(expected_.offline, CpuSet{7});
  for (const std::string& name : kEveryFile) EXPECT_TRUE(sound_.contains(name)) << name;
}

/// The kinds of damage at one byte, by name.
std::map<std::string, std::string> damaged(const std::string& bytes, std::size_t at) {
  const std::string before = bytes.substr(0, at);
  const std::string after = bytes.substr(at + 1);
  std::map<std::string, std::string> out = {
      {"cut", before},
      {"delete", before + after},
      {"repeat", before + bytes[at] + bytes[at] + after},
      {"zeros to the end", before + std::string(bytes.size() - at, '\0')}};
  for (int bit = 0; bit < 8; ++bit) {
    const char flipped = static_cast<char>(bytes[at] ^ (1 << bit));
    out[fmt::format("flip bit {}", bit)] = before + flipped + after;
  }
  return out;
}

TEST_F(DamagedFiles, AreReportedAtEveryByte) {
  for (const std::string& name : kEveryFile) {
    const std::string& bytes = sound_.at(name);
    std::size_t reported = 0;
    std::size_t cases = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const auto& [kind, damaged_bytes] : damaged(bytes, at)) {
        SCOPED_TRACE(fmt::format("{}: {} at byte {}", name, kind, at));
        Image image = sound_;
        image[name] = damaged_bytes;
        if (is_reported(name, image)) ++reported;
        ++cases;
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(reported, cases * 3 / 4) << name;  // the rest is harmless: keys ignore case
  }
}

/// A file without a checksum begins with '{' or a digit: the first byte decides.
TEST_F(DamagedFiles, AreReportedForEveryFirstByte) {
  for (const std::string& name : kEveryFile) {
    for (int byte = 0; byte < 256; ++byte) {
      SCOPED_TRACE(fmt::format("{}: first byte {}", name, byte));
      Image image = sound_;
      image[name][0] = static_cast<char>(byte);
      (void)is_reported(name, image);
    }
  }
}

TEST_F(DamagedFiles, AMissingFileGivesNoCpuAway) {
  for (const std::string& name : kEveryFile) {
    SCOPED_TRACE(name);
    Image image = sound_;
    image.erase(name);
    const Opened seen = open(image);
    const bool is_kubelets = !name.starts_with('.');
    EXPECT_EQ(!seen.error.empty(), is_kubelets) << seen.error;
    if (is_kubelets) {
      EXPECT_THAT(seen.error, HasSubstr(name + "' is missing, but "));
      continue;
    }
    EXPECT_EQ(seen.state.node.cpu.checkpoint(), expected_.state.node.cpu.checkpoint());
    EXPECT_EQ(seen.state.node.pods.size() + seen.state.node.held.size(), 2U);
  }
}

/// Files in the old format, without a first line with a checksum.
TEST_F(DamagedFiles, OlderFilesAreReadOnceAndReplaced) {
  Image older = sound_;
  for (auto& [name, bytes] : older) {
    if (bytes.starts_with('#')) bytes.erase(0, bytes.find('\n') + 1);
  }
  const Opened seen = open(older);
  EXPECT_EQ(seen.warnings, "");
  EXPECT_EQ(seen.state, expected_.state);
  EXPECT_EQ(seen.metrics, expected_.metrics);
  EXPECT_EQ(seen.processes, expected_.processes);
  EXPECT_EQ(seen.offline, expected_.offline);
  const auto disk = std::make_shared<Disk>(older);
  {
    auto kept = KeptState::restore(
                    node_, checkpoint::Store::open(std::make_unique<MemoryFs>(disk)).value(), {})
                    .value();
    EXPECT_TRUE(kept->commit(node_, kept->state()));
    kept->set_metrics(kept->metrics());
    EXPECT_TRUE(kept->checkpoint_journal());
    kept->keep_processes(kept->processes().value());
  }
  for (const std::string& name : kEveryFile) {
    EXPECT_EQ(disk->inodes[disk->names.at(name)].now, sound_.at(name)) << name;
  }
}

}  // namespace
}  // namespace pinfold::agent
