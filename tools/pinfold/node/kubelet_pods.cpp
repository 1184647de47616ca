#include "node/kubelet_pods.hpp"

#include <fmt/format.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>
#include <charconv>
#include <chrono>
#include <ios>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>
#include <utility>

#include "output.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/audit/observe.hpp"
#include "pinfold/audit/tree.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

constexpr std::uint16_t kDefaultPort = 10255;
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

std::uint16_t port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() ? port : 0;
}

/// Returns a field of a configuration as text; "" if it has none.
std::string field_of(const json& config, const char* name) {
  const auto field = config.is_object() ? config.find(name) : config.end();
  if (!config.is_object() || field == config.end()) return "";
  return field->is_string() ? field->get<std::string>() : field->dump();
}

/// Returns the kubelet's whole answer to GET /pods.
Result<std::string> response_of(const ReadOnlyPort& at) {
  constexpr std::chrono::seconds kTime(5);
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(kTime);
  stream.connect(at.address, std::to_string(at.port));
  if (!stream) return fail(ErrorCode::kIo, stream.error().message());
  // After an answer to HTTP/1.0 the kubelet closes the connection, and does not send it in chunks.
  stream << "GET /pods HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n\r\n"
         << std::flush;
  std::string response(std::size_t{64} << 10U, '\0');
  std::size_t size = 0;
  while (stream && size < kMostBytes) {
    if (size == response.size()) response.resize(2 * size);
    stream.expires_after(kTime);
    stream.read(response.data() + size, static_cast<std::streamsize>(response.size() - size));
    size += static_cast<std::size_t>(stream.gcount());
  }
  if (stream.error() != boost::asio::error::eof) {
    return fail(ErrorCode::kIo, size >= kMostBytes ? "more than 64 MiB" : stream.error().message());
  }
  response.resize(size);
  return response;
}

bool is_any(const std::string& address) { return address == "0.0.0.0" || address == "::"; }

}  // namespace

ReadOnlyPort read_only_port(const audit::ObservedKubelet& kubelet) {
  const json config = json::parse(kubelet.config_text, nullptr, false);
  const auto setting = [&](const char* flag, const char* field) {
    const auto found = kubelet.flags.find(flag);
    return found == kubelet.flags.end() ? field_of(config, field) : found->second;
  };
  const std::string port = setting("read-only-port", "readOnlyPort");
  const std::string address = setting("address", "address");
  ReadOnlyPort at;
  at.port = port.empty() && kubelet.config_path.empty() ? kDefaultPort : port_of(port);
  if (!address.empty() && !is_any(address)) at.address = address;
  return at;
}

Result<std::string_view> body_of_response(std::string_view response) {
  constexpr std::string_view kBlankLine = "\r\n\r\n";
  const std::string_view line = response.substr(0, response.find('\r'));
  const std::size_t status = line.find(' ');
  const std::size_t end = response.find(kBlankLine);
  if (!line.starts_with("HTTP/1.") || status == std::string_view::npos ||
      end == std::string_view::npos) {
    return fail(ErrorCode::kIo, "the answer is not a whole HTTP response");
  }
  if (line.substr(status + 1, 3) != "200") {
    return fail(ErrorCode::kIo, fmt::format("answered '{}'", printable(line.substr(status + 1))));
  }
  return response.substr(end + kBlankLine.size());
}

Result<std::string> ask_for_pods(const ReadOnlyPort& at) {
  try {
    PINFOLD_LET(const auto response, response_of(at));
    PINFOLD_LET(const auto body, body_of_response(response));
    return std::string(body);
  } catch (const boost::system::system_error& error) {  // no descriptor is left
    return fail(ErrorCode::kIo, error.what());
  }
}

Result<std::vector<PodSpec>> read_kubelet_pods() {
  PINFOLD_LET(const auto tree, audit::Tree::open("/"));
  const ReadOnlyPort at = read_only_port(audit::observe_kubelet(tree, {}));
  if (at.port == 0) return fail(ErrorCode::kUnsupported, "the kubelet's read-only port is off");
  const std::string name = fmt::format("http://{}:{}/pods", at.address, at.port);
  PINFOLD_LET_WRAP(const auto text, ask_for_pods(at), name);
  PodCollector collector(UnknownFields::kIgnore);
  PINFOLD_TRY(collector.add_text(text, name));
  PINFOLD_LET(auto read, std::move(collector).finish());
  for (const std::string& note : read.notes) warn(note);
  return std::move(read.pods);
}

}  // namespace pinfold::tools
