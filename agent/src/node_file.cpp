#include "pinfold/agent/node_file.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/checkpoint/sealed.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::agent {
namespace {

using Json = nlohmann::json;

std::string_view kind() { return checkpoint::kNodeFileName.substr(1); }

Json node_json(const Machine& machine, const Config& config) {
  return {{"config", to_json(config)}, {"machine", machine.to_json()}};
}

Json before_json(const EarlierNode& before) {
  Json object = node_json(before.machine, before.config);
  if (before.files.cpu) object[checkpoint::kCpuFileName] = *before.files.cpu;
  if (before.files.memory) object[checkpoint::kMemoryFileName] = *before.files.memory;
  Json& pods = object["pods"] = Json::array();
  for (const PodUid& uid : before.pods) pods.push_back(uid.value);
  for (const auto& entry : before.baselines) {
    const ContainerId& id = entry.id();
    object["baselines"][id.pod.value][id.name] = entry.value.to_string();
  }
  return object;
}

/// Reads a member that node_json() wrote. Throws Json::exception if it is missing.
Result<Machine> read_machine(const Json& object) {
  PINFOLD_LET_WRAP(auto machine, parse_machine(object.at("machine").dump()), "machine");
  return machine;
}
Result<Config> read_config(const Json& object) {
  PINFOLD_LET_WRAP(auto parsed, config_from_json(object.at("config")), "config");
  return std::move(parsed.config);
}

std::optional<std::string> read_state_file(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() ? std::nullopt : std::optional(found->get<std::string>());
}

Result<std::shared_ptr<const EarlierNode>> read_before(const Json& object) {
  auto machine = read_machine(object);
  if (!machine) return tl::unexpected(std::move(machine).error());
  auto config = read_config(object);
  if (!config) return tl::unexpected(std::move(config).error());
  auto before = std::make_shared<EarlierNode>(
      EarlierNode{*std::move(machine),
                  *std::move(config),
                  {read_state_file(object, checkpoint::kCpuFileName),
                   read_state_file(object, checkpoint::kMemoryFileName)},
                  {},
                  {}});
  for (const Json& uid : object.at("pods")) before->pods.emplace(uid.get<std::string>());
  const Json baselines = object.value("baselines", Json::object());
  for (const auto& [uid, containers] : baselines.items()) {
    for (const auto& [name, list] : containers.items()) {
      const ContainerId container{PodUid(uid), name};
      PINFOLD_LET_WRAP(before->baselines[container], CpuSet::parse(list.get<std::string>()),
                       "baselines");
    }
  }
  return before;
}

Result<StoredNode> read_node(const Json& object) {
  auto machine = read_machine(object);
  if (!machine) return tl::unexpected(std::move(machine).error());
  auto config = read_config(object);
  if (!config) return tl::unexpected(std::move(config).error());
  StoredNode node{*std::move(machine), *std::move(config), nullptr};
  if (object.contains("before")) {
    PINFOLD_LET_WRAP(node.before, read_before(object.at("before")), "before");
  }
  return node;
}

}  // namespace

std::string encode_node(const Machine& machine, const Config& config,
                        const std::shared_ptr<const EarlierNode>& before) {
  Json object = node_json(machine, config);
  if (before) object["before"] = before_json(*before);
  return checkpoint::seal(kind(), object.dump());
}

Result<StoredNode> decode_node(std::string_view text) {
  PINFOLD_LET(const auto body, checkpoint::unseal(kind(), text));
  const Json object = Json::parse(body, nullptr, false);
  try {
    auto node = read_node(object);
    if (node) return node;
    return fail(ErrorCode::kCorrupt, node.error().message);
  } catch (const Json::exception&) {
    return fail(ErrorCode::kCorrupt, "a member is missing or has another type than expected");
  }
}

}  // namespace pinfold::agent
