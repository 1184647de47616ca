// A stand-in for a kubelet, so that the harness's steps with one are tested where no kubelet is
// given. It uses Pinfold's own library to decide and for the state files, and asks the container
// runtime for pods through the program that makes the harness's calls: it says nothing about real
// kubelets.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "guest/kubelet_requests.hpp"
#include "lister.hpp"
#include "managers.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/text/document.hpp"
#include "port.hpp"
#include "runtime_pods.hpp"

namespace pinfold::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The interval between two looks at the manifests and pods.
constexpr std::chrono::milliseconds kRound(200);

/// Writes a line like those of a kubelet's log.
void log(char level, const std::string& message, const std::string& fields) {
  fmt::print(stderr, "{}0101 00:00:00.000000 {:7} fake_kubelet.cpp:1] \"{}\"{}\n", level, getpid(),
             message, fields);
}

std::string in_quotes(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// A manifest that was read, and the state of its pod.
// NOLINTNEXTLINE(bugprone-exception-escape): moving nlohmann's JSON asserts
struct Manifest {
  std::string text;
  Json pod;
  PodSpec spec;
  std::optional<Rejection> rejection;
  std::string problem;  ///< why a container could not be started last; "": none
};

/// Reads the pod of a manifest as the kubelet's source "file" does.
Result<Manifest> read_manifest(const std::string& file, std::string text) {
  PINFOLD_LET(Json pod, parse_document(text));
  if (!pod.is_object() || !pod.value("metadata", Json()).is_object()) {
    return fail(ErrorCode::kInvalidArgument, "expected a Pod with metadata");
  }
  Json& metadata = pod["metadata"];
  metadata["name"] = metadata.value("name", "") + "-node";
  if (!metadata.contains("namespace")) metadata["namespace"] = "default";
  if (!metadata.contains("uid")) {
    metadata["uid"] = fmt::format("{:032x}", std::hash<std::string>{}(file + text));
  }
  PINFOLD_LET(PodSpec spec, pod_from_json(pod));
  spec.is_static = true;
  apply_defaults(spec);
  return Manifest{std::move(text), std::move(pod), std::move(spec), std::nullopt, ""};
}

class FakeKubelet {
 public:
  FakeKubelet(Managers managers, fs::path manifests, Lister& lister)
      : managers_(std::move(managers)), folder_(std::move(manifests)), lister_(lister) {}

  [[noreturn]] void run(int port) {
    read_manifests();
    managers_.release_others();
    while (true) {
      read_manifests();
      lister_.set(managers_.node(), managers_.state());
      sync_pods();
      answer_one(port, kRound, [this] { return list().dump(); });
    }
  }

 private:
  void read_manifests();
  void take(const std::string& file, std::string text);
  void sync_pods();
  void sync_pod(Manifest& manifest);
  void start_containers(const Manifest& manifest, const ActivePod& pod);
  void place_shared_containers();
  void remove_other_pods();
  void set_cpus_of(const RuntimeContainer& container, const std::string& cpus);
  [[nodiscard]] const RuntimePod* find_pod(const PodUid& uid) const;
  [[nodiscard]] Json list() const;
  [[nodiscard]] Json status_of(const Manifest& manifest) const;
  [[nodiscard]] Json container_status(const Manifest& manifest, const std::string& name) const;

  Managers managers_;
  fs::path folder_;
  Lister& lister_;
  std::map<std::string, Manifest> manifests_;  ///< by file
  std::vector<RuntimePod> pods_;               ///< of the runtime, at the last look
  std::map<std::string, std::string> cpus_;    ///< that were set last, by container id
};

/// Makes the directory that a kubelet makes for each container, which shows its name.
void make_directory(const PodSpec& pod, const std::string& container) {
  std::error_code failed;
  fs::create_directories(
      fmt::format("{}/pods/{}/containers/{}", checkpoint::kKubeletDir, pod.uid.value, container),
      failed);
}

void FakeKubelet::take(const std::string& file, std::string text) {
  auto read = read_manifest(file, std::move(text));
  if (!read) {
    log('E', "Could not process manifest file", " err=" + in_quotes(read.error().message));
    return;
  }
  const auto known = manifests_.find(file);
  if (known != manifests_.end()) managers_.remove(known->second.spec.uid);
  read->rejection = managers_.admit(read->spec);
  if (read->rejection) {
    log('I', "Pod admission denied", " message=" + in_quotes(read->rejection->message));
  }
  manifests_[file] = std::move(*read);
}

void FakeKubelet::read_manifests() {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    if (!entry.path().filename().string().starts_with('.')) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    auto text = read_file(file);
    const auto known = manifests_.find(file);
    const bool is_new = text && (known == manifests_.end() || known->second.text != *text);
    if (is_new) take(file, std::move(*text));
  }
  std::erase_if(manifests_, [&](const auto& one) {
    if (std::find(files.begin(), files.end(), one.first) != files.end()) return false;
    managers_.remove(one.second.spec.uid);
    return true;
  });
}

const RuntimePod* FakeKubelet::find_pod(const PodUid& uid) const {
  const auto found = std::find_if(pods_.begin(), pods_.end(),
                                  [&](const RuntimePod& one) { return one.uid == uid.value; });
  return found == pods_.end() ? nullptr : &*found;
}

/// A kubelet with the policy none sets no cpusets.
void FakeKubelet::set_cpus_of(const RuntimeContainer& container, const std::string& cpus) {
  std::string& known = cpus_[container.id];
  if (!container.runs || !managers_.node().cpu().is_static() || known == cpus) return;
  set_cpus(container.id, cpus);
  known = cpus;
}

/// The shared pool shrinks before others get its CPUs.
void FakeKubelet::place_shared_containers() {
  for (const ActivePod& pod : managers_.state().pods) {
    const RuntimePod* const running = find_pod(pod.spec.uid);
    if (running == nullptr) continue;
    for (const ContainerResources& one :
         all_container_resources(managers_.node(), managers_.state(), pod)) {
      const RuntimeContainer* const container = running->find(one.name);
      if (container == nullptr || one.isolation == Isolation::kContainer) continue;
      set_cpus_of(*container, one.cpuset_cpus.to_string());
    }
  }
}

void FakeKubelet::start_containers(const Manifest& manifest, const ActivePod& pod) {
  const Node& node = managers_.node();
  const harness::PodRequests requests =
      harness::kubelet_requests(node, managers_.state(), pod, manifest.pod);
  if (find_pod(pod.spec.uid) == nullptr) {
    pods_.push_back(run_pod(pod.spec.uid.value, requests));
  }
  const RuntimePod& running = *find_pod(pod.spec.uid);
  for (const ContainerResources& one : all_container_resources(node, managers_.state(), pod)) {
    const Container* const container = pod.spec.find(one.name);
    if (container == nullptr || container->kind == ContainerKind::kInit) continue;
    make_directory(pod.spec, one.name);
    const RuntimeContainer* const known = running.find(one.name);
    const std::string cpus = one.cpuset_cpus.to_string();
    if (known != nullptr && known->runs) {
      set_cpus_of(*known, cpus);
    } else {
      cpus_[run_container(running, requests, one.name)] = cpus;
    }
  }
}

void FakeKubelet::sync_pod(Manifest& manifest) {
  const ActivePod* const pod = managers_.state().find(manifest.spec.uid);
  if (pod == nullptr) return;
  try {
    start_containers(manifest, *pod);
    manifest.problem.clear();
  } catch (const std::exception& error) {
    if (manifest.problem != error.what()) {
      log('E', "Error syncing pod, skipping", " err=" + in_quotes(error.what()));
    }
    manifest.problem = error.what();
  }
}

void FakeKubelet::remove_other_pods() {
  std::erase_if(pods_, [this](const RuntimePod& pod) {
    if (pod.runs && managers_.state().find(PodUid(pod.uid)) != nullptr) return false;
    remove_runtime_pod(pod);
    return true;
  });
}

void FakeKubelet::sync_pods() {
  try {
    pods_ = runtime_pods();
    remove_other_pods();
    place_shared_containers();
  } catch (const std::exception& error) {
    log('E', "Container runtime sanity check failed", " err=" + in_quotes(error.what()));
    return;
  }
  for (auto& [file, manifest] : manifests_) sync_pod(manifest);
}

Json FakeKubelet::container_status(const Manifest& manifest, const std::string& name) const {
  const RuntimePod* const pod = find_pod(manifest.spec.uid);
  const RuntimeContainer* const container = pod == nullptr ? nullptr : pod->find(name);
  Json status = {{"name", name}};
  if (container != nullptr) status["containerID"] = "containerd://" + container->id;
  if (container != nullptr && container->runs) {
    status["state"]["running"] = Json::object();
    return status;
  }
  Json& waiting = status["state"]["waiting"] = Json::object();
  if (!manifest.problem.empty()) {
    waiting = {{"reason", "CreateContainerError"}, {"message", manifest.problem}};
  }
  return status;
}

Json FakeKubelet::status_of(const Manifest& manifest) const {
  if (manifest.rejection) {
    return {{"phase", "Failed"},
            {"reason", manifest.rejection->reason},
            {"message", "Pod was rejected: " + manifest.rejection->message}};
  }
  const PodSpec& pod = manifest.spec;
  Json statuses = Json::array();
  bool all_run = true;
  for (const Container& container : pod.containers) {
    if (container.kind != ContainerKind::kApp) continue;
    statuses.push_back(container_status(manifest, container.name));
    all_run = all_run && statuses.back()["state"].contains("running");
  }
  return {{"phase", all_run ? "Running" : "Pending"},
          {"qosClass", to_string(qos_class(pod, managers_.node().gates()))},
          {"containerStatuses", std::move(statuses)}};
}

Json FakeKubelet::list() const {
  Json items = Json::array();
  for (const auto& [file, manifest] : manifests_) {
    Json pod = manifest.pod;
    pod["status"] = status_of(manifest);
    items.push_back(std::move(pod));
  }
  return {{"kind", "PodList"}, {"apiVersion", "v1"}, {"items", std::move(items)}};
}

/// Ends like a kubelet whose start fails.
int refuse(const StartError& error) {
  const bool is_cpu = error.stage == StartStage::kCpuManager;
  const bool is_memory = error.stage == StartStage::kMemoryManager;
  const std::string where = is_cpu      ? "start cpu manager error: "
                            : is_memory ? "start memory manager error: "
                                        : "";
  log('E', "Failed to start ContainerManager", " err=" + in_quotes(where + error.error));
  return 1;
}

int fail_to_run(const Error& error) {
  log('E', "command failed", " err=" + in_quotes(error.message));
  return 1;
}

Result<ParsedConfig> read_config(const std::string& text) {
  PINFOLD_LET(auto parsed, parse_config(text));
  parsed.config.profile = checkpoint::profile_of({FAKE_KUBELET_MINOR, false});
  return Result<ParsedConfig>(std::move(parsed));
}

int run_kubelet(const fs::path& config_file) {
  log('I', "Kubelet version", fmt::format(" kubeletVersion=\"v1.{}.0-fake\"", FAKE_KUBELET_MINOR));
  const auto text = read_file(config_file.string());
  if (!text) return fail_to_run(text.error());
  auto parsed = read_config(*text);
  if (!parsed) return fail_to_run(parsed.error());
  auto machine = discover(SysTree{}, "node");
  if (!machine) return fail_to_run(machine.error());
  auto node = Node::make(std::move(*machine), std::move(parsed->config));
  if (!node) return refuse(node.error());
  auto managers = Managers::start(std::move(*node), config_file.parent_path());
  if (!managers) return refuse(managers.error());
  const UniqueFd port = listen_read_only();
  if (!port) return fail_to_run({ErrorCode::kIo, 0, "the read-only port cannot be opened"});
  Lister lister(config_file.parent_path());
  log('I', "Starting Kubelet Plugin Manager", "");
  const auto document = parse_document(*text);
  FakeKubelet(std::move(*managers), document->value("staticPodPath", ""), lister).run(port.get());
}

}  // namespace
}  // namespace pinfold::test

// NOLINTNEXTLINE(bugprone-exception-escape): an exception fails the scenario
int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "--version") {
    fmt::print("Kubernetes v1.{}.0-fake\n", FAKE_KUBELET_MINOR);
    return 0;
  }
  const auto option = std::find(arguments.begin(), arguments.end(), "--config");
  if (option == arguments.end() || option + 1 == arguments.end()) {
    fmt::print(stderr, "fake-kubelet: expected --config FILE\n");
    return 2;
  }
  return pinfold::test::run_kubelet(*(option + 1));
}
