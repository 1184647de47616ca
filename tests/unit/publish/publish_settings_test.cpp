#include "pinfold/settings/publish_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pinfold/settings/settings.hpp"

namespace pinfold::settings {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PublishSettings, NothingIsPublishedWithoutTheSection) {
  EXPECT_EQ(parse_settings("socket: /run/s\n").value().publish, std::nullopt);
}

TEST(PublishSettings, AnEmptySectionHasTheDefaults) {
  EXPECT_EQ(parse_settings("publish: {}\n").value().publish, PublishSettings{});
}

TEST(PublishSettings, ReadsEveryMember) {
  const auto settings = parse_settings(
      "publish: {nodeName: worker-1, kubeconfig: /etc/k, placements: false, intervalSeconds: 5}\n");
  EXPECT_EQ(settings.value().publish,
            (PublishSettings{"worker-1", "/etc/k", false, std::chrono::seconds(5)}));
}

TEST(PublishSettings, NamesWhatItExpected) {
  for (const auto& [section, message] :
       {std::pair("5", "publish: 5: expected a mapping"),
        std::pair("{nodeName: a/b}", "publish.nodeName: 'a/b': expected a node's name"),
        std::pair("{kubeconfig: 5}", "publish.kubeconfig: 5: expected a string"),
        std::pair("{placements: 1}", "publish.placements: 1: expected true or false"),
        std::pair("{intervalSeconds: 0}", "publish.intervalSeconds: 0: expected 1 to 3600 seconds"),
        std::pair("{nodename: a}", "unknown field 'publish.nodename', did you mean 'nodeName'?")}) {
    const auto settings = parse_settings("publish: " + std::string(section) + "\n");
    ASSERT_FALSE(settings) << section;
    EXPECT_THAT(settings.error().message, HasSubstr(message));
  }
}

TEST(PublishSettings, AChangeNeedsARestart) {
  Settings changed;
  changed.publish = PublishSettings{};
  EXPECT_THAT(needs_restart(Settings{}, changed), ElementsAre("publish"));
}

}  // namespace
}  // namespace pinfold::settings
