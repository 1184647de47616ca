#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/agent/log.hpp"
#include "pinfold/checkpoint/store.hpp"

/// Side files. A failure loses their contents, but never a decision, and logs a warning.
/// docs/operations.md explains what is lost with each file.
namespace pinfold::agent {

void warn_of_side_file(const LogSink& log, std::string_view name, const Error& error);

/// Returns the bytes of a side file: `contents` with a checksum.
[[nodiscard]] std::string seal_side_file(std::string_view name, std::string_view contents);
/// Reads the contents, without the checksum. nullopt if the file does not exist, cannot be read or
/// is damaged.
[[nodiscard]] std::optional<std::string> read_side_file(checkpoint::Store& store,
                                                        std::string_view name, const LogSink& log);
/// Reads and decodes the contents. `decode` takes the text and returns a Result; if it fails, the
/// answer is nullopt.
template <class Decode>
[[nodiscard]] auto read_side_file(checkpoint::Store& store, std::string_view name, Decode decode,
                                  const LogSink& log)
    -> std::optional<typename decltype(decode(std::string_view()))::value_type> {
  const auto bytes = read_side_file(store, name, log);
  if (!bytes) return std::nullopt;
  auto value = decode(std::string_view(*bytes));
  if (value) return *std::move(value);
  warn_of_side_file(log, name, value.error());
  return std::nullopt;
}
/// Writes the file. Returns false if that fails; then the file is unchanged.
bool write_side_file(checkpoint::Store& store, std::string_view name, std::string_view bytes,
                     const LogSink& log);

}  // namespace pinfold::agent
