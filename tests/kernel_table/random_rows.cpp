#include "random_rows.hpp"

#include <fmt/format.h>

#include <random>
#include <stdexcept>
#include <utility>

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
  std::mt19937_64 engine_;  // its numbers are defined by the C++ standard
};

/// Where a group is in the table: deeper ones mostly have CPUs of those above them.
struct Place {
  int first;
  int last;
  bool has_groups_below;
};
constexpr Place kPlaces[] = {{0, 4, true}, {1, 4, true}, {2, 3, false}, {3, 6, false}};

std::string cpus(Draw& draw, const Place& place) {
  const int first = place.first + draw.below(place.last - place.first + 1);
  const int last = first + draw.below(place.last - first + 1);
  return first == last ? fmt::format("C{}", first) : fmt::format("C{}-{}", first, last);
}

std::string set_up(Draw& draw, const Place& place) {
  if (draw.one_in(8)) return place.has_groups_below ? "S+" : ".";
  std::string cell = cpus(draw, place);
  if (!draw.one_in(3)) cell += fmt::format(":P{}", 1 + draw.below(2));
  if (place.has_groups_below) cell += ":S+";
  return cell;
}

/// Moves at most one process: a group with a process makes the groups below it threaded.
std::string change(Draw& draw, const Place& place, bool& has_process) {
  const int kind = draw.below(8);
  if (kind == 6 && !std::exchange(has_process, true)) return "T";
  if (kind == 7) return fmt::format("O{}-{}", 1 + draw.below(4), draw.one_in(3) ? 1 : 0);
  return kind < 4 ? cpus(draw, place) : fmt::format("P{}", draw.below(3));
}

std::string changes(Draw& draw, const Place& place, bool& has_process) {
  if (draw.one_in(3)) return ".";
  std::string cell = change(draw, place, has_process);
  if (draw.one_in(2)) cell += ":" + change(draw, place, has_process);
  return cell;
}

}  // namespace

TableRow random_row(std::uint64_t seed) {
  Draw draw(seed);
  std::string text = "S+";
  for (const Place& place : kPlaces) text += " " + set_up(draw, place);
  bool has_process = false;
  for (const Place& place : kPlaces) text += " " + changes(draw, place, has_process);
  auto row = parse_row(text + " 0");
  if (!row) throw std::logic_error(row.error().message);
  return *std::move(row);
}

}  // namespace pinfold::test
