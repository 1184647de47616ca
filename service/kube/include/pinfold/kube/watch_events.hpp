#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"

namespace pinfold::kube {

enum class EventType : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

/// One event of a watch.
struct ObjectEvent {
  EventType type = EventType::kAdded;
  nlohmann::json object;  ///< kError: a Status
};

/// Divides the body of a watch, one JSON object per line, into events.
class EventReader {
 public:
  /// The longest event. An object in etcd is limited to 1.5 MiB, and JSON is longer than protobuf.
  static constexpr std::size_t kMaxEvent = std::size_t{8} << 20U;

  /// Takes the next bytes of the body, any number of them, and returns the events that are
  /// complete. Events of unknown types are left out.
  /// Errors: kInvalidArgument for bytes that are not events, and for a longer event than kMaxEvent;
  /// the reader must not be used after that.
  [[nodiscard]] Result<std::vector<ObjectEvent>> feed(std::string_view bytes);

 private:
  std::string line_;  ///< the beginning of an event
};

}  // namespace pinfold::kube
