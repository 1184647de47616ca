#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pinfold/checkpoint/journal.hpp"

using namespace pinfold::checkpoint;  // NOLINT(google-build-using-namespace)

namespace {

/// Entries that were read can be written, and read back to the same entries.
void check(std::string_view bytes) {
  const auto journal = decode_journal(bytes);
  if (!journal) return;
  Contents contents;
  for (const Record& record : *journal) {
    if (!apply_record(record, contents)) break;
  }
  std::string again;
  for (const Record& record : *journal) again += encode_record(record.changes);
  const auto changes = [](const Record& record) { return record.changes; };
  const auto rewritten = decode_journal(again);
  if (!rewritten || !std::ranges::equal(*rewritten, *journal, {}, changes, changes)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  // The checksum would keep a fuzzer away from the entries: prepend a correct one.
  for (const int version : {2, 3, 4}) {
    check(fmt::format("pinfold-journal {} {:016x} {}\n{}", version, content_sum(bytes, version),
                      size, bytes));
  }
  return 0;
}
