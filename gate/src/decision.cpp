#include "pinfold/gate/decision.hpp"

#include <algorithm>

#include "pinfold/gate/json.hpp"

namespace pinfold::gate {
namespace {

/// A CPU state file while it is read.
struct StateReading {
  const StateName& owner;
  bool is_static = false;
  std::optional<CpuBits> container;  ///< of the owner itself
  CpuBits pod;                       ///< of the owner's pod
  CpuBits siblings;                  ///< of other containers of its pod
  CpuBits others;
  std::string_view data;  ///< the inner text of V4
};

/// Reads a list; nullopt ends the walk.
std::optional<CpuBits> take_cpus(JsonCursor& json) {
  const auto list = json.text();
  return list ? CpuBits::parse(*list) : std::nullopt;
}

bool read_containers(JsonCursor& json, bool is_own_pod, StateReading& state) {
  json.enter();
  while (const auto name = json.next()) {
    const auto cpus = take_cpus(json);
    if (!cpus) return false;
    if (is_own_pod && *name == state.owner.name) state.container = *cpus;
    (is_own_pod ? state.siblings : state.others) |= *cpus;
  }
  return true;
}

bool read_entries(JsonCursor& json, StateReading& state) {
  json.enter();
  while (const auto pod = json.next()) {
    if (!read_containers(json, state.owner.is_pod(*pod), state)) return false;
  }
  return true;
}

bool read_pod(JsonCursor& json, CpuBits& cpus) {
  json.enter();
  while (const auto key = json.next()) {
    if (*key != "cpuSet") {
      json.skip();
      continue;
    }
    const auto list = take_cpus(json);
    if (!list) return false;
    cpus |= *list;
  }
  return true;
}

bool read_pods(JsonCursor& json, StateReading& state) {
  json.enter();
  while (const auto pod = json.next()) {
    if (!read_pod(json, state.owner.is_pod(*pod) ? state.pod : state.others)) return false;
  }
  return true;
}

bool read_field(std::string_view key, JsonCursor& json, StateReading& state) {
  if (key == "entries") return read_entries(json, state);
  if (key == "podEntries") return read_pods(json, state);
  if (key == "policyName") {
    state.is_static = json.text() == "static";
  } else if (key == "data") {
    state.data = json.text().value_or("");
  } else {
    json.skip();
  }
  return true;
}

bool read_state(std::string_view text, StateReading& state) {
  JsonCursor json(text);
  json.enter();
  while (const auto key = json.next()) {
    if (!read_field(*key, json, state)) return false;
  }
  return json.at_end();
}

}  // namespace

bool StateName::is_pod(std::string_view pod_uid) const {
  if (!pod_uid.starts_with(prefix)) return false;
  pod_uid.remove_prefix(prefix.size());
  return std::equal(pod_uid.begin(), pod_uid.end(), uid.begin(), uid.end(),
                    [](char a, char b) { return a == b || (a == '.' && b == '+'); });
}

StateName owner_of(const HookedContainer& container) {
  if (!container.is_hooked) return {"", container.uid, container.name};
  return {"oci-", container.id, container.hooked_name.empty() ? "main" : container.hooked_name};
}

std::optional<DecidedCpus> parse_cpu_state(std::span<char> file, const StateName& owner) {
  StateReading state{owner, false, {}, {}, {}, {}, {}};
  if (!read_state({file.data(), file.size()}, state)) return std::nullopt;
  if (!state.data.empty()) {
    const auto begin = static_cast<std::size_t>(state.data.data() - file.data());
    const auto inner = unescape(file.subspan(begin, state.data.size()));
    if (!inner || !read_state(*inner, state)) return std::nullopt;
  }
  const CpuBits own = state.container.value_or(state.pod);
  return DecidedCpus{state.is_static, own, state.others | (state.siblings - own)};
}

bool is_placed(const std::optional<DecidedCpus>& decision, const ShownCpus& observed) {
  const CpuBits& cpus = observed.effective;
  if (!decision) return !observed.asks_exclusive;
  if (cpus.empty()) return false;
  if (!decision->own.empty()) return decision->own.contains_all(cpus);
  return !(observed.asks_exclusive && decision->is_static) && !cpus.intersects(decision->others);
}

CpuBits confinement(const std::optional<DecidedCpus>& decision, const CpuBits& effective) {
  if (!decision) return {};
  return decision->own.empty() ? effective - decision->others : decision->own;
}

}  // namespace pinfold::gate
