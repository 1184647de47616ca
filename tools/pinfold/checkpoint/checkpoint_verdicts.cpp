#include "checkpoint/checkpoint_verdicts.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "input.hpp"
#include "output.hpp"
#include "pinfold/checkpoint/inspect.hpp"

namespace pinfold::tools {
namespace {

using checkpoint::Difference;
using checkpoint::Inspected;
using checkpoint::Kubelet;
using checkpoint::Reading;

/// Returns the values that a kubelet would lose. Does not compare CPU V1, whose entries have
/// container ids in place of pods and names.
template <class State>
std::vector<Difference> losses(const Inspected<State>& file, const Reading<State>& reading) {
  if (!reading.reads() || (file.version == 1 && std::is_same_v<State, CpuCheckpoint>)) return {};
  auto lost = checkpoint::diff(file.state, reading.state);
  std::erase_if(lost, [](const Difference& difference) { return difference.before.empty(); });
  return lost;
}

/// Returns one verdict per kubelet. `read(kubelet)` reads the file, `write(state, policy, kubelet)`
/// writes it.
template <class State, class Read, class Write>
std::vector<KubeletReading> verdicts_of(const StateFile& file,
                                        const Result<Inspected<State>>& inspected, const Read& read,
                                        const Write& write) {
  std::vector<KubeletReading> out;
  for (const checkpoint::KubeletFormats& known : checkpoint::kubelets()) {
    Reading<State> reading = read(known.kubelet);
    KubeletReading verdict;
    verdict.kubelet = known.kubelet;
    if (inspected) {
      verdict.lost = losses(*inspected, reading);
      verdict.writes =
          reading.reads() && write(reading.state, inspected->policy, known.kubelet) == file.bytes;
    }
    verdict.is_crash = reading.is_crash;
    verdict.error = std::move(reading.error);
    verdict.start_error = std::move(reading.start_error);
    verdict.state = std::move(reading.json);
    out.push_back(std::move(verdict));
  }
  return out;
}

}  // namespace

std::vector<KubeletReading> verdicts(const StateFile& file,
                                     const std::optional<std::string>& policy,
                                     const checkpoint::ContainerIds& ids) {
  if (file.is_cpu) {
    return verdicts_of(
        file, checkpoint::inspect_cpu(file.bytes),
        [&](const Kubelet& k) { return checkpoint::read_cpu(file.bytes, k, policy, ids); },
        checkpoint::write_cpu);
  }
  return verdicts_of(
      file, checkpoint::inspect_memory(file.bytes),
      [&](const Kubelet& k) { return checkpoint::read_memory(file.bytes, k, policy); },
      checkpoint::write_memory);
}

std::vector<checkpoint::WrongSum> wrong_sums(const StateFile& file) {
  return file.is_cpu ? checkpoint::wrong_cpu_sums(file.bytes)
                     : checkpoint::wrong_memory_sums(file.bytes);
}

void warn_of_unknown_keys(const StateFile& file) {
  for (const std::string& name : checkpoint::unknown_keys(file.bytes).names()) {
    warn(fmt::format(
        "'{}': key '{}': unknown to kubelets up to 1.38; a kubelet that writes this file drops it",
        input_name(file.path), name));
  }
}

KubeletVerdict document_of(const KubeletReading& verdict) {
  return {version_of(verdict.kubelet),
          verdict.kubelet.pod_level_gate,
          verdict.writes,
          verdict.error,
          verdict.is_crash,
          verdict.start_error,
          verdict.lost};
}

std::string version_of(const checkpoint::Kubelet& kubelet) {
  return fmt::format("1.{}", kubelet.minor);
}

}  // namespace pinfold::tools
