#include "pinfold/nri/messages.hpp"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include <limits>
#include <map>
#include <utility>

namespace pinfold::nri {
namespace {

/// Silences protobuf, which prints invalid UTF-8 to standard error.
using Quiet = google::protobuf::LogSilencer;

std::string serialize(const google::protobuf::MessageLite& message) {
  const Quiet quiet;
  return message.SerializeAsString();
}

template <class Message>
Result<Message> parse(std::string_view payload, std::string_view name) {
  const Quiet quiet;
  Message message;
  if (payload.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the payload of '{}' is not a valid {}", name, message.GetTypeName()));
  }
  return message;
}

template <class Message>
Result<PluginRequest> parse_request(std::string_view payload, std::string_view method) {
  return parse<Message>(payload, method).map([](Message message) {
    return PluginRequest(std::move(message));
  });
}

}  // namespace

Result<PluginRequest> decode_request(const std::string& method, std::string_view payload) {
  using Parse = Result<PluginRequest> (*)(std::string_view, std::string_view);
  static const std::map<std::string, Parse> kMethods{
      {"Configure", parse_request<api::ConfigureRequest>},
      {"Synchronize", parse_request<api::SynchronizeRequest>},
      {"CreateContainer", parse_request<api::CreateContainerRequest>},
      {"UpdateContainer", parse_request<api::UpdateContainerRequest>},
      {"StopContainer", parse_request<api::StopContainerRequest>},
      {"StateChange", parse_request<api::StateChangeEvent>},
  };
  const auto found = kMethods.find(method);
  if (found == kMethods.end()) {
    return fail(ErrorCode::kUnsupported, fmt::format("unknown method '{}'", method));
  }
  return found->second(payload, method);
}

std::string encode(const PluginAnswer& answer) {
  return std::visit([](const auto& message) { return serialize(message); }, answer);
}

std::string encode(const api::UpdateContainersRequest& request) { return serialize(request); }

Result<api::UpdateContainersResponse> decode_updated(std::string_view payload) {
  return parse<api::UpdateContainersResponse>(payload, "UpdateContainers");
}

}  // namespace pinfold::nri
