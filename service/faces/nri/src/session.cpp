#include "pinfold/nri/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "big_endian.hpp"

namespace pinfold::nri {
namespace {

using std::chrono::nanoseconds;
using ttrpc::StatusCode;
using ttrpc::TtrpcResponse;

constexpr const char* kRuntimeService = "nri.pkg.api.v1alpha1.Runtime";
constexpr const char* kPluginService = "nri.pkg.api.v1alpha1.Plugin";
/// The longest time limit; keeps time points from overflowing.
constexpr std::chrono::hours kLongest(24);
constexpr std::size_t kMaxName = 255;
constexpr std::size_t kMuxHeader = 8;

TtrpcResponse refused(StatusCode code, std::string message) {
  return {ttrpc::Status{code, std::move(message)}, std::nullopt};
}

TtrpcResponse accepted(const PluginAnswer& answer) { return {std::nullopt, encode(answer)}; }

StatusCode status_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnsupported:
      return StatusCode::kUnimplemented;
    case ErrorCode::kInvalidArgument:
      return StatusCode::kInvalidArgument;
    default:
      return StatusCode::kUnknown;
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Result<std::optional<Chunk>> Demultiplexer::next(std::string_view& input) {
  while (left_ == 0) {
    if (!fill(header_, kMuxHeader, input)) return std::nullopt;
    connection_ = read_u32(header_, 0);
    left_ = read_u32(header_, 4);
    header_.clear();
    if (left_ > kMaxMuxPayload) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("multiplexer: a frame of connection {} has {} bytes, at most {} are "
                              "allowed",
                              connection_, left_, kMaxMuxPayload));
    }
  }
  if (input.empty()) return std::nullopt;
  const Chunk chunk{connection_, input.substr(0, left_)};
  input.remove_prefix(chunk.bytes.size());
  left_ -= chunk.bytes.size();
  return chunk;
}

void multiplex(ConnectionId connection, std::string_view bytes, std::string& output) {
  while (!bytes.empty()) {
    const std::string_view payload = bytes.substr(0, kMaxMuxPayload);
    append_u32(static_cast<std::uint32_t>(connection), output);
    append_u32(static_cast<std::uint32_t>(payload.size()), output);
    output += payload;
    bytes.remove_prefix(payload.size());
  }
}

Result<void> check(const Identity& identity) {
  if (identity.name.empty() || identity.name.size() > kMaxName) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("NRI: the name of a plugin has 1 to {} bytes, not {}", kMaxName,
                            identity.name.size()));
  }
  if (identity.index.size() != 2 ||
      !std::all_of(identity.index.begin(), identity.index.end(), is_digit)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("NRI: index '{}': expected two digits", identity.index));
  }
  return {};
}

Session::Session(const Identity& identity, TimePoint now, TimePoint deadline) {
  api::RegisterPluginRequest request;
  request.set_plugin_name(identity.name);
  request.set_plugin_idx(identity.index);
  // It cannot fail: it is the first call, and small.
  registration_ =
      call_runtime("RegisterPlugin", request.SerializeAsString(), now, deadline).value_or(0);
}

Result<std::vector<SessionEvent>> Session::receive(std::string_view bytes) {
  std::vector<SessionEvent> events;
  for (;;) {
    PINFOLD_LET(const auto chunk, demultiplexer_.next(bytes));
    if (!chunk) return events;
    if (chunk->connection == static_cast<std::uint32_t>(ConnectionId::kPlugin)) {
      PINFOLD_TRY(receive_calls(chunk->bytes, events));
    } else if (chunk->connection == static_cast<std::uint32_t>(ConnectionId::kRuntime)) {
      PINFOLD_TRY(receive_replies(chunk->bytes, events));
    }  // The runtimes also ignore connections that they did not open.
  }
}

Result<void> Session::receive_calls(std::string_view bytes, std::vector<SessionEvent>& events) {
  for (;;) {
    std::string answers;
    auto call = server_.next(bytes, answers);
    multiplex(ConnectionId::kPlugin, answers, output_);
    if (!call) return fail(std::move(call).error());
    if (!*call) return {};
    handle(**std::move(call), events);
  }
}

/// Turns a call into an event, or answers it if it is not a request to the plugin.
void Session::handle(ttrpc::TtrpcCall call, std::vector<SessionEvent>& events) {
  if (call.request.service != kPluginService) {
    return respond(call.stream, refused(StatusCode::kUnimplemented,
                                        fmt::format("unknown service '{}'", call.request.service)));
  }
  if (call.request.method == "Shutdown") {
    events.emplace_back(ShutDown{});
    return respond(call.stream, accepted(api::Empty()));
  }
  auto request = decode_request(call.request.method, call.request.payload);
  if (!request) {
    return respond(call.stream,
                   refused(status_code(request.error().code), request.error().message));
  }
  if (auto* part = std::get_if<api::SynchronizeRequest>(&*request)) {
    if (!join(call, *part)) return;
  }
  if (const auto* configure = std::get_if<api::ConfigureRequest>(&*request)) {
    request_timeout_ = std::chrono::milliseconds(std::clamp<std::int64_t>(
        configure->request_timeout(), 0, std::chrono::milliseconds(kLongest).count()));
  }
  requests_.emplace(call.stream, request->index());
  const nanoseconds said(call.request.timeout_ns);
  const nanoseconds limit = said > nanoseconds::zero() ? said : request_timeout_;
  events.emplace_back(
      Asked{call.stream, std::min<nanoseconds>(limit, kLongest), *std::move(request)});
}

/// Appends a chunk to the earlier ones. Returns true for the last chunk, with the whole request in
/// `request`; otherwise answers the call.
bool Session::join(const ttrpc::TtrpcCall& call, api::SynchronizeRequest& request) {
  synchronize_bytes_ += call.request.payload.size();
  if (synchronize_bytes_ > kMaxSynchronize) {
    synchronize_.Clear();
    synchronize_bytes_ = 0;
    respond(call.stream,
            refused(StatusCode::kResourceExhausted,
                    fmt::format("pods and containers have more than {} bytes", kMaxSynchronize)));
    return false;
  }
  synchronize_.MergeFrom(request);
  if (request.more()) {
    api::SynchronizeResponse more;
    more.set_more(true);
    respond(call.stream, accepted(more));
    return false;
  }
  request = std::exchange(synchronize_, {});
  request.clear_more();
  synchronize_bytes_ = 0;
  return true;
}

void Session::respond(std::uint32_t call, const TtrpcResponse& response) {
  std::string bytes;
  // All callers pass an open call.
  (void)server_.answer(call, response, bytes);
  multiplex(ConnectionId::kPlugin, bytes, output_);
}

Result<void> Session::answer(std::uint32_t call, const Result<PluginAnswer>& answer) {
  const auto found = requests_.find(call);
  if (found == requests_.end()) {
    return fail(ErrorCode::kNotFound, fmt::format("NRI: call {} is not open", call));
  }
  if (answer && answer->index() != found->second) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("NRI: the answer to call {} has another type than its request", call));
  }
  requests_.erase(found);
  respond(call, answer ? accepted(*answer) : refused(StatusCode::kUnknown, answer.error().message));
  return {};
}

Result<std::uint32_t> Session::call_runtime(std::string method, std::string payload, TimePoint now,
                                            TimePoint deadline) {
  ttrpc::TtrpcRequest request{kRuntimeService,
                              std::move(method),
                              std::move(payload),
                              std::max(nanoseconds(deadline - now), nanoseconds(1)).count(),
                              {}};
  std::string bytes;
  PINFOLD_LET(const std::uint32_t call, client_.call(request, bytes));
  multiplex(ConnectionId::kRuntime, bytes, output_);
  deadlines_.emplace(call, deadline);
  return call;
}

Result<std::uint32_t> Session::update_containers(const api::UpdateContainersRequest& request,
                                                 TimePoint now, TimePoint deadline) {
  return call_runtime("UpdateContainers", encode(request), now, deadline);
}

Result<void> Session::receive_replies(std::string_view bytes, std::vector<SessionEvent>& events) {
  for (;;) {
    PINFOLD_LET(auto reply, client_.next(bytes));
    if (!reply) return {};
    deadlines_.erase(reply->stream);
    if (reply->stream == registration_) {
      PINFOLD_TRY_WRAP(std::move(reply->payload), "NRI: registration");
      events.emplace_back(Registered{});
    } else {
      events.emplace_back(
          Updated{reply->stream, std::move(reply->payload).and_then(decode_updated)});
    }
  }
}

Result<std::vector<SessionEvent>> Session::expire(TimePoint now) {
  std::vector<SessionEvent> events;
  for (auto it = deadlines_.begin(); it != deadlines_.end();) {
    if (it->second > now) {
      ++it;
      continue;
    }
    const std::uint32_t call = it->first;
    it = deadlines_.erase(it);
    client_.forget(call);
    const std::string_view what = call == registration_ ? "registration" : "update";
    auto error =
        fail(ErrorCode::kBusy, fmt::format("NRI: {}: the runtime did not answer in time", what));
    if (call == registration_) return error;
    events.emplace_back(Updated{call, std::move(error)});
  }
  return events;
}

std::optional<TimePoint> Session::next_deadline() const {
  const auto first =
      std::min_element(deadlines_.begin(), deadlines_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (first == deadlines_.end()) return std::nullopt;
  return first->second;
}

}  // namespace pinfold::nri
