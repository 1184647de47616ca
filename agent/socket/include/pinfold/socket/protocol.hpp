#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pinfold/machine/machine.hpp"
#include "pinfold/socket/messages.hpp"

/// The messages between the commands and the service: one JSON object per line, in both directions.
/// A client sends a hello request, gets a Hello, then sends requests and gets an answer to each.
/// See docs/service.md.
namespace pinfold::socket {

/// Limit of an answer without its line break, in bytes.
inline constexpr std::size_t kMaxMessage = std::size_t{16} << 20U;
/// Limit of a request in bytes; the same over gRPC.
inline constexpr std::size_t kMaxRequest = std::size_t{4} << 20U;
/// Limit of a client's first line in bytes.
inline constexpr std::size_t kMaxHelloRequest = 4096;

/// A service's introduction of itself.
struct Hello {
  std::string version;    ///< of the program
  std::string state_dir;  ///< absolute
  Config config;          ///< with its profile
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
  Machine machine;          ///< as observed
  std::string cgroup_root;  ///< absolute; empty: it enforces nothing
};

/// Encodes a hello request, without a line break, like all messages here.
[[nodiscard]] std::string encode_hello_request();
/// Decodes a hello request. Errors: kInvalidArgument; kUnsupported for another protocol version,
/// naming both.
[[nodiscard]] Result<void> decode_hello_request(std::string_view line);
[[nodiscard]] std::string encode(const Hello& hello);
/// Decodes a hello. Errors: kInvalidArgument, or the error that the service returned.
[[nodiscard]] Result<Hello> decode_hello(std::string_view line);

[[nodiscard]] std::string encode(const Call& call);
/// Errors: kInvalidArgument, "admit.manifests[0]: metadata.name: ...: expected ...".
[[nodiscard]] Result<Call> decode_call(std::string_view line);

/// Encodes an answer. One that is too long becomes an error that says so.
[[nodiscard]] std::string encode(const Result<verbs::Answer>& answer);
/// Decodes an answer, or the error that the service returned. All steps of a report are in `moved`,
/// as text. Errors: also kInvalidArgument for a malformed answer.
[[nodiscard]] Result<verbs::Answer> decode_answer(std::string_view line);

}  // namespace pinfold::socket
