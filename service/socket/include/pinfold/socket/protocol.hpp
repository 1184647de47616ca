#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "pinfold/machine/machine.hpp"
#include "pinfold/service/request.hpp"

/// The messages between the commands and the service: one JSON object in a line, each way. A client
/// sends kHelloRequest, gets a Hello, then sends requests and gets an answer to each.
/// docs/service.md describes them.
namespace pinfold::service {

inline constexpr int kProtocolVersion = 1;
/// Of an answer without its line break, in bytes.
inline constexpr std::size_t kMaxMessage = std::size_t{16} << 20U;
/// Of a request: the same over gRPC.
inline constexpr std::size_t kMaxRequest = std::size_t{4} << 20U;
/// Of the first line of a client.
inline constexpr std::size_t kMaxHelloRequest = 4096;

/// What a service says of itself.
struct Hello {
  std::string version;    ///< of the program
  std::string state_dir;  ///< absolute
  Config config;          ///< with its profile
  agent::ProfileSource profile_source = agent::ProfileSource::kDefault;
  Machine machine;          ///< as observed
  std::string cgroup_root;  ///< absolute; "": it enforces nothing
};

/// A request, and the most that it may wait for its turn; zero: no limit.
struct Call {
  Action action;
  std::chrono::milliseconds timeout{0};
};

/// Without a line break, as every message here.
[[nodiscard]] std::string encode_hello_request();
/// Errors: kInvalidArgument; kUnsupported for another version of the protocol, with both.
[[nodiscard]] Result<void> decode_hello_request(std::string_view line);
[[nodiscard]] std::string encode(const Hello& hello);
/// Errors: kInvalidArgument, or the error that the service answered.
[[nodiscard]] Result<Hello> decode_hello(std::string_view line);

[[nodiscard]] std::string encode(const Call& call);
/// Errors: kInvalidArgument, "admit.pods[0].metadata.name: ...: expected ...".
[[nodiscard]] Result<Call> decode_call(std::string_view line);

/// An answer that is too long becomes an error that says so.
[[nodiscard]] std::string encode(const Result<Answer>& answer);
/// The answer, or the error that the service answered. The steps of a report are text: all of them
/// are in `moved`. Errors: also kInvalidArgument for what is no answer.
[[nodiscard]] Result<Answer> decode_answer(std::string_view line);

}  // namespace pinfold::service
