#include "managers.hpp"

#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "pinfold/base/read_file.hpp"

namespace pinfold::test {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_state(const fs::path& file) {
  auto text = read_file(file.string());
  if (!text) return std::nullopt;
  return std::move(*text);
}

void write_state(const fs::path& file, const std::optional<std::string>& text) {
  if (!text || read_state(file) == text) return;
  const fs::path draft = file.parent_path() / ("." + file.filename().string());
  std::ofstream(draft, std::ios::binary) << *text;
  std::error_code ignored;
  fs::rename(draft, file, ignored);
}

}  // namespace

tl::expected<Managers, StartError> Managers::start(Node node, fs::path folder) {
  Managers managers(std::move(node), std::move(folder));
  managers.files_ = {read_state(managers.folder_ / checkpoint::kCpuFileName),
                     read_state(managers.folder_ / checkpoint::kMemoryFileName)};
  auto state = checkpoint::start(managers.node_, managers.files_, {}, managers.folder_.string());
  managers.save();  // a failed start has changed them too
  if (!state) return tl::unexpected(state.error());
  managers.state_ = std::move(*state);
  managers.state_.held = stale_pods(managers.state_);  // their manifests are read next
  return managers;
}

std::optional<Rejection> Managers::admit(const PodSpec& pod) {
  Decision decision =
      decide(node_, state_, pod, nullptr, nullptr, AdmissionChecks::kManagersAndRequests);
  if (auto* rejected = std::get_if<Rejected>(&decision)) {
    commit(std::move(rejected->next));
    return rejected->why;
  }
  NodeState next = std::move(std::get<Admitted>(decision).next);
  for (const Container& container : pod.containers) {
    (void)start_in_place(node_, next, {pod.uid, container.name});
  }
  commit(std::move(next));
  return std::nullopt;
}

void Managers::remove(const PodUid& pod) { commit(remove_pod(node_, state_, pod)); }

void Managers::release_others() {
  NodeState next = state_;
  next.held.clear();
  commit(release_stale(node_, std::move(next)));
}

void Managers::commit(NodeState next) {
  checkpoint::update(node_, state_, next, files_);
  state_ = std::move(next);
  save();
}

void Managers::save() const {
  write_state(folder_ / checkpoint::kCpuFileName, files_.cpu);
  write_state(folder_ / checkpoint::kMemoryFileName, files_.memory);
}

}  // namespace pinfold::test
