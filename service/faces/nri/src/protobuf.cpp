#include "protobuf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace pinfold::nri::protobuf {
namespace {

constexpr unsigned kTypeBits = 3;
constexpr unsigned kByteBits = 7;
constexpr unsigned kValueBits = 64;

Result<std::uint64_t> take_varint(std::string_view& input) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < kValueBits; shift += kByteBits) {
    if (input.empty()) return fail(ErrorCode::kInvalidArgument, "a number ends too early");
    const auto byte = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    value |= (byte & 0x7FULL) << shift;
    if (byte < 0x80U) return value;
  }
  return fail(ErrorCode::kInvalidArgument, "a number has more than 10 bytes");
}

Result<std::string_view> take_bytes(std::string_view& input, std::uint64_t size) {
  if (size > input.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a field of {} bytes ends after {}", size, input.size()));
  }
  const std::string_view bytes = input.substr(0, size);
  input.remove_prefix(bytes.size());
  return bytes;
}

void append_number(std::uint64_t value, std::string& output) {
  for (; value >= 0x80U; value >>= kByteBits) output += static_cast<char>(value | 0x80U);
  output += static_cast<char>(value);
}

void append_tag(std::uint64_t number, WireType type, std::string& output) {
  append_number(number << kTypeBits | static_cast<unsigned>(type), output);
}

}  // namespace

Result<std::optional<ProtobufField>> next_field(std::string_view& input) {
  if (input.empty()) return std::nullopt;
  PINFOLD_LET(const std::uint64_t tag, take_varint(input));
  ProtobufField field;
  field.number = tag >> kTypeBits;
  field.type = static_cast<WireType>(tag & 7U);
  if (field.number == 0) return fail(ErrorCode::kInvalidArgument, "a field has the number 0");
  switch (field.type) {
    case WireType::kVarint: {
      PINFOLD_LET(field.value, take_varint(input));
      return field;
    }
    case WireType::kBytes: {
      PINFOLD_LET(const std::uint64_t size, take_varint(input));
      PINFOLD_LET(field.bytes, take_bytes(input, size));
      return field;
    }
    case WireType::kFixed64: {
      PINFOLD_LET(field.bytes, take_bytes(input, 8));
      return field;
    }
    case WireType::kFixed32: {
      PINFOLD_LET(field.bytes, take_bytes(input, 4));
      return field;
    }
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("field {} has the unknown type {}", field.number, tag & 7U));
}

void append_varint(std::uint64_t number, std::uint64_t value, std::string& output) {
  append_tag(number, WireType::kVarint, output);
  append_number(value, output);
}

void append_bytes(std::uint64_t number, std::string_view bytes, std::string& output) {
  append_tag(number, WireType::kBytes, output);
  append_number(bytes.size(), output);
  output += bytes;
}

}  // namespace pinfold::nri::protobuf
