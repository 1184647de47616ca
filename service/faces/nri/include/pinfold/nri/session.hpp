#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/nri/messages.hpp"
#include "pinfold/nri/ttrpc.hpp"

/// The protocol of NRI plugins; see docs/nri-protocol.md. Everything except plugin.hpp is pure:
/// bytes in, events out; events in, bytes out.
namespace pinfold::nri {

/// The connections that share a plugin's socket.
enum class ConnectionId : std::uint32_t {
  kPlugin = 1,   ///< the runtime calls the plugin
  kRuntime = 2,  ///< the plugin calls the runtime
};

/// One ttRPC message of the maximum size.
inline constexpr std::size_t kMaxMuxPayload = 10 + (4U << 20U);

/// Part of one connection's byte stream.
struct Chunk {
  std::uint32_t connection = 0;  ///< may be one that was never opened
  std::string_view bytes;        ///< a part of the input; never empty
};

/// Separates the connections. Buffers one header, never a payload.
class Demultiplexer {
 public:
  /// Takes one chunk from the front of `input`; nullopt if the input is used up. Errors:
  /// kInvalidArgument for a frame above kMaxMuxPayload; reading must then stop.
  [[nodiscard]] Result<std::optional<Chunk>> next(std::string_view& input);

 private:
  std::string header_;
  std::uint32_t connection_ = 0;
  std::size_t left_ = 0;  ///< of the payload
};

/// Appends `bytes` to `output` as frames.
void multiplex(ConnectionId connection, std::string_view bytes, std::string& output);

/// Checks an identity. Errors: kInvalidArgument if a runtime would reject it.
[[nodiscard]] Result<void> check(const Identity& identity);

/// Limit for all chunks of one SynchronizeRequest together.
inline constexpr std::size_t kMaxSynchronize = 64U << 20U;

/// The runtime accepted the plugin. Its first requests may come earlier.
struct Registered {};
/// The runtime is waiting for an answer.
struct Asked {
  std::uint32_t call = 0;                  ///< names the call until it is answered
  std::chrono::nanoseconds time_limit{0};  ///< from its arrival, at most a day; 0: unknown
  PluginRequest request;
};
/// Outcome of an update that the plugin requested. Errors: the runtime's, which does not say which
/// update failed; kBusy after the time limit.
struct Updated {
  std::uint32_t call = 0;
  Result<api::UpdateContainersResponse> outcome;
};
/// The runtime is shutting down.
struct ShutDown {};

using SessionEvent = std::variant<Registered, Asked, Updated, ShutDown>;

/// One connection of a plugin with a runtime, without the socket and without a clock. Registers,
/// joins the chunks of a SynchronizeRequest, and matches answers with calls. Holds at most
/// ttrpc::kMaxOpenCalls calls in each direction, kMaxSynchronize bytes, and the output that was not
/// taken. After an error of receive() or expire() the connection must be closed.
class Session {
 public:
  /// `deadline` is that of the registration. Domain: check(identity) succeeds.
  Session(const Identity& identity, TimePoint now, TimePoint deadline);

  /// Handles bytes that have arrived. Errors: kInvalidArgument for bytes that do not follow the
  /// protocol, and if the registration is rejected.
  [[nodiscard]] Result<std::vector<SessionEvent>> receive(std::string_view bytes);
  /// Answers a call; each call is answered once. An error is answered with its message, which makes
  /// the runtime's operation fail. Errors: kNotFound for a call that is not open; kInvalidArgument
  /// for an answer of the wrong type.
  [[nodiscard]] Result<void> answer(std::uint32_t call, const Result<PluginAnswer>& answer);
  /// Asks the runtime to update containers. The runtime does so only when no request of its own is
  /// unanswered, so no answer may wait for it. Returns the name of the call, see Updated.
  /// Errors: kBusy above ttrpc::kMaxOpenCalls; kInvalidArgument for a request that is too large.
  [[nodiscard]] Result<std::uint32_t> update_containers(const api::UpdateContainersRequest& request,
                                                        TimePoint now, TimePoint deadline);

  /// Ends calls whose deadline has passed. Errors: kBusy if the runtime did not answer the
  /// registration.
  [[nodiscard]] Result<std::vector<SessionEvent>> expire(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

  /// Returns the bytes to send; empty if there are none.
  [[nodiscard]] std::string take_output() { return std::exchange(output_, {}); }
  [[nodiscard]] std::size_t unsent() const { return output_.size(); }
  /// Time limit per request, from ConfigureRequest; 0 if unknown, as with NRI 0.6.
  [[nodiscard]] std::chrono::milliseconds request_timeout() const { return request_timeout_; }

 private:
  [[nodiscard]] Result<std::uint32_t> call_runtime(std::string method, std::string payload,
                                                   TimePoint now, TimePoint deadline);
  [[nodiscard]] Result<void> receive_calls(std::string_view bytes,
                                           std::vector<SessionEvent>& events);
  [[nodiscard]] Result<void> receive_replies(std::string_view bytes,
                                             std::vector<SessionEvent>& events);
  void handle(ttrpc::TtrpcCall call, std::vector<SessionEvent>& events);
  [[nodiscard]] bool join(const ttrpc::TtrpcCall& call, api::SynchronizeRequest& request);
  void respond(std::uint32_t call, const ttrpc::TtrpcResponse& response);

  Demultiplexer demultiplexer_;
  ttrpc::TtrpcServer server_;
  ttrpc::TtrpcClient client_;
  std::string output_;
  std::uint32_t registration_ = 0;
  std::map<std::uint32_t, TimePoint> deadlines_;   ///< of the plugin's own calls
  std::map<std::uint32_t, std::size_t> requests_;  ///< open calls: the index in PluginRequest
  api::SynchronizeRequest synchronize_;            ///< the chunks so far
  std::size_t synchronize_bytes_ = 0;
  std::chrono::milliseconds request_timeout_{0};
};

}  // namespace pinfold::nri
