#include "pinfold/socket/protocol.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "pinfold/agent/fields.hpp"
#include "pinfold/api/fields.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/machine/fields.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::socket {
namespace {

using nlohmann::json;

/// Returns a message as one line, without a line break.
template <class Message>
std::string to_line(const Message& message) {
  return fields::to_json(message).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Errors: kInvalidArgument if it is too long or not a JSON object with members.
Result<json> parse_line(std::string_view line) {
  if (line.size() > kMaxMessage) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("message: longer than {} bytes", kMaxMessage));
  }
  if (!line.starts_with("{\"")) {  // parse_document also reads YAML
    return fail(ErrorCode::kInvalidArgument, "message: expected a JSON object with members");
  }
  PINFOLD_LET_WRAP(auto message, parse_document(line), "message");
  return message;
}

template <class Message>
Result<Message> read_message(const json& message) {
  return fields::read<Message>(message, {.whole = "message"});
}

/// Returns the greeting of a message; an answered error becomes the error.
template <class Greeting, class Message>
Result<Greeting> read_hello(const json& message) {
  PINFOLD_LET(auto read, read_message<Message>(message));
  if (auto* const error = std::get_if<Error>(&read.hello)) return fail(std::move(*error));
  return std::get<Greeting>(std::move(read.hello));
}

/// Returns the version of the protocol in a message, regardless of its other members; nullopt if it
/// has none.
std::optional<std::uint64_t> version_of(const json& message) {
  const json* const hello = member(message, "hello");
  const json* const version =
      hello != nullptr && hello->is_object() ? member(*hello, "version") : nullptr;
  if (version == nullptr || !version->is_number_unsigned()) return std::nullopt;
  return version->get<std::uint64_t>();
}

}  // namespace

std::string encode_hello_request() { return to_line(HelloRequestMessage{HelloRequest{}}); }

Result<void> decode_hello_request(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  if (const auto version = version_of(message); version && *version != kProtocolVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("hello.version: {}: this service speaks version {} of the protocol",
                            *version, kProtocolVersion));
  }
  PINFOLD_TRY((read_hello<HelloRequest, HelloRequestMessage>(message)));
  return {};
}

std::string encode(const Hello& hello) {
  return to_line(
      HelloAnswerMessage{HelloAnswer{kProtocolVersion, hello.version, hello.state_dir, hello.config,
                                     hello.profile_source, hello.machine, hello.cgroup_root}});
}

Result<Hello> decode_hello(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  if (const auto version = version_of(message); version && *version != kProtocolVersion) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("hello.version: {}: expected {}", *version, kProtocolVersion));
  }
  PINFOLD_LET(auto hello, (read_hello<HelloAnswer, HelloAnswerMessage>(message)));
  return Hello{std::move(hello.software), std::move(hello.state_dir), std::move(hello.config),
               hello.profile_source,      *std::move(hello.machine),  std::move(hello.cgroup_root)};
}

std::string encode(const Call& call) { return to_line(RequestMessage{call}); }

Result<Call> decode_call(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  PINFOLD_LET(auto read, read_message<RequestMessage>(message));
  return std::move(read.call);
}

std::string encode(const Result<verbs::Answer>& answer) {
  AnswerMessage message;
  if (answer) {
    std::visit([&](const auto& one) { message.answer = one; }, *answer);
  } else {
    message.answer = answer.error();
  }
  std::string line = to_line(message);
  if (line.size() <= kMaxMessage || !answer) return line;
  const std::string text =
      fmt::format("the request is done, but the answer is longer than {} bytes", kMaxMessage);
  return to_line(AnswerMessage{Error{ErrorCode::kIo, ENOTRECOVERABLE, text}});
}

Result<verbs::Answer> decode_answer(std::string_view line) {
  PINFOLD_LET(const json message, parse_line(line));
  PINFOLD_LET(auto read, read_message<AnswerMessage>(message));
  return std::visit(
      [](auto one) -> Result<verbs::Answer> {
        if constexpr (std::is_same_v<decltype(one), Error>) {
          return fail(std::move(one));
        } else {
          return Result<verbs::Answer>(std::move(one));
        }
      },
      std::move(read.answer));
}

}  // namespace pinfold::socket
