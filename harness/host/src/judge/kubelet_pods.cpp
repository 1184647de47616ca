#include "judge/kubelet_pods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "judge/json_at.hpp"
#include "pinfold/harness/json.hpp"
#include "scenario/cgroup_paths.hpp"

namespace pinfold::harness {
namespace {

std::string text_at(const Json& object, JsonPath path) {
  const Json& value = json_at(object, path);
  return value.is_string() ? value.get<std::string>() : "";
}

const Json& list_at(const Json& object, JsonPath path) {
  static const Json kEmpty = Json::array();
  const Json& value = json_at(object, path);
  return value.is_array() ? value : kEmpty;
}

bool runs(const Json& status) { return !json_at(status, {"state", "running"}).is_null(); }

/// Adds the ids of the containers that run: "containerd://ID".
void add_ids(const Json& statuses, std::map<std::string, std::string>& containers) {
  for (const Json& status : statuses) {
    const std::string id = text_at(status, {"containerID"});
    const std::size_t at = id.find("://");
    if (runs(status) && at != std::string::npos)
      containers[text_at(status, {"name"})] = id.substr(at + 3);
  }
}

std::string first_wait(const Json& statuses) {
  for (const Json& status : statuses) {
    const std::string reason = text_at(status, {"state", "waiting", "reason"});
    if (!reason.empty()) return fmt::format("{}: {}", text_at(status, {"name"}), reason);
  }
  return "";
}

KubeletPod read_pod(const Json& pod) {
  const Json& statuses = list_at(pod, {"status", "containerStatuses"});
  KubeletPod read;
  read.uid = text_at(pod, {"metadata", "uid"});
  read.cgroup = pod_cgroup(read.uid, text_at(pod, {"status", "qosClass"}));
  read.phase = text_at(pod, {"status", "phase"});
  read.reason = text_at(pod, {"status", "reason"});
  read.message = text_at(pod, {"status", "message"});
  read.is_running = read.phase == "Running" && !statuses.empty() &&
                    statuses.size() == list_at(pod, {"spec", "containers"}).size() &&
                    std::all_of(statuses.begin(), statuses.end(), runs);
  read.waits = first_wait(statuses);
  add_ids(list_at(pod, {"status", "initContainerStatuses"}), read.containers);
  add_ids(statuses, read.containers);
  return read;
}

}  // namespace

std::optional<KubeletPod> find_static_pod(const Json& list, const std::string& name) {
  for (const Json& pod : list_at(list, {"items"})) {
    if (text_at(pod, {"metadata", "name"}) == name + "-node") return read_pod(pod);
  }
  return std::nullopt;
}

std::string describe(const KubeletPod& pod) {
  std::string text = pod.phase.empty() ? "not started" : pod.phase;
  if (!pod.reason.empty()) text += fmt::format(": {}: {}", pod.reason, pod.message);
  if (!pod.waits.empty()) text += fmt::format(" ({})", pod.waits);
  return text;
}

}  // namespace pinfold::harness
