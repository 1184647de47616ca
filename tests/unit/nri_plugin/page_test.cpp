#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "node_samples.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/nri_pods/plan.hpp"
#include "pinfold/settings/settings.hpp"

/// The files that docs/nri.md asks its reader to write.
namespace pinfold::nri {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string text_of(const char* file) { return read_file(file).value(); }

/// Returns the indented block of the page that begins with this line, without the indentation.
std::string block(std::string_view first) {
  constexpr std::string_view kIndent = "       ";
  const std::string page = text_of(PINFOLD_NRI_PAGE);
  std::string found;
  for (std::size_t at = page.find("\n" + std::string(kIndent) + std::string(first));
       at != std::string::npos && page.compare(at + 1, kIndent.size(), kIndent) == 0;) {
    const std::size_t begin = at + 1 + kIndent.size();
    at = page.find('\n', begin);
    found += page.substr(begin, at - begin) + "\n";
  }
  return found;
}

TEST(NriPage, ItsFilesAreAccepted) {
  auto node = parse_config(block("kind: KubeletConfiguration"));
  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_THAT(node->warnings, IsEmpty());
  EXPECT_EQ(node->config.cpu_manager_policy, "static");
  const std::string installed = text_of(PINFOLD_AGENT_YAML);
  const auto settings = settings::parse_settings(installed + block("profile: fixed"));
  ASSERT_TRUE(settings.has_value()) << settings.error().message;
  EXPECT_EQ(settings->profile, "fixed");
  ASSERT_TRUE(settings->nri.has_value());
  EXPECT_EQ(settings->nri->pod_level, settings::PodLevelResources::kNone);
  EXPECT_EQ(settings->nri->mode, settings::NriMode::kEnforce);
  node->config.profile = Profile::kFixed;
  const auto made = Node::make(pinfold::test::two_sockets(), node->config);
  ASSERT_TRUE(made.has_value()) << made.error().error;
  EXPECT_TRUE(check_node(*made).has_value());
}

TEST(NriPage, ItsFilesAreThoseOfTheGuest) {
  const std::string guest = text_of(PINFOLD_NRI_GUEST);
  for (const char* const first : {"kind: KubeletConfiguration", "profile: fixed"}) {
    EXPECT_THAT(guest, HasSubstr("<<'END'\n" + block(first) + "END\n")) << first;
  }
  for (const char* const command :
       {"mkdir -m 0700 /var/lib/pinfold", "systemctl enable --now pinfold"}) {
    EXPECT_THAT(guest, HasSubstr(command));
    EXPECT_THAT(text_of(PINFOLD_NRI_PAGE), HasSubstr("sudo " + std::string(command)));
  }
}

}  // namespace
}  // namespace pinfold::nri
