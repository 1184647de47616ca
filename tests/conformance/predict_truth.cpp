// predict_truth FILE...: counts over conformance vectors how often a prediction matches the
// kubelet's observed decision, from the node's state and from the NodeResourceTopology that it
// would publish. Exit status 1 if a prediction from the state is wrong or a difference has no known
// cause.

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "limitations.hpp"
#include "over_vectors.hpp"
#include "pinfold/place/merge.hpp"

namespace pinfold::test {
namespace {

using nlohmann::json;
using simulate::Arrival;

constexpr std::array<std::string_view, kCauses> kCauseNames = {
    "requests of all pods exceed the node",
    "provider does not take part",
    "CPU manager options that relax alignment",
    "device near several NUMA nodes",
    "memory manager's groups of NUMA nodes",
    "init containers are not accumulated",
    "several containers packed greedily",
    "known bug of the kubelet",
    "UNKNOWN",
};

bool rejects(const std::string& name) {
  const auto policy = parse_topology_policy(name);
  return policy && !place::admits(*policy, {std::nullopt, /*preferred=*/false});
}

/// False for vectors without a kubelet whose policy rejects pods: they need not be replayed.
bool may_reject(const json& vector) {
  const auto of = [](const json& holder) {
    const auto config = holder.find("config");
    return config != holder.end() && rejects(config->value("topologyManagerPolicy", "none"));
  };
  if (of(vector)) return true;
  for (const json& step : vector.value("steps", json::array())) {
    if (of(step)) return true;
  }
  return false;
}

class Truth {
 public:
  Result<void> add(const json& vector) {
    if (!may_reject(vector)) return {};
    return simulate::for_each_arrival(vector, Profile::kKubelet136, [&](const Arrival& arrival) {
      if (arrival.expected.is_null()) return;
      if (!rejects(arrival.node.config().topology_manager_policy)) return;
      look_at(vector.value("name", ""), arrival);
    });
  }

  [[nodiscard]] int finish() const {
    fmt::print("{:8} admissions under restricted and single-numa-node\n", all_);
    fmt::print("{:8} predicted wrongly from the node's state\n", wrong_from_state_);
    fmt::print("{:8} of them of pods that the node runs already: not a question for a scheduler\n",
               again_);
    fmt::print("{:8} predicted from NodeResourceTopology alone\n", all_ - again_);
    fmt::print("{:8} as the kubelet decided\n", agree_);
    for (const auto& [reason, count] : beyond_) {
      fmt::print("{:8} admitted by the topology manager as predicted, then rejected: {}\n", count,
                 reason);
    }
    fmt::print("\n");
    fmt::print("{:42} {:>13} {:>13}\n", "differences by cause", "admits, does", "rejects, does");
    fmt::print("{:42} {:>13} {:>13}\n", "", "not fit", "fit");
    for (std::size_t i = 0; i < kCauses; ++i) {
      fmt::print("{:42} {:>13} {:>13}\n", kCauseNames[i], differences_[i][1], differences_[i][0]);
    }
    const auto& unknown = differences_[static_cast<std::size_t>(Cause::kNone)];
    const bool good = all_ > 0 && wrong_from_state_ == 0 && unknown[0] + unknown[1] == 0;
    return good ? 0 : 1;
  }

 private:
  void look_at(const std::string& name, const Arrival& arrival) {
    ++all_;
    const Compared compared = compare_predictions(arrival);
    if (compared.from_state != compared.observed) {
      ++wrong_from_state_;
      fmt::print("{}: pod {}: wrong from the node's state\n", name, arrival.pod.uid);
    }
    if (arrival.state.find(arrival.pod.uid) != nullptr) {
      ++again_;
      return;
    }
    if (compared.from_zones == compared.observed) {
      ++agree_;
      return;
    }
    if (compared.from_zones && !is_topology_rejection(arrival)) {
      ++beyond_[arrival.expected.at("reason")];
      return;
    }
    const Cause cause = explain_difference(arrival);
    ++differences_[static_cast<std::size_t>(cause)][compared.from_zones ? 1 : 0];
    if (cause != Cause::kNone) return;
    fmt::print("{}: pod {}: predicted to be {}, no known cause\n", name, arrival.pod.uid,
               compared.from_zones ? "admitted" : "rejected");
  }

  int all_ = 0;
  int wrong_from_state_ = 0;
  int again_ = 0;
  int agree_ = 0;
  std::map<std::string, int> beyond_;  ///< rejected after the topology manager, by reason
  std::array<std::array<int, 2>, kCauses> differences_{};  ///< by cause and by what was predicted
};

}  // namespace
}  // namespace pinfold::test

int main(int count, char** files) {
  return pinfold::test::run_over_vectors<pinfold::test::Truth>(count, files);
}
