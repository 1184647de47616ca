#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/checkpoint/kubelet_files.hpp"

/// Reads the contents of state files without a configuration.
namespace pinfold::checkpoint {

template <class State>
struct Inspected {
  int version = 0;  ///< the newest format that fits the bytes and their checksum
  std::string policy;
  State state;  ///< for CPU V1: runtime ids as containers of a pod ""
};

/// Errors: kCorrupt, with the wrong checksums if nothing else is wrong, otherwise with the
/// kubelet's text for the oldest format.
[[nodiscard]] Result<Inspected<CpuCheckpoint>> inspect_cpu(std::string_view bytes);
[[nodiscard]] Result<Inspected<MemoryCheckpoint>> inspect_memory(std::string_view bytes);

/// A checksum in a file that differs from the computed one.
struct WrongSum {
  std::string field;  ///< "checksum (V3)": computed as for that version; "dataChecksum"
  std::uint64_t found = 0;
  std::uint32_t computed = 0;

  friend bool operator==(const WrongSum&, const WrongSum&) = default;
};

/// Returns the wrong checksums of a file, one for each version whose fields it has; none if one of
/// these versions accepts the file, or if it has a syntax error.
[[nodiscard]] std::vector<WrongSum> wrong_cpu_sums(std::string_view bytes);
[[nodiscard]] std::vector<WrongSum> wrong_memory_sums(std::string_view bytes);

/// Returns "wrong checksum: 1 in the file, 2357211464 computed", one line for each wrong checksum,
/// followed by the sums of other versions.
[[nodiscard]] std::vector<std::string> describe(const std::vector<WrongSum>& sums);

/// Reads the contents of a file without checking its checksums. Errors: kCorrupt if it is damaged
/// in any other way.
[[nodiscard]] Result<Inspected<CpuCheckpoint>> inspect_cpu_unchecked(std::string_view bytes);
[[nodiscard]] Result<Inspected<MemoryCheckpoint>> inspect_memory_unchecked(std::string_view bytes);

/// Returns the part of a file with a syntax error that can be read as one JSON value: without a
/// byte order mark, up to the last complete value, including an incomplete `data`; "" if nothing
/// can be read. Any other text is returned unchanged.
[[nodiscard]] std::string readable_part(std::string_view bytes);

/// Keys that no kubelet up to 1.38 knows, with their values as JSON. Kubelets ignore them and drop
/// them when they write the file.
struct UnknownKeys {
  std::map<std::string, std::string> outside;
  std::map<std::string, std::string> in_data;  ///< in CPU V4 and memory V3
  /// In the objects of podEntries, baselines and machineState, by their path: {"podEntries", UID}
  /// to their members.
  std::map<std::vector<std::string>, std::map<std::string, std::string>> in_entries = {};

  /// Returns names like "baselines (in data)" or "since (in podEntries)", each once.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool has_any_to_keep() const {
    return !outside.empty() || !in_data.empty() || !in_entries.empty();
  }
};
/// Finds the unknown keys of a file; none if it has a syntax error.
[[nodiscard]] UnknownKeys unknown_keys(std::string_view bytes);
/// Adds missing keys to a file that this library wrote: those of `data` only if it has `data`,
/// those of entries only to entries that it has. Corrects the kubelets' checksums.
[[nodiscard]] std::string with_keys(std::string written, const UnknownKeys& keys);

/// Returns the keys of a JSON object; none for another value or a text with a syntax error.
[[nodiscard]] std::vector<std::string> keys_of(std::string_view bytes);

}  // namespace pinfold::checkpoint
