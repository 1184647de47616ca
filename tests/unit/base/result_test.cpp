#include "pinfold/base/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>

namespace pinfold {
namespace {

TEST(Error, WrapsOutermostIntentFirst) {
  const Error error = Error{ErrorCode::kIo, EIO, "fsync 'x'"}.wrap("persist").wrap("admit pod 'a'");
  EXPECT_EQ(error.message, "admit pod 'a': persist: fsync 'x'");
  EXPECT_EQ(error.code, ErrorCode::kIo);
  EXPECT_EQ(error.sys_errno, EIO);
}

TEST(Error, NamesAnIntentOnce) {
  const auto wrapped = [](const char* message, const char* context) {
    return Error{ErrorCode::kIo, 0, message}.wrap(context).message;
  };
  EXPECT_EQ(wrapped("configuration: bad", "configuration"), "configuration: bad");
  EXPECT_EQ(wrapped("admit pod 'a': bad", "admit pod"), "admit pod 'a': bad");
  EXPECT_EQ(wrapped("configurations: bad", "configuration"), "configuration: configurations: bad");
  EXPECT_EQ(wrapped("configuration", "configuration"), "configuration: configuration");
}

TEST(Fail, MakesTheFailureOfAnyResult) {
  const Result<int> result = fail(ErrorCode::kCorrupt, "checksum 1: expected 2");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), (Error{ErrorCode::kCorrupt, 0, "checksum 1: expected 2"}));
}

TEST(FailErrno, DistinguishesMissingFilesFromOtherErrors) {
  const Result<void> missing = fail_errno(ENOENT, "open 'x'");
  EXPECT_EQ(missing.error(),
            (Error{ErrorCode::kNotFound, ENOENT, "open 'x': No such file or directory"}));
  const Result<void> broken = fail_errno(EIO, "read 'x'");
  EXPECT_EQ(broken.error(), (Error{ErrorCode::kIo, EIO, "read 'x': Input/output error"}));
}

TEST(ErrorCode, EveryCodeHasItsOwnName) {
  std::set<std::string> names;
  for (int code = 1; code <= 7; ++code) {
    names.insert(std::string(to_string(static_cast<ErrorCode>(code))));
  }
  EXPECT_EQ(names.size(), 7U);
  EXPECT_EQ(names.count("unknown error"), 0U);
}

}  // namespace
}  // namespace pinfold
