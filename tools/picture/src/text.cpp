#include "pinfold/picture/text.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

constexpr std::size_t kBetweenColumns = 2;

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? std::string_view{} : value;
}

bool locale_is_utf8() {
  // The first variable that is set counts, as in setlocale(3).
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(environment(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

/// Returns where the first line of a text ends; 0 for the empty text.
std::size_t end_of_line(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t separator = 0;
  std::size_t in_name = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && used++ == columns) {
      return separator != 0 ? separator : in_name != 0 ? in_name : i;
    }
    if (text[i] == ',' || text[i] == ' ') separator = i + 1;
    if (text[i] == '-' || text[i] == '/') in_name = i + 1;
  }
  return text.size();
}

/// Returns where the character in a column begins; the size for a column beyond the text.
std::size_t byte_at(std::string_view text, std::size_t column) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && used++ == column) return i;
  }
  return text.size();
}

/// Returns the blank at which a line is broken; npos if no word ends within or after the width.
std::size_t break_of(std::string_view line, std::size_t width) {
  constexpr auto kNone = std::string_view::npos;
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  std::size_t blank = line.rfind(' ', byte_at(line, width));
  if (blank == kNone || blank <= begin) blank = line.find(' ', begin);
  if (blank == kNone) return kNone;
  const std::size_t command = line.rfind("'pinfold ", blank);
  const std::size_t end = command == kNone ? kNone : line.find('\'', command + 1);
  if (end == kNone || end < blank) return blank;
  const std::size_t before = line.rfind(' ', command);
  return before != kNone && before > begin ? before : line.find(' ', end);
}

/// Returns the first characters of a line, with all of its colours.
std::string cut_line(std::string_view line, std::size_t columns) {
  std::string out;
  std::size_t width = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      const std::size_t end = std::min(line.find('m', i), line.size() - 1);
      out += line.substr(i, end - i + 1);
      i = end;
      continue;
    }
    if (begins_character(line[i])) ++width;
    if (width <= columns) out += line[i];
  }
  return out;
}

/// Returns the style of an open file.
Style style_of(int file) {
  Style style;
  style.unicode = locale_is_utf8();
  if (::isatty(file) == 0) {
    style.wraps = false;  // another program reads lines
    return style;
  }
  style.colour = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  winsize size{};
  if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = std::clamp<std::size_t>(size.ws_col, 60, 240);
  }
  return style;
}

}  // namespace

Style terminal_style() { return style_of(STDOUT_FILENO); }

Style message_style() { return style_of(STDERR_FILENO); }

std::string paint(const Style& style, Paint colour, std::string_view text) {
  if (!style.colour || colour == Paint::kPlain || text.empty()) return escaped(text);
  static constexpr std::array<std::string_view, 9> kCodes = {"",   "1",  "2",  "31", "32",
                                                             "33", "34", "35", "36"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(colour)], escaped(text));
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
    } else if (begins_character(text[i])) {
      ++width;  // the first byte of a character
    }
  }
  return width;
}

std::string pad_right(std::string text, std::size_t width) {
  const std::size_t now = display_width(text);
  return now < width ? std::move(text) + std::string(width - now, ' ') : std::move(text);
}

std::string pad_left(std::string text, std::size_t width) {
  const std::size_t now = display_width(text);
  return now < width ? std::string(width - now, ' ') + std::move(text) : std::move(text);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  constexpr std::string_view kPlain = "\x1b[0m";
  std::string colour;
  if (text.starts_with('\x1b') && text.ends_with(kPlain)) {
    colour = text.substr(0, text.find('m') + 1);
    text.remove_prefix(colour.size());
    text.remove_suffix(kPlain.size());
  }
  std::vector<std::string> lines;
  do {
    const std::size_t end = end_of_line(text, std::max<std::size_t>(width, 1));
    lines.push_back(colour + std::string(text.substr(0, end)));
    if (!colour.empty()) lines.back() += kPlain;
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  } while (!text.empty());
  return lines;
}

std::string wrapped_lines(std::string_view text, const Style& style, std::size_t hang) {
  if (!style.wraps) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string rest(text.substr(0, end));
    const std::size_t indent = std::min(rest.find_first_not_of(' '), rest.size());
    const bool is_command = rest.compare(indent, 8, "pinfold ") == 0;
    const std::string later(std::min(indent + hang, style.width / 2), ' ');
    while (!is_command && display_width(rest) > style.width) {
      const std::size_t blank = break_of(rest, style.width);
      const std::size_t next =
          blank == std::string::npos ? blank : rest.find_first_not_of(' ', blank);
      if (next == std::string::npos) break;
      out += rest.substr(0, rest.find_last_not_of(' ', blank) + 1) + "\n";
      rest.replace(0, next, later);
    }
    out += rest + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string facts_text(const std::vector<std::string>& facts, const Style& style) {
  constexpr std::size_t kBetween = 3;
  constexpr std::size_t kIndent = 2;  // of continuation lines
  std::string text;
  std::size_t used = 0;
  for (const std::string& fact : facts) {
    const std::size_t width = display_width(fact);
    if (used != 0 && used + kBetween + width <= style.width) {
      text += std::string(kBetween, ' ') + fact;
      used += kBetween + width;
      continue;
    }
    if (used != 0) text += "\n";
    const bool fits = width <= style.width || !style.wraps;
    const auto lines = wrapped(fact, fits ? width : style.width - kIndent);
    text += fmt::format("{}", fmt::join(lines, "\n" + std::string(kIndent, ' ')));
    used = lines.size() == 1 ? width : style.width;
  }
  return text + "\n";
}

std::vector<std::string> cut_to_screen(std::string_view text, std::size_t rows,
                                       std::size_t columns) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(cut_line(text.substr(0, end), columns));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  if (rows > 0 && lines.size() > rows) {
    const std::size_t hidden = lines.size() - rows + 1;
    lines.resize(rows - 1);
    lines.push_back(cut_line(fmt::format("({} more)", counted(hidden, "line")), columns));
  }
  return lines;
}

std::string human_bytes(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"",   "Ki", "Mi", "Gi",
                                                             "Ti", "Pi", "Ei"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >> (10 * (unit + 1)) != 0) ++unit;
  const std::uint64_t one = std::uint64_t{1} << (10 * unit);
  if (bytes % one == 0) return fmt::format("{}{}", bytes / one, kUnits[unit]);
  constexpr double kHundred = 99.95;  // from here on it would round to 100.0
  const double amount = static_cast<double>(bytes) / static_cast<double>(one);
  std::string text = fmt::format("{:.{}f}", amount, amount < kHundred ? 1 : 0);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + std::string(kUnits[unit]);
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = escaped(cell);
  add_painted(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] != 0) widths[i] = std::max(widths[i], display_width(columns_[i].header));
  }
  return widths;
}

std::size_t TextTable::width() const {
  std::size_t sum = 0;
  for (const std::size_t width : widths()) {
    if (width != 0) sum += width + (sum == 0 ? 0 : kBetweenColumns);
  }
  return sum;
}

std::vector<std::size_t> TextTable::widths_within(std::size_t width) const {
  constexpr std::size_t kNarrowest = 10;
  std::vector<std::size_t> widths = this->widths();
  for (std::size_t total = this->width(); total > width; --total) {  // shrinks the widest column
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::size_t least = std::max(kNarrowest, display_width(columns_[i].header));
      if (!columns_[i].wraps || widths[i] <= least) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
  }
  return widths;
}

std::string TextTable::render(const Style& style, std::size_t indent) const {
  const auto widths =
      style.wraps ? widths_within(style.width - std::min(indent, style.width)) : this->widths();
  std::string out;
  const auto add_line = [&](auto cell_at) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      std::string cell = cell_at(i);
      if (columns_[i].align == Align::kRight) cell = pad_left(std::move(cell), widths[i]);
      // Padding stays outside the colour, so that it can be trimmed at the end of a line.
      const std::size_t rest = widths[i] - std::min(widths[i], display_width(cell));
      line += cell + std::string(rest + kBetweenColumns, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](std::size_t i) { return paint(style, Paint::kDim, columns_[i].header); });
  for (const auto& row : rows_) {
    std::vector<std::vector<std::string>> cells(columns_.size());
    std::size_t height = 1;
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells[i] = columns_[i].wraps ? wrapped(row[i], widths[i]) : std::vector{row[i]};
      height = std::max(height, cells[i].size());
    }
    for (std::size_t k = 0; k < height; ++k) {
      add_line([&](std::size_t i) { return k < cells[i].size() ? cells[i][k] : std::string(); });
    }
  }
  return out;
}

}  // namespace pinfold::tools
