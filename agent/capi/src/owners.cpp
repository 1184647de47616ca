#include <fmt/format.h>

#include <string>
#include <utility>

#include "call.hpp"
#include "pinfold/agent/options.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "pinfold/checkpoint/store.hpp"

/// Finds the owners of CPUs, for programs that only ask: one read of the snapshot, no lock, no
/// node.
namespace pinfold::capi {
namespace {

/// Reads the CPU manager's state of a directory: from shared memory, or else from the files.
Result<CpuCheckpoint> read_cpus(const char* state_dir) {
  const std::string directory = state_dir == nullptr ? agent::kDefaultStateDir : state_dir;
  constexpr auto kOwners = checkpoint::OwnerCheck::kOn;
  PINFOLD_TRY(checkpoint::open_state_directory_of(
      directory, {std::string(checkpoint::kSnapshotFileName)}, kOwners));
  auto files = checkpoint::read_snapshot(directory);
  if (!files && files.error().code == ErrorCode::kNotFound) {
    PINFOLD_LET(const auto fs, checkpoint::open_state_directory(directory, kOwners));
    files = checkpoint::read_files(*fs);
  }
  if (!files) return tl::unexpected(std::move(files).error());
  if (!files->cpu) return fail(ErrorCode::kNotFound, fmt::format("'{}' has no state", directory));
  PINFOLD_LET(auto inspected, checkpoint::inspect_cpu(*files->cpu));
  return std::move(inspected.state);
}

struct Owner {
  std::string pod;
  std::string container;  ///< "": the shared containers of the pod
};

/// Finds the owner of a CPU. If several containers of a pod share it, it belongs to the pod.
Owner owner_of(const CpuCheckpoint& state, CpuId cpu) {
  for (const auto& [pod, containers] : state.assignments.by_pod()) {
    Owner owner;
    for (const auto& [name, cpus] : containers) {
      if (!cpus.contains(cpu)) continue;
      const bool is_first = owner.pod.empty();
      owner = {pod.value, is_first ? name : std::string()};
    }
    if (!owner.pod.empty()) return owner;
  }
  for (const auto& [pod, cpus] : state.pods) {
    if (cpus.contains(cpu)) return {pod.value, ""};
  }
  return {};
}

Result<pinfold_code> write_owner(const char* state_dir, std::int32_t cpu, char** uid,
                                 char** container) {
  PINFOLD_TRY(require(uid, "uid"));
  PINFOLD_TRY(require(container, "container"));
  if (cpu < 0 || cpu >= CpuSet::kMaxCpus) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("cpu {}: expected a CPU's number", cpu));
  }
  PINFOLD_LET(const auto state, read_cpus(state_dir));
  const Owner owner = owner_of(state, CpuId{cpu});
  char* const pod = copy_text(owner.pod);
  char* const name = copy_text(owner.container);
  if (pod == nullptr || name == nullptr) {
    pinfold_free(pod);
    pinfold_free(name);
    return PINFOLD_NO_MEMORY;
  }
  *uid = pod;
  *container = name;
  return PINFOLD_OK;
}

CpuSet exclusive_cpus(const CpuCheckpoint& state) {
  CpuSet owned;
  for (const auto& [pod, name, of_container] : state.assignments) owned |= of_container;
  for (const auto& [pod, of_pod] : state.pods) owned |= of_pod;
  return owned;
}

Result<pinfold_code> write_exclusive(const char* state_dir, const char* cpus, int* is_exclusive) {
  PINFOLD_TRY(require(cpus, "cpus"));
  PINFOLD_TRY(require(is_exclusive, "is_exclusive"));
  PINFOLD_LET_WRAP(const auto asked, CpuSet::parse(cpus), "cpus");
  PINFOLD_LET(const auto state, read_cpus(state_dir));
  *is_exclusive = !asked.empty() && exclusive_cpus(state).contains_all(asked) ? 1 : 0;
  return PINFOLD_OK;
}

/// Reads the CPUs on which a group can run. The file's name differs between the versions.
Result<CpuSet> effective_cpus(const std::string& directory) {
  auto list = read_file(directory + "/cpuset.cpus.effective");
  if (!list && list.error().code == ErrorCode::kNotFound) {
    list = read_file(directory + "/cpuset.effective_cpus");
  }
  if (!list) return tl::unexpected(std::move(list).error());
  if (list->ends_with('\n')) list->pop_back();
  return CpuSet::parse(*list);
}

/// Gives the same answer as gate/src/decision.cpp.
bool is_placed(const CpuCheckpoint& state, const ContainerId& container, const CpuSet& cpus) {
  if (cpus.empty()) return false;
  if (const CpuSet* const own = state.assignments.find(container)) return own->contains_all(cpus);
  const auto pod = state.pods.find(container.pod);
  if (pod != state.pods.end()) return pod->second.contains_all(cpus);
  return !exclusive_cpus(state).intersects(cpus);
}

Result<pinfold_code> write_placed(const char* state_dir, const char* uid, const char* container,
                                  const char* directory, int* placed) {
  PINFOLD_TRY(require(uid, "uid"));
  PINFOLD_TRY(require(container, "container"));
  PINFOLD_TRY(require(directory, "directory"));
  PINFOLD_TRY(require(placed, "is_placed"));
  PINFOLD_LET(const auto state, read_cpus(state_dir));
  PINFOLD_LET_WRAP(const auto cpus, effective_cpus(directory), directory);
  *placed = is_placed(state, {PodUid(uid), container}, cpus) ? 1 : 0;
  return PINFOLD_OK;
}

}  // namespace
}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

pinfold_code pinfold_owner_of(const char* state_dir, std::int32_t cpu, char** uid, char** container,
                              char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_LET_WRAP(const auto code, write_owner(state_dir, cpu, uid, container),
                     "owner of a CPU");
    return code;
  });
}

pinfold_code pinfold_is_exclusive(const char* state_dir, const char* cpus, int* is_exclusive,
                                  char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_LET_WRAP(const auto code, write_exclusive(state_dir, cpus, is_exclusive),
                     "exclusive CPUs");
    return code;
  });
}

pinfold_code pinfold_container_is_placed(const char* state_dir, const char* uid,
                                         const char* container, const char* directory,
                                         int* is_placed, char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_LET_WRAP(const auto code, write_placed(state_dir, uid, container, directory, is_placed),
                     "placement of a container");
    return code;
  });
}
