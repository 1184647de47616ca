#include "pinfold/base/unique_fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace pinfold {
namespace {

static_assert(!std::is_copy_constructible_v<UniqueFd> && !std::is_copy_assignable_v<UniqueFd>);
static_assert(std::is_nothrow_move_constructible_v<UniqueFd>);
static_assert(!std::is_convertible_v<int, UniqueFd>);

int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, OwnsNothingByDefault) {
  const UniqueFd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
}

TEST(UniqueFd, ClosesWhenItIsDestroyed) {
  int number = -1;
  {
    const UniqueFd fd(open_null());
    ASSERT_TRUE(fd);
    number = fd.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, MovesOwnership) {
  UniqueFd first(open_null());
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_EQ(second.get(), number);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): this state is under test
  UniqueFd third(open_null());
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), number);
  EXPECT_TRUE(is_open(number));
  EXPECT_FALSE(is_open(replaced));
  UniqueFd& same = third;
  third = std::move(same);
  EXPECT_EQ(third.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, ReleasesWithoutClosing) {
  UniqueFd fd(open_null());
  const int number = fd.release();
  EXPECT_FALSE(fd);
  EXPECT_TRUE(is_open(number));
  fd.reset(number);
  EXPECT_EQ(fd.get(), number);
  fd.reset();
  EXPECT_FALSE(fd);
  EXPECT_FALSE(is_open(number));
}

}  // namespace
}  // namespace pinfold
