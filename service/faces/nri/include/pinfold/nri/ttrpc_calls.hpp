#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pinfold/nri/ttrpc.hpp"

namespace pinfold::nri::ttrpc {

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
