#include "pinfold/harness/covering_array.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace pinfold::harness {
namespace {

/// A factor, one of its values, a later factor, and one of its values.
using Pair = std::tuple<std::size_t, int, std::size_t, int>;

Pair pair_of(std::size_t factor, int value, std::size_t other, int other_value) {
  return factor < other ? Pair{factor, value, other, other_value}
                        : Pair{other, other_value, factor, value};
}

std::vector<Pair> all_pairs(const std::vector<int>& sizes) {
  std::vector<Pair> pairs;
  for (std::size_t f = 0; f < sizes.size(); ++f) {
    for (std::size_t g = f + 1; g < sizes.size(); ++g) {
      for (int a = 0; a < sizes[f]; ++a) {
        for (int b = 0; b < sizes[g]; ++b) pairs.emplace_back(f, a, g, b);
      }
    }
  }
  return pairs;
}

class RowSearch {
 public:
  RowSearch(const std::vector<int>& sizes, const std::function<bool(const FactorRow&)>& allowed)
      : sizes_(sizes), allowed_(allowed) {
    for (const Pair& pair : all_pairs(sizes)) add(pair);
  }

  [[nodiscard]] bool is_open(const Pair& pair) const { return open_.contains(pair); }

  /// Returns an allowed row with the pair that closes many open pairs; nullopt if there is none.
  [[nodiscard]] std::optional<FactorRow> row_with(const Pair& pair) const {
    FactorRow row(sizes_.size(), kNoChoice);
    row[std::get<0>(pair)] = std::get<1>(pair);
    row[std::get<2>(pair)] = std::get<3>(pair);
    return allowed_(row) ? complete(std::move(row)) : std::nullopt;
  }

  void close(const Pair& pair) {
    if (open_.erase(pair) == 0) return;
    const auto& [f, a, g, b] = pair;
    --left_[{f, a}];
    --left_[{g, b}];
  }
  void close_pairs_of(const FactorRow& row) {
    for (std::size_t f = 0; f < row.size(); ++f) {
      for (std::size_t g = f + 1; g < row.size(); ++g) close({f, row[f], g, row[g]});
    }
  }

 private:
  void add(const Pair& pair) {
    open_.insert(pair);
    const auto& [f, a, g, b] = pair;
    ++left_[{f, a}];
    ++left_[{g, b}];
  }

  /// Chooses the factor with the most values next. First tries the values that close the most
  /// pairs, and among them those with the most open pairs.
  [[nodiscard]] std::optional<FactorRow> complete(FactorRow row) const {
    std::optional<std::size_t> next;
    for (std::size_t f = 0; f < row.size(); ++f) {
      if (row[f] == kNoChoice && (!next || sizes_[f] > sizes_[*next])) next = f;
    }
    if (!next) return row;
    for (const int value : values_for(row, *next)) {
      row[*next] = value;
      if (!allowed_(row)) continue;
      if (auto found = complete(row)) return found;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<int> values_for(const FactorRow& row, std::size_t factor) const {
    std::vector<std::tuple<int, int, int>> ranked;  // the smallest is the best
    for (int value = 0; value < sizes_[factor]; ++value) {
      int closed = 0;
      for (std::size_t g = 0; g < row.size(); ++g) {
        const bool is_chosen = row[g] != kNoChoice && g != factor;
        if (is_chosen && is_open(pair_of(factor, value, g, row[g]))) ++closed;
      }
      const auto left = left_.find({factor, value});
      ranked.emplace_back(-closed, left == left_.end() ? 0 : -left->second, value);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> values;
    values.reserve(ranked.size());
    for (const auto& one : ranked) values.push_back(std::get<2>(one));
    return values;
  }

  const std::vector<int>& sizes_;
  const std::function<bool(const FactorRow&)>& allowed_;
  std::set<Pair> open_;
  std::map<std::pair<std::size_t, int>, int> left_;  ///< open pairs with this value of a factor
};

/// Returns the rows for a single factor, which has no pairs.
std::vector<FactorRow> rows_of_one(int size, const std::function<bool(const FactorRow&)>& allowed) {
  std::vector<FactorRow> rows;
  for (int value = 0; value < size; ++value) {
    if (allowed({value})) rows.push_back({value});
  }
  return rows;
}

}  // namespace

std::vector<FactorRow> covering_array(const std::vector<int>& sizes,
                                      const std::function<bool(const FactorRow&)>& allowed) {
  if (sizes.size() == 1) return rows_of_one(sizes.front(), allowed);
  RowSearch search(sizes, allowed);
  std::vector<FactorRow> rows;
  for (const Pair& pair : all_pairs(sizes)) {
    if (!search.is_open(pair)) continue;
    if (auto row = search.row_with(pair)) {
      search.close_pairs_of(*row);
      rows.push_back(std::move(*row));
    } else {
      search.close(pair);
    }
  }
  return rows;
}

}  // namespace pinfold::harness
