#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "kubelet_tree.hpp"
#include "pinfold/audit/findings.hpp"
#include "pinfold/audit/observe.hpp"

namespace pinfold::audit {
namespace {

namespace fs = std::filesystem;
using test::KubeletTree;
using testing::Contains;
using testing::HasSubstr;

Report audit_damaged(const std::string& root) {
  const auto opened = Tree::open(root);
  EXPECT_TRUE(opened) << root;
  return judge(observe(*opened, {}));
}

std::vector<std::string> texts_of(const Report& report) {
  std::vector<std::string> texts;
  for (const Finding& finding : report.findings)
    texts.push_back(finding.kind + ": " + finding.text);
  return texts;
}

/// Returns every file of a tree with its content, its links and its modification time.
std::map<std::string, std::string> snapshot(const std::string& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    struct stat status {};
    EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0) << entry.path();
    std::string content = std::to_string(status.st_mtim.tv_sec) + "." +
                          std::to_string(status.st_mtim.tv_nsec) + ":" +
                          std::to_string(status.st_ctim.tv_nsec) + ":";
    if (entry.is_symlink()) {
      content += fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      std::ifstream in(entry.path(), std::ios::binary);
      content.append(std::istreambuf_iterator<char>(in), {});
    }
    files[entry.path().string()] = content;
  }
  return files;
}

TEST(Audit, WritesNothing) {
  const KubeletTree tree;
  const auto before = snapshot(tree.path());
  ASSERT_GT(before.size(), 100U);
  (void)audit_damaged(tree.path());
  EXPECT_EQ(snapshot(tree.path()), before);
}

TEST(DamagedTree, OfAnEmptyDirectoryHasFindings) {
  const test::TempDir dir;
  const Report report = audit_damaged(dir.path());
  EXPECT_THAT(texts_of(report), Contains(HasSubstr("cgroups-missing: no hierarchy with cpusets")));
  EXPECT_THAT(texts_of(report), Contains(HasSubstr("kubelet-stopped")));
  EXPECT_THAT(texts_of(report), Contains(HasSubstr("unreadable: ")));
}

/// Replaces each file of the tree with text that no kernel, kubelet or runtime writes.
TEST(DamagedTree, IsJudgedWhateverAFileContains) {
  const KubeletTree tree;
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(tree.path())) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  ASSERT_GT(files.size(), 100U);
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    for (const std::string& damage :
         {std::string(), std::string("\xff\0{[", 4), content.substr(0, content.size() / 2),
          content + content, std::string("99999999999999999999-1,,\n")}) {
      std::ofstream(file, std::ios::binary) << damage;
      const Report report = audit_damaged(tree.path());
      EXPECT_FALSE(report.findings.empty()) << file << " with '" << damage << "'";
    }
    std::ofstream(file, std::ios::binary) << content;
  }
}

TEST(DamagedTree, NamesASetThatIsNone) {
  const KubeletTree tree;
  tree.dir().write("sys/fs/cgroup/" + tree.web() + "/cpuset.cpus.effective", "2-x\n");
  const Report report = audit_damaged(tree.path());
  EXPECT_THAT(texts_of(report), Contains(testing::AllOf(HasSubstr("unreadable: "), HasSubstr("2-x"),
                                                        HasSubstr(tree.web()))));
}

TEST(DamagedTree, HasOneFindingForManyUnreadableFiles) {
  const KubeletTree tree;
  for (const int pid : {1001, 1002, 1003}) {
    const std::string file = "proc/" + std::to_string(pid) + "/numa_maps";
    tree.dir().remove(file);
    fs::create_directory(tree.dir() / file);
  }
  const Report report = audit_damaged(tree.path());
  EXPECT_THAT(texts_of(report), Contains(HasSubstr("(and 2 more like it)")));
}

TEST(DamagedTree, ExplainsAConfigurationThatIsNone) {
  const KubeletTree tree;
  tree.dir().write("var/lib/kubelet/config.yaml",
                   "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                   "cpuManagerPolicy: [static]\n");
  EXPECT_THAT(
      texts_of(audit_damaged(tree.path())),
      Contains(testing::AllOf(HasSubstr("config-unreadable: "), HasSubstr("cpuManagerPolicy"))));
}

}  // namespace
}  // namespace pinfold::audit
