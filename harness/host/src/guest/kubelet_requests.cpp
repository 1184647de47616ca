#include "guest/kubelet_requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pinfold/api/pod.hpp"
#include "pinfold/decide/allocatable.hpp"
#include "pinfold/decide/decide.hpp"
#include "pinfold/text/document.hpp"
#include "scenario/cgroup_paths.hpp"

namespace pinfold::harness {
namespace {

/// Returns a node on this machine, without policies. Then only its memory matters, not its CPUs and
/// their order.
Result<Node> node_of(const VmMachine& machine) {
  MachineDescription description;
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const NumaId numa{static_cast<std::int32_t>(i)};
    for (const CpuId cpu : machine.nodes[i].cpus - machine.absent) {
      description.cpus.push_back({cpu, CoreId{cpu.value}, SocketId{static_cast<std::int32_t>(i)},
                                  numa, CacheId{static_cast<std::int32_t>(i)}});
    }
    NumaNode& node = description.numa_nodes.emplace_back();
    node.id = numa;
    node.memory = machine.nodes[i].memory;
  }
  PINFOLD_LET(auto made, Machine::make(std::move(description)));
  auto node = Node::make(std::move(made), Config{});
  if (!node) return fail(ErrorCode::kInvalidArgument, node.error().error);
  return std::move(*node);
}

Json resources_of(const LinuxResources& values) {
  Json resources = {{"cpu_shares", values.cpu_shares}};
  if (values.cpu_period) resources["cpu_period"] = *values.cpu_period;
  if (values.cpu_quota) resources["cpu_quota"] = *values.cpu_quota;
  if (values.memory_limit) resources["memory_limit_in_bytes"] = *values.memory_limit;
  if (values.oom_score_adj) resources["oom_score_adj"] = *values.oom_score_adj;
  for (const auto& [size, limit] : values.hugepage_limits) {
    resources["hugepage_limits"].push_back({{"page_size", size}, {"limit", limit}});
  }
  return resources;
}

/// Returns the total resources of all containers, without the rules for the pod's own cgroup.
Json total_resources(const Node& node, const PodSpec& pod) {
  const ResourceList requests = total_requests(node.gates(), pod, Overhead::kLeaveOut);
  const ResourceList limits = total_limits(node.gates(), pod);
  const Quantity cpu_limit = amount_of(limits, "cpu");
  const auto request = requests.find("cpu");
  LinuxResources values;
  values.cpu_shares =
      cpu_shares((request == requests.end() ? cpu_limit : request->second).milli_value());
  values.cpu_period = node.cfs_period_us();
  values.cpu_quota = cpu_quota(cpu_limit.milli_value(), node.cfs_period_us());
  const auto memory = amount_of(limits, "memory").value();
  if (memory != 0) values.memory_limit = memory;
  return resources_of(values);
}

/// Returns the labels or annotations in a Pod's metadata.
Json texts_of(const Json& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found != metadata.end() && found->is_object() ? *found : Json::object();
}

/// Returns a text; "" if there is none.
std::string manifest_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Returns the part of a Pod's manifest that describes a container.
Json manifest_of(const Json& pod, const std::string& name) {
  for (const char* const list : {"/spec/containers", "/spec/initContainers"}) {
    const Json all = pod.value(Json::json_pointer(list), Json::array());
    const auto found = std::find_if(all.begin(), all.end(), [&name](const Json& one) {
      return manifest_text(one, "name") == name;
    });
    if (found != all.end()) return *found;
  }
  return Json::object();
}

/// Returns the resources of a container. Without a CPU manager, a kubelet sets no CPUs.
Json container_resources_of(const Node& node, const ContainerResources& values) {
  Json resources = resources_of(values.linux_resources);
  if (node.cpu().is_static()) resources["cpuset_cpus"] = values.cpuset_cpus.to_string();
  if (!values.cpuset_mems.empty()) resources["cpuset_mems"] = values.cpuset_mems;
  return resources;
}

Json container_config(const Node& node, const PodSpec& pod, const Json& manifest,
                      const ContainerResources& values) {
  const std::string image = manifest_text(manifest, "image");
  Json config = {{"metadata", {{"name", values.name}}},
                 {"labels",
                  {{"io.kubernetes.container.name", values.name},
                   {"io.kubernetes.pod.name", pod.name},
                   {"io.kubernetes.pod.namespace", pod.namespace_name},
                   {"io.kubernetes.pod.uid", pod.uid.value}}},
                 {"image", {{"image", kOtherImage}}},
                 {"linux", {{"resources", container_resources_of(node, values)}}}};
  if (!image.starts_with("localhost/")) return config;
  config["image"]["image"] = image;
  for (const char* const key : {"command", "args"}) {
    if (manifest.contains(key)) config[key] = manifest[key];
  }
  return config;
}

}  // namespace

PodRequests kubelet_requests(const Node& node, const NodeState& state, const ActivePod& active,
                             const Json& manifest) {
  const PodSpec& pod = active.spec;
  const Json metadata = manifest.value("metadata", Json::object());
  PodRequests requests;
  requests.cgroup_parent = pod_cgroup(pod.uid.value, to_string(qos_class(pod, node.gates())));
  Json labels = texts_of(metadata, "labels");
  labels["io.kubernetes.pod.name"] = pod.name;
  labels["io.kubernetes.pod.namespace"] = pod.namespace_name;
  labels["io.kubernetes.pod.uid"] = pod.uid.value;
  requests.sandbox = {
      {"metadata", {{"name", pod.name}, {"namespace", pod.namespace_name}, {"uid", pod.uid.value}}},
      {"labels", std::move(labels)},
      {"annotations", texts_of(metadata, "annotations")},
      {"linux",
       {{"cgroup_parent", requests.cgroup_parent},
        {"security_context", {{"namespace_options", {{"network", "NODE"}}}}},
        {"resources", total_resources(node, pod)}}}};
  for (const ContainerResources& values : all_container_resources(node, state, active)) {
    requests.containers[values.name] =
        container_config(node, pod, manifest_of(manifest, values.name), values);
  }
  return requests;
}

Result<PodRequests> kubelet_requests(const VmMachine& machine, std::string_view manifest) {
  PINFOLD_LET(const auto document, parse_document(manifest));
  PINFOLD_LET(auto pod, pod_from_json(document));
  apply_defaults(pod);
  PINFOLD_LET(const auto node, node_of(machine));
  const ActivePod active{std::move(pod), {}};
  NodeState state = empty_state(node);
  state.pods.push_back(active);
  return kubelet_requests(node, state, active, document);
}

}  // namespace pinfold::harness
