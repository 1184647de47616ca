#include "pinfold/nri/ttrpc.hpp"

#include <algorithm>

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

}  // namespace pinfold::nri::ttrpc
