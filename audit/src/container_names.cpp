#include "pinfold/audit/container_names.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "pinfold/audit/group_names.hpp"

namespace pinfold::audit {
namespace {

constexpr const char* kLogs = "/var/log/containers";

/// A file in which a runtime names a container; "{}" is the container's id.
struct NameFile {
  const char* path;
  std::optional<ContainerName> (*parse)(std::string_view);
};
constexpr std::array kPlaces = {
    NameFile{"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json", &parse_bundle},
    NameFile{"/run/containerd/io.containerd.runtime.v1.linux/k8s.io/{}/config.json", &parse_bundle},
    NameFile{"/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
             &parse_bundle},
    NameFile{"/run/k0s/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
             &parse_bundle},
    NameFile{"/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/"
             "config.json",
             &parse_bundle},
    NameFile{
        "/var/snap/k8s/common/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/config.json",
        &parse_bundle},
    NameFile{"/run/containers/storage/overlay-containers/{}/userdata/config.json", &parse_bundle},
    NameFile{"/var/lib/containers/storage/overlay-containers/{}/userdata/config.json",
             &parse_bundle},
    NameFile{"/var/lib/docker/containers/{}/config.v2.json", &parse_docker_config},
};

/// The files in which runtimes keep the id of a container's first process.
constexpr std::array kInits = {
    "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/init.pid",
    "/run/containerd/io.containerd.runtime.v1.linux/k8s.io/{}/init.pid",
    "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/{}/init.pid",
    "/run/k0s/containerd/io.containerd.runtime.v2.task/k8s.io/{}/init.pid",
    "/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/init.pid",
    "/var/snap/k8s/common/run/containerd/io.containerd.runtime.v2.task/k8s.io/{}/init.pid",
    "/run/containerd/io.containerd.runtime.v2.task/moby/{}/init.pid",
    "/run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/{}/init.pid",
    "/run/containers/storage/overlay-containers/{}/userdata/pidfile",
    "/var/run/containers/storage/overlay-containers/{}/userdata/pidfile",
    "/run/containerd/runc/k8s.io/{}/state.json",
    "/run/k3s/containerd/runc/k8s.io/{}/state.json",
    "/run/runc/{}/state.json",
    "/run/crun/{}/status",
};

}  // namespace

ContainerNames::ContainerNames(const Tree& tree, Problems& problems) : tree_(tree) {
  const auto links = tree.list(kLogs);
  if (!links && links.error().code != ErrorCode::kNotFound) problems.add(kLogs, links.error());
  for (const std::string& link : links.value_or(std::vector<std::string>{})) {
    auto log = parse_log_name(link);
    if (!log) continue;
    ContainerName name{
        std::move(log->namespace_name),   std::move(log->pod), std::move(log->container), "", false,
        fmt::format("{}/{}", kLogs, link)};
    logs_[std::move(log->id)] = std::move(name);
  }
}

std::optional<ContainerName> ContainerNames::find(const std::string& id) const {
  for (const NameFile& place : kPlaces) {
    std::string path = fmt::format(fmt::runtime(place.path), id);
    const auto text = tree_.read(path);
    auto name = text ? place.parse(*text) : std::nullopt;
    if (!name) continue;
    name->source = std::move(path);
    return name;
  }
  const auto log = logs_.find(id);
  return log == logs_.end() ? std::nullopt : std::optional(log->second);
}

std::optional<pid_t> ContainerNames::init_of(const std::string& id) const {
  for (const char* const place : kInits) {
    const auto text = tree_.read(fmt::format(fmt::runtime(place), id));
    const auto pid = text ? parse_init(*text) : std::nullopt;
    if (pid) return pid;
  }
  return std::nullopt;
}

std::vector<std::string> containers_of_pod(const Tree& tree, const std::string& root_dir,
                                           const PodUid& pod) {
  return tree.list_directories(fmt::format("{}/pods/{}/containers", root_dir, pod.value))
      .value_or(std::vector<std::string>{});
}

}  // namespace pinfold::audit
