#include "pinfold/nri/ttrpc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "big_endian.hpp"
#include "protobuf.hpp"

namespace pinfold::nri::ttrpc {
namespace {

using protobuf::append_bytes;
using protobuf::append_varint;
using protobuf::ProtobufField;
using protobuf::WireType;

constexpr std::size_t kHeaderSize = 10;
constexpr std::size_t kTypeAt = 8;
constexpr std::size_t kFlagsAt = 9;
/// More entries are an attempt to exhaust memory.
constexpr std::size_t kMaxMetadata = 1024;

// Field numbers of the messages.
namespace request_field {
constexpr std::uint64_t kService = 1;
constexpr std::uint64_t kMethod = 2;
constexpr std::uint64_t kPayload = 3;
constexpr std::uint64_t kTimeout = 4;
constexpr std::uint64_t kMetadata = 5;
}  // namespace request_field
namespace response_field {
constexpr std::uint64_t kStatus = 1;
constexpr std::uint64_t kPayload = 2;
}  // namespace response_field
namespace status_field {
constexpr std::uint64_t kCode = 1;
constexpr std::uint64_t kMessage = 2;
}  // namespace status_field
namespace metadata_field {
constexpr std::uint64_t kKey = 1;
constexpr std::uint64_t kValue = 2;
}  // namespace metadata_field

/// Calls `use` with each field of a message.
template <class Use>
Result<void> for_each_field(std::string_view bytes, const Use& use) {
  for (;;) {
    PINFOLD_LET(const auto field, protobuf::next_field(bytes));
    if (!field) return {};
    PINFOLD_TRY(use(*field));
  }
}

Result<std::pair<std::string, std::string>> decode_metadata(std::string_view bytes) {
  std::pair<std::string, std::string> entry;
  PINFOLD_TRY(for_each_field(bytes, [&](const ProtobufField& field) -> Result<void> {
    if (field.is(metadata_field::kKey, WireType::kBytes)) entry.first = field.bytes;
    if (field.is(metadata_field::kValue, WireType::kBytes)) entry.second = field.bytes;
    return {};
  }));
  return entry;
}

Result<Status> decode_status(std::string_view bytes) {
  Status status;
  PINFOLD_TRY(for_each_field(bytes, [&](const ProtobufField& field) -> Result<void> {
    if (field.is(status_field::kCode, WireType::kVarint)) {
      status.code = static_cast<StatusCode>(field.value);
    }
    if (field.is(status_field::kMessage, WireType::kBytes)) status.message = field.bytes;
    return {};
  }));
  return status;
}

Result<void> set_field(const ProtobufField& field, TtrpcRequest& request) {
  if (field.is(request_field::kTimeout, WireType::kVarint)) {
    request.timeout_ns = static_cast<std::int64_t>(field.value);
  } else if (field.is(request_field::kService, WireType::kBytes)) {
    request.service = field.bytes;
  } else if (field.is(request_field::kMethod, WireType::kBytes)) {
    request.method = field.bytes;
  } else if (field.is(request_field::kPayload, WireType::kBytes)) {
    request.payload = field.bytes;
  } else if (field.is(request_field::kMetadata, WireType::kBytes)) {
    if (request.metadata.size() == kMaxMetadata) {
      return fail(ErrorCode::kInvalidArgument, "too many metadata");
    }
    PINFOLD_LET(auto entry, decode_metadata(field.bytes));
    request.metadata.push_back(std::move(entry));
  }
  return {};
}

void append_text(std::uint64_t number, std::string_view text, std::string& output) {
  if (!text.empty()) append_bytes(number, text, output);
}

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

std::optional<Frame> FrameReader::next(std::string_view& input) {
  if (!has_header_) {
    if (!fill(header_, kHeaderSize, input)) return std::nullopt;
    has_header_ = true;
    size_ = read_u32(header_, 0);
    frame_ = {read_u32(header_, 4),
              static_cast<FrameType>(header_[kTypeAt]),
              static_cast<std::uint8_t>(header_[kFlagsAt]),
              {},
              size_ > kMaxPayload};
    header_.clear();
    if (frame_.is_oversized) skip_ = std::exchange(size_, 0);
  }
  const std::size_t skipped = std::min(skip_, input.size());
  input.remove_prefix(skipped);
  skip_ -= skipped;
  if (skip_ > 0 || !fill(frame_.payload, size_, input)) return std::nullopt;
  has_header_ = false;
  return std::exchange(frame_, {});
}

std::string encode(const Frame& frame) {
  std::string output;
  output.reserve(kHeaderSize + frame.payload.size());
  append_u32(static_cast<std::uint32_t>(frame.payload.size()), output);
  append_u32(frame.stream, output);
  output += static_cast<char>(frame.type);
  output += static_cast<char>(frame.flags);
  output += frame.payload;
  return output;
}

Result<TtrpcRequest> decode_request(std::string_view bytes) {
  TtrpcRequest request;
  PINFOLD_TRY_WRAP(
      for_each_field(bytes, [&](const ProtobufField& field) { return set_field(field, request); }),
      "ttRPC request");
  return request;
}

Result<TtrpcResponse> decode_response(std::string_view bytes) {
  TtrpcResponse response;
  PINFOLD_TRY_WRAP(for_each_field(bytes,
                                  [&](const ProtobufField& field) -> Result<void> {
                                    if (field.is(response_field::kStatus, WireType::kBytes)) {
                                      PINFOLD_LET(response.status, decode_status(field.bytes));
                                    }
                                    if (field.is(response_field::kPayload, WireType::kBytes)) {
                                      response.payload = field.bytes;
                                    }
                                    return {};
                                  }),
                   "ttRPC response");
  return response;
}

std::string encode(const TtrpcRequest& request) {
  std::string output;
  append_text(request_field::kService, request.service, output);
  append_text(request_field::kMethod, request.method, output);
  append_text(request_field::kPayload, request.payload, output);
  if (request.timeout_ns != 0) {
    append_varint(request_field::kTimeout, static_cast<std::uint64_t>(request.timeout_ns), output);
  }
  for (const auto& [key, value] : request.metadata) {
    std::string entry;
    append_text(metadata_field::kKey, key, entry);
    append_text(metadata_field::kValue, value, entry);
    append_bytes(request_field::kMetadata, entry, output);
  }
  return output;
}

std::string encode(const TtrpcResponse& response) {
  std::string output;
  if (response.status) {
    std::string status;
    if (response.status->code != StatusCode::kOk) {
      const auto code = static_cast<std::int64_t>(response.status->code);
      append_varint(status_field::kCode, static_cast<std::uint64_t>(code), status);
    }
    append_text(status_field::kMessage, response.status->message, status);
    append_bytes(response_field::kStatus, status, output);
  }
  if (response.payload) append_bytes(response_field::kPayload, *response.payload, output);
  return output;
}

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
