#include "hook/oci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "pinfold/agent/assigned_files.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/api/quiet_note.hpp"
#include "pinfold/checkpoint/go_dump.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

constexpr std::string_view kPrefix = "io.pinfold.";
constexpr const char* kPod = "io.pinfold.pod";
constexpr const char* kPodFile = "io.pinfold.pod-file";
constexpr const char* kContainer = "io.pinfold.container";
constexpr const char* kAssigned = "io.pinfold.assigned";

Result<std::string> text_of(const json& object, const char* name) {
  const auto it = object.find(name);
  if (it != object.end() && it->is_string()) return it->get<std::string>();
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("state.{}: '{}': expected a string", name,
                          it == object.end() ? "absent" : it->dump().substr(0, 80)));
}

std::string annotation(const HookState& state, const std::string& name) {
  const auto found = state.annotations.find(name);
  return found == state.annotations.end() ? "" : found->second;
}

/// Converts "io.pinfold.cpu" to "cpu"; "" for an annotation that is not a resource.
std::string resource_of(std::string_view name) {
  const std::string_view resource = name.substr(kPrefix.size());
  const bool is_known =
      resource == "cpu" || resource == "memory" || is_huge_page_resource(resource);
  return is_known ? std::string(resource) : "";
}

/// Makes a pod UID from a container id. Ids that runc and podman accept stay as they are. In any
/// other id, dots replace the characters that a UID cannot have, and a checksum keeps such ids
/// apart.
std::string uid_of(const std::string& id) {
  constexpr std::size_t kMostKept = 200;
  std::string uid = "oci-" + id;
  if (is_safe_name(uid)) return uid;
  const auto is_unsafe = [](char c) { return !is_safe_name(fmt::format("a{}", c)); };
  std::replace_if(uid.begin(), uid.end(), is_unsafe, '.');
  return fmt::format("{}-{:08x}", uid.substr(0, kMostKept), checkpoint::fnv1a_32(id));
}

/// Makes a pod with one container, whose limits come from the annotations.
Result<HookRequest> request_of_annotations(const HookState& state) {
  json limits = json::object();
  for (const auto& [name, value] : state.annotations) {
    if (!name.starts_with(kPrefix)) continue;
    if (const std::string resource = resource_of(name); !resource.empty()) limits[resource] = value;
  }
  const std::string named = annotation(state, kContainer);
  const std::string container = named.empty() ? "main" : named;
  std::string pod_name = annotation(state, kPod);
  if (pod_name.empty()) pod_name = uid_of(state.id);
  PINFOLD_LET_WRAP(
      auto pod,
      pod_from_json(
          {{"metadata", {{"uid", uid_of(state.id)}, {"name", pod_name}}},
           {"spec",
            {{"containers", {{{"name", container}, {"resources", {{"limits", limits}}}}}}}}}),
      "annotations io.pinfold.*");
  apply_defaults(pod);
  return HookRequest{std::move(pod), container, ""};
}

Result<void> check_pod(const PodSpec& pod, Validation validation) {
  return validation == Validation::kOn ? validate_all({pod}) : Result<void>();
}

/// Parses the pod of a pod file. Errors quote the file.
Result<PodSpec> pod_of(const std::string& text, Validation validation) {
  PINFOLD_LET(const auto document, parse_document(text));
  PINFOLD_LET(auto pod, read_pod(document));
  PINFOLD_TRY(check_pod(pod, validation));
  return pod;
}

Result<HookRequest> request_of_file(const HookState& state, const std::string& text,
                                    Validation validation) {
  const std::string path = annotation(state, kPodFile);
  auto pod = pod_of(text, validation);
  if (!pod) {  // drops the error, because it quotes the file
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("annotation {}: '{}' is not a valid Pod; run 'pinfold admit "
                            "--dry-run' on it to see why",
                            kPodFile, printable(path)));
  }
  std::string container = annotation(state, kContainer);
  if (container.empty() && pod->containers.size() == 1) container = pod->containers.front().name;
  if (pod->find(container) == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("annotation {}: '{}': expected the name of a container in '{}'",
                            kContainer, printable(container), printable(path)));
  }
  return HookRequest{*std::move(pod), std::move(container), path, quiet_notes_in(text)};
}

Result<void> check_annotations(const HookState& state) {
  const std::set<std::string> known = {kPod, kPodFile, kContainer, kAssigned};
  for (const auto& [name, value] : state.annotations) {
    if (!name.starts_with(kPrefix) || known.contains(name)) continue;
    if (resource_of(name).empty()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("annotation {}: unknown; expected cpu, memory, hugepages-SIZE, pod, "
                              "pod-file, container or assigned after io.pinfold.",
                              printable(name)));
    }
    if (state.annotations.contains(kPodFile)) {
      return fail(
          ErrorCode::kInvalidArgument,
          fmt::format("annotation {}: not allowed with a Pod file, which defines the resources",
                      printable(name)));
    }
  }
  return {};
}

/// Reads the annotations of a state or a configuration.
Result<void> read_annotations(const json& document, std::string_view path, HookState& state) {
  const json* const annotations = member(document, "annotations");
  if (annotations == nullptr) return {};
  if (!annotations->is_object()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected an object", path));
  }
  for (const auto& [name, value] : annotations->items()) {
    if (!value.is_string()) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}.'{}': expected a string", path, printable(name)));
    }
    state.annotations[name] = value.get<std::string>();
  }
  return {};
}

/// Returns the id in a cgroupsPath of podman: "/parent/libpod-ID" or "slice:libpod:ID".
std::string id_of_path(std::string_view cgroups_path) {
  std::string_view last = cgroups_path.substr(cgroups_path.find_last_of("/:") + 1);
  constexpr std::string_view kPodman = "libpod-";
  if (last.starts_with(kPodman)) last.remove_prefix(kPodman.size());
  return std::string(last);
}

/// Sets an environment variable of process.env.
void set_variable(const std::string& name, const std::string& value, json& env) {
  const std::string prefix = name + "=";
  json kept = json::array();
  for (const json& one : env) {
    if (!one.is_string() || !one.get_ref<const std::string&>().starts_with(prefix)) {
      kept.push_back(one);
    }
  }
  kept.push_back(prefix + value);
  env = std::move(kept);
}

}  // namespace

Result<HookState> parse_hook_state(std::string_view text) {
  if (text.size() > kMaxHookInput) {
    return fail(ErrorCode::kInvalidArgument, "state: expected at most 1 MiB");
  }
  PINFOLD_LET_WRAP(const auto document, parse_document(text), "state");
  if (!document.is_object()) return fail(ErrorCode::kInvalidArgument, "state: expected an object");
  HookState state;
  for (const auto& [name, member] :
       {std::pair{"id", &HookState::id}, std::pair{"status", &HookState::status},
        std::pair{"bundle", &HookState::bundle}}) {
    PINFOLD_LET(auto value, text_of(document, name));
    state.*member = std::move(value);
  }
  if (state.id.empty()) return fail(ErrorCode::kInvalidArgument, "state.id: expected a name");
  if (const auto pid = document.find("pid"); pid != document.end()) {
    // A number above the largest std::int64_t is parsed as unsigned, and would wrap.
    const bool fits = !pid->is_number_unsigned() ||
                      pid->get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
    if (!pid->is_number_integer() || !fits) {
      return fail_field("state.pid", *pid, "expected a process id");
    }
    state.pid = pid->get<std::int64_t>();
  }
  PINFOLD_TRY(read_annotations(document, "state.annotations", state));
  return state;
}

Result<HookState> state_of_config(const json& config, const std::string& id) {
  if (!config.is_object()) {
    return fail(ErrorCode::kInvalidArgument, "expected the config.json of a container");
  }
  HookState state;
  PINFOLD_TRY(read_annotations(config, "annotations", state));
  state.id = id;
  if (!id.empty() || !concerns_pinfold(state)) return state;
  const json path = config.value(json::json_pointer("/linux/cgroupsPath"), json());
  if (path.is_string()) state.id = id_of_path(path.get_ref<const std::string&>());
  if (!state.id.empty()) return state;
  return fail_field("linux.cgroupsPath", path,
                    "expected the path of the container's group; --id gives the container's id");
}

Result<std::optional<AssignedVariables>> asked_of(const HookState& state) {
  if (!state.annotations.contains(kAssigned)) return std::nullopt;
  const std::string path = fmt::format("annotation {}", kAssigned);
  PINFOLD_LET_WRAP(const auto value, parse_document(annotation(state, kAssigned)), path);
  return read_assigned_variables(path, value);
}

Result<void> add_own_resources(const verbs::OwnResources& own, const AssignedVariables& asked,
                               json& config) {
  json& process = config["process"];
  if (!process.is_object()) return fail_field("process", process, "expected an object");
  json& env = process["env"];
  json& mounts = config["mounts"];
  if (env.is_null()) env = json::array();
  if (mounts.is_null()) mounts = json::array();
  if (!env.is_array()) return fail_field("process.env", env, "expected a list");
  if (!mounts.is_array()) return fail_field("mounts", mounts, "expected a list");
  mounts.push_back({{"destination", agent::kOwnDirectory},
                    {"type", "bind"},
                    {"source", own.directory},
                    {"options", agent::own_mount_options()}});
  for (const auto& [name, value] : agent::own_variables(own.values, asked)) {
    set_variable(name, value, env);
  }
  return {};
}

bool concerns_pinfold(const HookState& state) {
  return std::any_of(state.annotations.begin(), state.annotations.end(),
                     [](const auto& entry) { return entry.first.starts_with(kPrefix); });
}

Result<HookStage> stage_of(std::string_view status) {
  if (status == "creating" || status == "created") return HookStage::kCreateRuntime;
  if (status == "stopped") return HookStage::kPoststop;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("state.status: '{}': expected creating or created (createRuntime), or "
                          "stopped (poststop)",
                          printable(status)));
}

Result<pid_t> container_pid(std::int64_t pid) {
  constexpr pid_t kMaxPid = 1 << 22;
  if (pid > 1 && pid <= kMaxPid) return static_cast<pid_t>(pid);
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("state.pid: {}: expected the container's process, 2 to {}", pid, kMaxPid));
}

Result<HookRequest> read_request(
    const HookState& state, Validation validation,
    const std::function<Result<std::string>(const std::string& path)>& read_file) {
  PINFOLD_TRY(check_annotations(state));
  if (!state.annotations.contains(kPodFile)) {
    PINFOLD_LET(auto request, request_of_annotations(state));
    PINFOLD_TRY(check_pod(request.pod, validation));
    if (state.annotations.contains(std::string(kQuietAnnotation))) {
      request.notes.push_back(quiet_note("of this container"));
    }
    return request;
  }
  PINFOLD_LET_WRAP(auto text, read_file(annotation(state, kPodFile)),
                   fmt::format("annotation {}", kPodFile));
  return request_of_file(state, text, validation);
}

nlohmann::json oci_config(const ContainerResources& resources, const CpuSet& cpus, ExecCpus exec) {
  const LinuxResources& values = resources.linux_resources;
  json cpu = {{"shares", values.cpu_shares}};
  if (values.cpu_quota && *values.cpu_quota != 0) cpu["quota"] = *values.cpu_quota;
  if (values.cpu_period) cpu["period"] = *values.cpu_period;
  if (!cpus.empty()) cpu["cpus"] = cpus.to_string();
  if (!resources.cpuset_mems.empty()) cpu["mems"] = resources.cpuset_mems;
  json of_cgroup = {{"cpu", std::move(cpu)}};
  if (values.memory_limit && *values.memory_limit > 0) {
    of_cgroup["memory"] = {{"limit", *values.memory_limit}};
  }
  for (const auto& [size, bytes] : values.hugepage_limits) {
    of_cgroup["hugepageLimits"].push_back({{"pageSize", size}, {"limit", bytes}});
  }
  if (const auto& qos = values.memory_qos) {  // cgroup v2
    of_cgroup["unified"] = {{"memory.min", std::to_string(qos->min)},
                            {"memory.low", std::to_string(qos->low)}};
    if (qos->high) of_cgroup["unified"]["memory.high"] = std::to_string(*qos->high);
  }
  json config = {{"linux", {{"resources", std::move(of_cgroup)}}}};
  if (!resources.cpuset_mems.empty()) {
    config["linux"]["memoryPolicy"] = {{"mode", "MPOL_BIND"}, {"nodes", resources.cpuset_mems}};
  }
  if (!cpus.empty() && resources.isolation != Isolation::kHost) {
    // Not the shared pool: every admission and removal changes it. Without "initial": before the
    // runtime joins the container's group, it may not run on exclusive CPUs, and sched_setaffinity
    // would fail.
    const CpuSet of_commands = exec == ExecCpus::kFirst ? CpuSet::of(cpus.first()) : cpus;
    config["process"]["execCPUAffinity"] = {{"final", of_commands.to_string()}};
  }
  return config;
}

}  // namespace pinfold::tools
