#include "pinfold/base/loaded_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace pinfold {
namespace {

using testing::AllOf;
using testing::HasSubstr;

PINFOLD_LOADED_LIBRARY(kMath, "libm.so.6", "libc6", "test it");
constexpr LoadedLibrary::Description kAbsent{"libpinfold-absent.so.1", "libpinfold-absent1",
                                             "test it"};

struct Math {
  decltype(static_cast<double (*)(double)>(&::cos)) cos;
};

int loads = 0;  // NOLINT(*-avoid-non-const-global-variables)

/// Fails at the first call.
Result<Math> load_math() {
  PINFOLD_LET(const auto library, LoadedLibrary::open(++loads == 1 ? kAbsent : kMath));
  Math math{};
  PINFOLD_TRY(library.find("cos", math.cos));
  return math;
}

TEST(LoadedLibrary, FindsAFunction) {
  const auto library = LoadedLibrary::open(kMath);
  ASSERT_TRUE(library) << library.error().message;
  Math math{};
  const auto found = library->find("cos", math.cos);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(math.cos(0), 1);
}

TEST(LoadedLibrary, NamesAnAbsentLibraryItsPackageAndWhatNeedsIt) {
  const auto library = LoadedLibrary::open(kAbsent);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(library.error().message,
            "library 'libpinfold-absent.so.1', needed to test it: libpinfold-absent.so.1: cannot "
            "open shared object file: No such file or directory; install the package "
            "'libpinfold-absent1'");
}

TEST(LoadedLibrary, NamesAnAbsentFunction) {
  const auto library = LoadedLibrary::open(kMath);
  ASSERT_TRUE(library) << library.error().message;
  void (*function)() = nullptr;
  const auto found = library->find("pinfold_absent", function);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(found.error().message,
              AllOf(HasSubstr("'libm.so.6'"), HasSubstr("'pinfold_absent'"), HasSubstr("'libc6'")));
  EXPECT_EQ(function, nullptr);
}

TEST(LoadedLibrary, IsLoadedOnceButTriedAgainAfterAFailure) {
  loads = 0;
  const auto load = [] { return load_once<Math, load_math>(); };
  EXPECT_FALSE(load());
  const auto first = load();
  ASSERT_TRUE(first) << first.error().message;
  const auto second = load();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(loads, 2);
}

}  // namespace
}  // namespace pinfold
