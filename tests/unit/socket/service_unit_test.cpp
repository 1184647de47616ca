// debian/pinfold-agent.pinfold.service: properties that a test in a chroot cannot see.
#include <gtest/gtest.h>

#include <string>

#include "pinfold/base/read_file.hpp"

namespace pinfold::settings {
namespace {

/// The text of a section, with its lines.
std::string section(const std::string& name) {
  const std::string unit = read_file(PINFOLD_UNIT).value();
  const auto begin = unit.find("[" + name + "]\n");
  if (begin == std::string::npos) return "";
  return unit.substr(begin, unit.find("\n[", begin) - begin) + "\n";
}

/// Five failed starts within ten seconds, for example on a full disk, must not stop it for good.
TEST(ServiceUnit, IsStartedAgainWithoutEnd) {
  EXPECT_NE(section("Unit").find("\nStartLimitIntervalSec=0\n"), std::string::npos);
  EXPECT_NE(section("Service").find("\nRestart=always\n"), std::string::npos);
  EXPECT_NE(section("Service").find("\nRestartSec=5\n"), std::string::npos);
  EXPECT_EQ(section("Service").find("StartLimit"), std::string::npos)
      << "systemd reads it in [Unit]";
}

/// Exporters in containers have mounted a directory below it.
TEST(ServiceUnit, KeepsItsRuntimeDirectory) {
  EXPECT_NE(section("Service").find("\nRuntimeDirectory=pinfold\n"), std::string::npos);
  EXPECT_NE(section("Service").find("\nRuntimeDirectoryPreserve=yes\n"), std::string::npos);
}

}  // namespace
}  // namespace pinfold::settings
