#include "pinfold/process/interfaces.hpp"

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/grpc/api.hpp"
#include "pinfold/grpc/endpoint.hpp"
#include "pinfold/grpc/pod_resources_api.hpp"
#include "pinfold/metrics/families.hpp"
#include "pinfold/metrics/metrics_server.hpp"

namespace pinfold::process {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

void append(std::vector<MetricFamily>& families, std::vector<MetricFamily> more) {
  std::move(more.begin(), more.end(), std::back_inserter(families));
}

void add_sample(MetricFamily& family, const char* version, std::uint64_t count) {
  if (count == 0) return;
  auto& metric = family.metric.emplace_back();
  metric.label.push_back({"server_api_version", version});
  metric.counter.value = static_cast<double>(count);
}

/// Returns metrics with the kubelet's names. Like the kubelet, leaves out what was never counted.
std::vector<MetricFamily> pod_resources_families(const grpc::PodResourcesApi::Counts& counts) {
  std::vector<MetricFamily> families;
  const auto add = [&](const std::string& name, std::string help, std::uint64_t v1,
                       std::uint64_t v1alpha1) {
    MetricFamily family{"kubelet_pod_resources_endpoint_" + name,
                        std::move(help) + " Broken down by server api version.",
                        MetricType::Counter,
                        {}};
    add_sample(family, "v1", v1);
    add_sample(family, "v1alpha1", v1alpha1);
    if (!family.metric.empty()) families.push_back(std::move(family));
  };
  add("errors_get", "Number of requests to the PodResource Get endpoint which returned error.",
      counts.get_errors, 0);
  add("requests_get", "Number of requests to the PodResource Get endpoint.", counts.get, 0);
  add("requests_get_allocatable",
      "Number of requests to the PodResource GetAllocatableResources endpoint.",
      counts.get_allocatable, 0);
  add("requests_list", "Number of requests to the PodResource List endpoint.", counts.list, 0);
  add("requests_total", "Cumulative number of requests to the PodResource endpoint.", counts.total,
      counts.v1alpha1_total);
  return families;
}

/// Makes the missing parts of a directory, with the mode that a kubelet uses, provided that only
/// root and this process' user can change its parents.
Result<void> make_directory(const std::string& directory) {
  constexpr mode_t kMode = 0750;
  struct stat status {};
  if (::lstat(directory.c_str(), &status) == 0) return {};
  const std::string parent = std::filesystem::path(directory).parent_path();
  PINFOLD_TRY(make_directory(parent));
  const std::string name = fmt::format("make directory '{}'", directory);
  if (::stat(parent.c_str(), &status) != 0) return fail_errno(errno, name);
  const bool is_owned = status.st_uid == 0 || status.st_uid == ::geteuid();
  if (!is_owned || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: other users can change '{}'", name, parent));
  }
  if (::mkdir(directory.c_str(), kMode) == 0 || errno == EEXIST) return {};
  return fail_errno(errno, name);
}

/// Listens on a socket, and makes its directory if it is missing.
Result<socket::Listener> listen_in_directory(const std::string& socket) {
  PINFOLD_TRY(make_directory(std::filesystem::absolute(socket).parent_path()));
  return socket::Listener::open(socket);
}

/// Lets members of the socket's group enter a directory that belongs to the service. If that is not
/// permitted, the socket still serves root.
void open_directory_to_group(const socket::Listener& listener) {
  const std::string directory = std::filesystem::path(listener.path()).parent_path();
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return;
  [[maybe_unused]] const int changed =
      ::lchown(directory.c_str(), static_cast<uid_t>(-1), listener.group());
}

struct PodResourcesListener {
  std::optional<socket::Listener> listener;
  std::string reason;  ///< why it is served at the second place or nowhere; or empty
};

/// Listens at the second place if another process listens at the first one. A failure is an error
/// only at a place that was asked for by name.
Result<PodResourcesListener> listen_for_pod_resources(const settings::PodResourcesPlaces& places) {
  PodResourcesListener out{std::nullopt, places.reason};
  if (places.first.empty()) return out;
  const bool is_asked_for = places.first != places.second;
  if (is_asked_for) {
    auto listener = listen_in_directory(places.first);
    if (listener) {
      out.listener.emplace(*std::move(listener));
      return out;
    }
    if (listener.error().code != ErrorCode::kBusy) return fail(std::move(listener).error());
    out.reason = std::move(listener).error().message;
  }
  auto listener = listen_in_directory(places.second);
  if (listener) {
    out.listener.emplace(*std::move(listener));
    open_directory_to_group(*out.listener);
  } else {
    out.reason += (out.reason.empty() ? "" : "; ") + listener.error().message;
  }
  return out;
}

}  // namespace

/// The servers are destroyed before the objects that they serve.
struct Interfaces::Parts {
  explicit Parts(worker::Worker& of_worker)
      : worker(of_worker),
        api(of_worker),
        pod_resources(of_worker.node(), [&of_worker] { return of_worker.snapshot(); }) {}

  Result<void> serve_pod_resources(const settings::PodResourcesPlaces& places,
                                   const grpc::EndpointOptions& options);

  /// Returns the CPUs that are in no shared pool; empty without the static CPU manager.
  [[nodiscard]] CpuSet exclusive_in(const NodeState& state) const {
    const Node& node = worker.node();
    return node.cpu().is_static() ? node.machine().all_cpus() - state.cpu.default_set : CpuSet();
  }
  /// Adds the kernel's counters of exclusive CPUs; without any, they are not even read.
  void append_noise(const NodeState& state, std::vector<MetricFamily>& families) const {
    const CpuSet exclusive = exclusive_in(state);
    if (exclusive.empty()) return;
    const auto counters = noise::read_counters("");
    if (counters) append(families, metrics::noise_families(*counters, exclusive));
  }
  [[nodiscard]] std::vector<MetricFamily> collect() const {
    const auto snapshot = worker.snapshot();
    auto families = metrics::node_families(worker.node(), snapshot->state.node, snapshot->metrics);
    append(families, pod_resources_families(pod_resources.counts()));
    if (runtime) append(families, metrics::runtime_families(runtime()));
    if (published) append(families, metrics::publish_families(published()));
    append(families, metrics::service_families(worker.node(), *snapshot, worker.waiting()));
    append_noise(snapshot->state.node, families);
    if (memory) append(families, metrics::memory_families(memory()));
    if (snapshot->quieted) append(families, metrics::quiet_families(*snapshot->quieted));
    return families;
  }

  worker::Worker& worker;
  std::function<worker::RuntimeCounters()> runtime;
  std::function<publish::PublishCounters()> published;
  std::function<forecast::MemoryOutlook()> memory;
  grpc::Api api;
  grpc::PodResourcesApi pod_resources;
  std::unique_ptr<grpc::Endpoint> api_endpoint;
  std::unique_ptr<grpc::Endpoint> pod_resources_endpoint;
  PodResourcesPlace pod_resources_place;
  std::unique_ptr<metrics::MetricsServer> metrics_server;
};

Result<void> Interfaces::Parts::serve_pod_resources(const settings::PodResourcesPlaces& places,
                                                    const grpc::EndpointOptions& options) {
  PINFOLD_LET(auto found, listen_for_pod_resources(places));
  pod_resources_place.reason = std::move(found.reason);
  const std::string& reason = pod_resources_place.reason;
  if (!found.listener) {
    if (!places.first.empty() && options.log) {
      options.log(agent::LogLevel::kWarning, "does not serve PodResources: " + reason);
    }
    return {};
  }
  pod_resources_place.socket = found.listener->path();
  const auto services = pod_resources.services();
  PINFOLD_LET(pod_resources_endpoint,
              grpc::Endpoint::start(*std::move(found.listener), {services.begin(), services.end()},
                                    options));
  if (options.log) {
    options.log(agent::LogLevel::kInfo,
                fmt::format("serves PodResources at socket '{}'{}{}", pod_resources_place.socket,
                            reason.empty() ? "" : ": ", reason));
  }
  return {};
}

Result<std::unique_ptr<Interfaces>> Interfaces::start(const InterfaceSettings& settings,
                                                      worker::Worker& worker,
                                                      const agent::LogSink& log) {
  auto parts = std::make_unique<Parts>(worker);
  parts->runtime = settings.runtime;
  parts->published = settings.published;
  parts->memory = settings.memory;
  grpc::EndpointOptions options;
  options.log = log;
  const auto say = [&](const std::string& message) {
    if (log) log(agent::LogLevel::kInfo, message);
  };
  if (!settings.grpc_socket.empty()) {
    PINFOLD_LET(auto listener, socket::Listener::open(settings.grpc_socket));
    PINFOLD_LET(parts->api_endpoint,
                grpc::Endpoint::start(std::move(listener), {&parts->api}, options));
    say(fmt::format("serves pinfold.v1 at socket '{}'", settings.grpc_socket));
  }
  PINFOLD_TRY(parts->serve_pod_resources(settings.pod_resources, options));
  if (!settings.metrics_address.empty()) {
    PINFOLD_LET(parts->metrics_server,
                metrics::MetricsServer::start(settings.metrics_address,
                                              [parts = parts.get()] { return parts->collect(); }));
    say(fmt::format("serves metrics at '{}', port {}", settings.metrics_address,
                    parts->metrics_server->port()));
  }
  return std::unique_ptr<Interfaces>(new Interfaces(std::move(parts)));
}

Interfaces::Interfaces(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Interfaces::~Interfaces() = default;

const Interfaces::PodResourcesPlace& Interfaces::pod_resources() const {
  return parts_->pod_resources_place;
}

}  // namespace pinfold::process
