#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "model_kernel.hpp"
#include "pinfold/pinfold.h"
#include "temp_dir.hpp"

namespace pinfold::test {

/// Four CPUs, two on each of two NUMA nodes.
inline constexpr const char* kMachine = R"({"name":"n","cpus":[
  {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
  {"id":2,"core":2,"socket":1,"numa":1,"l3":1},{"id":3,"core":3,"socket":1,"numa":1,"l3":1}],
  "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}},
               {"id":1,"memory":4294967296,"hugepages":{}}],"devices":[]})";

inline int number_of(const Result<void>& done) {
  if (done) return 0;
  return done.error().sys_errno == 0 ? EIO : done.error().sys_errno;
}

/// A runtime that keeps the log and implements the cgroups.
struct Runtime {
  explicit Runtime(enforce::CgroupVersion version)
      : kernel(version, CpuSet::range(0, 3), CpuSet{0, 1}), groups(kernel.fs()) {
    sink.data = this;
    sink.log = [](void* data, int32_t level, const char* message) {
      static_cast<Runtime*>(data)->log.push_back(fmt::format("{} {}", level, message));
    };
    cgroup_fs.data = this;
    cgroup_fs.cgroup_version = version == enforce::CgroupVersion::kV2 ? 2 : 1;
    cgroup_fs.create_cgroup = [](void* data, const char*, const char* group) {
      return number_of(static_cast<Runtime*>(data)->groups->make_group(group));
    };
    cgroup_fs.remove_cgroup = [](void* data, const char*, const char* group) {
      return number_of(static_cast<Runtime*>(data)->groups->remove_group(group));
    };
    cgroup_fs.write_file = [](void* data, const char*, const char* group, const char* file,
                              const char* value) {
      return number_of(static_cast<Runtime*>(data)->groups->write(group, file, value));
    };
    cgroup_fs.read_file = [](void* data, const char*, const char* group, const char* file,
                             pinfold_text* value) {
      const auto text = static_cast<Runtime*>(data)->groups->read(group, file);
      return text ? pinfold_text_set(value, text->c_str()) : text.error().sys_errno;
    };
    cgroup_fs.list_children = [](void* data, const char*, const char* group, pinfold_text* names) {
      const auto list = static_cast<Runtime*>(data)->groups->children(group);
      if (!list) return list.error().sys_errno;
      return pinfold_text_set(names, fmt::format("{}", fmt::join(*list, "\n")).c_str());
    };
    options.state_dir = state.path().c_str();
    options.cgroup_root = "/groups";
    options.machine = kMachine;
    options.config =
        "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
        "topologyManagerPolicy: single-numa-node\nunheardOf: 1\n";
    options.log_sink = &sink;
    options.cgroup_fs = &cgroup_fs;
  }

  [[nodiscard]] pinfold_node* open() {
    pinfold_node* node = nullptr;
    char* error = nullptr;
    EXPECT_EQ(pinfold_node_open(&options, &node, &error), PINFOLD_OK) << error;
    return node;
  }
  [[nodiscard]] std::string cpus(const std::string& group) {
    ModelKernel::Dir* const dir = kernel.find(group);
    return dir == nullptr ? "gone" : kernel.effective(*dir, "cpuset.cpus").to_string();
  }

  TempDir state;
  ModelKernel kernel;
  std::unique_ptr<enforce::CgroupFs> groups;
  std::vector<std::string> log;
  pinfold_log_sink sink = PINFOLD_LOG_SINK_INIT;
  pinfold_cgroup_fs cgroup_fs = PINFOLD_CGROUP_FS_INIT;
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
};

/// A pod with one container, "c".
inline std::string pod(const std::string& name, int cpus) {
  return fmt::format(
      "metadata: {{name: {0}, uid: {0}}}\nspec: {{containers: [{{name: c, resources: {{limits: "
      "{{cpu: {1}, memory: 1Mi}}}}}}]}}",
      name, cpus);
}

}  // namespace pinfold::test
