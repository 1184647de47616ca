#include "pinfold/nri/ttrpc_calls.hpp"

#include <fmt/format.h>

#include <limits>

namespace pinfold::nri::ttrpc {
namespace {

Frame response_frame(std::uint32_t stream, const TtrpcResponse& response) {
  return {stream, FrameType::kResponse, 0, encode(response)};
}

TtrpcResponse refusal(StatusCode code, std::string message) {
  return {Status{code, std::move(message)}, std::nullopt};
}

tl::unexpected<Error> wrong_type(const Frame& frame, FrameType expected) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("ttRPC: a frame of stream {} has type {}, expected {}", frame.stream,
                          static_cast<int>(frame.type), static_cast<int>(expected)));
}

Result<std::string> outcome(const Frame& frame) {
  if (frame.is_oversized) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the response has more than {} bytes", kMaxPayload));
  }
  PINFOLD_LET(auto response, decode_response(frame.payload));
  const Status status = response.status.value_or(Status{});
  switch (status.code) {
    case StatusCode::kOk:
      return std::move(response.payload).value_or("");
    case StatusCode::kDeadlineExceeded:
      return fail(ErrorCode::kBusy, status.message);
    case StatusCode::kNotFound:
      return fail(ErrorCode::kNotFound, status.message);
    case StatusCode::kUnimplemented:
      return fail(ErrorCode::kUnsupported, status.message);
    default:
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("status {}: {}", static_cast<int>(status.code), status.message));
  }
}

}  // namespace

Result<std::optional<TtrpcCall>> TtrpcServer::next(std::string_view& input, std::string& output) {
  while (auto frame = frames_.next(input)) {
    if (frame->type != FrameType::kRequest) return wrong_type(*frame, FrameType::kRequest);
    const std::uint32_t stream = frame->stream;
    const auto refuse = [&](StatusCode code, std::string message) {
      output += encode(response_frame(stream, refusal(code, std::move(message))));
    };
    if (stream % 2 == 0 || stream <= last_stream_) {
      refuse(StatusCode::kInvalidArgument,
             fmt::format("stream {}: expected an odd number above {}", stream, last_stream_));
      continue;
    }
    last_stream_ = stream;
    if (frame->is_oversized) {
      refuse(StatusCode::kResourceExhausted,
             fmt::format("a request has at most {} bytes", kMaxPayload));
    } else if (open_.size() == kMaxOpenCalls) {
      refuse(StatusCode::kResourceExhausted,
             fmt::format("{} calls are not answered yet", open_.size()));
    } else if (auto request = decode_request(frame->payload)) {
      open_.insert(stream);
      return TtrpcCall{stream, *std::move(request)};
    } else {
      refuse(StatusCode::kInvalidArgument, request.error().message);
    }
  }
  return std::nullopt;
}

Result<void> TtrpcServer::answer(std::uint32_t stream, const TtrpcResponse& response,
                                 std::string& output) {
  if (open_.erase(stream) == 0) {
    return fail(ErrorCode::kNotFound, fmt::format("ttRPC: stream {} has no open call", stream));
  }
  Frame frame = response_frame(stream, response);
  if (frame.payload.size() > kMaxPayload) {
    frame = response_frame(stream, refusal(StatusCode::kResourceExhausted,
                                           fmt::format("the response has {} bytes, at most {} are "
                                                       "allowed",
                                                       frame.payload.size(), kMaxPayload)));
  }
  output += encode(frame);
  return {};
}

Result<std::uint32_t> TtrpcClient::call(const TtrpcRequest& request, std::string& output) {
  if (next_stream_ > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::kUnsupported, "ttRPC: a connection has no more streams");
  }
  if (open_.size() == kMaxOpenCalls) {
    return fail(ErrorCode::kBusy,
                fmt::format("ttRPC: {} calls are not answered yet", open_.size()));
  }
  const auto stream = static_cast<std::uint32_t>(next_stream_);
  const Frame frame{stream, FrameType::kRequest, 0, encode(request)};
  if (frame.payload.size() > kMaxPayload) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("ttRPC: the request '{}' has {} bytes, at most {} are allowed",
                            request.method, frame.payload.size(), kMaxPayload));
  }
  next_stream_ += 2;
  open_.insert(stream);
  output += encode(frame);
  return stream;
}

Result<std::optional<TtrpcReply>> TtrpcClient::next(std::string_view& input) {
  while (const auto frame = frames_.next(input)) {
    if (frame->type != FrameType::kResponse) return wrong_type(*frame, FrameType::kResponse);
    if (open_.erase(frame->stream) > 0) return TtrpcReply{frame->stream, outcome(*frame)};
  }
  return std::nullopt;
}

}  // namespace pinfold::nri::ttrpc
