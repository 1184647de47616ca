#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <ostream>
#include <regex>
#include <set>
#include <string>

#include "callback_runtime.hpp"

/// The header lists the files of a caller's own hierarchy: these are the ones that the library
/// reads and writes.
namespace pinfold {
namespace {

using enforce::CgroupVersion;
using test::pod;
using test::Runtime;
using testing::HasSubstr;

/// How a file is used, in the words of the header: "rw", "rw root".
struct Use {
  bool is_read = false;
  bool is_written = false;
  bool is_in_root = false;

  friend bool operator==(const Use&, const Use&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Use& use) {
    return out << (use.is_read ? "r" : "") << (use.is_written ? "w" : "")
               << (use.is_in_root ? " root" : "");
  }
};
using Uses = std::map<std::string, Use>;

/// The list below "cgroup_version N:" in pinfold.h.
Uses listed_files(CgroupVersion version) {
  std::ifstream header(PINFOLD_HEADER);
  const std::string begin =
      version == CgroupVersion::kV2 ? " * cgroup_version 2:" : " * cgroup_version 1:";
  const std::regex entry(R"( \*     ([a-z_.]+) +(r|w|rw)( +root)?( .*)?)");
  Uses uses;
  bool is_inside = false;
  for (std::string line; std::getline(header, line);) {
    std::smatch match;
    if (line == begin) {
      is_inside = true;
    } else if (is_inside && std::regex_match(line, match, entry)) {
      const std::string access = match[2];
      uses[match[1]] = {access.starts_with('r'), access.ends_with('w'), match[3].matched};
    } else {
      is_inside = false;
    }
  }
  return uses;
}

/// A runtime that notes which files are asked for.
struct Recorder {
  explicit Recorder(CgroupVersion version) : runtime(version), sound(runtime.cgroup_fs) {
    runtime.cgroup_fs.data = this;
    runtime.cgroup_fs.create_cgroup = [](void* data, const char* directory, const char* group) {
      const auto& fs = static_cast<Recorder*>(data)->sound;
      return fs.create_cgroup(fs.data, directory, group);
    };
    runtime.cgroup_fs.remove_cgroup = [](void* data, const char* directory, const char* group) {
      const auto& fs = static_cast<Recorder*>(data)->sound;
      return fs.remove_cgroup(fs.data, directory, group);
    };
    runtime.cgroup_fs.list_children = [](void* data, const char* directory, const char* group,
                                         pinfold_text* names) {
      const auto& fs = static_cast<Recorder*>(data)->sound;
      return fs.list_children(fs.data, directory, group, names);
    };
    runtime.cgroup_fs.read_file = [](void* data, const char* directory, const char* group,
                                     const char* file, pinfold_text* value) {
      auto* const self = static_cast<Recorder*>(data);
      self->use(group, file).is_read = true;
      return self->sound.read_file(self->sound.data, directory, group, file, value);
    };
    runtime.cgroup_fs.write_file = [](void* data, const char* directory, const char* group,
                                      const char* file, const char* value) {
      auto* const self = static_cast<Recorder*>(data);
      self->use(group, file).is_written = true;
      if (std::string(file) == "cgroup.subtree_control") self->enabled.insert(value);
      return self->sound.write_file(self->sound.data, directory, group, file, value);
    };
  }
  Use& use(const std::string& group, const std::string& file) {
    Use& found = uses[file];
    if (group.empty()) found.is_in_root = true;
    return found;
  }

  Runtime runtime;
  pinfold_cgroup_fs sound;
  Uses uses;
  std::set<std::string> enabled;  ///< what is written to cgroup.subtree_control
};

class CgroupFiles : public testing::TestWithParam<CgroupVersion> {};

/// Uses partitions, quotas, limits, MemoryQoS, processes, another program's group on exclusive
/// CPUs, drift and kills.
void use_everything(Runtime& runtime, bool is_v2) {
  const std::string config =
      "cpuManagerPolicy: static\nmemoryManagerPolicy: None\n"
      "reservedSystemCPUs: '0'\npinfold: {partition: isolated}\n"
      "memoryReservationPolicy: TieredReservation\nmemoryThrottlingFactor: 0.5\n";
  runtime.options.config = config.c_str();
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* json = nullptr;
  const std::string shared =
      "metadata: {name: s, uid: s}\nspec: {containers: [{name: c, resources: {limits: {cpu: 500m, "
      "memory: 1Mi}}}]}";
  for (const std::string& manifest : {pod("a", 1), shared, pod("b", 1)}) {
    char* error = nullptr;
    EXPECT_EQ(pinfold_pod_admit(node, manifest.c_str(), &answer, &error), PINFOLD_OK) << error;
    pinfold_pod_free(answer);
  }
  EXPECT_EQ(pinfold_container_start(node, "a", "c", nullptr), PINFOLD_OK);
  EXPECT_EQ(pinfold_container_attach_process(node, "a", "c", 4242, nullptr), PINFOLD_OK);
  EXPECT_TRUE(runtime.groups->make_group("theirs").has_value());
  EXPECT_TRUE(runtime.groups->write("theirs", "cpuset.mems", "0").has_value());
  // On cgroup v1 no other group can have the CPUs of a partition.
  EXPECT_EQ(runtime.groups->write("theirs", "cpuset.cpus", "0-3").has_value(), is_v2);
  EXPECT_EQ(pinfold_node_reconcile(node, &json, nullptr), PINFOLD_OK) << json;
  pinfold_free(json);
  runtime.kernel.root.processes.insert(5);
  EXPECT_EQ(pinfold_node_get_status(node, &json, nullptr), PINFOLD_OK);
  EXPECT_THAT(json, HasSubstr("\"cgroupPath\":\"/groups\""));
  pinfold_free(json);
  EXPECT_EQ(pinfold_pod_remove(node, "a", PINFOLD_REMOVE_KILL, nullptr), PINFOLD_UNSUPPORTED);
  EXPECT_EQ(pinfold_pod_remove(node, "b", 0, nullptr), PINFOLD_OK);
  pinfold_node_close(node);
}

TEST_P(CgroupFiles, AreThoseOfTheHeader) {
  Recorder recorder(GetParam());
  use_everything(recorder.runtime, GetParam() == CgroupVersion::kV2);
  const Uses listed = listed_files(GetParam());
  EXPECT_GT(listed.size(), 10U);
  for (const auto& [file, use] : recorder.uses) {
    const auto found = listed.find(file);
    ASSERT_NE(found, listed.end()) << file << " is not listed";
    EXPECT_EQ(found->second, use) << file;
  }
  for (const auto& [file, use] : listed) {
    EXPECT_TRUE(recorder.uses.contains(file)) << file << " is listed, but never used";
  }
  if (GetParam() == CgroupVersion::kV2) {
    EXPECT_THAT(recorder.enabled, testing::ElementsAre("+cpu", "+cpuset", "+hugetlb", "+memory"));
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, CgroupFiles,
                         testing::Values(CgroupVersion::kV1, CgroupVersion::kV2),
                         [](const auto& param) {
                           return param.param == CgroupVersion::kV1 ? "V1" : "V2";
                         });

}  // namespace
}  // namespace pinfold
