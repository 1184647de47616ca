#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "handles.hpp"

/// C callbacks as the seams of the C++ library have them.
namespace pinfold::capi {
namespace {

using enforce::CgroupFs;

class CallbackProvider final : public HintProvider {
 public:
  explicit CallbackProvider(const pinfold_hint_provider& given) : given_(&given) {}

  [[nodiscard]] std::string name() const override { return given_->name; }

  [[nodiscard]] ResourceHints container_hints(const std::string& state, const PodSpec& pod,
                                              const Container& container) const override {
    return hints(state, pod, container.name.c_str());
  }

  [[nodiscard]] ResourceHints pod_hints(const std::string& state,
                                        const PodSpec& pod) const override {
    return hints(state, pod, nullptr);
  }

  [[nodiscard]] Admission allocate(std::string& state, const PodSpec& pod,
                                   const Container& container,
                                   const TopologyHint& affinity) const override {
    pinfold_text next{state};
    pinfold_text refusal{"refused without a reason"};
    const std::uint64_t nodes = affinity.numa ? affinity.numa->bits() : 0;
    const std::string shown = to_json(pod).dump();
    if (given_->allocate(given_->data, state.c_str(), shown.c_str(), container.name.c_str(), nodes,
                         &next, &refusal) != 0) {
      return tl::unexpected(Rejection::unexpected(refusal.value));
    }
    state = std::move(next.value);
    return {};
  }

  void release(std::string& state, const std::string& pod_uid,
               const std::string& container) const override {
    pinfold_text next{state};
    given_->release(given_->data, state.c_str(), pod_uid.c_str(), container.c_str(), &next);
    state = std::move(next.value);
  }

 private:
  [[nodiscard]] ResourceHints hints(const std::string& state, const PodSpec& pod,
                                    const char* container) const {
    pinfold_hints offered;
    const std::string shown = to_json(pod).dump();
    given_->hints(given_->data, state.c_str(), shown.c_str(), container, &offered);
    return std::move(offered.value);
  }

  const pinfold_hint_provider* given_;
};

/// Calls the writer where it has a callback, else what the kernel has.
class CallbackFs final : public CgroupFs {
 public:
  CallbackFs(const pinfold_cgroup_writer& given, std::string directory,
             std::unique_ptr<CgroupFs> kernel)
      : given_(&given), directory_(std::move(directory)), kernel_(std::move(kernel)) {}

  Result<void> make_group(const std::string& group) override {
    if (given_->make_group == nullptr) return kernel_->make_group(group);
    return answer(given_->make_group(given_->data, directory_.c_str(), group.c_str()),
                  fmt::format("cgroup writer: create '{}/{}'", directory_, group));
  }

  Result<void> remove_group(const std::string& group) override {
    if (given_->remove_group == nullptr) return kernel_->remove_group(group);
    return answer(given_->remove_group(given_->data, directory_.c_str(), group.c_str()),
                  fmt::format("cgroup writer: remove '{}/{}'", directory_, group));
  }

  Result<std::vector<std::string>> children(const std::string& group) override {
    if (given_->children == nullptr) return kernel_->children(group);
    pinfold_text names;
    PINFOLD_TRY(answer(given_->children(given_->data, directory_.c_str(), group.c_str(), &names),
                       fmt::format("cgroup writer: list '{}/{}'", directory_, group)));
    std::vector<std::string> out;
    for (std::string_view rest = names.value; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (!line.empty()) out.emplace_back(line);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  Result<std::string> read(const std::string& group, const std::string& file) override {
    if (given_->read == nullptr) return kernel_->read(group, file);
    pinfold_text value;
    PINFOLD_TRY(
        answer(given_->read(given_->data, directory_.c_str(), group.c_str(), file.c_str(), &value),
               fmt::format("cgroup writer: read '{}/{}/{}'", directory_, group, file)));
    return std::move(value.value);
  }

  Result<void> write(const std::string& group, const std::string& file,
                     std::string_view value) override {
    if (given_->write == nullptr) return kernel_->write(group, file, value);
    const std::string text(value);
    return answer(
        given_->write(given_->data, directory_.c_str(), group.c_str(), file.c_str(), text.c_str()),
        fmt::format("cgroup writer: write '{}' to '{}/{}/{}'", text, directory_, group, file));
  }

 private:
  static Result<void> answer(int error, const std::string& what) {
    if (error == 0) return {};
    return fail_errno(error, what);
  }

  const pinfold_cgroup_writer* given_;
  std::string directory_;
  std::unique_ptr<CgroupFs> kernel_;
};

Result<enforce::Cgroups> open_own_hierarchy(const pinfold_cgroup_writer& writer,
                                            const std::string& root) {
  enforce::HierarchyPlace place;
  place.version = writer.version == 1 ? enforce::CgroupVersion::kV1 : enforce::CgroupVersion::kV2;
  place.directory = root;
  place.controllers.assign(std::begin(enforce::kAllControllers),
                           std::end(enforce::kAllControllers));
  std::vector<enforce::Hierarchy> hierarchies;
  hierarchies.push_back({std::move(place), std::make_unique<CallbackFs>(writer, root, nullptr)});
  return enforce::Cgroups::make(std::move(hierarchies), {});
}

}  // namespace

std::unique_ptr<const HintProvider> make_provider(const pinfold_hint_provider& given) {
  return std::make_unique<CallbackProvider>(given);
}

agent::LogSink make_log(const pinfold_log_sink& given) {
  return [given](agent::LogLevel level, std::string_view message) {
    given.log(given.data, static_cast<std::int32_t>(level), std::string(message).c_str());
  };
}

std::function<Result<enforce::Cgroups>(const std::string& root)> make_opener(
    const pinfold_cgroup_writer& given) {
  // Shared, for a std::function must be copyable.
  auto writer = std::make_shared<const pinfold_cgroup_writer>(given);
  return [writer](const std::string& root) -> Result<enforce::Cgroups> {
    if (writer->version != 0) return open_own_hierarchy(*writer, root);
    return agent::open_this_kernel(
        root, [&](std::unique_ptr<CgroupFs> kernel, const enforce::HierarchyPlace& place) {
          return std::make_unique<CallbackFs>(*writer, place.directory, std::move(kernel));
        });
  };
}

}  // namespace pinfold::capi

pinfold_code pinfold_text_set(pinfold_text* text, const char* value) {
  try {
    text->value = value == nullptr ? "" : value;
    return PINFOLD_OK;
  } catch (const std::bad_alloc&) {
    return PINFOLD_NO_MEMORY;
  }
}

pinfold_code pinfold_hints_add(pinfold_hints* hints, const char* resource, uint64_t nodes,
                               int preferred) {
  try {
    pinfold::TopologyHint hint;
    if (nodes != 0) hint.numa = pinfold::NumaMask(nodes);
    hint.preferred = preferred != 0;
    auto& list = hints->value[resource];
    if (!list) list.emplace();
    list->push_back(hint);
    return PINFOLD_OK;
  } catch (const std::bad_alloc&) {
    return PINFOLD_NO_MEMORY;
  }
}

pinfold_code pinfold_hints_impossible(pinfold_hints* hints, const char* resource) {
  try {
    hints->value[resource].emplace();
    return PINFOLD_OK;
  } catch (const std::bad_alloc&) {
    return PINFOLD_NO_MEMORY;
  }
}
