#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/checkpoint/journal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::checkpoint;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto changes = decode_journal(bytes);
  if (changes && decode_journal(encode_journal(*changes)) != changes) std::abort();
  // The checksum keeps a fuzzer out of the entries: give it one that is right.
  const std::string body(bytes);
  std::string framed = encode_journal({});
  framed.replace(framed.find("1 ") + 2, std::string::npos, "");
  char hash[32] = {};
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(fnv1a_64(body)));
  framed += std::string(hash) + " " + std::to_string(body.size()) + "\n" + body;
  const auto inner = decode_journal(framed);
  if (inner && decode_journal(encode_journal(*inner)) != inner) std::abort();
  return 0;
}
