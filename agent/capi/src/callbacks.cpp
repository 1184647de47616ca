#include "callbacks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "call.hpp"
#include "callback_values.hpp"
#include "pinfold/agent/open_agent.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::capi {
namespace {

using enforce::CgroupFs;

/// Runs a callback, and turns a C++ exception from it into an error.
template <class Callback>
auto call(Callback&& callback) -> Result<decltype(callback())> {
  try {
    if constexpr (std::is_void_v<decltype(callback())>) {
      callback();
      return {};
    } else {
      return callback();
    }
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("it threw '{}'", thrown.what()));
  } catch (...) {
    return fail(ErrorCode::kInvalidArgument, "it threw an exception");
  }
}

/// Throws CallbackFailure if a callback breaks the rules of its description: a HintProvider returns
/// no errors, and the decision must end before anything is stored.
class CallbackHintProvider final : public HintProvider {
 public:
  CallbackHintProvider(HintCallbacks callbacks, int numa_count)
      : callbacks_(callbacks.callbacks),
        name_(std::move(callbacks.name)),
        numa_count_(numa_count) {}

  [[nodiscard]] std::string name() const override { return name_; }

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
    pinfold_text new_state{kMaxProviderText, {}, false, {}};
    pinfold_text message{kMaxProviderText, {}, false, {}};
    const std::uint64_t numa_mask = affinity.numa ? affinity.numa->bits() : 0;
    const std::string pod_json = to_json(pod).dump();
    const auto rejected = call([&] {
      return callbacks_.allocate(callbacks_.data, state.c_str(), pod_json.c_str(),
                                 container.name.c_str(), numa_mask, &new_state, &message);
    });
    if (!rejected) fail_call("allocate", rejected.error().message);
    check("allocate", new_state.misuse);
    check("allocate", message.misuse);
    if (*rejected != 0) {
      if (!message.is_set) {
        message.value = fmt::format("hint provider '{}' gave no message", name_);
      }
      return tl::unexpected(Rejection::unexpected(message.value));
    }
    if (new_state.is_set) state = std::move(new_state.value);
    return {};
  }

  void release(std::string& state, const ContainerId& container) const override {
    pinfold_text new_state{kMaxProviderText, {}, false, {}};
    const auto done = call([&] {
      callbacks_.release(callbacks_.data, state.c_str(), container.pod.value.c_str(),
                         container.name.c_str(), &new_state);
    });
    if (!done) fail_call("release", done.error().message);
    check("release", new_state.misuse);
    if (new_state.is_set) state = std::move(new_state.value);
  }

 private:
  [[noreturn]] void fail_call(const char* callback, std::string_view reason) const {
    throw CallbackFailure(fmt::format("hint provider '{}': {}: {}", name_, callback, reason));
  }
  void check(const char* callback, const Misuse& misuse) const {
    if (misuse.code == PINFOLD_NO_MEMORY) throw std::bad_alloc();
    if (misuse.code != PINFOLD_OK) fail_call(callback, misuse.reason);
  }

  [[nodiscard]] ResourceHints get_hints(const std::string& state, const PodSpec& pod,
                                        const char* container) const {
    pinfold_hints hints{numa_count_, {}, 0, {}};
    const std::string pod_json = to_json(pod).dump();
    const auto done = call([&] {
      callbacks_.get_hints(callbacks_.data, state.c_str(), pod_json.c_str(), container, &hints);
    });
    if (!done) fail_call("get_hints", done.error().message);
    check("get_hints", hints.misuse);
    return std::move(hints.value);
  }

  pinfold_hint_provider callbacks_;
  std::string name_;
  int numa_count_;
};

/// Returns the non-empty lines, sorted.
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

/// Uses the callbacks that the runtime has set, and the kernel in place of the others.
class CallbackCgroupFs final : public CgroupFs {
 public:
  CallbackCgroupFs(const pinfold_cgroup_fs& callbacks, std::string directory,
                   std::unique_ptr<CgroupFs> kernel)
      : callbacks_(callbacks), directory_(std::move(directory)), kernel_(std::move(kernel)) {}

  Result<void> make_group(const std::string& group) override {
    if (callbacks_.create_cgroup == nullptr) return kernel_->make_group(group);
    return run(fmt::format("create_cgroup '{}'", shown(group)), [&] {
      return callbacks_.create_cgroup(callbacks_.data, directory_.c_str(), group.c_str());
    });
  }

  Result<void> remove_group(const std::string& group) override {
    if (callbacks_.remove_cgroup == nullptr) return kernel_->remove_group(group);
    return run(fmt::format("remove_cgroup '{}'", shown(group)), [&] {
      return callbacks_.remove_cgroup(callbacks_.data, directory_.c_str(), group.c_str());
    });
  }

  Result<std::vector<std::string>> children(const std::string& group) override {
    if (callbacks_.list_children == nullptr) return kernel_->children(group);
    const std::string what = fmt::format("list_children of '{}'", shown(group));
    PINFOLD_LET(const auto text, get_text(what, [&](pinfold_text& names) {
                  return callbacks_.list_children(callbacks_.data, directory_.c_str(),
                                                  group.c_str(), &names);
                }));
    auto names = split_lines(text);
    const auto wrong = std::find_if_not(names.begin(), names.end(),
                                        [](const auto& name) { return is_name(name); });
    if (wrong == names.end()) return names;
    return broken(what, fmt::format("'{}' is not the name of a cgroup", escaped(*wrong)));
  }

  Result<std::string> read(const std::string& group, const std::string& file) override {
    if (callbacks_.read_file == nullptr) return kernel_->read(group, file);
    PINFOLD_LET(
        auto text,
        get_text(fmt::format("read_file '{}/{}'", shown(group), file), [&](pinfold_text& value) {
          return callbacks_.read_file(callbacks_.data, directory_.c_str(), group.c_str(),
                                      file.c_str(), &value);
        }));
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

  Result<void> write(const std::string& group, const std::string& file,
                     std::string_view value) override {
    if (callbacks_.write_file == nullptr) return kernel_->write(group, file, value);
    const std::string text(value);
    return run(fmt::format("write_file '{}' to '{}/{}'", text, shown(group), file), [&] {
      return callbacks_.write_file(callbacks_.data, directory_.c_str(), group.c_str(), file.c_str(),
                                   text.c_str());
    });
  }

 private:
  [[nodiscard]] std::string shown(const std::string& group) const {
    return group.empty() ? directory_ : directory_ + "/" + group;
  }
  static bool is_name(std::string_view name) {
    return name.size() <= NAME_MAX && name != "." && name != ".." &&
           name.find('/') == std::string_view::npos;
  }
  static tl::unexpected<Error> broken(const std::string& what, std::string_view reason) {
    return fail(ErrorCode::kIo, fmt::format("cgroup_fs: {}: {}", what, reason));
  }

  /// Runs a callback that returns 0 or an errno.
  template <class Callback>
  static Result<void> run(const std::string& what, Callback&& callback) {
    constexpr int kMaxErrno = 4095;  // as in the kernel
    const auto returned = call(callback);
    if (!returned) return broken(what, returned.error().message);
    if (*returned == 0) return {};
    if (*returned > 0 && *returned <= kMaxErrno) {
      return fail_errno(*returned, "cgroup_fs: " + what);
    }
    return broken(what, fmt::format("it returned {}: expected 0 or an errno", *returned));
  }

  /// Runs a callback that returns 0 or an errno and sets a text.
  template <class Callback>
  static Result<std::string> get_text(const std::string& what, Callback&& callback) {
    pinfold_text text{kMaxFileText, {}, false, {}};
    const auto done = run(what, [&] { return callback(text); });
    if (text.misuse.code == PINFOLD_NO_MEMORY) return fail_errno(ENOMEM, "cgroup_fs: " + what);
    if (text.misuse.code != PINFOLD_OK) return broken(what, text.misuse.reason);
    if (!done) return fail(done.error());
    if (!text.is_set) return broken(what, "it returned 0 and set no text");
    return std::move(text.value);
  }

  pinfold_cgroup_fs callbacks_;
  std::string directory_;
  std::unique_ptr<CgroupFs> kernel_;
};

/// Opens a hierarchy that exists only in the callbacks.
Result<enforce::Cgroups> open_callback_hierarchy(const pinfold_cgroup_fs& callbacks,
                                                 const std::string& root, bool is_query) {
  enforce::HierarchyRoot hierarchy_root;
  hierarchy_root.version =
      callbacks.cgroup_version == 1 ? enforce::CgroupVersion::kV1 : enforce::CgroupVersion::kV2;
  hierarchy_root.directory = root;
  hierarchy_root.processes = nullptr;
  hierarchy_root.controllers.assign(std::begin(enforce::kAllControllers),
                                    std::end(enforce::kAllControllers));
  std::vector<enforce::Hierarchy> hierarchies;
  hierarchies.push_back(
      {std::move(hierarchy_root), std::make_unique<CallbackCgroupFs>(callbacks, root, nullptr)});
  return is_query ? enforce::Cgroups::make_to_read(std::move(hierarchies), {})
                  : enforce::Cgroups::make(std::move(hierarchies), {});
}

}  // namespace

std::unique_ptr<const HintProvider> make_hint_provider(const HintCallbacks& callbacks,
                                                       int numa_count) {
  return std::make_unique<CallbackHintProvider>(callbacks, numa_count);
}

agent::LogSink make_log_sink(const pinfold_log_sink& callback) {
  return [callback](agent::LogLevel level, std::string_view message) {
    const std::string text(message);
    // Ignore the exceptions of a log.
    (void)call(
        [&] { callback.log(callback.data, static_cast<std::int32_t>(level), text.c_str()); });
  };
}

agent::CgroupsOpener make_cgroup_opener(const pinfold_cgroup_fs& callbacks, bool is_query) {
  return [callbacks, is_query](const std::string& root) -> Result<enforce::Cgroups> {
    if (callbacks.cgroup_version != 0) return open_callback_hierarchy(callbacks, root, is_query);
    const auto wrap = [&](std::unique_ptr<CgroupFs> kernel,
                          const enforce::HierarchyRoot& hierarchy_root) {
      return std::make_unique<CallbackCgroupFs>(callbacks, hierarchy_root.directory,
                                                std::move(kernel));
    };
    return is_query ? enforce::open_cgroups_to_read(root, wrap) : enforce::open_cgroups(root, wrap);
  };
}

}  // namespace pinfold::capi
