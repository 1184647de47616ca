#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "pinfold/text/xml.hpp"

namespace pinfold::world {
namespace {

// Pixels.
constexpr int kRow = 24;
constexpr int kCharacter = 7;
constexpr int kLine = 11;  ///< the height of a line of text
constexpr int kTop = 190;  ///< the actions are above this, written upwards
constexpr int kMargin = 12;
constexpr int kWidest = 16;  ///< of a frame
constexpr int kImage = 1600;

constexpr const char* kStyle = R"(<style>
svg { --ground: #fff; --ink: #1b1f24; --band: #f4f6f8; --line: #8c959f; --own: #7aa7e8; --shared: #d5dde6; --bad: #c1121f; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e8edf2; --band: #161b22; --line: #6b7683; --own: #3f6fb5; --shared: #30363d; --bad: #ff7b72; }
}
text { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; fill: var(--ink); }
.ground { fill: var(--ground); }
.band { fill: var(--band); }
.own { fill: var(--own); }
.shared { fill: var(--shared); }
.idle { fill-opacity: 0.35; stroke: var(--line); stroke-dasharray: 2 2; }
.bad { fill: var(--bad); }
.on-bad { fill: var(--ground); }
.fault { stroke: var(--bad); stroke-width: 2; }
</style>
)";

/// Consecutive frames in which a group has the same values.
struct Span {
  std::size_t from = 0;
  std::size_t to = 0;  ///< the first frame after it
  Frame::Row row;
  std::string overlap;  ///< "2 of p1/a"
};

/// Returns the CPUs that this container runs on and that are exclusive to other running containers.
std::string overlap_of(const Frame& frame, const std::string& name) {
  const Frame::Row& row = frame.rows.at(name);
  std::string text;
  for (const auto& [other, has] : frame.rows) {
    const CpuSet both = row.cpus & has.cpus;
    const bool meets = other != name && row.runs && has.runs && has.is_exclusive && !both.empty();
    if (meets) {
      text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", both.to_string(), other);
    }
  }
  return text;
}

std::map<std::string, std::vector<Span>> spans_of(const std::vector<Frame>& frames) {
  std::map<std::string, std::vector<Span>> spans;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    for (const auto& [name, row] : frames[i].rows) {
      auto& all = spans[name];
      const std::string overlap = overlap_of(frames[i], name);
      const bool goes_on = !all.empty() && all.back().to == i && all.back().row == row &&
                           all.back().overlap == overlap;
      if (!goes_on) all.push_back({i, i, row, overlap});
      all.back().to = i + 1;
    }
  }
  return spans;
}

class Drawing {
 public:
  Drawing(const History& history, const Outcome& outcome)
      : history_(history), outcome_(outcome), spans_(spans_of(outcome.frames)) {
    std::size_t longest = 0;
    for (const auto& [name, spans] : spans_) longest = std::max(longest, name.size());
    left_ = kMargin * 2 + static_cast<int>(longest) * kCharacter;
    const auto frames = static_cast<int>(std::max<std::size_t>(outcome.frames.size(), 1));
    step_ = std::clamp(kImage / frames, 2, kWidest);
    width_ = left_ + frames * step_ + kMargin;
    bottom_ = kTop + static_cast<int>(spans_.size()) * kRow;
  }

  std::string draw() && {
    bands();
    rows();
    faults();
    if (outcome_.failure) {
      out_ += fmt::format("<text class=\"bad\" x=\"{}\" y=\"{}\">{}: {}</text>\n", kMargin,
                          bottom_ + 20, escape_xml(outcome_.failure->promise),
                          escape_xml(outcome_.failure->what));
    }
    const int height = bottom_ + (outcome_.failure ? 32 : kMargin);
    const int width = std::max(width_, failure_width());
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\">\n{2}<rect class=\"ground\" width=\"{0}\" height=\"{1}\"/>\n"
        "{3}</svg>\n",
        width, height, kStyle, out_);
  }

 private:
  [[nodiscard]] int x_of(std::size_t frame) const {
    return left_ + static_cast<int>(frame) * step_;
  }
  [[nodiscard]] int failure_width() const {
    if (!outcome_.failure) return 0;
    const auto length = outcome_.failure->promise.size() + outcome_.failure->what.size() + 4;
    return static_cast<int>(length) * (kCharacter + 1);
  }

  /// Draws the actions and the frames of each.
  void bands() {
    const auto& frames = outcome_.frames;
    for (std::size_t from = 0, to = 0; from < frames.size(); from = to) {
      while (to < frames.size() && frames[to].action == frames[from].action) ++to;
      const std::size_t number = frames[from].action;
      const std::string title =
          number < history_.actions.size() ? to_string(history_.actions[number]) : "all pods end";
      const int x = x_of(from);
      if (number % 2 == 0) {
        out_ += fmt::format("<rect class=\"band\" x=\"{}\" y=\"0\" width=\"{}\" height=\"{}\"/>\n",
                            x, x_of(to) - x, bottom_);
      }
      if (x_of(to) - x < kLine) continue;
      out_ += fmt::format("<text transform=\"translate({} {}) rotate(-90)\">{}</text>\n", x + 10,
                          kTop - 8, escape_xml(title));
    }
  }

  void rows() {
    int y = kTop;
    for (const auto& [name, spans] : spans_) {
      out_ += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kMargin, y + 15, escape_xml(name));
      for (const Span& span : spans) draw(name, span, y);
      y += kRow;
    }
  }

  void draw(const std::string& name, const Span& span, int y) {
    const int x = x_of(span.from);
    const int width = x_of(span.to) - x;
    const std::string cpus = span.row.cpus.to_string();
    const char* const css = !span.overlap.empty()   ? "bad"
                            : span.row.is_exclusive ? "own"
                                                    : "shared";
    const std::string note =
        span.overlap.empty() ? (span.row.runs ? "" : ", no process") : ", runs on " + span.overlap;
    out_ += fmt::format(
        "<rect class=\"{}{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\">"
        "<title>{}: CPUs {}{}, after '{}'</title></rect>\n",
        css, span.row.runs ? "" : " idle", x, y + 2, std::max(width - 1, 1), kRow - 5,
        escape_xml(name), cpus, escape_xml(note), escape_xml(outcome_.frames[span.from].operation));
    if (static_cast<int>(cpus.size()) * kCharacter + 4 > width) return;
    out_ += fmt::format("<text{} x=\"{}\" y=\"{}\">{}</text>\n",
                        span.overlap.empty() ? "" : " class=\"on-bad\"", x + 3, y + 15, cpus);
  }

  /// Draws each fault at the operation that it struck.
  void faults() {
    const auto& frames = outcome_.frames;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (frames[i].faults == (i == 0 ? 0 : frames[i - 1].faults)) continue;
      out_ += fmt::format("<line class=\"fault\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\"/>\n",
                          x_of(i), kTop - 4, bottom_);
    }
  }

  const History& history_;
  const Outcome& outcome_;
  std::map<std::string, std::vector<Span>> spans_;
  std::string out_;
  int left_ = 0;
  int step_ = kWidest;
  int width_ = 0;
  int bottom_ = 0;
};

}  // namespace

std::string picture_of(const History& history, const Outcome& outcome) {
  return Drawing(history, outcome).draw();
}

}  // namespace pinfold::world
