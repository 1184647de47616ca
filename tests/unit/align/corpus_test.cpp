// Merges every set of hints in the conformance corpus alone: the result must be the affinity that
// the kubelet stored for an admitted container, or its rejection. (The corpus includes the hints,
// so only the merge is tested.) Also checks every start that failed in the topology manager.

#include "corpus.hpp"

#include <map>

#include "topology.hpp"

namespace pinfold::test {
namespace {

using Json = nlohmann::json;

#ifdef NDEBUG
constexpr std::size_t kStride = 1;
#else
constexpr std::size_t kStride = 10;  // JSON parsing is slow without optimisation
#endif

Config config_of_vector(const Json& json) {
  Config config;
  config.profile = Profile::kKubelet136;
  config.knows_draft_options = true;
  config.topology_manager_policy = json.value("topologyManagerPolicy", "none");
  config.topology_manager_scope = json.value("topologyManagerScope", "container");
  config.topology_manager_policy_options =
      json.value("topologyManagerPolicyOptions", Json::object())
          .get<std::map<std::string, std::string>>();
  config.feature_gates =
      json.value("featureGates", Json::object()).get<std::map<std::string, bool>>();
  return config;
}

struct Node {
  std::map<int, int> position_of;
  TopologyManager::Numa numa;

  explicit Node(const Json& node) {
    for (const Json& zone : node.at("numaNodes")) {
      position_of[zone.at("id").get<int>()] = numa.count++;
      numa.distances.push_back(zone.value("distances", std::vector<std::uint32_t>{}));
    }
  }

  [[nodiscard]] TopologyHint hint(const Json& json) const {
    TopologyHint hint{std::nullopt, json.at("preferred").get<bool>()};
    if (json.at("numaNodes").is_null()) return hint;
    NumaMask mask;
    for (const Json& id : json.at("numaNodes")) {
      mask = mask | NumaMask::of(position_of.at(id.get<int>()));
    }
    hint.numa = mask;
    return hint;
  }

  [[nodiscard]] ResourceHints hints(const Json& json) const {
    ResourceHints all;
    for (const auto& [resource, list] : json.items()) {
      HintList& hints = all[resource];
      if (list.is_null()) continue;
      hints.emplace();
      for (const Json& item : list) hints->push_back(hint(item));
    }
    return all;
  }
};

struct Tally {
  std::size_t admitted = 0;
  std::size_t refused = 0;
  std::size_t compared = 0;
};

/// Checks one admission: `expect` has hints.
void check_admission(const TopologyManager& manager, const Node& node, const Json& pod,
                     const Json& expect, Tally& tally) {
  const bool refused = expect.value("reason", "") == "TopologyAffinityError";
  const Json& hints = expect.at("hints");
  std::vector<std::string> containers;
  for (const char* const kind : {"initContainers", "containers"}) {
    for (const Json& container : pod.at("spec").value(kind, Json::array())) {
      containers.push_back(container.at("name"));
    }
  }
  const bool pod_scope = manager.scope() == TopologyScope::kPod;
  std::string last;
  for (const std::string& name : containers) {
    if (hints.contains(name)) last = name;
  }
  for (const std::string& name : containers) {
    const std::string key = pod_scope ? "pod" : name;
    if (!hints.contains(key)) continue;
    const std::vector<ResourceHints> providers = {node.hints(hints.at(key))};
    const MergedHint merged = manager.merge(providers, {});
    EXPECT_EQ(merged.admit, !(refused && (pod_scope || name == last))) << describe(providers);
    (merged.admit ? tally.admitted : tally.refused) += 1;
    // The draft option's choice depends on more than the hints. When a pod is admitted again, not
    // all containers start again, so the expectation omits some.
    const Json started = expect.value("containers", Json::object());
    if (manager.options().prefer_most_allocated_numa_node || !started.contains(name)) continue;
    EXPECT_EQ(merged.best, node.hint(started.at(name).at("hint"))) << describe(providers);
    ++tally.compared;
  }
}

void check_vector(const Json& vector, Tally& tally) {
  const Node node(vector.at("node"));
  Json config = vector.at("config");
  const Json steps = vector.value("steps", Json::array());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Json& step = steps[i];
    const Json& expect = vector.at("expect").at(i);
    if (step.at("op") == "restart" && step.contains("config")) config = step.at("config");
    if (step.at("op") != "admit" || !expect.contains("hints")) continue;
    const auto manager = TopologyManager::make(node.numa, config_of_vector(config));
    ASSERT_TRUE(manager) << manager.error().message;
    if (manager->policy() == TopologyPolicy::kNone) continue;
    SCOPED_TRACE(vector.at("name").get<std::string>() + " step " + std::to_string(i));
    check_admission(*manager, node, step.at("pod"), expect, tally);
  }
}

class MergeCorpus : public Corpus {};

TEST_F(MergeCorpus, MergesEveryListAsTheKubeletDid) {
  Tally tally;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string file = entry.path().filename();
    const bool relevant = file.starts_with("topo-") || file.starts_with("scope-") ||
                          file.starts_with("many-") || file.starts_with("podlevel-pod-");
    if (!relevant) continue;
    for_each_vector(entry.path(), kStride,
                    [&](const Json& vector) { check_vector(vector, tally); });
  }
  EXPECT_GT(tally.admitted, 10000U / kStride);
  EXPECT_GT(tally.refused, 3000U / kStride);
  EXPECT_GT(tally.compared, 10000U / kStride);
}

TEST_F(MergeCorpus, FailsToStartAsTheKubeletDid) {
  std::size_t refused = 0;
  for (const char* const file : {"config-errors.jsonl.gz", "topo-most-allocated.jsonl.gz"}) {
    for_each_vector(folder_ / file, 1, [&](const Json& vector) {
      const Json error = vector.value("startError", Json::object());
      const std::string stage = error.value("stage", "");
      if (stage == "configuration") return;  // fails before the topology manager is made
      const auto manager = TopologyManager::make(Node(vector.at("node")).numa,
                                                 config_of_vector(vector.at("config")));
      EXPECT_EQ(manager ? "" : manager.error().message,
                stage == "topologymanager" ? error.at("error").get<std::string>() : "")
          << vector.at("name");
      if (!manager) ++refused;
    });
  }
  EXPECT_GT(refused, 50U);
}

}  // namespace
}  // namespace pinfold::test
