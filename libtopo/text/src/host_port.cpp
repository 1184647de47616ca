#include "pinfold/text/host_port.hpp"

#include <charconv>
#include <system_error>

namespace pinfold {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  constexpr std::size_t kMostDigits = 5;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_port =
      error == std::errc() && end == text.data() + text.size() && text.size() <= kMostDigits;
  return is_port ? std::optional(port) : std::nullopt;
}

}  // namespace

HostPort split_host_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  const bool has_host = colon != std::string_view::npos;
  std::string_view host = has_host ? address.substr(0, colon) : "";
  const std::string_view port = has_host ? address.substr(colon + 1) : address;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty()) host = "0.0.0.0";
  if (host == "localhost") host = "127.0.0.1";
  return {std::string(host), parse_port(port)};
}

}  // namespace pinfold
