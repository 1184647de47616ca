#include "pinfold/checkpoint/kubelet_encoder.hpp"

#include <map>
#include <utility>
#include <vector>

#include "cpu_fields.hpp"
#include "json_parts.hpp"
#include "memory_fields.hpp"
#include "pinfold/checkpoint/kubelet.hpp"

namespace pinfold::checkpoint {
namespace {

using Groups = std::vector<EncodedEntries::Group>;

void put_group(GoDump& out, const EncodedEntries::Group& group) { out.part(*group.dump); }
void put_group(JsonParts& out, const EncodedEntries::Group& group) { out.part(group.json); }

/// A MemoryCheckpoint with encoded entries, for memory_file::put_file.
struct EncodedMemory {
  const std::map<std::int32_t, NodeMemory>& machine_state;
  const Groups& assignments;
  const std::map<PodUid, std::vector<MemoryBlock>>& pods;
};

template <class Out>
void put_containers(Out& out, const ContainerMap<CpuSet>::OfPod& containers) {
  cpu_file::put_entry(out, containers);
}
template <class Out>
void put_containers(Out& out, const ContainerMap<std::vector<MemoryBlock>>::OfPod& containers) {
  put_map(out, containers, [&](const auto& blocks) { memory_file::put_blocks(out, blocks); });
}

template <class Containers>
EncodedEntry encode_entry(const PodUid& uid, const Containers& containers) {
  JsonWriter json;
  json.key(uid.value);
  put_containers(json, containers);
  GoDump dump;
  dump.key(uid.value);
  put_containers(dump, containers);
  return {SummedText("," + std::move(json).take()), " " + std::move(dump).take()};
}

/// Encodes the entries that differ from the last ones, and returns all.
template <class Encoded, class T>
const Groups& update_entries(Encoded& encoded, const ContainerMap<T>& next) {
  ContainerMap<T>::for_each_change(
      encoded.assignments, next, [&](const PodUid& uid, const auto* /*before*/, const auto* after) {
        if (after == nullptr) return encoded.entries.erase(uid);
        encoded.entries.put(uid, encode_entry(uid, *after));
      });
  encoded.assignments = next;
  return encoded.entries.joined();
}

}  // namespace

/// Writes encoded entries in place of the containers that put_fields() has.
template <class Out, class PutValue>
void put_map(Out& out, const std::vector<EncodedEntries::Group>& groups,
             const PutValue& /*put_value*/) {
  out.open_map();
  for (const EncodedEntries::Group& group : groups) put_group(out, group);
  out.close_map();
}

FileText KubeletEncoder::cpu(const Node& node, const CpuCheckpoint& state) {
  JsonParts json;
  cpu_file::put_file(json, update_entries(cpu_, state.assignments), state,
                     node.config().cpu_manager_policy,
                     cpu_format(formats_of(kubelet_of(node)).writes));
  return FileText(std::move(json).take_parts());
}

FileText KubeletEncoder::memory(const Node& node, const MemoryCheckpoint& state) {
  JsonParts json;
  const EncodedMemory encoded{state.machine_state, update_entries(memory_, state.assignments),
                              state.pods};
  memory_file::put_file(json, encoded, node.config().memory_manager_policy,
                        memory_format(formats_of(kubelet_of(node)).writes));
  return FileText(std::move(json).take_parts());
}

}  // namespace pinfold::checkpoint
