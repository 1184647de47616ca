#include "key_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "pinfold/text/field.hpp"

namespace pinfold::simulate {

Result<void> read_key_values(
    std::string_view text,
    const std::function<Result<void>(std::string_view key, std::string_view value)>& set) {
  std::set<std::string_view> keys;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = std::min(part.size(), part.find('='));
    const std::string_view key = part.substr(0, equals);
    PINFOLD_TRY(set(key, part.substr(std::min(part.size(), equals + 1))));
    if (keys.insert(key).second) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' occurs twice: expected it once", printable(key)));
  }
  return {};
}

}  // namespace pinfold::simulate
