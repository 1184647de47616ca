#pragma once

#include <string>
#include <string_view>

#include "pinfold/text/message.hpp"
#include "pinfold/text/utf8.hpp"

namespace pinfold::grpc {

/// Returns text that is valid as a Protobuf string, that is UTF-8; names of cgroups need not be.
inline std::string valid_text(std::string_view text) {
  return utf8::find_invalid(text) == std::string_view::npos ? std::string(text) : escaped(text);
}

}  // namespace pinfold::grpc
