#include "pinfold/audit/distributions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold::audit {
namespace {

using nlohmann::json;
using testing::ElementsAre;

using Words = std::vector<std::string>;

TEST(KubeletHost, IsKnownByItsCommandLine) {
  struct Row {
    Words words;
    const char* title;
    Words arguments;
  };
  for (const Row& row :
       {Row{{"/usr/local/bin/k3s", "server", "-v", "1"}, "k3s server", {"-v", "1"}},
        Row{{"/usr/local/bin/k3s server", "", ""}, "k3s server", {}},
        Row{{"/usr/local/bin/rke2 agent"}, "rke2 agent", {}},
        Row{{"k0s", "worker", "--token"}, "k0s worker", {"--token"}},
        Row{{"k0s", "controller", "--enable-worker"}, "k0s controller", {"--enable-worker"}},
        Row{{"/snap/microk8s/1/kubelite", "--a=b"}, "kubelite", {"--a=b"}}}) {
    const auto host = kubelet_host(row.words);
    ASSERT_TRUE(host) << row.title;
    EXPECT_EQ(host->title, row.title);
    EXPECT_EQ(host->arguments, row.arguments) << row.title;
  }
  for (const Words& words :
       {Words{}, Words{""}, Words{"k3s"}, Words{"k3s", "kubectl"}, Words{"/usr/bin/kubelet"},
        Words{"k0s", "controller"}, Words{"grep", "k3s", "server"}, Words{"/opt/k3s-server/run"}}) {
    EXPECT_FALSE(kubelet_host(words)) << testing::PrintToString(words);
  }
}

TEST(Words, AreSplitAsAShellDoes) {
  EXPECT_THAT(split_words(R"( a  "b c"d 'e\f' g\ h "" \)"),
              ElementsAre("a", "b cd", R"(e\f)", "g h", "", "\\"));
  EXPECT_THAT(split_words("'open"), ElementsAre("open"));
  EXPECT_THAT(split_words(""), ElementsAre());
}

TEST(Options, HaveValuesInBothForms) {
  const Words words = {"--a=1", "--ab=2", "--a", "3", "--a"};
  EXPECT_THAT(option_values(words, "--a"), ElementsAre("1", "3"));
}

TEST(RancherConfig, IsPutTogetherFromFilesAndTheCommandLine) {
  RancherConfig config;
  merge_rancher(config, json{{"kubelet-arg", {"a=1", "b=2"}}, {"data-dir", "/data"}});
  merge_rancher(config, json{{"kubelet-arg+", "c=3"}});
  EXPECT_EQ(config, (RancherConfig{{"a=1", "b=2", "c=3"}, "/data", true}));
  merge_rancher(config, json{{"kubelet-arg", {"d=4"}}});
  merge_rancher(config, Words{"--kubelet-arg=e=5", "--kubelet-arg", "f=6", "-d", "/other"});
  EXPECT_EQ(config, (RancherConfig{{"d=4", "e=5", "f=6"}, "/other", true}));
  for (const char* const text : {"[]", "null", R"({"kubelet-arg": null})", R"({"data-dir": 7})"}) {
    RancherConfig odd;
    merge_rancher(odd, json::parse(text));
    EXPECT_EQ(odd, RancherConfig{}) << text;
  }
  // k3s converts them to text, which gives flags that no kubelet knows.
  RancherConfig odd;
  merge_rancher(odd, json::parse(R"({"kubelet-arg": [1, null, {"a": "b"}]})"));
  EXPECT_EQ(odd.kubelet_args, (Words{"1", R"({"a":"b"})"}));
}

TEST(KubeletArgs, BecomeFlags) {
  EXPECT_EQ(flags_of_args({"a=1", "--b=x=y", "-c", "a=2", "", "--", "=d"}),
            (KubeletFlags{{"--a", "2"}, {"--b", "x=y"}, {"--c", "true"}}));
  EXPECT_EQ(flags_of_args({"eviction-hard+=a<1", "b-=c"}),
            (KubeletFlags{{"--eviction-hard", "a<1"}, {"--b", "c"}}));
  EXPECT_THAT(
      words_of_file("# comment\n\n--a=${D}/x --b \"c d\"\n  --e=$D$F${G\n", {{"D", "/snap"}}),
      ElementsAre("--a=/snap/x", "--b", "c d", "--e=/snap$F${G"));
}

}  // namespace
}  // namespace pinfold::audit
