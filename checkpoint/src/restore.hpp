#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "go_value.hpp"
#include "pinfold/base/result.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/text/go_text.hpp"

/// The common part of reading cpu_manager_state and memory_manager_state.
namespace pinfold::checkpoint {

inline tl::unexpected<Error> corrupt(std::string message) {
  return fail(ErrorCode::kCorrupt, std::move(message));
}

/// Returns the kubelet's text for a checksum that does not match.
inline tl::unexpected<Error> wrong_checksum() { return corrupt("checkpoint is corrupted"); }

inline tl::unexpected<Error> other_policy(std::string_view prefix, std::string_view configured,
                                          std::string_view stored) {
  return corrupt(fmt::format("{}configured policy {} differs from state checkpoint policy {}",
                             prefix, go::quote(configured), go::quote(stored)));
}

/// Returns why no kubelet starts from a file with this policy; "" if the policy is known.
inline std::string find_policy_error(std::string_view stored,
                                     std::initializer_list<std::string_view> known) {
  if (std::find(known.begin(), known.end(), stored) != known.end()) return "";
  return fmt::format("policy {}: expected one of {}", go::quote(stored), fmt::join(known, ", "));
}

/// Wraps any failure to read a state file in the kubelet's text.
inline tl::unexpected<Error> drain_and_delete(Error error, std::string_view manager,
                                              std::string_view state_dir, std::string_view file) {
  while (state_dir.size() > 1 && state_dir.ends_with('/')) state_dir.remove_suffix(1);
  const std::string path = fmt::format("{}/{}", state_dir == "/" ? "" : state_dir, file);
  error.message = fmt::format(
      "could not restore state from checkpoint: {}, please drain this node and delete the {} "
      "manager checkpoint file {} before restarting Kubelet",
      error.message, manager, go::quote(path));
  return fail(std::move(error));
}

/// Which checksums are accepted: with the plain name of the Go type only, or also with its version.
enum class Names { kPlain, kAlsoVersioned };

/// Begins to read a nullable container. Like Go it keeps the elements from an earlier occurrence of
/// its key. Returns false for a null.
template <class Container>
bool begin(JsonReader& json, std::optional<Container>& out) {
  if (json.null()) {
    out.reset();
    return false;
  }
  if (!out) out.emplace();
  return true;
}

/// Returns a field that is skipped as unknown in versions without it. `embedded`: see
/// JsonReader::Field.
template <class Fn>
auto versioned_field(JsonReader& json, std::string_view name, bool known, const Fn& read_value,
                     std::string_view embedded) {
  const auto read = [&json, known, read_value] { known ? read_value() : json.skip(); };
  return JsonReader::Field<decltype(read)>{name, read, embedded};
}

/// Returns true if a CpuFile is V4 or a MemoryFile is V3, valid or not. It is then read as no other
/// version.
template <class File>
bool is_newest(const File& file) {
  return !file.data.empty() || file.data_checksum != 0;
}

/// Reads the fields in `data` of such a file with `read(text)`.
template <class File, class Read>
Result<File> load_data(const File& file, std::string_view manager, const Read& read) {
  const auto failed = [&](std::string_view what, std::string_view error) {
    return corrupt(
        fmt::format("failed to deserialize {} manager checkpoint{}: {}", manager, what, error));
  };
  if (!file.error.empty()) return failed("", file.error);
  if (const auto error = json_syntax_error(file.data)) return failed(" data", *error);
  File data = read(file.data);
  if (!data.error.empty()) return failed(" data", data.error);
  if (file.data_checksum != string_checksum(file.data)) return wrong_checksum();
  return data;
}

/// Implements wrong_cpu_sums: `read(version)` reads the file as a version, `accepts(file, version)`
/// checks its sum, and `sum_of(file, version)` computes it.
template <class Version, class Read, class Accepts, class SumOf>
std::vector<WrongSum> wrong_sums(std::string_view bytes, Version newest,
                                 std::initializer_list<std::pair<Version, std::string_view>> older,
                                 const Read& read, const Accepts& accepts, const SumOf& sum_of) {
  std::vector<WrongSum> wrong;
  if (json_syntax_error(bytes)) return wrong;
  const auto outer = read(newest);
  const auto of_data = string_checksum(outer.data);
  if (is_newest(outer) && outer.data_checksum != of_data) {
    wrong.push_back({"dataChecksum", outer.data_checksum, of_data});
  }
  const std::size_t before = wrong.size();
  for (const auto& [version, name] : older) {
    const auto file = read(version);
    if (!file.error.empty()) continue;
    if (accepts(file, version)) {
      wrong.resize(before);
      break;
    }
    wrong.push_back({fmt::format("checksum ({})", name), file.checksum, sum_of(file, version)});
  }
  return wrong;
}

/// Returns the error of a file that no version accepts: its wrong checksums if nothing else is
/// wrong.
template <class File>
Error error_of(Result<File> file, const std::vector<WrongSum>& sums) {
  if (sums.empty()) return std::move(file).error();
  return {ErrorCode::kCorrupt, 0, fmt::format("{}", fmt::join(describe(sums), "; "))};
}

}  // namespace pinfold::checkpoint
