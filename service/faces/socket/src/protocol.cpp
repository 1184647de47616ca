#include "pinfold/socket/protocol.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "messages.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::socket {
namespace {

using nlohmann::json;

agent::ProfileSource read_profile_source(Members& members) {
  using agent::ProfileSource;
  const std::string name = members.text("profileSource");
  for (const auto source :
       {ProfileSource::kCommandLine, ProfileSource::kConfiguration, ProfileSource::kKubelet,
        ProfileSource::kStateFiles, ProfileSource::kDefault}) {
    if (to_string(source) == name) return source;
  }
  members.fail_at("profileSource", name, "expected what determines a profile");
  return ProfileSource::kDefault;
}

/// Returns the value of a message {"NAME": value}; an answered error becomes the error.
Result<const json*> body_of(const json& message, const char* name) {
  PINFOLD_LET(const auto entry, only_member(message));
  if (entry.first == "error") {
    PINFOLD_LET(auto error, read_error(*entry.second, "error"));
    return fail(std::move(error));
  }
  if (name == entry.first) return entry.second;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("message: '{}': expected '{}'", printable(entry.first), name));
}

}  // namespace

std::string encode_hello_request() { return to_line({{"hello", {{"version", kProtocolVersion}}}}); }

Result<void> decode_hello_request(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  PINFOLD_LET(const json* const body, body_of(message, "hello"));
  Members members(*body, "hello");
  const auto version = members.number("version", std::numeric_limits<std::int32_t>::max());
  if (version != kProtocolVersion) {
    (void)members.ok(Result<void>(
        fail(ErrorCode::kUnsupported,
             fmt::format("hello.version: {}: this service speaks version {} of the protocol",
                         version, kProtocolVersion))));
  }
  return members.end();
}

std::string encode(const Hello& hello) {
  return to_line({{"hello",
                   {{"version", kProtocolVersion},
                    {"software", hello.version},
                    {"stateDir", hello.state_dir},
                    {"config", pinfold::to_json(hello.config)},
                    {"profileSource", to_string(hello.profile_source)},
                    {"machine", hello.machine.to_json()},
                    {"cgroupRoot", hello.cgroup_root}}}});
}

Result<Hello> decode_hello(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  PINFOLD_LET(const json* const body, body_of(message, "hello"));
  Members members(*body, "hello");
  const json& version = members.get("version");
  if (version != kProtocolVersion) {
    members.fail_at("version", version, fmt::format("expected {}", kProtocolVersion));
  }
  std::string software = members.text("software");
  std::string state_dir = members.text("stateDir");
  const json& config_json = members.get("config");
  const agent::ProfileSource profile_source = read_profile_source(members);
  const json& machine_json = members.get("machine");
  std::string cgroup_root = members.text("cgroupRoot");
  PINFOLD_TRY(members.end());
  PINFOLD_LET_WRAP(auto config, config_from_json(config_json), "hello.config");
  PINFOLD_LET_WRAP(auto machine, Machine::from_json(machine_json), "hello.machine");
  return Hello{std::move(software), std::move(state_dir), std::move(config.config),
               profile_source,      std::move(machine),   std::move(cgroup_root)};
}

}  // namespace pinfold::socket
