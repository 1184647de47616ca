#include "pinfold/simulate/simulate.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "outcome.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::simulate {
namespace {

using checkpoint::ContainerIds;
using checkpoint::KubeletFiles;
using nlohmann::json;

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}

Result<std::string> text(const json& object, const char* key) {
  const json* const value = object.is_object() ? member(object, key) : nullptr;
  if (value == nullptr) return malformed(fmt::format("{}: missing: expected a string", key));
  if (!value->is_string()) return fail_field(key, *value, "expected a string");
  return value->get<std::string>();
}

/// Returns the text of a member; nullopt if it is absent.
Result<std::optional<std::string>> optional_text(const json& object, const char* key) {
  if (member(object, key) == nullptr) return std::nullopt;
  PINFOLD_LET(auto value, text(object, key));
  return std::optional(std::move(value));
}

/// Returns a member that must be a list; an empty list if it is absent.
Result<const json*> list(const json& object, const char* key) {
  static const json kNone = json::array();
  const json* const value = member(object, key);
  if (value == nullptr) return &kNone;
  if (!value->is_array()) return fail_field(key, *value, "expected a list");
  return value;
}

json files_json(const KubeletFiles& files) {
  json out = json::object();
  if (files.cpu) out["cpu_manager_state"] = *files.cpu;
  if (files.memory) out["memory_manager_state"] = *files.memory;
  return out;
}

json error_json(const StartError& error) {
  return {{"stage", to_string(error.stage)}, {"error", error.error}};
}

/// One kubelet with its files and pods, on which the steps of a vector are replayed.
class HistoryReplay {
 public:
  explicit HistoryReplay(Profile profile) : profile_(profile) {}

  Result<json> play(const json& vector) {
    if (!vector.is_object()) return fail_field("vector", vector, "expected an object");
    PINFOLD_LET(const auto name, optional_text(vector, "name"));
    PINFOLD_LET(const auto group, optional_text(vector, "group"));
    PINFOLD_LET_WRAP(auto out, replay(vector), fmt::format("vector '{}'", name.value_or("")));
    out["name"] = name.value_or("");
    out["group"] = group.value_or("");
    return out;
  }

  std::vector<std::uint64_t> admission_ns;
  std::function<void(const Arrival&)> on_arrival = nullptr;

 private:
  Result<json> replay(const json& vector) {
    PINFOLD_TRY(load(vector));
    json out = json::object();
    if (auto started = start(); !started) {
      out["startError"] = error_json(started.error());
      out["start"] = {{"checkpoints", files_json(files_)}};
      return out;
    }
    out["start"] = {{"defaultCpuSet", state_.cpu.default_set.to_string()},
                    {"checkpoints", files_json(files_)}};
    json& expect = out["expect"] = json::array();
    PINFOLD_LET(const auto steps, list(vector, "steps"));
    PINFOLD_LET(const auto expected, list(vector, "expect"));
    for (std::size_t i = 0; i < steps->size(); ++i) {
      expected_ = i < expected->size() ? (*expected)[i] : json();
      PINFOLD_LET_WRAP(auto done, step((*steps)[i]), fmt::format("steps[{}]", i));
      done["checkpoints"] = files_json(files_);
      expect.push_back(std::move(done));
    }
    return out;
  }

  Result<void> load(const json& vector) {
    const json* const node = member(vector, "node");
    if (node == nullptr) return malformed("node: missing: expected a machine");
    PINFOLD_LET(machine_, Machine::from_json(*node));
    const json* const source = member(vector, "source");
    follows_draft_ = source != nullptr && source->is_string() &&
                     source->get_ref<const std::string&>().starts_with("KEP draft");
    const json* const config = member(vector, "config");
    PINFOLD_TRY(set_config(config == nullptr ? json::object() : *config));
    if (const json* const files = member(vector, "initialFiles")) {
      if (!files->is_object()) return fail_field("initialFiles", *files, "expected an object");
      PINFOLD_LET_WRAP(files_.cpu, optional_text(*files, "cpu_manager_state"), "initialFiles");
      PINFOLD_LET_WRAP(files_.memory, optional_text(*files, "memory_manager_state"),
                       "initialFiles");
    }
    PINFOLD_LET(const auto pods, list(vector, "initialPods"));
    for (const json& item : *pods) {
      PINFOLD_LET_WRAP(auto pod, pod_from_json(item), "initialPods");
      pods_.push_back({std::move(pod), {}});
    }
    return load_containers(vector);
  }

  Result<void> load_containers(const json& vector) {
    PINFOLD_LET(const auto containers, list(vector, "initialContainers"));
    for (const json& item : *containers) {
      const auto uid = text(item, "podUID");
      const auto name = text(item, "container");
      const auto id = text(item, "id");
      for (const auto* field : {&uid, &name, &id}) {
        if (!*field) return fail(Error(field->error()).wrap("initialContainers"));
      }
      ids_[*id] = {PodUid(*uid), *name};
      for (auto pod = pods_.begin(); pod != pods_.end(); ++pod) {
        if (pod->spec.uid.value == *uid) pods_.edit_started(pod).insert(*name);
      }
    }
    return {};
  }

  Result<void> set_config(const json& document) {
    PINFOLD_LET_WRAP(auto parsed, config_from_json(document), "config");
    config_ = std::move(parsed.config);
    config_.profile = profile_;
    config_.knows_draft_options = follows_draft_;
    return {};
  }

  tl::expected<void, StartError> start() {
    node_.reset();
    PINFOLD_LET(auto node, Node::make(*machine_, config_));
    PINFOLD_LET(state_, checkpoint::start(node, files_, ids_));
    state_.pods = pods_;
    state_.devices = devices_;
    state_.devices.reusable.clear();  // the kubelet only stores assignments
    node_ = std::move(node);
    return {};
  }

  Result<json> step(const json& item) {
    PINFOLD_LET(const auto op, text(item, "op"));
    if (op == "restart") return restart(item);
    if (!node_) return malformed("op: only 'restart' can follow a start that failed");
    if (op == "sourcesReady") {
      state_.pods_are_unknown = false;
      return json{{"ok", true}, {"defaultCpuSet", state_.cpu.default_set.to_string()}};
    }
    NodeState before = state_;
    Result<json> out =
        op == "admit"    ? admit(item)
        : op == "remove" ? remove(item)
        : op == "removePod"
            ? remove_whole_pod(item)
            : fail_field("op", op, "expected admit, remove, removePod, restart or sourcesReady");
    if (!out) return out;
    checkpoint::update(*node_, before, state_, files_);
    pods_ = state_.pods;
    devices_ = state_.devices;
    if (failed_start_) node_->devices().remove_container(devices_, *failed_start_);
    failed_start_.reset();
    (*out)["defaultCpuSet"] = state_.cpu.default_set.to_string();
    return out;
  }

  Result<json> restart(const json& item) {
    if (const auto config = item.find("config"); config != item.end()) {
      PINFOLD_TRY(set_config(*config));
    }
    if (auto started = start(); !started) {
      json out = error_json(started.error());
      out["ok"] = false;
      return out;
    }
    // The observed kubelet's sources are ready when it starts, unless the step says otherwise.
    const json* const ready = member(item, "sourcesReady");
    state_.pods_are_unknown = ready != nullptr && *ready == false;
    return json{{"ok", true}, {"defaultCpuSet", state_.cpu.default_set.to_string()}};
  }

  Result<json> admit(const json& item) {
    const auto document = item.find("pod");
    if (document == item.end()) return malformed("pod: missing: expected a Pod");
    PINFOLD_LET_WRAP(auto pod, pod_from_json(*document), "pod");

    if (on_arrival) on_arrival({*node_, state_, pod, expected_});
    const auto begin = std::chrono::steady_clock::now();
    Decision decision = decide(*node_, std::move(state_), pod);
    const auto took = std::chrono::steady_clock::now() - begin;
    admission_ns.push_back(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));

    json out;
    if (auto* rejected = std::get_if<Rejected>(&decision)) {
      out = {{"admitted", false},
             {"reason", rejected->why.reason},
             {"message", rejected->why.message}};
      put_hints(out, rejected->hints);
      state_ = std::move(rejected->next);
      return out;
    }
    auto& admitted = std::get<Admitted>(decision);
    state_ = std::move(admitted.next);
    out = {{"admitted", true}, {"qosClass", to_string(qos_class(pod, node_->gates()))}};
    put_hints(out, admitted.hints);
    PINFOLD_TRY(start_containers(pod, out));
    return out;
  }

  // Starts the containers in order and records the resources of each at that moment.
  Result<void> start_containers(const PodSpec& pod, json& out) {
    for (const Container& container : pod.containers) {
      const ContainerId id{pod.uid, container.name};
      if (auto started = start_in_place(*node_, state_, id); !started) {
        out["error"] = started.error().message;
        failed_start_ = id;
        break;
      }
      PINFOLD_LET(auto resources, container_resources(*node_, state_, id));
      out["containers"][container.name] = container_json(*node_, resources);
    }
    PINFOLD_LET(auto own, pod_resources(*node_, state_, pod.uid));
    out["pod"] = pod_linux_json(own);
    if (const auto cpus = state_.cpu.pods.find(pod.uid); cpus != state_.cpu.pods.end()) {
      out["podCpus"] = cpus->second.to_string();
    }
    if (const auto blocks = state_.memory.pods.find(pod.uid); blocks != state_.memory.pods.end()) {
      out["podMemory"] = blocks_json(blocks->second);
    }
    return {};
  }

  void put_hints(json& out, const HintsByObject& hints) const {
    if (node_->topology().policy() == TopologyPolicy::kNone) return;
    out["hints"] = hints_json(node_->machine(), hints);
  }

  Result<json> remove(const json& item) {
    PINFOLD_LET(auto uid, text(item, "podUID"));
    PINFOLD_LET(auto name, text(item, "container"));
    const ContainerId container{PodUid(std::move(uid)), std::move(name)};
    state_ = remove_container(*node_, std::move(state_), container);
    return json{{"ok", true}};
  }

  Result<json> remove_whole_pod(const json& item) {
    PINFOLD_LET(auto uid, text(item, "podUID"));
    state_ = remove_pod(*node_, std::move(state_), PodUid(std::move(uid)));
    return json{{"ok", true}};
  }

  bool follows_draft_ = false;  ///< the vector was not observed on a kubelet
  Profile profile_;
  std::optional<Machine> machine_;
  Config config_;
  std::optional<Node> node_;  // nullopt after a failed start
  NodeState state_;
  KubeletFiles files_;
  // A restart also keeps the active pods and the devices, which the kubelet's device manager stores
  // in a separate file. It does not keep devices that a container took in this step before its
  // start failed.
  ActivePods pods_;
  DeviceState devices_;
  std::optional<ContainerId> failed_start_;
  ContainerIds ids_;
  json expected_;  // the expected result of the current step
};

}  // namespace

Result<json> play(const json& vector, Profile profile) {
  return HistoryReplay(profile).play(vector);
}

Result<void> for_each_arrival(const json& vector, Profile profile,
                              const std::function<void(const Arrival&)>& visit) {
  HistoryReplay replay(profile);
  replay.on_arrival = visit;
  PINFOLD_TRY(replay.play(vector));
  return {};
}

Result<std::vector<std::uint64_t>> time_admissions(const json& vector, Profile profile,
                                                   int rounds) {
  std::vector<std::uint64_t> all;
  for (int round = 0; round < rounds; ++round) {
    HistoryReplay replay(profile);
    PINFOLD_TRY(replay.play(vector));
    all.insert(all.end(), replay.admission_ns.begin(), replay.admission_ns.end());
  }
  return all;
}

}  // namespace pinfold::simulate
