#include "pinfold/api/validation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "pinfold/text/go_text.hpp"

namespace pinfold {
namespace {

/// Resource names without a prefix that Kubernetes knows, except huge pages.
constexpr std::array<std::string_view, 20> kStandardResources = {"cpu",
                                                                 "memory",
                                                                 "ephemeral-storage",
                                                                 "requests.cpu",
                                                                 "requests.memory",
                                                                 "requests.ephemeral-storage",
                                                                 "limits.cpu",
                                                                 "limits.memory",
                                                                 "limits.ephemeral-storage",
                                                                 "pods",
                                                                 "resourcequotas",
                                                                 "services",
                                                                 "replicationcontrollers",
                                                                 "secrets",
                                                                 "configmaps",
                                                                 "persistentvolumeclaims",
                                                                 "storage",
                                                                 "requests.storage",
                                                                 "services.nodeports",
                                                                 "services.loadbalancers"};

bool is_qualified(std::string_view resource) {
  return resource.find('/') != std::string_view::npos;
}

/// True for a resource of Kubernetes itself rather than a device plugin.
bool is_of_kubernetes(std::string_view resource) {
  return !is_qualified(resource) || resource.find("kubernetes.io/") != std::string_view::npos;
}

bool is_extended(std::string_view resource) {
  return !is_of_kubernetes(resource) && !resource.starts_with("requests.");
}

bool is_overcommit_allowed(std::string_view resource) {
  return is_of_kubernetes(resource) && !is_huge_page_resource(resource);
}

bool is_standard(std::string_view resource) {
  return is_huge_page_resource(resource) || resource.starts_with("requests.hugepages-") ||
         std::find(kStandardResources.begin(), kStandardResources.end(), resource) !=
             kStandardResources.end();
}

bool is_standard_of_container(std::string_view resource) {
  return is_native_resource(resource) || resource == "ephemeral-storage";
}

enum class ResourceLevel { kPodLevel, kContainerLevel };

/// Collects the violations of one pod.
class Violations {
 public:
  /// Checks the requests and limits of a container or of the pod, at `path`.
  void add_resources(const Resources& resources, const std::string& path, ResourceLevel level) {
    for (const auto& [name, quantity] : resources.limits) {
      add_entry(name, quantity, fmt::format("{}.limits[{}]", path, name), level);
    }
    for (const auto& [name, quantity] : resources.requests) {
      const std::string field = fmt::format("{}.requests[{}]", path, name);
      add_name(name, field, level);
      add_number(name, quantity, field);
      add_relation(name, quantity, resources.limits, path);
      add_page_size(name, quantity, field);
    }
    if (has_huge_pages(resources) && !has_cpu_or_memory(resources)) {
      texts_.push_back(path + ": Forbidden: HugePages require cpu or memory");
    }
  }

  /// Checks the pod's resources against those of its containers.
  void add_consistency(const PodSpec& pod) {
    for (const auto& [name, total] : container_total(pod, &Resources::requests)) {
      add_total(name, total, pod.resources->requests, "requests");
    }
    for (const auto& [name, total] : container_total(pod, &Resources::limits)) {
      if (is_huge_page_resource(name)) add_total(name, total, pod.resources->limits, "limits");
    }
    std::size_t index = 0;
    for (const Container& container : pod.containers) {
      if (container.kind == ContainerKind::kApp) add_limits(container, index++, *pod.resources);
    }
  }

  std::vector<std::string> take() { return std::move(texts_); }

 private:
  void invalid(const std::string& field, std::string_view value, std::string_view detail) {
    texts_.push_back(fmt::format("{}: Invalid value: {}: {}", field, go::quote(value), detail));
  }

  void add_entry(const std::string& name, const Quantity& quantity, const std::string& field,
                 ResourceLevel level) {
    add_name(name, field, level);
    add_number(name, quantity, field);
    add_page_size(name, quantity, field);
  }

  void add_name(const std::string& name, const std::string& field, ResourceLevel level) {
    const bool is_unknown = !is_qualified(name) && !is_standard(name);
    if (is_unknown) {
      invalid(field, name, "must be a standard resource type or fully qualified");
    }
    if (level == ResourceLevel::kPodLevel) {
      if (is_unknown || is_native_resource(name)) return;
      texts_.push_back(fmt::format(
          R"({}: Unsupported value: {}: supported values: "cpu", "hugepages-", "memory")", field,
          go::quote(name)));
    } else if (!is_qualified(name)) {
      if (is_standard_of_container(name)) return;
      invalid(field, name, "must be a standard resource for containers");
    } else if (!is_of_kubernetes(name) && !is_extended(name)) {
      invalid(field, name, "doesn't follow extended resource name standard");
    }
  }

  void add_number(const std::string& name, const Quantity& quantity, const std::string& field) {
    if (is_extended(name) && !quantity.is_whole()) {
      invalid(field, quantity.to_string(), "must be an integer");
    }
  }

  void add_page_size(const std::string& name, const Quantity& quantity, const std::string& field) {
    if (!is_huge_page_resource(name)) return;
    const auto size = Quantity::parse(std::string_view(name).substr(kHugePagesPrefix.size()));
    if (size && quantity.value() % size->value() == 0) return;
    const std::string text = quantity.to_string();
    invalid(field, text, fmt::format("{} is not positive integer multiple of {}", text, name));
  }

  /// Checks a request against the limit of the same resource.
  void add_relation(const std::string& name, const Quantity& request, const ResourceList& limits,
                    const std::string& path) {
    const auto limit = limits.find(name);
    if (limit == limits.end()) {
      if (is_overcommit_allowed(name)) return;
      texts_.push_back(
          path + ".limits: Required value: Limit must be set for non overcommitable resources");
    } else if (request != limit->second && !is_overcommit_allowed(name)) {
      invalid(path + ".requests", request.to_string(),
              fmt::format("must be equal to {} limit of {}", name, limit->second.to_string()));
    } else if (request > limit->second) {
      invalid(path + ".requests", request.to_string(),
              fmt::format("must be less than or equal to {} limit of {}", name,
                          limit->second.to_string()));
    }
  }

  void add_total(const std::string& name, const Quantity& total, const ResourceList& of_pod,
                 std::string_view which) {
    const auto own = of_pod.find(name);
    if (own == of_pod.end() || total <= own->second) return;
    invalid(fmt::format("spec.resources.{}[{}]", which, name), own->second.to_string(),
            fmt::format("must be greater than or equal to aggregate container {} of {}", which,
                        total.to_string()));
  }

  void add_limits(const Container& container, std::size_t index, const Resources& of_pod) {
    for (const auto& [name, limit] : container.resources.limits) {
      const auto own = of_pod.limits.find(name);
      if (own == of_pod.limits.end() || limit <= own->second) continue;
      // The API server gives this path, below the pod's resources.
      invalid(
          fmt::format("spec.resources.containers[{}][{}].limits", index, name), limit.to_string(),
          fmt::format("must be less than or equal to pod limits of {}", own->second.to_string()));
    }
  }

  static bool has_huge_pages(const Resources& resources) {
    const auto is_one = [](const auto& entry) { return is_huge_page_resource(entry.first); };
    return std::any_of(resources.requests.begin(), resources.requests.end(), is_one) ||
           std::any_of(resources.limits.begin(), resources.limits.end(), is_one);
  }
  static bool has_cpu_or_memory(const Resources& resources) {
    const auto names = [](const ResourceList& list) {
      return list.contains("cpu") || list.contains("memory");
    };
    return names(resources.requests) || names(resources.limits);
  }

  std::vector<std::string> texts_;
};

void add_containers(Violations& violations, const PodSpec& pod, std::string_view field,
                    bool is_app) {
  std::size_t index = 0;
  for (const Container& container : pod.containers) {
    if ((container.kind == ContainerKind::kApp) != is_app) continue;
    violations.add_resources(container.resources,
                             fmt::format("spec.{}[{}].resources", field, index++),
                             ResourceLevel::kContainerLevel);
  }
}

}  // namespace

std::vector<std::string> find_violations(const PodSpec& pod) {
  Violations violations;
  add_containers(violations, pod, "containers", true);
  add_containers(violations, pod, "initContainers", false);
  if (pod.resources) {
    violations.add_resources(*pod.resources, "spec.resources", ResourceLevel::kPodLevel);
    violations.add_consistency(pod);
  }
  return violations.take();
}

Result<void> validate(const PodSpec& pod) {
  const std::vector<std::string> violations = find_violations(pod);
  // An aggregate of errors contains each text once; two resources can lack a limit.
  std::set<std::string_view> seen;
  std::vector<std::string_view> once;
  for (const std::string& text : violations) {
    if (seen.insert(text).second) once.push_back(text);
  }
  if (once.empty()) return {};
  const std::string list =
      once.size() == 1 ? std::string(once.front()) : fmt::format("[{}]", fmt::join(once, ", "));
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("Pod {} is invalid: {}", go::quote(pod.name), list));
}

}  // namespace pinfold
