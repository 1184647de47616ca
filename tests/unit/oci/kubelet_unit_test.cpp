#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "agent/kubelet_program.hpp"
#include "temp_dir.hpp"

/// The program that systemd would start as the kubelet.
namespace pinfold::tools {
namespace {

using testing::HasSubstr;

class KubeletUnit : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ / file).parent_path());
    root_.write(file, text);
  }
  /// Returns the program or the error.
  [[nodiscard]] std::string found() const {
    const auto program = program_of_kubelet_unit(root_.path());
    return program ? *program : program.error().message;
  }

  const test::TempDir root_;
};

TEST_F(KubeletUnit, StartsTheProgramOfItsLastExecStart) {
  EXPECT_EQ(found(), "unit 'kubelet.service' not found");
  put("lib/systemd/system/kubelet.service", "[Service]\nExecStart=/old/kubelet --a\n");
  EXPECT_EQ(found(), "/old/kubelet");
  put("etc/systemd/system/kubelet.service",
      "[Unit]\nExecStart=/no\n[Service]\nExecStart=/new/kubelet\\\n --a\n");
  EXPECT_EQ(found(), "/new/kubelet");
  put("usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
      "[Service]\nExecStart=\nExecStart=-/usr/bin/kubelet $ARGS\n");
  EXPECT_EQ(found(), "/usr/bin/kubelet");
  put("etc/systemd/system/kubelet.service.d/05-first.conf",
      "[Service]\nExecStart=\nExecStart=/5/kubelet\n");
  EXPECT_EQ(found(), "/usr/bin/kubelet");
  put("etc/systemd/system/kubelet.service.d/20-other.txt", "[Service]\nExecStart=/20/kubelet\n");
  EXPECT_EQ(found(), "/usr/bin/kubelet") << "not a drop-in";
  put("etc/systemd/system/kubelet.service.d/10-kubeadm.conf", "[Service]\nNice=1\n");
  EXPECT_EQ(found(), "/5/kubelet") << "a file of the same name in /etc hides the other one";
  put("etc/systemd/system/kubelet.service.d/30-openshift.conf",
      "[Service]\nExecStart=\n"
      "ExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet --config=/etc/a\n");
  EXPECT_EQ(found(), "/usr/bin/kubelet") << "not the program that starts it";
}

TEST_F(KubeletUnit, NamesAProgramThatIsNoPath) {
  for (const char* const text : {"kubelet", "@+!"}) {
    put("etc/systemd/system/kubelet.service", std::string("[Service]\nExecStart=") + text + "\n");
    EXPECT_THAT(found(), HasSubstr("expected the path of a program")) << text;
  }
}

TEST_F(KubeletUnit, NamesAProgramThatHidesTheKubelet) {
  put("etc/systemd/system/kubelet.service", "[Service]\nExecStart=/bin/sh -c 'exec kubelet'\n");
  EXPECT_THAT(found(), HasSubstr("unit 'kubelet.service': ExecStart 'sh' is not a kubelet"));
  put("etc/systemd/system/kubelet.service", "[Service]\nExecStart=/a\nExecStart=/b/kubelet\n");
  EXPECT_THAT(found(), HasSubstr("systemd does not start the unit: it has 2 ExecStart="));
}

}  // namespace
}  // namespace pinfold::tools
