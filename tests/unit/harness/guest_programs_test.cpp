#include "pinfold/harness/guest_programs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "pinfold/base/read_file.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {
namespace {

/// The ELF header of a program for amd64, and ELF notes; the rest is missing.
std::string amd64_program(const std::string& notes) {
  return std::string(
             "\x7f"
             "ELF") +
         std::string(14, '\0') + '\x3e' + std::string(45, '\0') + notes;
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

TEST(GuestPrograms, NamesALibraryThatTheHostDoesNotHave) {
  auto program = read_file("/usr/bin/true");
  ASSERT_TRUE(program) << program.error().message;
  const std::size_t at = program->find("libc.so.6");
  ASSERT_NE(at, std::string::npos) << "expected a dynamic program";
  program->replace(at, 9, "libx.so.6");
  const test::TempDir directory;
  directory.write("program", *program);
  std::filesystem::permissions(directory / "program", std::filesystem::perms::owner_all);
  const auto libraries = libraries_of(directory / "program", Arch::kAmd64);
  ASSERT_FALSE(libraries);
  EXPECT_EQ(libraries.error().message,
            "program '" + (directory / "program") +
                "': its library 'libx.so.6' is not found on this host; install it, or give a "
                "static program");
}

TEST(GuestPrograms, TakesNothingForAProgramWithoutNotes) {
  const test::TempDir directory;
  directory.write("program", amd64_program("libm.so.6"));
  const auto libraries = libraries_of(directory / "program", Arch::kAmd64);
  ASSERT_TRUE(libraries) << libraries.error().message;
  EXPECT_TRUE(libraries->empty());
}

TEST(GuestPrograms, AProgramThatLooksForNotesHasNone) {
  const test::TempDir directory;
  const std::string literals = R"([{"soname":[")" + std::string(1, '\0') + "a message\n\"b\"";
  directory.write("program", amd64_program(literals));
  const auto libraries = libraries_of(directory / "program", Arch::kAmd64);
  ASSERT_TRUE(libraries) << libraries.error().message;
  EXPECT_TRUE(libraries->empty());
}

}  // namespace
}  // namespace pinfold::harness
