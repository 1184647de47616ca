#include "pinfold/discover/source.hpp"

#include <cctype>
#include <string_view>
#include <utility>

namespace pinfold {
namespace {

/// True for one line of levels "TYPE:COUNT". A machine in JSON or YAML has braces, quotes or lines.
bool is_synthetic(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  const std::string_view line = text.substr(0, end + 1);
  if (line.find_first_of("{\"\n") != std::string_view::npos) return false;
  const auto colon = line.find(':');
  return colon != std::string_view::npos && colon + 1 < line.size() &&
         std::isdigit(static_cast<unsigned char>(line[colon + 1])) != 0;
}

}  // namespace

Source source_of_text(std::string text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // hwloc reads no XML after it
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '<') {
    // hwloc reads no XML after blanks, or with the line ends of Windows.
    text.erase(0, first);
    std::erase(text, '\r');
    return HwlocXml{std::move(text)};
  }
  if (is_synthetic(text)) return HwlocSynthetic{std::move(text)};
  return MachineText{std::move(text)};
}

}  // namespace pinfold
