#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/nri/session.hpp"

namespace {

struct Read {
  std::vector<std::string> connections;  ///< number and bytes of each chunk, chunks joined
  std::string error;

  friend bool operator==(const Read&, const Read&) = default;
};

void add(pinfold::nri::Demultiplexer& demultiplexer, std::string_view input, Read& read) {
  while (read.error.empty()) {
    const auto chunk = demultiplexer.next(input);
    if (!chunk) {
      if (chunk.error().code != pinfold::ErrorCode::kInvalidArgument) std::abort();
      read.error = chunk.error().message;
      return;
    }
    if (!*chunk) {
      if (!input.empty()) std::abort();
      return;
    }
    if ((*chunk)->bytes.empty()) std::abort();
    for (const char byte : (*chunk)->bytes) {
      read.connections.push_back(std::to_string((*chunk)->connection) + ':' + byte);
    }
  }
}

}  // namespace

/// Bytes from a runtime. The result does not depend on where the input is split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  pinfold::nri::Demultiplexer whole;
  Read expected;
  add(whole, bytes, expected);
  pinfold::nri::Demultiplexer torn;
  Read read;
  const std::size_t at = size == 0 ? 0 : data[size - 1] % size;
  add(torn, bytes.substr(0, at), read);
  add(torn, bytes.substr(at), read);
  if (read != expected) std::abort();
  return 0;
}
