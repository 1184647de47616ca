#include "pinfold/api/kubelet_unit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

/// A kubelet's flags in systemd's units and environment files.
namespace pinfold {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Texts = std::map<std::string, std::vector<std::string>>;

/// Reads a unit and its drop-ins. `files`: texts by the path or pattern in EnvironmentFile=.
FlagsText read_texts(const std::vector<std::string>& texts, const Texts& files = {}) {
  const auto find = [&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::vector<std::string>() : found->second;
  };
  return flags_of_unit(texts, "kubelet.service", {find, true});
}

constexpr const char* kUnit = "[Service]\nExecStart=/usr/bin/kubelet $A ${B}\n";

TEST(KubeletUnit, TakesBackWhatEmptyValuesFollow) {
  EXPECT_EQ(
      read_texts({"[Service]\nEnvironment=A=--v=1 B=--max-pods=1\n", "[Service]\nEnvironment=\n",
                  "[Service]\nEnvironment=B=--max-pods=2\n", kUnit})
          .flags,
      (KubeletFlags{{"--max-pods", "2"}}));
  EXPECT_EQ(read_texts({"[Service]\nEnvironmentFile=/a\nEnvironmentFile=\n", kUnit}).refusal, "");
  EXPECT_EQ(
      read_texts({"[Service]\nExecStart=/a\nExecStart=\nExecStart=/usr/bin/kubelet --v=1\n"}).flags,
      (KubeletFlags{{"--v", "1"}}));
  EXPECT_THAT(read_texts({"[Service]\nExecStart=/a\nExecStart=/usr/bin/kubelet\n"}).refusal,
              HasSubstr("it has 2 ExecStart="));
  EXPECT_EQ(
      read_texts({"[Service]\nType=oneshot\nExecStart=/a\nExecStart=/usr/bin/kubelet\n"}).refusal,
      "");
  EXPECT_EQ(read_texts({"[Service]\nEnvironment=A=--v=1\nUnsetEnvironment=A\n"
                        "ExecStart=/usr/bin/kubelet $A --max-pods=1\n"})
                .flags,
            (KubeletFlags{{"--max-pods", "1"}}));
}

TEST(KubeletUnit, ReadsOnlyItsSection) {
  EXPECT_EQ(read_texts({"ExecStart=/a\n[Unit]\nExecStart=/b\n[X-Service]\nExecStart=/c\n"
                        "[Service]\nExecStart=/usr/bin/kubelet --v=1\n[Install]\nExecStart=/d\n"})
                .flags,
            (KubeletFlags{{"--v", "1"}}));
}

TEST(KubeletUnit, TakesVariablesOfItsFiles) {
  const Texts files = {{"/etc/default/*", {"A=--v=1\nB=--max-pods=1\n", "A=\"--v 2\n --v 3\"\n"}}};
  EXPECT_EQ(read_texts({"[Service]\nEnvironment=A=--v=9\nEnvironmentFile=-/etc/default/*\n", kUnit},
                       files)
                .flags,
            (KubeletFlags{{"--v", "3"}, {"--max-pods", "1"}}));
  const auto missing = read_texts({"[Service]\nEnvironmentFile=/etc/none\n", kUnit});
  EXPECT_THAT(missing.refusal, HasSubstr("EnvironmentFile '/etc/none' cannot be read"));
  ASSERT_FALSE(check_unit(missing));
  EXPECT_THAT(check_unit(missing).error().message, HasSubstr("systemd does not start the unit"));
  const auto optional = read_texts({"[Service]\nEnvironmentFile=-/etc/none\n", kUnit});
  EXPECT_TRUE(check_unit(optional));
  EXPECT_THAT(optional.notes, IsEmpty());
  EXPECT_THAT(flags_of_unit({"[Service]\nEnvironmentFile=-/etc/none\n", kUnit}, "").notes,
              ElementsAre(HasSubstr("'/etc/none' is not read: pass the unit")));
}

TEST(KubeletUnit, HasTheNameOfItsFileOrOfItsDropInsDirectory) {
  EXPECT_EQ(unit_of_path("/etc/systemd/system/kubelet.service"), "kubelet.service");
  EXPECT_EQ(unit_of_path("/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"),
            "kubelet.service");
  EXPECT_EQ(unit_of_path("/run/k3s@a.service.d/x"), "k3s@a.service");
  for (const char* const path : {"/a/service.d/x", "/a/.service.d/x", "/a/my-.service.d/x",
                                 "/a/unit.txt", "unit.txt", "-", "", "/"}) {
    EXPECT_EQ(unit_of_path(path), "") << path;
  }
}

TEST(KubeletUnit, SaysThatItsNameIsMissing) {
  const std::string unit = "[Service]\nExecStart=/usr/bin/kubelet --node-ip=%i --cert-dir=/%p\n";
  const FlagsText named = flags_of_unit({unit}, "kubelet@a.service");
  EXPECT_EQ(named.flags, (KubeletFlags{{"--node-ip", "a"}, {"--cert-dir", "/kubelet"}}));
  EXPECT_THAT(named.notes, IsEmpty());
  EXPECT_THAT(flags_of_unit({unit}, "").notes,
              ElementsAre(HasSubstr("the unit's name is unknown")));
  EXPECT_THAT(flags_of_unit({kUnit}, "").notes, IsEmpty());
}

TEST(KubeletUnit, ExpandsVariablesAsSystemdDoes) {
  const auto words = [](const std::string& command) {
    return read_texts({"[Service]\nEnvironment=\"A=b  'c d'\" N=0\nExecStart=" + command + "\n"})
        .command;
  };
  EXPECT_THAT(words("kubelet --x=$N --y=${N} $A ${A} ${NONE} $NONE $$N"),
              ElementsAre("kubelet", "--x=$N", "--y=0", "b", "c d", "b  'c d'", "", "$N"));
  EXPECT_THAT(words("@/usr/bin/kubelet name --y=${N}"), ElementsAre("/usr/bin/kubelet", "--y=0"));
  EXPECT_THAT(words(":/usr/bin/kubelet --y=${N}"), ElementsAre("/usr/bin/kubelet", "--y=${N}"));
  EXPECT_THAT(words("-+!!kubelet --a=%%1 --b=%N --c=%q 'd\\x20e'"),
              ElementsAre("kubelet", "--a=%1", "--b=kubelet", "--c=%q", "d e"));
}

TEST(KubeletUnit, NamesAProgramThatHidesTheFlags) {
  for (const char* const command :
       {"/bin/sh -c 'exec /usr/bin/kubelet --config=/a --cpu-manager-policy=static'",
        "/bin/sh -c 'kubelet --v=2'", "/bin/sh -c kubelet", "/bin/sh /opt/start-kubelet",
        "/usr/bin/env bash -c \"/usr/bin/kubelet\"  "}) {
    const auto hidden = read_texts({std::string("[Service]\nExecStart=") + command + "\n"});
    ASSERT_FALSE(check_unit(hidden)) << command;
    EXPECT_THAT(check_unit(hidden).error().message, HasSubstr("is not a kubelet and hides"));
  }
  EXPECT_TRUE(
      check_unit(read_texts({"[Service]\nExecStart=/usr/bin/numactl -m 0 /usr/bin/kubelet\n"})));
  EXPECT_TRUE(check_unit(read_texts({"[Service]\nEnvironment=A=--v=1\n"}))) << "a drop-in";
}

TEST(EnvironmentText, HasFlagsAmongOtherVariables) {
  EXPECT_EQ(flags_of_environment("HTTP_PROXY=http://a b\nexport A='--v=1 --max-pods\n 2'\n").flags,
            (KubeletFlags{{"--v", "1"}, {"--max-pods", "2"}}));
  EXPECT_EQ(flags_of_environment("A=--fail-swap-on false\n").flags,
            (KubeletFlags{{"--fail-swap-on", "true"}, {"--", "false"}}));
}

}  // namespace
}  // namespace pinfold
