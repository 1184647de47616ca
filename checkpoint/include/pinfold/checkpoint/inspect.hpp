#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/checkpoint/kubelet_files.hpp"

/// The contents of state files, independent of a configuration.
namespace pinfold::checkpoint {

template <class State>
struct Inspected {
  int version = 0;  ///< the newest format that the bytes have, checksum included
  std::string policy;
  State state;  ///< from CPU V1: runtime ids as containers of a pod ""
};

/// Errors: kCorrupt, with the wrong checksums if nothing else is wrong, else with the kubelet's
/// text for the oldest format.
[[nodiscard]] Result<Inspected<CpuCheckpoint>> inspect_cpu(std::string_view bytes);
[[nodiscard]] Result<Inspected<MemoryCheckpoint>> inspect_memory(std::string_view bytes);

/// A checksum in a file that is not the computed one.
struct WrongSum {
  std::string field;  ///< "checksum (V3)": as the version that is named; "dataChecksum"
  std::uint64_t found = 0;
  std::uint32_t computed = 0;

  friend bool operator==(const WrongSum&, const WrongSum&) = default;
};

/// The wrong checksums of a file, for each version that its fields have; none if one of these
/// versions accepts the file, or if it has a syntax error.
[[nodiscard]] std::vector<WrongSum> wrong_cpu_sums(std::string_view bytes);
[[nodiscard]] std::vector<WrongSum> wrong_memory_sums(std::string_view bytes);

/// "wrong checksum: 1 in the file, 2357211464 computed": a line for each checksum that is wrong,
/// with the sums of other versions after it.
[[nodiscard]] std::vector<std::string> describe(const std::vector<WrongSum>& sums);

/// The contents of a file, without looking at its checksums. Errors: kCorrupt if it is damaged in
/// any other way.
[[nodiscard]] Result<Inspected<CpuCheckpoint>> inspect_cpu_unchecked(std::string_view bytes);
[[nodiscard]] Result<Inspected<MemoryCheckpoint>> inspect_memory_unchecked(std::string_view bytes);

/// Keys that no kubelet up to 1.38 knows, with their values as JSON. Kubelets ignore them and drop
/// them when they write the file.
struct UnknownKeys {
  std::map<std::string, std::string> outside;
  std::map<std::string, std::string> in_data;  ///< of CPU V4 and memory V3

  /// "baselines (in data)".
  [[nodiscard]] std::vector<std::string> names() const;
};
/// None if the file has a syntax error.
[[nodiscard]] UnknownKeys unknown_keys(std::string_view bytes);
/// A file that this library has written, with these keys too: those in `data` if it has that. The
/// kubelets' checksums are right.
[[nodiscard]] std::string with_keys(std::string written, const UnknownKeys& keys);

/// Whether a text is a JSON object with the field that only memory_manager_state has, with keys
/// compared as the kubelet does.
[[nodiscard]] bool has_machine_state(std::string_view bytes);

}  // namespace pinfold::checkpoint
