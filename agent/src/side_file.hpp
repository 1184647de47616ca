#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/agent/log.hpp"
#include "pinfold/checkpoint/store.hpp"

/// Side files: a failure loses their contents and never a decision. The log has a warning.
/// docs/operations.md says what is lost with each file.
namespace pinfold::agent {

void warn_of_side_file(const LogSink& log, std::string_view name, const Error& error);

/// The bytes of a side file with these contents.
[[nodiscard]] std::string seal_side_file(std::string_view name, std::string_view contents);
/// The contents without their checksum. nullopt if the file does not exist, cannot be read or is
/// damaged.
[[nodiscard]] std::optional<std::string> read_side_file(checkpoint::Store& store,
                                                        std::string_view name, const LogSink& log);
/// The same, decoded: `decode` takes the text and gives a Result. nullopt also if it fails.
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
/// False if it cannot be written: then the file is as it was before.
bool write_side_file(checkpoint::Store& store, std::string_view name, std::string_view bytes,
                     const LogSink& log);

}  // namespace pinfold::agent
