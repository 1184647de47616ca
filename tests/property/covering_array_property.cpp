// Covering arrays: every two values that can occur together do, in few rows.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "draw.hpp"
#include "pinfold/harness/covering_array.hpp"

namespace pinfold::harness {
namespace {

using test::draw;

/// Two values of two factors: a factor, its value, a later factor, its value.
using Meeting = std::tuple<std::size_t, int, std::size_t, int>;

std::vector<int> any_sizes(int most_factors, int most_values) {
  std::vector<int> sizes(static_cast<std::size_t>(draw(2, most_factors)));
  for (int& size : sizes) size = draw(1, most_values);
  return sizes;
}

std::set<Meeting> meetings_of(const std::vector<FactorRow>& rows) {
  std::set<Meeting> met;
  for (const FactorRow& row : rows) {
    for (std::size_t f = 0; f < row.size(); ++f) {
      for (std::size_t g = f + 1; g < row.size(); ++g) met.insert({f, row[f], g, row[g]});
    }
  }
  return met;
}

/// Returns every possible row.
std::vector<FactorRow> all_rows(const std::vector<int>& sizes) {
  std::vector<FactorRow> rows = {{}};
  for (const int size : sizes) {
    std::vector<FactorRow> longer;
    for (const FactorRow& row : rows) {
      for (int value = 0; value < size; ++value) {
        longer.push_back(row);
        longer.back().push_back(value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

/// The number of rows that any covering array needs.
std::size_t least_rows(std::vector<int> sizes) {
  std::sort(sizes.rbegin(), sizes.rend());
  return static_cast<std::size_t>(sizes[0]) * static_cast<std::size_t>(sizes[1]);
}

bool everything(const FactorRow&) { return true; }

RC_GTEST_PROP(CoveringArray, EveryTwoValuesMeetInFewRows, ()) {
  const auto sizes = any_sizes(5, 6);
  const auto rows = covering_array(sizes, everything);
  RC_ASSERT(meetings_of(rows) == meetings_of(all_rows(sizes)));
  RC_ASSERT(rows.size() >= least_rows(sizes));
  RC_ASSERT(2 * rows.size() <= 3 * least_rows(sizes));
}

RC_GTEST_PROP(CoveringArray, NoRowIsWithoutANewMeeting, ()) {
  const auto rows = covering_array(any_sizes(5, 6), everything);
  for (std::size_t count = 1; count <= rows.size(); ++count) {
    const std::vector<FactorRow> first(rows.begin(),
                                       rows.begin() + static_cast<std::ptrdiff_t>(count));
    const std::vector<FactorRow> before(first.begin(), first.end() - 1);
    RC_ASSERT(meetings_of(before).size() < meetings_of(first).size());
  }
}

/// Some pairs are forbidden: exactly the pairs that can meet in an allowed row do.
RC_GTEST_PROP(CoveringArray, WhatCannotMeetIsLeftOut, ()) {
  const auto sizes = any_sizes(4, 4);
  std::set<Meeting> forbidden;
  for (const Meeting& one : meetings_of(all_rows(sizes))) {
    if (draw(0, 4) == 0) forbidden.insert(one);
  }
  const auto allowed = [&](const FactorRow& row) {
    const auto meetings = meetings_of({row});
    return std::none_of(meetings.begin(), meetings.end(),
                        [&](const Meeting& one) { return forbidden.contains(one); });
  };
  auto possible = all_rows(sizes);
  std::erase_if(possible, [&](const FactorRow& row) { return !allowed(row); });
  const auto rows = covering_array(sizes, allowed);
  RC_ASSERT(std::all_of(rows.begin(), rows.end(), allowed));
  RC_ASSERT(meetings_of(rows) == meetings_of(possible));
}

TEST(CoveringArray, IsTheProductOfTheTwoLargestFactorsOfThree) {
  EXPECT_EQ(covering_array({40, 8, 3}, everything).size(), 320U);
}

TEST(CoveringArray, OfOneFactorHasItsAllowedValues) {
  const auto is_even = [](const FactorRow& row) { return row.front() % 2 == 0; };
  EXPECT_EQ(covering_array({5}, is_even), (std::vector<FactorRow>{{0}, {2}, {4}}));
}

}  // namespace
}  // namespace pinfold::harness
