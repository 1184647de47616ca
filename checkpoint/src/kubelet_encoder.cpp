#include "pinfold/checkpoint/kubelet_encoder.hpp"

#include <memory>
#include <utility>

#include "cpu_fields.hpp"
#include "json_parts.hpp"
#include "memory_fields.hpp"
#include "pinfold/checkpoint/kubelet.hpp"

namespace pinfold::checkpoint {
namespace {

void put_part(GoDump& out, const EncodedEntry& entry) { out.part(entry.dump); }
void put_part(JsonParts& out, const EncodedEntry& entry) { out.part(entry.json); }

/// A MemoryCheckpoint with encoded entries, for memory_file::put_file.
struct EncodedMemory {
  const std::map<std::int32_t, NodeMemory>& machine_state;
  const EncodedEntries& assignments;
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
  return {std::make_shared<const SummedText>("," + std::move(json).take()),
          DumpPart(" " + std::move(dump).take())};
}

/// Encodes the entries that differ from the last ones.
template <class Encoded, class T>
void update_entries(Encoded& encoded, const ContainerMap<T>& next) {
  ContainerMap<T>::for_each_change(
      encoded.assignments, next, [&](const PodUid& uid, const auto* /*before*/, const auto* after) {
        encoded.entries.erase(uid);
        if (after != nullptr) encoded.entries.emplace(uid, encode_entry(uid, *after));
      });
  encoded.assignments = next;
}

}  // namespace

/// Writes encoded entries in place of the containers that put_fields() has.
template <class Out, class PutValue>
void put_map(Out& out, const EncodedEntries& entries, const PutValue& /*put_value*/) {
  out.open_map();
  for (const auto& [uid, entry] : entries) put_part(out, entry);
  out.close_map();
}

FileText KubeletEncoder::cpu(const Node& node, const CpuCheckpoint& state) {
  update_entries(cpu_, state.assignments);
  JsonParts json;
  cpu_file::put_file(json, cpu_.entries, state, node.config().cpu_manager_policy,
                     cpu_format(formats_of(kubelet_of(node)).writes));
  cpu_.text = FileText(std::move(json).take_parts(), &cpu_.text);
  return cpu_.text;
}

FileText KubeletEncoder::memory(const Node& node, const MemoryCheckpoint& state) {
  update_entries(memory_, state.assignments);
  JsonParts json;
  memory_file::put_file(json, EncodedMemory{state.machine_state, memory_.entries, state.pods},
                        node.config().memory_manager_policy,
                        memory_format(formats_of(kubelet_of(node)).writes));
  memory_.text = FileText(std::move(json).take_parts(), &memory_.text);
  return memory_.text;
}

}  // namespace pinfold::checkpoint
