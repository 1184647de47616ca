#include "pinfold/agent/earlier_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "pinfold/agent/known_machine.hpp"
#include "pinfold/checkpoint/start.hpp"
#include "pinfold/decide/fields.hpp"

namespace pinfold::agent {

std::vector<std::string> differences(const Machine& machine_before, const Config& config_before,
                                     const Machine& machine_after, const Config& config_after) {
  std::vector<std::string> out;
  const bool counts = memory_sizes_of(config_before) == MemorySizes::kCount ||
                      memory_sizes_of(config_after) == MemorySizes::kCount;
  for (const std::string& line : machine_differences(
           machine_before, machine_after, counts ? MemorySizes::kCount : MemorySizes::kIgnored)) {
    out.push_back("machine: " + line);
  }
  const auto before = to_json(config_before).flatten();
  const auto after = to_json(config_after).flatten();
  const auto text = [](const nlohmann::json& config, const std::string& key) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) return std::string("not set");
    return found->is_string() ? fmt::format("'{}'", found->get<std::string>()) : found->dump();
  };
  std::set<std::string> keys;
  for (const auto& config : {before, after}) {
    for (const auto& [key, value] : config.items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const std::string was = text(before, key);
    const std::string is = text(after, key);
    if (was == is) continue;
    std::string name = key.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    out.push_back(fmt::format("{}: {} becomes {}", name, was, is));
  }
  return out;
}

Result<NodeState> earlier_state(const EarlierNode& before, const NodeState& now, const Node& to) {
  checkpoint::KubeletFiles files = before.files;
  auto started = checkpoint::start(to, files, {});
  if (!started) {
    return fail(ErrorCode::kCorrupt, "start: " + checkpoint::cause_of(started.error(), {}));
  }
  NodeState state = *std::move(started);
  state.devices = now.devices;
  state.providers = now.providers;
  state.pods = now.pods;
  state.held = now.held;
  state.held_names = now.held_names;
  to.cpu().move_baselines(before.baselines, state.cpu);
  to.cpu().move_baselines(now.cpu.baselines, state.cpu);
  return release_stale(to, std::move(state));
}

enforce::Layout earlier_layout(const std::shared_ptr<const EarlierNode>& before,
                               const AgentState& now) {
  if (!before) return {};
  const auto node = make_node(before->machine, before->config);
  if (!node) return {};
  auto state = earlier_state(*before, now.node, *node);
  if (!state) return {};
  AgentState earlier = now;
  earlier.node = *std::move(state);
  return desired_layout(*node, earlier, {});
}

}  // namespace pinfold::agent
