#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/api/config.hpp"
#include "pinfold/api/config_document.hpp"

/// Any text. Flags found in it begin with a dash, and a configuration reads back as the same one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto flags = pinfold::flags_of_text(text)) {
    for (const auto& [name, value] : flags->flags) {
      if (!name.starts_with("-")) std::abort();
    }
  }
  const auto parsed = pinfold::parse_config(text);
  if (!parsed) return 0;
  const auto again = pinfold::config_from_json(to_json(parsed->config));
  if (!again || again->config != parsed->config || !again->warnings.empty()) std::abort();
  return 0;
}
