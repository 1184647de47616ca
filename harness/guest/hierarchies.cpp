#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "agent.hpp"

/// Mounts the cgroup hierarchies that the scenario asks for, and keeps track of them.
namespace pinfold::guest {
namespace {

const std::string kCgroups = "/sys/fs/cgroup";

void mount_v1(Agent& agent, const std::string& controllers) {
  const std::string where = kCgroups + "/" + controllers;
  (void)mkdir(where.c_str(), 0755);
  if (mount("cgroup", where.c_str(), "cgroup", MS_NOSUID, controllers.c_str()) != 0) {
    note(describe_errno(where, errno));
    (void)rmdir(where.c_str());
    return;
  }
  agent.hierarchies.push_back(where);
  for (std::size_t at = 0; at < controllers.size();) {  // the usual links: /sys/fs/cgroup/cpu
    const std::size_t end = std::min(controllers.find(',', at), controllers.size());
    (void)!symlink(controllers.c_str(),
                   (kCgroups + "/" + controllers.substr(at, end - at)).c_str());
    at = end + 1;
  }
}

/// Moves the agent into a leaf group: a group with processes cannot enable controllers.
void mount_v2(Agent& agent, const std::string& root) {
  mount_or_note("cgroup2", root.c_str());
  agent.hierarchies.push_back(root);
  const std::string leaf = root + "/harness";
  (void)mkdir(leaf.c_str(), 0755);
  int failed = write_text(leaf + "/cgroup.procs", "0", O_WRONLY);
  if (failed != 0) note(describe_errno(leaf, failed));
  std::string controllers = read_text(root + "/cgroup.controllers", failed);
  for (std::size_t at = 0; at < controllers.size();) {
    const std::size_t end = std::min(controllers.find(' ', at), controllers.size());
    const std::string enable = "+" + controllers.substr(at, end - at);
    failed = write_text(root + "/cgroup.subtree_control", enable, O_WRONLY);
    if (failed != 0) note(describe_errno("cgroup.subtree_control " + enable, failed));
    at = end + 1;
  }
}

}  // namespace

void set_up_cgroups(Agent& agent) {
  // The kernel passes unknown arguments to init as environment variables.
  const char* asked = std::getenv("pinfold_cgroup");  // NOLINT(concurrency-mt-unsafe): one thread
  const std::string version = asked == nullptr ? "v2" : asked;
  if (version == "v2") {
    mount_v2(agent, kCgroups);
    return;
  }
  mount_or_note("tmpfs", kCgroups.c_str());
  if (version == "v1") {
    for (const char* controllers : {"cpuset", "memory", "pids", "freezer"}) {
      mount_v1(agent, controllers);
    }
  }
  for (const char* controllers : {"cpu,cpuacct", "hugetlb"}) mount_v1(agent, controllers);
  // Last: version 2 takes the controllers that no version 1 hierarchy uses.
  if (version == "hybrid") mount_v2(agent, kCgroups + "/unified");
}

std::vector<std::string> groups_from(const std::string& root, std::error_code& failed) {
  std::vector<std::string> folders = {root};
  for (std::filesystem::recursive_directory_iterator it(root, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (it->is_directory(failed)) folders.push_back(it->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<std::string> groups_of(const Agent& agent, const std::string& group) {
  std::vector<std::string> groups = {group};
  for (const std::string& home : agent.hierarchies) {
    if (!group.starts_with(home + "/")) continue;
    for (const std::string& other : agent.hierarchies) {
      const std::string twin = other + group.substr(home.size());
      if (other != home && access(twin.c_str(), F_OK) == 0) groups.push_back(twin);
    }
  }
  return groups;
}

std::string cgroup_version_of(const Agent& agent, std::string_view controller) {
  for (const std::string& home : agent.hierarchies) {
    int failed = 0;
    const std::string has = " " + read_text(home + "/cgroup.controllers", failed) + " ";
    if (failed == 0 && has.find(" " + std::string(controller) + " ") != std::string::npos) {
      return "v2";
    }
    const std::string name = "," + home.substr(home.rfind('/') + 1) + ",";
    if (failed != 0 && name.find("," + std::string(controller) + ",") != std::string::npos) {
      return "v1";
    }
  }
  return "";
}

}  // namespace pinfold::guest
