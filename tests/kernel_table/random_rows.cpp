#include "random_rows.hpp"

#include <fmt/format.h>

#include <random>
#include <stdexcept>

namespace pinfold::test {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] int below(int limit) {
    return static_cast<int>(engine_() % static_cast<unsigned>(limit));
  }
  [[nodiscard]] bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;  // whose numbers the standard defines
};

/// Few CPUs, so that groups often have the same.
std::string cpus(Draw& draw) {
  const int first = draw.below(4);
  const int last = first + draw.below(3);
  return first == last ? fmt::format("C{}", first) : fmt::format("C{}-{}", first, last);
}

std::string set_up(Draw& draw, bool has_groups_below) {
  if (draw.one_in(8)) return has_groups_below ? "S+" : ".";
  std::string cell = cpus(draw);
  if (!draw.one_in(3)) cell += fmt::format(":P{}", 1 + draw.below(2));
  if (has_groups_below) cell += ":S+";
  return cell;
}

std::string change(Draw& draw) {
  const int kind = draw.below(8);
  if (kind < 4) return cpus(draw);
  if (kind < 6) return fmt::format("P{}", draw.below(3));
  if (kind == 6) return "T";
  return fmt::format("O{}-{}", 1 + draw.below(4), draw.one_in(3) ? 1 : 0);
}

std::string changes(Draw& draw) {
  if (draw.one_in(3)) return ".";
  std::string cell = change(draw);
  if (draw.one_in(2)) cell += ":" + change(draw);
  return cell;
}

}  // namespace

TableRow random_row(std::uint64_t seed) {
  Draw draw(seed);
  std::string text = "S+";
  for (const bool has_groups_below : {true, true, false, false}) {
    text += " " + set_up(draw, has_groups_below);
  }
  for (int i = 0; i < 4; ++i) text += " " + changes(draw);
  auto row = parse_row(text + " 0");
  if (!row) throw std::logic_error(row.error().message);
  return *std::move(row);
}

}  // namespace pinfold::test
