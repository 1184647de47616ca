#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "kubelet_tree.hpp"
#include "pinfold/audit/findings.hpp"
#include "pinfold/audit/observe.hpp"

namespace pinfold::audit {
namespace {

using test::KubeletTree;
using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

Report audit_names(const KubeletTree& tree) {
  const auto opened = Tree::open(tree.path());
  return judge(observe(*opened, {}));
}

std::vector<std::string> labels_of(const Report& report) {
  std::vector<std::string> labels;
  for (const AuditedContainer& container : report.containers) {
    if (!container.is_sandbox) labels.push_back(container.label);
  }
  return labels;
}

std::vector<std::string> kinds_of(const Report& report) {
  std::vector<std::string> kinds;
  for (const Finding& finding : report.findings) kinds.push_back(finding.kind);
  return kinds;
}

TEST(AuditNames, ComeFromTheLinksToLogs) {
  const KubeletTree tree;
  tree.remove_names();
  tree.dir().write("var/log/containers/web_shop_app-" + KubeletTree::web_id() + ".log", "");
  std::filesystem::create_symlink(
      "/var/log/pods/shop_db_2/postgres/0.log",
      tree.dir() / "var/log/containers/db_shop_postgres-" + KubeletTree::db_id() + ".log");
  EXPECT_THAT(labels_of(audit_names(tree)), IsSupersetOf({"shop/web/app", "shop/db/postgres"}));
}

TEST(AuditNames, ComeFromTheKubeletsDirectoriesByElimination) {
  const KubeletTree tree;
  tree.remove_names();
  const Report report = audit_names(tree);
  EXPECT_THAT(labels_of(report), ElementsAre(std::string(KubeletTree::kWebUid) + "/app",
                                             std::string(KubeletTree::kDbUid) + "/postgres",
                                             std::string(KubeletTree::kLogUid) + "/agent"));
  EXPECT_THAT(kinds_of(report), ElementsAre("sandboxes"));
}

TEST(AuditNames, AreNotGuessed) {
  const KubeletTree tree;
  tree.remove_names();
  // Two names for one group.
  tree.dir().write(
      std::string("var/lib/kubelet/pods/") + KubeletTree::kWebUid + "/containers/helper/4567cdef",
      "");
  const Report report = audit_names(tree);
  EXPECT_THAT(labels_of(report),
              Contains(std::string(KubeletTree::kWebUid) + "/" + std::string(12, 'a')));
  EXPECT_THAT(kinds_of(report), Contains("container-unnamed"));
  EXPECT_THAT(kinds_of(report), Not(Contains("cpuset-differs")));
}

TEST(AuditNames, OfVersion1AreRuntimeIds) {
  const KubeletTree tree;
  const auto state = checkpoint::encode_cpu_v1(
      KubeletTree::cpu_state(), "static",
      {{KubeletTree::web_id(), {PodUid(KubeletTree::kWebUid), "app"}},
       {KubeletTree::db_id(), {PodUid(KubeletTree::kDbUid), "postgres"}}});
  ASSERT_TRUE(state) << state.error().message;
  tree.dir().write("var/lib/kubelet/cpu_manager_state", *state);
  const Report report = audit_names(tree);
  EXPECT_EQ(report.exclusive, (CpuSet{2, 3, 4, 5}));
  EXPECT_THAT(kinds_of(report), Not(Contains("cpuset-differs")));
}

}  // namespace
}  // namespace pinfold::audit
