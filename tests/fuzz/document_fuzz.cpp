#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/text/document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto documents = pinfold::parse_documents({reinterpret_cast<const char*>(data), size});
  if (!documents) {
    // A message goes to terminals and into JSON: one line of printable ASCII.
    const auto& message = documents.error().message;
    const bool printable =
        std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (message.empty() || !printable) std::abort();
    return 0;
  }
  for (const auto& document : *documents) {
    const auto text = document.dump();  // throws if a string is not UTF-8
    // A container can be read back as JSON.
    if (!document.is_structured()) continue;
    const auto again = pinfold::parse_document(text);
    if (!again || *again != document) std::abort();
  }
  return 0;
}
