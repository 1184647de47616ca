#include "pinfold/agent/pods_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/api/pod.hpp"
#include "pinfold/checkpoint/sealed.hpp"
#include "pinfold/decide/stale.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::agent {
namespace {

using nlohmann::json;

constexpr std::string_view kPodsKind = "pinfold_pods";
constexpr int kPodsVersion = 1;

tl::unexpected<Error> bad(const std::string& where, const json& value, std::string_view expected) {
  std::string text = value.dump();
  constexpr std::size_t kShown = 80;
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return fail(ErrorCode::kCorrupt, fmt::format("{}: '{}': expected {}", where, text, expected));
}

const json& member(const json& object, const char* name) {
  static const json kNull;
  const auto it = object.find(name);
  return it == object.end() ? kNull : *it;
}

/// Dumps a value. Invalid UTF-8 in a provider's state is replaced, so that the admission succeeds.
std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Reads a list of names of the pod's containers.
Result<std::set<std::string>> read_names(const json& list, const PodSpec& pod,
                                         const std::string& where) {
  std::set<std::string> names;
  if (list.is_null()) return names;
  if (!list.is_array()) return bad(where, list, "a list of container names");
  const auto known = container_names(pod);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_known =
        list[i].is_string() && known.contains(list[i].get_ref<const std::string&>());
    if (!is_known) {
      return bad(fmt::format("{}[{}]", where, i), list[i], "the name of a container of this pod");
    }
    names.insert(list[i].get<std::string>());
  }
  return names;
}

Result<DeviceState::OfContainer> read_devices(const json& object, const std::string& where) {
  DeviceState::OfContainer out;
  if (!object.is_object()) return bad(where, object, "resource names to lists of device ids");
  for (const auto& [resource, ids] : object.items()) {
    const std::string here = fmt::format("{}.'{}'", where, resource);
    if (!ids.is_array()) return bad(here, ids, "a list of device ids");
    for (const json& id : ids) {
      if (!id.is_string()) return bad(here, id, "a device id");
      out[resource].push_back(id.get<std::string>());
    }
  }
  return out;
}

/// Reads the names of some of a pod's adopted containers.
Result<void> read_adopted_names(const json& names, const PodUid& uid, const std::string& where,
                                const AgentState& state, std::set<ContainerId>& containers) {
  if (names.is_null()) return {};
  if (!names.is_array()) return bad(where, names, "a list of container names");
  for (const json& name : names) {
    const bool is_good =
        name.is_string() && state.adopted.contains({uid, name.get_ref<const std::string&>()});
    if (!is_good) return bad(where, name, "a container with an adopted group");
    containers.insert({uid, name.get<std::string>()});
  }
  return {};
}

/// Reads the process that makes the first container of a pod.
Result<void> read_creator(const json& creator, const PodUid& uid, const std::string& where,
                          AgentState& state) {
  if (creator.is_null()) return {};
  const json& pid = member(creator, "pid");
  const json& start_time = member(creator, "startTime");
  const bool is_good = creator.is_object() && pid.is_number_integer() && pid > 0 &&
                       pid <= std::numeric_limits<pid_t>::max() && start_time.is_number_unsigned();
  if (!is_good) return bad(where, creator, "a process id and its start time");
  state.creators[uid] = {pid.get<pid_t>(), start_time.get<std::uint64_t>()};
  return {};
}

/// Reads the groups that container runtimes made, and whether the pod ends with them.
Result<void> read_adopted(const json& entry, const PodSpec& pod, const std::string& where,
                          AgentState& state) {
  const json& adopted = member(entry, "adopted");
  if (!adopted.is_null()) {
    if (!adopted.is_object()) return bad(where + ".adopted", adopted, "an object");
    const auto known = container_names(pod);
    for (const auto& [container, directory] : adopted.items()) {
      const bool is_good = known.contains(container) && directory.is_string() &&
                           directory.get_ref<const std::string&>().starts_with('/');
      if (!is_good) {
        return bad(fmt::format("{}.adopted.'{}'", where, container), directory,
                   "a container of this pod and an absolute path");
      }
      state.adopted[{pod.uid, container}] = directory.get<std::string>();
    }
  }
  const json& ending = member(entry, "ending");
  if (!ending.is_null() && !ending.is_boolean()) return bad(where + ".ending", ending, "a boolean");
  if (ending == true) state.ending.insert(pod.uid);
  PINFOLD_TRY(read_creator(member(entry, "creator"), pod.uid, where + ".creator", state));
  PINFOLD_TRY(read_adopted_names(member(entry, "endWithGroup"), pod.uid, where + ".endWithGroup",
                                 state, state.end_with_group));
  return read_adopted_names(member(entry, "unread"), pod.uid, where + ".unread", state,
                            state.unread);
}

/// Reads a container runtime's note about the pod.
Result<std::optional<PodNote>> read_note(const json& note, const std::string& where) {
  if (note.is_null()) return std::nullopt;
  const json& qos = member(note, "qosClass");
  const json& why = member(note, "whyShared");
  const json& level = member(note, "quiet");
  PodNote out;
  for (const QosClass known :
       {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort}) {
    if (qos == to_string(known)) out.qos = known;
  }
  const bool is_good =
      note.is_object() && (qos.is_null() || out.qos) && (why.is_null() || why.is_string());
  if (!is_good) return bad(where, note, "a QoS class and why the pod is shared");
  if (!level.is_null()) {
    const auto read = quiet::parse_quiet_level(level.is_string() ? level.get<std::string>() : "");
    if (!read) return bad(where + ".quiet", level, "off, interrupts, system or isolated");
    out.quiet = *read;
  }
  if (why.is_string()) out.why_shared = why.get<std::string>();
  return out;
}

/// Reads the CPUs that a resize must not take. Without an assignment of the container they have no
/// meaning.
Result<void> read_baselines(const json& baselines, const PodUid& uid, const std::string& where,
                            CpuState& state) {
  if (baselines.is_null()) return {};
  if (!baselines.is_object()) return bad(where, baselines, "an object");
  for (const auto& [container, list] : baselines.items()) {
    const auto cpus = CpuSet::parse(list.is_string() ? list.get<std::string>() : "");
    if (!cpus || cpus->empty()) {
      return bad(fmt::format("{}.'{}'", where, container), list, "a list of CPUs");
    }
    if (state.assignments.contains(ContainerId{uid, container})) {
      state.baselines[{uid, container}] = *cpus;
    }
  }
  return {};
}

/// Reads the baselines of held pods, for formats of cpu_manager_state that have none. Those in that
/// file are newer.
Result<void> read_held_baselines(const json& pods, CpuState& state) {
  if (pods.is_null()) return {};
  if (!pods.is_object()) return bad("heldBaselines", pods, "an object");
  for (const auto& [uid, baselines] : pods.items()) {
    if (state.baselines.find(PodUid(uid)) != nullptr) continue;
    PINFOLD_TRY(
        read_baselines(baselines, PodUid(uid), fmt::format("heldBaselines.'{}'", uid), state));
  }
  return {};
}

Result<void> read_pod(const json& entry, const std::string& where, AgentState& state) {
  if (!entry.is_object()) return bad(where, entry, "an object");
  auto spec = pod_from_json(member(entry, "pod"));
  if (!spec) {
    return fail(ErrorCode::kCorrupt, fmt::format("{}.pod.{}", where, spec.error().message));
  }
  const PodUid uid = spec->uid;
  if (state.node.find(uid) != nullptr) {
    return bad(where + ".pod.metadata.uid", uid.value, "every pod once");
  }
  PINFOLD_LET(auto started, read_names(member(entry, "started"), *spec, where + ".started"));
  PINFOLD_LET(const auto removed, read_names(member(entry, "removed"), *spec, where + ".removed"));
  const json& devices = member(entry, "devices");
  if (!devices.is_null()) {
    if (!devices.is_object()) return bad(where + ".devices", devices, "an object");
    const auto known = container_names(*spec);
    for (const auto& [container, held] : devices.items()) {
      const ContainerId id{uid, container};
      if (!known.contains(container)) {
        return bad(where + ".devices", container, "the name of a container of this pod");
      }
      PINFOLD_LET(state.node.devices.assignments[id],
                  read_devices(held, fmt::format("{}.devices.{}", where, container)));
    }
  }
  PINFOLD_TRY(
      read_baselines(member(entry, "baselines"), uid, where + ".baselines", state.node.cpu));
  PINFOLD_TRY(read_adopted(entry, *spec, where, state));
  PINFOLD_LET(const auto note, read_note(member(entry, "note"), where + ".note"));
  if (note) state.notes[uid] = *note;
  for (const std::string& container : removed) state.removed.insert({uid, container});
  state.node.pods.push_back({*std::move(spec), std::move(started)});
  return {};
}

Result<void> read_providers(const json& object, AgentState& state) {
  if (object.is_null()) return {};
  if (!object.is_object()) return bad("providers", object, "an object");
  for (const auto& [name, memory] : object.items()) {
    if (!memory.is_string()) return bad("providers." + name, memory, "a string");
    state.node.providers[name] = memory.get<std::string>();
  }
  return {};
}

Result<std::optional<Profile>> read_profile(const json& name) {
  if (name.is_null()) return std::nullopt;
  const auto profile = parse_profile(name.is_string() ? name.get<std::string>() : "");
  if (!profile) return bad("kubeletProfile", name, "the name of a profile");
  return *profile;
}

/// Returns the pods that have an entry in the kubelet's files.
std::set<PodUid> pods_with_entries(const NodeState& state) {
  std::set<PodUid> uids;
  for (const auto& [uid, containers] : state.cpu.assignments.by_pod()) uids.insert(uid);
  for (const auto& [uid, cpus] : state.cpu.pods) uids.insert(uid);
  for (const auto& [uid, containers] : state.memory.assignments.by_pod()) uids.insert(uid);
  for (const auto& [uid, blocks] : state.memory.pods) uids.insert(uid);
  return uids;
}

/// Holds every pod with entries that is neither active nor stale.
Result<void> hold_unknown(const json& stale, NodeState& state) {
  state.held = pods_with_entries(state);
  for (const ActivePod& pod : state.pods) state.held.erase(pod.spec.uid);
  if (stale.is_null()) return {};
  if (!stale.is_array()) return bad("stale", stale, "a list of pod UIDs");
  for (const json& uid : stale) {
    if (!uid.is_string()) return bad("stale", uid, "a pod UID");
    state.held.erase(PodUid(uid.get<std::string>()));
  }
  return {};
}

/// Returns the names of a pod's containers in `all`.
std::vector<std::string> names_of(const std::set<ContainerId>& all, const PodUid& uid) {
  std::vector<std::string> names;
  for (auto one = all.lower_bound({uid, ""}); one != all.end() && one->pod == uid; ++one) {
    names.push_back(one->name);
  }
  return names;
}

const PodUid& pod_of(const ContainerId& id) { return id.pod; }
const PodUid& pod_of(const PodUid& uid) { return uid; }

/// Adds the pods of the elements that only one of two sets has.
template <class Key>
void note_changes(const std::set<Key>& before, const std::set<Key>& after, std::set<PodUid>& pods) {
  std::vector<Key> changed;
  std::set_symmetric_difference(before.begin(), before.end(), after.begin(), after.end(),
                                std::back_inserter(changed));
  for (const Key& key : changed) pods.insert(pod_of(key));
}

/// Adds the pods whose entries in two maps differ.
template <class T>
void note_changes(const std::map<PodUid, T>& before, const std::map<PodUid, T>& after,
                  std::set<PodUid>& pods) {
  if (before == after) return;
  for (const auto* const map : {&before, &after}) {
    const auto& other = map == &before ? after : before;
    for (const auto& [uid, value] : *map) {
      const auto found = other.find(uid);
      if (found == other.end() || !(found->second == value)) pods.insert(uid);
    }
  }
}

template <class T>
void note_changes(const ContainerMap<T>& before, const ContainerMap<T>& after,
                  std::set<PodUid>& pods) {
  ContainerMap<T>::for_each_change(
      before, after, [&](const PodUid& uid, const auto*, const auto*) { pods.insert(uid); });
}

/// Returns the pods whose entries may differ.
std::set<PodUid> changed_pods(const AgentState& before, const AgentState& after) {
  std::set<PodUid> pods;
  ActivePods::for_each_change(before.node.pods, after.node.pods,
                              [&](const ActivePod* old, const ActivePod* now) {
                                pods.insert((old != nullptr ? old : now)->spec.uid);
                              });
  note_changes(before.node.devices.assignments, after.node.devices.assignments, pods);
  note_changes(before.node.cpu.baselines, after.node.cpu.baselines, pods);
  note_changes(before.adopted, after.adopted, pods);
  note_changes(before.removed, after.removed, pods);
  note_changes(before.end_with_group, after.end_with_group, pods);
  note_changes(before.unread, after.unread, pods);
  note_changes(before.ending, after.ending, pods);
  note_changes(before.creators, after.creators, pods);
  note_changes(before.notes, after.notes, pods);
  return pods;
}

json baselines_json(const ContainerMap<CpuSet>::OfPod& baselines) {
  json out = json::object();
  for (const auto& [name, cpus] : baselines) out[name] = cpus.to_string();
  return out;
}

/// Returns the document without pods, split where they belong.
std::pair<std::string, std::string> encode_rest(const AgentState& state) {
  json document = {{"version", kPodsVersion}, {"pods", json::array()}};
  if (const auto stale = stale_pods(state.node); !stale.empty()) {
    for (const PodUid& uid : stale) document["stale"].push_back(uid.value);
  }
  for (const PodUid& uid : state.node.held) {
    const auto* const baselines = state.node.cpu.baselines.find(uid);
    if (baselines != nullptr) document["heldBaselines"][uid.value] = baselines_json(*baselines);
  }
  if (state.kubelet_profile) document["kubeletProfile"] = to_string(*state.kubelet_profile);
  if (!state.node.providers.empty()) document["providers"] = state.node.providers;
  const std::string text = dumped(document);
  // The first match: only texts precede it, because keys are sorted.
  constexpr std::string_view kNoPods = "\"pods\":[]";
  const std::size_t middle = text.find(kNoPods) + kNoPods.size() - 1;
  return {text.substr(0, middle), text.substr(middle)};
}

}  // namespace

PodsEncoder::Rest PodsEncoder::rest_of(const AgentState& state, const PodUid& uid) {
  Rest rest;
  rest.removed = names_of(state.removed, uid);
  rest.end_with_group = names_of(state.end_with_group, uid);
  rest.unread = names_of(state.unread, uid);
  if (const auto* const adopted = state.adopted.find(uid)) rest.adopted = *adopted;
  rest.is_ending = state.ending.contains(uid);
  if (const auto creator = state.creators.find(uid); creator != state.creators.end()) {
    rest.creator = creator->second;
  }
  if (const auto note = state.notes.find(uid); note != state.notes.end()) rest.note = note->second;
  if (const auto* const held = state.node.devices.assignments.find(uid)) rest.devices = *held;
  if (const auto* const cpus = state.node.cpu.baselines.find(uid)) rest.baselines = *cpus;
  return rest;
}

PodsEncoder::Entry PodsEncoder::encode_entry(const AgentState& state, const ActivePod& pod) {
  const Rest rest = rest_of(state, pod.spec.uid);
  json entry = {{"pod", to_json(pod.spec)}, {"started", pod.started}};
  if (!rest.removed.empty()) entry["removed"] = rest.removed;
  if (rest.adopted) entry["adopted"] = *rest.adopted;
  if (!rest.end_with_group.empty()) entry["endWithGroup"] = rest.end_with_group;
  if (!rest.unread.empty()) entry["unread"] = rest.unread;
  if (rest.is_ending) entry["ending"] = true;
  if (rest.creator) {
    entry["creator"] = {{"pid", rest.creator->pid}, {"startTime", rest.creator->start_time}};
  }
  if (rest.note) {
    json& note = entry["note"] = json::object();
    if (rest.note->qos) note["qosClass"] = to_string(*rest.note->qos);
    if (!rest.note->why_shared.empty()) note["whyShared"] = rest.note->why_shared;
    if (rest.note->quiet) note["quiet"] = to_string(*rest.note->quiet);
  }
  if (rest.devices) entry["devices"] = *rest.devices;
  if (rest.baselines) entry["baselines"] = baselines_json(*rest.baselines);
  return {&pod, checkpoint::SummedText("," + dumped(entry))};
}

/// Marks the entries of pods that are not the same in `next`.
void PodsEncoder::drop_changed(const AgentState& next) {
  const ActivePods& pods = last_.node.pods;
  for (const PodUid& uid : changed_pods(last_, next)) {
    const auto pod = pods.find(uid);
    if (pod == pods.end()) continue;
    auto place = static_cast<std::size_t>(pod - pods.begin());
    auto group = groups_.begin();
    while (place >= group->entries.size()) place -= (group++)->entries.size();
    group->entries[place].pod = nullptr;
    group->joined = nullptr;
  }
}

/// Returns whether the next pods are those of a group.
bool PodsEncoder::is_kept(const Group& group, const ActivePods& pods, Pods next) {
  if (group.joined == nullptr || pods.end() - next < std::ssize(group.entries)) return false;
  return std::all_of(group.entries.begin(), group.entries.end(),
                     [&](const Entry& entry) { return entry.pod == &*next++; });
}

/// Returns a group with its entries that are left, and before each the pods that come before it.
PodsEncoder::Group PodsEncoder::updated(Group group, const AgentState& state, Pods& next) {
  const Pods end = state.node.pods.end();
  Group out;
  for (Entry& entry : group.entries) {
    if (entry.pod == nullptr) continue;
    while (next != end && &*next != entry.pod) out.entries.push_back(encode_entry(state, *next++));
    if (next == end) break;
    out.entries.push_back(std::move(entry));
    ++next;
  }
  return out;
}

void PodsEncoder::join(Group& group, bool is_first) {
  if (group.joined != nullptr && group.is_first == is_first) return;
  std::vector<const checkpoint::SummedText*> texts;
  for (const Entry& entry : group.entries) texts.push_back(&entry.text);
  group.joined = checkpoint::join_entries(texts, is_first);
  group.is_first = is_first;
}

/// Keeps the groups whose pods are the same, in their order, and encodes what is new.
void PodsEncoder::update_groups(const AgentState& next) {
  constexpr std::size_t kMostEntries = 16;
  drop_changed(next);
  std::vector<Group> groups;
  Pods pod = next.node.pods.begin();
  for (Group& group : groups_) {
    if (is_kept(group, next.node.pods, pod)) {
      pod += std::ssize(group.entries);
    } else {
      group = updated(std::move(group), next, pod);
    }
    if (!group.entries.empty()) groups.push_back(std::move(group));
  }
  for (; pod != next.node.pods.end(); ++pod) {
    if (groups.empty() || groups.back().entries.size() >= kMostEntries) groups.emplace_back();
    groups.back().entries.push_back(encode_entry(next, *pod));
    groups.back().joined = nullptr;
  }
  groups_ = std::move(groups);
  last_ = next;
}

checkpoint::FileText PodsEncoder::encode(const AgentState& state) {
  update_groups(state);
  auto [front, back] = encode_rest(state);
  std::vector<checkpoint::FileText::Part> parts;
  parts.reserve(groups_.size() + 2);
  parts.push_back(std::make_shared<const checkpoint::SummedText>(std::move(front)));
  for (Group& group : groups_) {
    join(group, &group == &groups_.front());
    parts.push_back(group.joined);
  }
  parts.push_back(std::make_shared<const checkpoint::SummedText>(std::move(back)));
  const checkpoint::FileText body(std::move(parts));
  return {checkpoint::seal_line(kPodsKind, body.sum()), body};
}

std::string encode_pods(const AgentState& state) { return PodsEncoder().encode(state).text(); }

Result<void> decode_pods(std::optional<std::string_view> text, AgentState& state) {
  if (!text) return hold_unknown(nullptr, state.node);
  PINFOLD_LET(const auto body, checkpoint::unseal(kPodsKind, *text));
  auto document = parse_document(body);
  if (!document) {
    return fail(ErrorCode::kCorrupt, std::move(document).error().message);
  }
  if (!document->is_object()) return bad("the document", *document, "an object");
  const json& version = member(*document, "version");
  if (version != kPodsVersion) {
    auto error = bad("version", version, fmt::format("{}", kPodsVersion));
    if (version.is_number_integer()) error.value().code = ErrorCode::kUnsupported;
    return error;
  }
  const json& pods = member(*document, "pods");
  if (!pods.is_array()) return bad("pods", pods, "a list");
  for (std::size_t i = 0; i < pods.size(); ++i) {
    PINFOLD_TRY(read_pod(pods[i], fmt::format("pods[{}]", i), state));
  }
  PINFOLD_TRY(read_held_baselines(member(*document, "heldBaselines"), state.node.cpu));
  PINFOLD_TRY(read_providers(member(*document, "providers"), state));
  PINFOLD_LET(state.kubelet_profile, read_profile(member(*document, "kubeletProfile")));
  return hold_unknown(member(*document, "stale"), state.node);
}

}  // namespace pinfold::agent
