#include "pinfold/base/delete_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pinfold {
namespace {

/// Deletes letters of `text` that leave all letters of `needed` in it. Returns the number of tries.
int shorten(std::string& text, const std::string& needed) {
  int tries = 0;
  delete_runs(text.size(), [&](std::size_t begin, std::size_t end) {
    ++tries;
    std::string shorter = text;
    shorter.erase(begin, end - begin);
    const bool fails = std::all_of(needed.begin(), needed.end(), [&](char one) {
      return shorter.find(one) != std::string::npos;
    });
    if (fails) text = shorter;
    return text.size();
  });
  return tries;
}

TEST(DeleteRuns, LeavesWhatIsNeeded) {
  for (const char* needed : {"", "a", "h", "ah", "cde", "abcdefgh"}) {
    std::string text = "abcdefgh";
    (void)shorten(text, needed);
    EXPECT_EQ(text, needed);
  }
}

TEST(DeleteRuns, TriesFewTimesIfLittleIsNeeded) {
  std::string text(1000, 'x');
  text[500] = 'a';
  EXPECT_LT(shorten(text, "a"), 40);
  EXPECT_EQ(text, "a");
}

TEST(DeleteRuns, TriesNothingForAnEmptySequence) {
  std::string text;
  EXPECT_EQ(shorten(text, ""), 0);
}

}  // namespace
}  // namespace pinfold
