#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
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

/// Decode messages, and ignore unknown fields. Errors: kInvalidArgument.
[[nodiscard]] Result<TtrpcRequest> decode_request(std::string_view bytes);
[[nodiscard]] Result<TtrpcResponse> decode_response(std::string_view bytes);
/// Return the same bytes as Go's protobuf.
[[nodiscard]] std::string encode(const TtrpcRequest& request);
[[nodiscard]] std::string encode(const TtrpcResponse& response);

/// Limit of unanswered calls per direction. The runtime makes one at a time.
inline constexpr std::size_t kMaxOpenCalls = 64;

struct TtrpcCall {
  std::uint32_t stream = 0;  ///< names the call until it is answered
  TtrpcRequest request;
};

/// The side that is called.
class TtrpcServer {
 public:
  /// Takes one call from the front of `input`; nullopt if the input is used up. Anything that
  /// cannot become a call is answered with a status: an oversized or malformed request, a stream
  /// used before, too many open calls. Errors: kInvalidArgument for a frame that is not a request;
  /// reading must then stop.
  [[nodiscard]] Result<std::optional<TtrpcCall>> next(std::string_view& input, std::string& output);
  /// Answers a call; each call is answered once. A response above the size limit becomes a status.
  /// Errors: kNotFound for a call that is not open.
  [[nodiscard]] Result<void> answer(std::uint32_t stream, const TtrpcResponse& response,
                                    std::string& output);

 private:
  FrameReader frames_;
  std::uint32_t last_stream_ = 0;
  std::set<std::uint32_t> open_;
};

struct TtrpcReply {
  std::uint32_t stream = 0;
  /// The payload. Errors: those that the other side reports: kUnsupported for what it does not
  /// implement, kNotFound, kBusy after its time limit, otherwise kInvalidArgument; also
  /// kInvalidArgument for a malformed response.
  Result<std::string> payload;
};

/// The side that calls.
class TtrpcClient {
 public:
  /// Makes a call and returns its stream, which names it. Errors: kInvalidArgument for a request
  /// above the size limit; kBusy above kMaxOpenCalls; kUnsupported after 2^31 calls.
  [[nodiscard]] Result<std::uint32_t> call(const TtrpcRequest& request, std::string& output);
  /// Takes the reply to an open call from the front of `input`; nullopt if the input is used up.
  /// Ignores a reply to any other call. Errors: kInvalidArgument for a frame that is not a
  /// response; reading must then stop.
  [[nodiscard]] Result<std::optional<TtrpcReply>> next(std::string_view& input);
  /// Makes next() ignore the reply to a call.
  void forget(std::uint32_t stream) { open_.erase(stream); }

 private:
  FrameReader frames_;
  std::uint64_t next_stream_ = 1;  ///< odd; 2^32 + 1 after the last one
  std::set<std::uint32_t> open_;
};

}  // namespace pinfold::nri::ttrpc
