// The CPUs that kubelet 1.36, 1.37 and 1.38 take for the same request, and what they do with a pod
// that is admitted again, each with the profile of its version.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "../support/corpus.hpp"
#include "../support/cpu_fixture.hpp"
#include "cpu_sets.hpp"

namespace pinfold::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kDecisions = "decisions.jsonl";

class Versions : public testing::Test {
 protected:
  /// Replays every decision of the folder. The reader of compressed files also reads plain ones.
  void play(const std::filesystem::path& folder, const std::string& suffix) {
    for_each_vector(folder / ("topologies.jsonl" + suffix), 1, [&](const Json& json) {
      topologies_.emplace(json.at("topology"), machine_of(description_of(json)));
    });
    for_each_vector(folder / (kDecisions + suffix), 1, [&](const Json& json) {
      SCOPED_TRACE(json.dump());
      ++played_;
      json.contains("kind") ? admit_again(json) : take(json);
    });
  }

  /// Returns the number of decisions that were replayed.
  [[nodiscard]] int played() const { return played_; }

 private:
  static MachineDescription description_of(const Json& json) {
    MachineDescription description;
    description.name = json.at("topology");
    int nodes = 0;
    for (const Json& cpu : json.at("cpuCoreNumaSocket")) {
      const SocketId socket{cpu.at(3).get<int>()};
      description.cpus.push_back({CpuId{cpu.at(0).get<int>()}, CoreId{cpu.at(1).get<int>()}, socket,
                                  NumaId{cpu.at(2).get<int>()}, CacheId{socket.value}});
      nodes = std::max(nodes, cpu.at(2).get<int>() + 1);
    }
    for (int node = 0; node < nodes; ++node)
      description.numa_nodes.push_back({NumaId{node}, 0, {}, {}});
    return description;
  }

  void take(const Json& json) {
    const auto tree = cpu::tree_of(topologies_.at(json.at("topology")));
    const auto options = json.at("options").get<std::vector<std::string>>();
    const auto has = [&](const char* option) {
      return std::find(options.begin(), options.end(), option) != options.end();
    };
    place::TakeRules rules;
    rules.tree = tree.get();
    rules.across_numa = has("distribute-cpus-across-numa");
    rules.align_by_socket = has("align-by-socket");
    rules.across_cores = has("distribute-cpus-across-cores");
    rules.numa_group_size = json.at("group");
    rules.quirks =
        quirks_of(parse_profile("kubelet-" + json.at("version").get<std::string>()).value());
    rules.affinity_nodes = json.at("hintNumaCount");
    const CpuSet available = CpuSet::parse(json.at("available").get<std::string>()).value();
    const int request = json.at("request");

    place::HeapArena memory(std::size_t{1} << 20U);
    const place::Cpus free = cpu::words_of(available, *tree, memory.arena());
    const place::Taken taken = place::take(rules, free, request, memory.arena(), nullptr);
    ASSERT_TRUE(taken) << cpu::text_of(taken.error());
    if (json.at("expect").contains("doesNotEnd")) {  // a difference in all profiles
      EXPECT_EQ(place::count(*taken), request);
    } else {
      EXPECT_EQ(CpuSet::of_words(*taken).to_string(), json.at("expect").at("cpus"));
    }
  }

  /// Admits a pod again that has pod-level resources and whose CPUs are in the state, on a machine
  /// with one socket, without SMT, CPU 0 reserved.
  static void admit_again(const Json& json) {
    const Json& state = json.at("state");
    std::string versions = json.at("version");
    for (const char* const version : {"1.36", "1.37", "1.38"}) {
      if (versions.find(version) == std::string::npos) continue;
      SCOPED_TRACE(version);
      Config config = static_policy({}, parse_profile(std::string("kubelet-") + version).value());
      config.feature_gates["PodLevelResourceManagers"] = true;
      Rig rig(machine_of(Shape{.cores_per_cache = state.at("cpus"), .threads = 1}), config,
              reserve_set({0}));
      CpuState& cpus = rig.state;
      cpus.default_set = CpuSet::parse(state.at("defaultCpuSet").get<std::string>()).value();
      const PodUid uid("pod");
      cpus.pods[uid] = CpuSet::parse(state.at("podEntries").at("pod").get<std::string>()).value();
      for (const auto& [name, list] : state.at("entries").at("pod").items()) {
        cpus.assignments[{uid, name}] = CpuSet::parse(list.get<std::string>()).value();
      }
      check_again(rig, pod_of_vector(json.at("pod"), state.at("entries").at("pod")),
                  json.at("expect"));
    }
  }

  static PodSpec pod_of_vector(const Json& json, const Json& entries) {
    const Json exclusives = json.value("containers", Json::object());
    std::vector<Container> containers;
    for (const auto& [name, list] : entries.items()) {
      containers.push_back(exclusives.contains(name)
                               ? exclusive(name, exclusives.at(name).get<std::int64_t>() * 1000)
                               : Container{name, ContainerKind::kApp, {}});
    }
    PodSpec pod = pod_of("pod", std::move(containers));
    pod.resources =
        exclusive("budget", json.at("podLevelCpus").get<std::int64_t>() * 1000).resources;
    return pod;
  }

  static void check_again(Rig& rig, const PodSpec& pod, const Json& expected) {
    const Admission done = rig.manager().allocate_pod(rig.state, pod, {}, nullptr);
    if (expected.contains("error")) {
      ASSERT_FALSE(done);
      EXPECT_NE(done.error().message.find(expected.at("error")), std::string::npos)
          << done.error().message;
      return;
    }
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(rig.state.default_set.to_string(), expected.at("defaultCpuSet"));
    EXPECT_EQ(rig.state.pods.at(pod.uid).to_string(), expected.at("podEntries").at("pod"));
    if (!expected.contains("entries")) return;
    for (const auto& [name, list] : expected.at("entries").at("pod").items()) {
      EXPECT_EQ(rig.state.assignments.find({pod.uid, name})->to_string(), list) << name;
    }
  }

  std::map<std::string, Machine> topologies_;
  int played_ = 0;
};

TEST_F(Versions, DecideAsTheSample) {
  play(PINFOLD_VERSIONS_SAMPLE, ".gz");
  EXPECT_GT(played(), 150);
}

TEST_F(Versions, DecideAsTheFullCorpus) {
  const char* const shared = std::getenv("PINFOLD_SHARED");
  if (shared == nullptr) GTEST_SKIP() << "PINFOLD_SHARED is not set";
  play(std::filesystem::path(shared) / "conformance-1.37", "");
  EXPECT_GT(played(), 500);
}

}  // namespace
}  // namespace pinfold::test
