#include "pinfold/harness/guest_programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

/// An ELF header of a program for amd64, and ELF notes; the rest is missing.
std::string amd64_program(const std::string& notes) {
  return std::string(
             "\x7f"
             "ELF") +
         std::string(14, '\0') + '\x3e' + std::string(9, '\0') + notes;
}

std::string note(const std::string& soname) {
  return R"([{"soname":[")" + soname + R"("],"priority":"recommended"}])" + '\0';
}

TEST(GuestPrograms, TakesTheLibrariesThatAProgramNotes) {
  const test::TempDir directory;
  directory.write("program", amd64_program(note("libpinfold-absent.so.1") + note("libm.so.6")));
  const auto libraries = libraries_of(directory / "program", Arch::kAmd64);
  ASSERT_TRUE(libraries) << libraries.error().message;
  std::vector<std::string> names;
  for (const GuestProgram& library : *libraries) {
    names.push_back(library.host_path.filename());
  }
  EXPECT_THAT(names, testing::Contains("libm.so.6"));
  EXPECT_THAT(names, testing::Contains("libc.so.6")) << "libm needs it";
  EXPECT_THAT(names, testing::Not(testing::Contains("libpinfold-absent.so.1")));
}

TEST(GuestPrograms, TakesNothingForAProgramWithoutNotes) {
  const test::TempDir directory;
  directory.write("program", amd64_program("libm.so.6"));
  const auto libraries = libraries_of(directory / "program", Arch::kAmd64);
  ASSERT_TRUE(libraries) << libraries.error().message;
  EXPECT_TRUE(libraries->empty());
}

}  // namespace
}  // namespace pinfold::harness
