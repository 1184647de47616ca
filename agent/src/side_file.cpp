#include "side_file.hpp"

#include <fmt/format.h>

#include "pinfold/checkpoint/sealed.hpp"

namespace pinfold::agent {
namespace {

/// Returns the name without the dot.
std::string_view kind_of(std::string_view name) { return name.substr(1); }

}  // namespace

void warn_of_side_file(const LogSink& log, std::string_view name, const Error& error) {
  if (log) log(LogLevel::kWarning, fmt::format("side file '{}': {}", name, error.message));
}

std::string seal_side_file(std::string_view name, std::string_view contents) {
  return checkpoint::seal(kind_of(name), contents);
}

std::optional<std::string> read_side_file(checkpoint::Store& store, std::string_view name,
                                          const LogSink& log) {
  const auto bytes = store.read_side_file(name);
  if (bytes && !*bytes) return std::nullopt;
  const auto body = bytes ? checkpoint::unseal(kind_of(name), **bytes)
                          : Result<std::string_view>(tl::unexpect, bytes.error());
  if (body) return std::string(*body);
  warn_of_side_file(log, name, body.error());
  return std::nullopt;
}

bool write_side_file(checkpoint::Store& store, std::string_view name, std::string_view bytes,
                     const LogSink& log) {
  const auto written = store.write_side_file(name, seal_side_file(name, bytes));
  if (!written) warn_of_side_file(log, name, written.error());
  return written.has_value();
}

}  // namespace pinfold::agent
