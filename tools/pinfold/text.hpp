#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pinfold::tools {

/// The style of text output. The default is for files and pipes.
struct Style {
  bool colour = false;
  bool unicode = true;     ///< false: frames of + - | and no character outside ASCII
  std::size_t width = 80;  ///< columns to stay within if possible
  bool wraps = true;       ///< false: cells of tables and facts keep to one line, however long
};

/// The style of standard output: colour on a terminal unless NO_COLOR is set or TERM is dumb, the
/// terminal's width, and ASCII where the locale is not UTF-8.
[[nodiscard]] Style terminal_style();

enum class Paint { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan };
/// The text in a colour. Control characters in it are escaped, so it must not be painted already.
[[nodiscard]] std::string paint(const Style& style, Paint colour, std::string_view text);

/// Width in columns: one for each character, none for colours.
[[nodiscard]] std::size_t display_width(std::string_view text);
[[nodiscard]] std::string pad_right(std::string text, std::size_t width);
[[nodiscard]] std::string pad_left(std::string text, std::size_t width);

/// Lines of at most `width` columns, broken behind a comma, slash or blank, else behind a hyphen,
/// else within a word. Text that is painted as a whole stays so in each line. Never empty.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// Facts beside each other as far as they fit the width, in lines that end with a newline; one that
/// is longer is wrapped.
[[nodiscard]] std::string facts_text(const std::vector<std::string>& facts, const Style& style);

/// The lines of painted text as far as they fit a screen; the last line says how many do not.
[[nodiscard]] std::vector<std::string> cut_to_screen(std::string_view text, std::size_t rows,
                                                     std::size_t columns);

/// "16 GiB", "15.6 GiB", "512 KiB", "0".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);
/// "1 socket", "2 sockets".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);

/// Rows of cells in aligned columns under a header.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kLeft;
    bool wraps = false;  ///< its cells are wrapped where the table is wider than the style
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Missing cells at the end are empty. Control characters are escaped.
  void add(std::vector<std::string> cells);
  /// As add, for cells that contain paint.
  void add_painted(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Columns that it takes if nothing is wrapped.
  [[nodiscard]] std::size_t width() const;
  /// Lines with an indent of `indent` spaces, without columns that are empty in every row.
  [[nodiscard]] std::string render(const Style& style, std::size_t indent = 0) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] std::vector<std::size_t> widths_within(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pinfold::tools
