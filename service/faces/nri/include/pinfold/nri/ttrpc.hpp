#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/base/result.hpp"

/// ttRPC, calls over a byte stream, as containerd uses it. Supports only calls with one request and
/// one response.
namespace pinfold::nri::ttrpc {

/// The maximum payload of a frame.
inline constexpr std::size_t kMaxPayload = 4U << 20U;

enum class FrameType : std::uint8_t { kRequest = 1, kResponse = 2, kData = 3 };

struct Frame {
  std::uint32_t stream = 0;
  FrameType type = FrameType::kRequest;  ///< any value if read from the wire
  std::uint8_t flags = 0;
  std::string payload;
  bool is_oversized = false;  ///< the payload was above kMaxPayload and was skipped

  friend bool operator==(const Frame&, const Frame&) = default;
};

/// Reads frames. Buffers at most one frame.
class FrameReader {
 public:
  /// Takes one frame from the front of `input`; nullopt if the input is used up. Any input is a
  /// sequence of frames.
  [[nodiscard]] std::optional<Frame> next(std::string_view& input);

 private:
  bool has_header_ = false;
  std::string header_;
  std::size_t skip_ = 0;  ///< bytes of an oversized payload
  std::size_t size_ = 0;  ///< size of the payload
  Frame frame_;
};

/// Domain: payload.size() <= kMaxPayload.
[[nodiscard]] std::string encode(const Frame& frame);

/// The gRPC status codes that this library sends or distinguishes.
enum class StatusCode : std::int32_t {
  kOk = 0,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kUnimplemented = 12,
};

struct Status {
  StatusCode code = StatusCode::kOk;  ///< any value if read from the wire
  std::string message;

  friend bool operator==(const Status&, const Status&) = default;
};

struct TtrpcRequest {
  std::string service;
  std::string method;
  std::string payload;
  std::int64_t timeout_ns = 0;  ///< time left for the answer; 0: unlimited
  std::vector<std::pair<std::string, std::string>> metadata;

  friend bool operator==(const TtrpcRequest&, const TtrpcRequest&) = default;
};

struct TtrpcResponse {
  std::optional<Status> status;        ///< nullopt means OK
  std::optional<std::string> payload;  ///< nullopt and empty mean the same

  friend bool operator==(const TtrpcResponse&, const TtrpcResponse&) = default;
};

/// Ignores unknown fields. Errors: kInvalidArgument.
[[nodiscard]] Result<TtrpcRequest> decode_request(std::string_view bytes);
[[nodiscard]] Result<TtrpcResponse> decode_response(std::string_view bytes);
/// Returns the same bytes as Go's protobuf.
[[nodiscard]] std::string encode(const TtrpcRequest& request);
[[nodiscard]] std::string encode(const TtrpcResponse& response);

}  // namespace pinfold::nri::ttrpc
