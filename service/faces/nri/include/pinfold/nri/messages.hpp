#pragma once

#include <nri/api.pb.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "pinfold/base/result.hpp"

namespace pinfold::nri {

/// NRI's messages as the runtimes publish them, with their own names.
namespace api = ::nri::pkg::api::v1alpha1;

using TimePoint = std::chrono::steady_clock::time_point;

/// The identity that a plugin registers with.
struct Identity {
  std::string name;
  std::string index;  ///< two digits; plugins are called in ascending order
};

/// Requests of the runtime to a plugin.
using PluginRequest =
    std::variant<api::ConfigureRequest, api::SynchronizeRequest, api::CreateContainerRequest,
                 api::UpdateContainerRequest, api::StopContainerRequest, api::StateChangeEvent>;
/// The answers, in the order of their requests.
using PluginAnswer =
    std::variant<api::ConfigureResponse, api::SynchronizeResponse, api::CreateContainerResponse,
                 api::UpdateContainerResponse, api::StopContainerResponse, api::Empty>;

template <class T, class... All>
[[nodiscard]] constexpr std::size_t place_of(std::type_identity<std::variant<All...>> /*type*/) {
  std::size_t place = 0;
  (void)((std::is_same_v<T, All> || (++place, false)) || ...);
  return place;
}
/// The answer type of a request type.
template <class T>
using AnswerTo =
    std::variant_alternative_t<place_of<T>(std::type_identity<PluginRequest>()), PluginAnswer>;

/// Returns the bit of an event in ConfigureResponse.events.
[[nodiscard]] constexpr std::int32_t event_bit(api::Event event) {
  return 1 << (static_cast<int>(event) - 1);
}
/// All events of NRI 0.6 to 0.9. A runtime closes the connection if it gets an unknown bit.
inline constexpr std::int32_t kAllEvents = event_bit(api::Event::LAST) - 1;

/// Decodes the request of a method of the service Plugin, except "Shutdown".
/// Errors: kUnsupported for another method; kInvalidArgument for a malformed payload.
[[nodiscard]] Result<PluginRequest> decode_request(const std::string& method,
                                                   std::string_view payload);
[[nodiscard]] std::string encode(const PluginAnswer& answer);

[[nodiscard]] std::string encode(const api::UpdateContainersRequest& request);
/// Decodes the answer to an update. Errors: kInvalidArgument.
[[nodiscard]] Result<api::UpdateContainersResponse> decode_updated(std::string_view payload);

}  // namespace pinfold::nri
