#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "agent.hpp"

namespace pinfold::guest {
namespace {

/// Returns the numbers N of the entries PREFIXN in a directory, ascending.
std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix) {
  std::vector<int> numbers;
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return numbers;
  while (const dirent* entry = readdir(dir)) {  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    if (rest.empty() || rest.find_first_not_of("0123456789") != std::string_view::npos) continue;
    numbers.push_back(std::atoi(entry->d_name + prefix.size()));
  }
  (void)closedir(dir);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string text_or_empty(const std::string& path) {
  int failed = 0;
  return read_text(path, failed);
}

/// Returns the CPUs that share the last-level cache: the cache of the highest level, at least 3.
std::string last_level_cache(const std::string& cpu) {
  std::string shared;
  int highest = 0;
  for (const int index : numbered_entries(cpu + "/cache", "index")) {
    const std::string cache = cpu + "/cache/index" + std::to_string(index);
    const int level = std::atoi(text_or_empty(cache + "/level").c_str());
    if (level < 3 || level < highest) continue;
    highest = level;
    shared = text_or_empty(cache + "/shared_cpu_list");
  }
  return shared;
}

Json report_cpu(int id) {
  const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(id);
  Json report = {{"id", id},
                 {"package", text_or_empty(cpu + "/topology/physical_package_id")},
                 {"die", text_or_empty(cpu + "/topology/die_id")},
                 {"core", text_or_empty(cpu + "/topology/core_id")},
                 {"siblings", text_or_empty(cpu + "/topology/thread_siblings_list")},
                 {"cache", last_level_cache(cpu)}};
  const std::vector<int> nodes = numbered_entries(cpu, "node");
  report["node"] = nodes.empty() ? -1 : nodes.front();
  return report;
}

/// "Node 0 MemTotal:   500000 kB" -> bytes.
std::uint64_t memory_total(const std::string& meminfo) {
  const std::size_t at = meminfo.find("MemTotal:");
  if (at == std::string::npos) return 0;
  return std::strtoull(meminfo.c_str() + at + 9, nullptr, 10) * 1024;
}

/// Reports the number of huge pages by size in kB.
Json huge_pages_of(const std::string& node) {
  Json pages = Json::object();
  for (const char* kib : {"2048", "1048576"}) {
    const std::string count =
        text_or_empty(node + "/hugepages/hugepages-" + kib + "kB/nr_hugepages");
    if (!count.empty()) pages[kib] = count;
  }
  return pages;
}

/// Calls `visit` with the directory of each PCI device of a kind.
template <typename Visit>
void each_pci_device(const char* vendor, const char* model, const Visit& visit) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/pci/devices", failed)) {
    const std::string device = entry.path();
    if (text_or_empty(device + "/vendor") != vendor) continue;
    if (text_or_empty(device + "/device") == model) visit(device);
  }
}

/// Returns the NUMA nodes of the PCI devices that the scenario asked for (QEMU's "edu"): "0 1 1".
std::string devices() {
  std::vector<int> nodes;
  each_pci_device("0x1234", "0x11e8", [&](const std::string& device) {
    nodes.push_back(std::atoi(text_or_empty(device + "/numa_node").c_str()));
  });
  std::sort(nodes.begin(), nodes.end());
  std::string text;
  for (const int node : nodes) text += (text.empty() ? "" : " ") + std::to_string(node);
  return text;
}

/// Returns the number of network cards that the scenario asked for (QEMU's "vmxnet3").
int network_cards() {
  int count = 0;
  each_pci_device("0x15ad", "0x07b0", [&](const std::string&) { ++count; });
  return count;
}

Json report_node(int id) {
  const std::string node = "/sys/devices/system/node/node" + std::to_string(id);
  return {{"id", id},
          {"hugepages", huge_pages_of(node)},
          {"cpus", text_or_empty(node + "/cpulist")},
          {"distances", text_or_empty(node + "/distance")},
          {"memory", memory_total(text_or_empty(node + "/meminfo"))}};
}

}  // namespace

Json report_machine(const Agent& agent) {
  const std::string cpus = "/sys/devices/system/cpu";
  Json report = {{"online", text_or_empty(cpus + "/online")},
                 {"present", text_or_empty(cpus + "/present")},
                 {"kernel", text_or_empty("/proc/sys/kernel/osrelease")},
                 {"cpuset", cgroup_version_of(agent, "cpuset")},
                 {"cpu", cgroup_version_of(agent, "cpu")},
                 {"devices", devices()},
                 {"networkCards", network_cards()},
                 {"cpus", Json::array()},
                 {"nodes", Json::array()}};
  for (const int id : numbered_entries(cpus, "cpu")) report["cpus"].push_back(report_cpu(id));
  for (const int id : numbered_entries("/sys/devices/system/node", "node")) {
    report["nodes"].push_back(report_node(id));
  }
  return report;
}

}  // namespace pinfold::guest
