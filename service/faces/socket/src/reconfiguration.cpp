#include "reconfiguration.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "members.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::socket {
namespace {

using nlohmann::json;

constexpr auto kAnyNumber = std::numeric_limits<std::uint64_t>::max();

constexpr std::array kChanges = {pinfold::Change::kKept,
                                 pinfold::Change::kMoved,
                                 pinfold::Change::kBecomesExclusive,
                                 pinfold::Change::kBecomesShared,
                                 pinfold::Change::kKeptAgainstRules,
                                 pinfold::Change::kEvicted};

pinfold::Change read_change_of(Members& members) {
  const std::string name = members.text("change");
  for (const pinfold::Change change : kChanges) {
    if (to_string(change) == name) return change;
  }
  members.fail_at("change", name, "expected the name of a change");
  return pinfold::Change::kKept;
}

/// null means the shared pool.
std::optional<CpuSet> read_cpus(Members& members, const char* key) {
  if (members.find(key) == nullptr) return std::nullopt;
  return members.cpu_set(key);
}

Result<MemoryBlock> read_block(const json& value, const std::string& path) {
  Members members(value, path);
  MemoryBlock block;
  block.type = members.text("type");
  for (const json& id : members.list("numaNodes")) {
    const bool is_id = id.is_number_unsigned() &&
                       id.get<std::uint64_t>() <= std::numeric_limits<std::int32_t>::max();
    if (is_id) block.numa_affinity.push_back(id.get<std::int32_t>());
    if (!is_id) members.fail_at("numaNodes", id, "expected the number of a NUMA node");
  }
  block.size = members.number("bytes", kAnyNumber);
  PINFOLD_TRY(members.end());
  return block;
}

std::vector<MemoryBlock> read_blocks(Members& members, const char* key) {
  std::vector<MemoryBlock> blocks;
  for (const json& value : members.list(key)) {
    auto block = read_block(value, members.path(fmt::format("{}[{}]", key, blocks.size())));
    if (!members.ok(block)) return {};
    blocks.push_back(*std::move(block));
  }
  return blocks;
}

Rejection read_rejection(Members& members) {
  return {members.text("reason"), members.text("message"), ""};
}

std::optional<Rejection> read_optional_rejection(Members& members, const char* key) {
  const json* const value = members.find(key);
  if (value == nullptr) return std::nullopt;
  Members rejection(*value, members.path(key));
  Rejection out = read_rejection(rejection);
  (void)members.ok(rejection.end());
  return out;
}

std::optional<agent::Room> read_room(Members& members) {
  const json* const value = members.find("room");
  if (value == nullptr) return std::nullopt;
  Members room(*value, members.path("room"));
  agent::Room out;
  out.pod = room.text("pod");
  out.is_active = room.flag("active");
  out.is_possible = room.flag("possible");
  out.rejection = read_optional_rejection(room, "rejection");
  out.limit = read_optional_rejection(room, "limit");
  (void)members.ok(room.end());
  return out;
}

void add_name(Members& members, const PodUid& uid, agent::Reconfiguration& planned) {
  std::string name = members.text("pod");
  if (name != uid.value) planned.pods.insert_or_assign(uid, std::move(name));
}

/// Reads one container; also its pod's name, and whether it is parked, into `planned`.
Result<PlannedContainer> read_planned(const json& value, const std::string& path,
                                      agent::Reconfiguration& planned) {
  Members members(value, path);
  PlannedContainer container;
  container.id = {PodUid(members.text("uid")), members.text("container")};
  add_name(members, container.id.pod, planned);
  container.change = read_change_of(members);
  container.cpus_before = read_cpus(members, "cpusBefore");
  container.cpus_after = read_cpus(members, "cpusAfter");
  container.memory_before = read_blocks(members, "memoryBefore");
  container.memory_after = read_blocks(members, "memoryAfter");
  container.cpus_moved = members.number("cpusMoved", kAnyNumber);
  container.bytes_moved = members.number("bytesMoved", kAnyNumber);
  if (members.flag("parked")) planned.parked.push_back(container.id);
  container.why = members.text("why");
  if (auto steps = members.texts("steps"); !steps.empty()) {
    planned.steps[container.id] = std::move(steps);
  }
  if (members.find("reason") != nullptr) {
    container.rejection = read_rejection(members);
  }
  PINFOLD_TRY(members.end());
  return container;
}

Result<ShortOfRequests> read_short_of_requests(const json& value, const std::string& path,
                                               agent::Reconfiguration& planned) {
  Members members(value, path);
  ShortOfRequests out{PodUid(members.text("uid")), read_rejection(members)};
  add_name(members, out.pod, planned);
  PINFOLD_TRY(members.end());
  return out;
}

/// Reads a time in seconds; null means none.
std::optional<std::chrono::nanoseconds> read_time(Members& members, const char* key) {
  const json* const value = members.find(key);
  if (value == nullptr) return std::nullopt;
  constexpr double kMost = 1e6;
  const double seconds = value->is_number() ? value->get<double>() : -1;
  if (!(seconds >= 0 && seconds <= kMost)) {
    members.fail_at(key, *value, "expected a number of seconds from 0 to 1000000");
    return std::nullopt;
  }
  constexpr double kNanoseconds = 1e9;
  return std::chrono::nanoseconds(std::llround(seconds * kNanoseconds));
}

PlanCost read_cost(Members& members) {
  Members cost(members.get("cost"), members.path("cost"));
  PlanCost out;
  out.pods_evicted = cost.number("podsEvicted", kAnyNumber);
  out.pods_against_rules = cost.number("podsAgainstRules", kAnyNumber);
  out.containers_moved = cost.number("containersMoved", kAnyNumber);
  out.cpus_moved = cost.number("cpusMoved", kAnyNumber);
  out.bytes_moved = cost.number("bytesMoved", kAnyNumber);
  (void)members.ok(cost.end());
  return out;
}

std::optional<Machine> read_machine(Members& members) {
  auto machine = Machine::from_json(members.get("machine"));
  if (machine) return *std::move(machine);
  (void)members.ok(
      Result<void>(tl::unexpected(std::move(machine).error().wrap(members.path("machine")))));
  return std::nullopt;
}

std::optional<verbs::NodeParts> read_node_parts(Members& members, const char* key) {
  const json* const value = members.find(key);
  if (value == nullptr) return std::nullopt;
  Members parts(*value, members.path(key));
  std::optional<Machine> machine = read_machine(parts);
  auto config = config_from_json(parts.get("config"));
  if (!config) {
    Error error = config.error();
    config = tl::unexpected(std::move(error).wrap(parts.path("config")));
  }
  const bool is_ok = parts.ok(config) && machine;
  if (!members.ok(parts.end()) || !is_ok) return std::nullopt;
  return verbs::NodeParts{*std::move(machine), std::move(config->config)};
}

Result<agent::Reconfiguration> read_plan(const json& value, const std::string& path) {
  Members members(value, path);
  agent::Reconfiguration planned;
  planned.differences = members.texts("differences");
  for (const json& entry : members.list("containers")) {
    const std::string name =
        members.path(fmt::format("containers[{}]", planned.plan.containers.size()));
    PINFOLD_LET(planned.plan.containers.emplace_back(), read_planned(entry, name, planned));
  }
  for (std::string& uid : members.texts("evicted")) {
    planned.plan.evicted.emplace_back(std::move(uid));
  }
  planned.plan.cost = read_cost(members);
  planned.plan.optimal = members.flag("optimal");
  for (const json& entry : members.list("shortOfRequests")) {
    const std::string name =
        members.path(fmt::format("shortOfRequests[{}]", planned.plan.short_of_requests.size()));
    PINFOLD_LET(planned.plan.short_of_requests.emplace_back(),
                read_short_of_requests(entry, name, planned));
  }
  planned.is_undo = members.flag("undo");
  PINFOLD_TRY(members.end());
  return planned;
}

Result<std::vector<agent::MeasuredContainer>> read_measured(const json& value,
                                                            const std::string& path,
                                                            agent::Reconfiguration& planned) {
  std::vector<agent::MeasuredContainer> measured;
  if (!value.is_array()) return fail_field(path, value, "expected a list");
  for (const json& entry : value) {
    Members members(entry, fmt::format("{}[{}]", path, measured.size()));
    agent::MeasuredContainer container;
    container.id = {PodUid(members.text("uid")), members.text("container")};
    add_name(members, container.id.pod, planned);
    container.parked = read_time(members, "parkedSeconds");
    container.moving_pages = read_time(members, "movingPagesSeconds");
    container.bytes_moved = members.number("bytesMoved", kAnyNumber);
    PINFOLD_TRY(members.end());
    measured.push_back(std::move(container));
  }
  return measured;
}

json rejection_json(const Rejection& rejection) {
  return {{"reason", rejection.reason}, {"message", rejection.message}};
}

json room_json(const agent::Room& room) {
  json out = {{"pod", room.pod}, {"active", room.is_active}, {"possible", room.is_possible}};
  if (room.rejection) out["rejection"] = rejection_json(*room.rejection);
  if (room.limit) out["limit"] = rejection_json(*room.limit);
  return out;
}

}  // namespace

json to_json(const verbs::Reconfigure& request) {
  json body = {{"evict", to_string(request.evict)},
               {"kill", request.running == agent::RunningProcesses::kKill},
               {"undo", request.undo},
               {"dryRun", request.dry_run}};
  if (request.config) body["config"] = *request.config;
  if (request.machine) body["machine"] = request.machine->to_json();
  return body;
}

Result<verbs::Reconfigure> reconfigure_from(Members& members) {
  verbs::Reconfigure request;
  if (members.find("config") != nullptr) request.config = members.text("config");
  if (members.find("machine") != nullptr) request.machine = read_machine(members);
  if (members.find("evict") != nullptr) {
    const std::string name = members.text("evict");
    const auto evict = verbs::parse_evict(name);
    if (!evict) members.fail_at("evict", name, "expected 'none', 'lost' or 'rejected'");
    request.evict = evict.value_or(verbs::Evict::kNone);
  }
  if (members.flag("kill")) request.running = agent::RunningProcesses::kKill;
  request.undo = members.flag("undo");
  request.dry_run = members.flag("dryRun");
  PINFOLD_TRY(members.end());
  return request;
}

json to_json(const verbs::Reconfigured& outcome) {
  json body = {{"plan", verbs::to_json(outcome.planned)},
               {"applied", outcome.is_applied},
               {"measured", verbs::measured_json(outcome)}};
  if (outcome.planned.room) body["room"] = room_json(*outcome.planned.room);
  if (outcome.other_node) {
    body["otherNode"] = {{"machine", outcome.other_node->machine.to_json()},
                         {"config", pinfold::to_json(outcome.other_node->config)}};
  }
  return body;
}

verbs::Reconfigured reconfigured_from(Members& members) {
  verbs::Reconfigured outcome;
  auto planned = read_plan(members.get("plan"), members.path("plan"));
  if (members.ok(planned)) outcome.planned = *std::move(planned);
  outcome.planned.room = read_room(members);
  outcome.is_applied = members.flag("applied");
  outcome.other_node = read_node_parts(members, "otherNode");
  auto measured = read_measured(members.get("measured"), members.path("measured"), outcome.planned);
  if (members.ok(measured)) outcome.change.measured = *std::move(measured);
  return outcome;
}

}  // namespace pinfold::socket
