#include "random_rows.hpp"

#include <fmt/format.h>

#include <random>
#include <span>
#include <stdexcept>
#include <string>
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
constexpr Place kRemotePlaces[] = {{1, 4, true},  {4, 6, true},  {1, 3, false},
                                   {2, 4, false}, {4, 5, false}, {5, 6, false}};

std::span<const Place> places(TableKind kind) {
  if (kind == TableKind::kRemote) return kRemotePlaces;
  return kPlaces;
}

std::string cpus(Draw& draw, const Place& place) {
  const int first = place.first + draw.below(place.last - place.first + 1);
  const int last = first + draw.below(place.last - first + 1);
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

std::string set_up(Draw& draw, const Place& place) {
  if (draw.one_in(8)) return place.has_groups_below ? "S+" : ".";
  std::string cell = "C" + cpus(draw, place);
  if (!draw.one_in(3)) cell += fmt::format(":P{}", 1 + draw.below(2));
  if (place.has_groups_below) cell += ":S+";
  return cell;
}

std::string set_up_linux7(Draw& draw, const Place& place) {
  if (draw.one_in(8)) return ".";
  std::string cell = (draw.one_in(3) ? "CX" : "C") + cpus(draw, place);
  if (draw.one_in(2)) cell += ":X" + cpus(draw, place);
  if (!draw.one_in(3)) cell += fmt::format(":P{}", 1 + draw.below(2));
  return cell;
}

/// Draws the changes of a row.
class Changes {
 public:
  Changes(Draw& draw, TableKind kind) : draw_(draw), kind_(kind) {}

  std::string cell(const Place& place) {
    if (draw_.one_in(3)) return ".";
    std::string cell = change(place);
    if (draw_.one_in(2)) cell += ":" + change(place);
    return cell;
  }

 private:
  [[nodiscard]] bool is_linux7() const { return kind_ != TableKind::kInPartition; }

  /// Moves at most one process: a group with a process makes the groups below it threaded.
  std::string change(const Place& place) {
    if (is_linux7() && draw_.one_in(4)) return draw_.one_in(6) ? "X" : "X" + cpus(draw_, place);
    const int kind = draw_.below(8);
    if (kind == 6 && !std::exchange(has_process_, true)) return "T";
    if (kind == 7) {
      const int online = draw_.one_in(3) ? 1 : 0;
      return fmt::format("O{}{}{}", 1 + draw_.below(4), is_linux7() ? '=' : '-', online);
    }
    return kind < 4 ? "C" + cpus(draw_, place) : fmt::format("P{}", draw_.below(3));
  }

  Draw& draw_;
  TableKind kind_;
  bool has_process_ = false;
};

}  // namespace

TableRow random_row(std::uint64_t seed, TableKind kind) {
  Draw draw(seed);
  const bool is_linux7 = kind != TableKind::kInPartition;
  std::string text = is_linux7 ? "" : "S+";
  for (const Place& place : places(kind)) {
    text += " " + (is_linux7 ? set_up_linux7(draw, place) : set_up(draw, place));
  }
  Changes changes(draw, kind);
  for (const Place& place : places(kind)) text += " " + changes.cell(place);
  auto row = parse_row(text + (kind == TableKind::kRemote ? " ." : " 0"), kind);
  if (!row) throw std::logic_error(row.error().message);
  return *std::move(row);
}

}  // namespace pinfold::test
