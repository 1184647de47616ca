#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pinfold::nri::test {

/// One line of a recording: a complete frame with all headers, as sent over the socket.
struct Recorded {
  bool is_from_plugin = false;
  std::string name;
  std::string bytes;
};

inline constexpr const char* kContainerd17 = "containerd-1.7.24.txt";
inline constexpr const char* kContainerd21 = "containerd-2.1.9.txt";

/// The frames of a file in data/. Throws if it cannot be read.
[[nodiscard]] std::vector<Recorded> read_recording(const std::string& file);
/// Returns the frame with this name. Throws if it does not exist.
[[nodiscard]] std::string recorded(const std::string& file, std::string_view name);

/// Returns bytes as text for messages.
[[nodiscard]] std::string hex(std::string_view bytes);

}  // namespace pinfold::nri::test
