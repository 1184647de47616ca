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
  bool unicode = true;     ///< false: only ASCII, with frames of + - |
  std::size_t width = 80;  ///< preferred maximum of columns
  bool wraps = true;       ///< false: cells and facts stay on one line, however long
};

/// Returns the style of standard output: colour on a terminal unless NO_COLOR is set or TERM is
/// dumb, the terminal's width, and ASCII if the locale is not UTF-8.
[[nodiscard]] Style terminal_style();
/// Returns the style of standard error.
[[nodiscard]] Style message_style();

enum class Paint { kPlain, kBold, kDim, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan };
/// Colours text. Escapes control characters, so the text must not be painted already.
[[nodiscard]] std::string paint(const Style& style, Paint colour, std::string_view text);

/// Returns the width in columns: one per character, none for colours.
[[nodiscard]] std::size_t display_width(std::string_view text);
[[nodiscard]] std::string pad_right(std::string text, std::size_t width);
[[nodiscard]] std::string pad_left(std::string text, std::size_t width);

/// Breaks text into lines of at most `width` columns, after a comma or space, else after a slash or
/// hyphen, else within a word. If the whole text is painted, so is each line. Never empty.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);
/// Breaks lines of plain text that are wider than the style between words, if it wraps. Later parts
/// are indented by `hang` more columns than their line. A command of pinfold stays whole, so that
/// it can be copied: a line that is one, and one in single quotes.
[[nodiscard]] std::string wrapped_lines(std::string_view text, const Style& style,
                                        std::size_t hang = 2);
/// Puts as many facts on each line as fit the width; wraps longer ones. Lines end with a newline.
[[nodiscard]] std::string facts_text(const std::vector<std::string>& facts, const Style& style);

/// Returns the lines of painted text that fit a screen; the last one says how many do not.
[[nodiscard]] std::vector<std::string> cut_to_screen(std::string_view text, std::size_t rows,
                                                     std::size_t columns);

/// Returns "16Gi", "15.6Gi", "323Gi", "0": quantities in the notation of manifests, rounded to
/// three digits or to whole units. exact_bytes() does not round.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);
/// Returns "1 socket", "2 sockets".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);

/// Rows of cells in aligned columns under a header.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string header;
    Align align = Align::kLeft;
    bool wraps = false;  ///< its cells are wrapped if the table is wider than the style
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row. Missing cells at the end are empty. Escapes control characters.
  void add(std::vector<std::string> cells);
  /// Like add, for cells that contain paint.
  void add_painted(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Returns the width in columns if nothing is wrapped.
  [[nodiscard]] std::size_t width() const;
  /// Renders the lines, indented by `indent` spaces, without columns that are empty in every row.
  [[nodiscard]] std::string render(const Style& style, std::size_t indent = 0) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] std::vector<std::size_t> widths_within(std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pinfold::tools
