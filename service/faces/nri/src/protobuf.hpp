#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pinfold/base/result.hpp"

/// The part of protobuf's wire format that the ttRPC messages need.
namespace pinfold::nri::protobuf {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct ProtobufField {
  std::uint64_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  ///< of a varint field
  std::string_view bytes;   ///< of any other field

  [[nodiscard]] bool is(std::uint64_t expected, WireType expected_type) const {
    return number == expected && type == expected_type;
  }
};

/// Takes one field from the front of `input`; nullopt at its end. Errors: kInvalidArgument.
[[nodiscard]] Result<std::optional<ProtobufField>> next_field(std::string_view& input);

/// Appends a field even if it has its default value.
void append_varint(std::uint64_t number, std::uint64_t value, std::string& output);
void append_bytes(std::uint64_t number, std::string_view bytes, std::string& output);

}  // namespace pinfold::nri::protobuf
