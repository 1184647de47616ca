// A reader must cope with any bytes that another process writes into the memory that it maps.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "pinfold/checkpoint/snapshot.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint64_t> memory(size / 8 + 1);
  std::memcpy(memory.data(), data, size);
  const auto bytes = std::as_bytes(std::span(memory)).first(size / 8 * 8);
  const auto files = pinfold::checkpoint::decode_snapshot(bytes, "boot");
  if (!files) return 0;
  const auto length = [](const auto& file) { return file ? file->size() : 0; };
  if (length(files->cpu) + length(files->memory) + length(files->pods) > size) std::abort();
  return 0;
}
