#include "callbacks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/agent/open_agent.hpp"

struct pinfold_text {
  std::string value;
};

struct pinfold_hints {
  pinfold::ResourceHints value;
};

namespace pinfold::capi {
namespace {

using enforce::CgroupFs;

class CallbackHintProvider final : public HintProvider {
 public:
  explicit CallbackHintProvider(const pinfold_hint_provider& callbacks) : callbacks_(&callbacks) {}

  [[nodiscard]] std::string name() const override { return callbacks_->name; }

  [[nodiscard]] ResourceHints container_hints(const std::string& state, const PodSpec& pod,
                                              const Container& container) const override {
    return get_hints(state, pod, container.name.c_str());
  }

  [[nodiscard]] ResourceHints pod_hints(const std::string& state,
                                        const PodSpec& pod) const override {
    return get_hints(state, pod, nullptr);
  }

  [[nodiscard]] Admission allocate(std::string& state, const PodSpec& pod,
                                   const Container& container,
                                   const TopologyHint& affinity) const override {
    pinfold_text new_state{state};
    pinfold_text message{"rejected without a message"};
    const std::uint64_t numa_mask = affinity.numa ? affinity.numa->bits() : 0;
    const std::string pod_json = to_json(pod).dump();
    if (callbacks_->allocate(callbacks_->data, state.c_str(), pod_json.c_str(),
                             container.name.c_str(), numa_mask, &new_state, &message) != 0) {
      return tl::unexpected(Rejection::unexpected(message.value));
    }
    state = std::move(new_state.value);
    return {};
  }

  void release(std::string& state, const ContainerId& container) const override {
    pinfold_text new_state{state};
    callbacks_->release(callbacks_->data, state.c_str(), container.pod.value.c_str(),
                        container.name.c_str(), &new_state);
    state = std::move(new_state.value);
  }

 private:
  [[nodiscard]] ResourceHints get_hints(const std::string& state, const PodSpec& pod,
                                        const char* container) const {
    pinfold_hints hints;
    const std::string pod_json = to_json(pod).dump();
    callbacks_->get_hints(callbacks_->data, state.c_str(), pod_json.c_str(), container, &hints);
    return std::move(hints.value);
  }

  const pinfold_hint_provider* callbacks_;
};

/// Without "" and without a newline at the end, sorted.
std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty()) lines.emplace_back(line);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// Uses each callback that the runtime has, and the kernel instead of the others.
class CallbackCgroupFs final : public CgroupFs {
 public:
  CallbackCgroupFs(const pinfold_cgroup_fs& callbacks, std::string directory,
                   std::unique_ptr<CgroupFs> kernel)
      : callbacks_(callbacks), directory_(std::move(directory)), kernel_(std::move(kernel)) {}

  Result<void> make_group(const std::string& group) override {
    if (callbacks_.create_cgroup == nullptr) return kernel_->make_group(group);
    return check(callbacks_.create_cgroup(callbacks_.data, directory_.c_str(), group.c_str()),
                 "create '{}/{}'", directory_, group);
  }

  Result<void> remove_group(const std::string& group) override {
    if (callbacks_.remove_cgroup == nullptr) return kernel_->remove_group(group);
    return check(callbacks_.remove_cgroup(callbacks_.data, directory_.c_str(), group.c_str()),
                 "remove '{}/{}'", directory_, group);
  }

  Result<std::vector<std::string>> children(const std::string& group) override {
    if (callbacks_.list_children == nullptr) return kernel_->children(group);
    pinfold_text names;
    PINFOLD_TRY(
        check(callbacks_.list_children(callbacks_.data, directory_.c_str(), group.c_str(), &names),
              "list '{}/{}'", directory_, group));
    return split_lines(names.value);
  }

  Result<std::string> read(const std::string& group, const std::string& file) override {
    if (callbacks_.read_file == nullptr) return kernel_->read(group, file);
    pinfold_text value;
    PINFOLD_TRY(check(callbacks_.read_file(callbacks_.data, directory_.c_str(), group.c_str(),
                                           file.c_str(), &value),
                      "read '{}/{}/{}'", directory_, group, file));
    return std::move(value.value);
  }

  Result<void> write(const std::string& group, const std::string& file,
                     std::string_view value) override {
    if (callbacks_.write_file == nullptr) return kernel_->write(group, file, value);
    const std::string text(value);
    return check(callbacks_.write_file(callbacks_.data, directory_.c_str(), group.c_str(),
                                       file.c_str(), text.c_str()),
                 "write '{}' to '{}/{}/{}'", text, directory_, group, file);
  }

 private:
  /// What a callback returned, as a Result.
  template <class... Args>
  static Result<void> check(int sys_errno, fmt::format_string<Args...> what, Args&&... args) {
    if (sys_errno == 0) return {};
    return fail_errno(sys_errno, "cgroup_fs: " + fmt::format(what, std::forward<Args>(args)...));
  }

  pinfold_cgroup_fs callbacks_;
  std::string directory_;
  std::unique_ptr<CgroupFs> kernel_;
};

/// The only hierarchy, which exists in the callbacks alone.
Result<enforce::Cgroups> open_callback_hierarchy(const pinfold_cgroup_fs& callbacks,
                                                 const std::string& root) {
  enforce::HierarchyRoot hierarchy_root;
  hierarchy_root.version =
      callbacks.cgroup_version == 1 ? enforce::CgroupVersion::kV1 : enforce::CgroupVersion::kV2;
  hierarchy_root.directory = root;
  hierarchy_root.controllers.assign(std::begin(enforce::kAllControllers),
                                    std::end(enforce::kAllControllers));
  std::vector<enforce::Hierarchy> hierarchies;
  hierarchies.push_back(
      {std::move(hierarchy_root), std::make_unique<CallbackCgroupFs>(callbacks, root, nullptr)});
  return enforce::Cgroups::make(std::move(hierarchies), {});
}

}  // namespace

std::unique_ptr<const HintProvider> make_hint_provider(const pinfold_hint_provider& callbacks) {
  return std::make_unique<CallbackHintProvider>(callbacks);
}

agent::LogSink make_log_sink(const pinfold_log_sink& callback) {
  return [callback](agent::LogLevel level, std::string_view message) {
    callback.log(callback.data, static_cast<std::int32_t>(level), std::string(message).c_str());
  };
}

std::function<Result<enforce::Cgroups>(const std::string& root)> make_cgroup_opener(
    const pinfold_cgroup_fs& callbacks) {
  return [callbacks](const std::string& root) -> Result<enforce::Cgroups> {
    if (callbacks.cgroup_version != 0) return open_callback_hierarchy(callbacks, root);
    return enforce::open_cgroups(
        root, [&](std::unique_ptr<CgroupFs> kernel, const enforce::HierarchyRoot& hierarchy_root) {
          return std::make_unique<CallbackCgroupFs>(callbacks, hierarchy_root.directory,
                                                    std::move(kernel));
        });
  };
}

}  // namespace pinfold::capi

namespace {

/// For a function that callbacks call: memory is all that it can lack.
template <class Body>
pinfold_code guarded_allocation(Body&& body) noexcept {
  try {
    body();
    return PINFOLD_OK;
  } catch (...) {
    return PINFOLD_NO_MEMORY;
  }
}

}  // namespace

pinfold_code pinfold_text_set(pinfold_text* text, const char* value) {
  return guarded_allocation([&] { text->value = value == nullptr ? "" : value; });
}

pinfold_code pinfold_hints_add(pinfold_hints* hints, const char* resource, uint64_t numa_mask,
                               int preferred) {
  return guarded_allocation([&] {
    pinfold::TopologyHint hint;
    if (numa_mask != 0) hint.numa = pinfold::NumaMask(numa_mask);
    hint.preferred = preferred != 0;
    auto& list = hints->value[resource];
    if (!list) list.emplace();
    list->push_back(hint);
  });
}

pinfold_code pinfold_hints_set_impossible(pinfold_hints* hints, const char* resource) {
  return guarded_allocation([&] { hints->value[resource].emplace(); });
}
