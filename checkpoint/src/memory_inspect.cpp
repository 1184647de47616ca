#include "memory_fields.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "restore.hpp"
#include "salvage.hpp"

namespace pinfold::checkpoint {
namespace {

Result<Inspected<MemoryCheckpoint>> inspected(const memory_file::MemoryFile& file, int version) {
  PINFOLD_LET(auto state, to_state(file, std::nullopt));
  return Inspected<MemoryCheckpoint>{version, file.policy, std::move(state)};
}

}  // namespace

Result<Inspected<MemoryCheckpoint>> inspect_memory(std::string_view bytes) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  using namespace memory_file;
  int version = 3;
  auto file = load_data_of(read(bytes, MemoryFileVersion::kV3, "state.MemoryManagerCheckpoint"));
  for (const MemoryFileVersion older : {MemoryFileVersion::kV2, MemoryFileVersion::kV1}) {
    if (file) break;
    --version;
    file = checked(read(bytes, older, versioned_go_type(older)), older, Names::kAlsoVersioned,
                   Zero::kIsRightInV1);
  }
  if (!file) return fail(error_of(std::move(file), wrong_memory_sums(bytes)));
  return inspected(*file, version);
}

Result<Inspected<MemoryCheckpoint>> inspect_memory_unchecked(std::string_view bytes) {
  if (auto error = json_syntax_error(bytes)) return corrupt(*std::move(error));
  using namespace memory_file;
  auto file = read(bytes, MemoryFileVersion::kV3, "state.MemoryManagerCheckpoint");
  int version = 3;
  if (is_newest(file) && !json_syntax_error(file.data)) {
    file = read(file.data, MemoryFileVersion::kDataOfV3, "state.MemoryManagerCheckpointData");
  } else {
    file = read(bytes, MemoryFileVersion::kV2, versioned_go_type(MemoryFileVersion::kV2));
    version = file.pods && !file.pods->empty() ? 2 : 1;
  }
  if (!file.error.empty()) return corrupt(file.error);
  return inspected(file, version);
}

std::vector<WrongSum> wrong_memory_sums(std::string_view bytes) {
  using namespace memory_file;
  return wrong_sums<MemoryFileVersion>(
      bytes, MemoryFileVersion::kV3,
      {{MemoryFileVersion::kV2, "V2"}, {MemoryFileVersion::kV1, "V1"}},
      [&](MemoryFileVersion version) { return read(bytes, version, ""); },
      [](const MemoryFile& file, MemoryFileVersion version) {
        return has_right_sum(file, version, Names::kAlsoVersioned, Zero::kIsRightInV1);
      },
      [](const MemoryFile& file, MemoryFileVersion version) { return sum_of(file, version); });
}

Salvaged<MemoryCheckpoint> salvage_memory(std::string_view json) {
  using namespace memory_file;
  Salvaged<MemoryCheckpoint> out;
  const MemoryFile whole =
      salvage_fields<MemoryFileVersion>(json, {MemoryFileVersion::kV3, MemoryFileVersion::kDataOfV3,
                                               MemoryFileVersion::kV2, MemoryFileVersion::kV1});
  out.policy = whole.policy;
  // Nodes one by one, so that a value out of range does not affect the others.
  for (const auto& [id, node] : whole.machine_state.value_or(Nodes())) {
    MemoryFile one;
    one.machine_state->emplace(id, node);
    if (auto state = to_state(one, std::nullopt))
      out.state.machine_state.merge(state->machine_state);
  }
  const auto salvage = [&](const std::string& object, const Blocks& blocks) {
    auto read = to_blocks(blocks);
    if (!read) out.lost.push_back({object, read.error().message});
    return read;
  };
  for (const auto& [pod, containers] :
       whole.assignments.value_or(std::map<std::string, Containers>())) {
    if (!containers) continue;
    for (const auto& [name, blocks] : *containers) {
      const ContainerId container{PodUid(pod), name};
      if (auto read = salvage(to_string(container), blocks)) {
        out.state.assignments[container] = *std::move(read);
      }
    }
  }
  for (const auto& [pod, blocks] : whole.pods.value_or(std::map<std::string, Blocks>())) {
    if (auto read = salvage(pod, blocks); read && !read->empty()) {
      out.state.pods[PodUid(pod)] = *std::move(read);
    }
  }
  return out;
}

}  // namespace pinfold::checkpoint
