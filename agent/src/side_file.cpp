#include "side_file.hpp"

#include <fmt/format.h>

namespace pinfold::agent {

void warn_of_side_file(const LogSink& log, std::string_view name, const Error& error) {
  if (log) log(LogLevel::kWarning, fmt::format("side file '{}': {}", name, error.message));
}

std::optional<std::string> read_side_file(checkpoint::Store& store, std::string_view name,
                                          const LogSink& log) {
  auto bytes = store.read_side_file(name);
  if (bytes) return *std::move(bytes);
  warn_of_side_file(log, name, bytes.error());
  return std::nullopt;
}

bool write_side_file(checkpoint::Store& store, std::string_view name, std::string_view bytes,
                     const LogSink& log) {
  const auto written = store.write_side_file(name, bytes);
  if (!written) warn_of_side_file(log, name, written.error());
  return written.has_value();
}

}  // namespace pinfold::agent
