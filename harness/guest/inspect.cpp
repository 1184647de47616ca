#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "agent.hpp"

/// Reports what the kernel says about processes.
namespace pinfold::guest {
namespace {

/// Counts a process's pages per NUMA node: {"0": 512}.
Json count_pages(const Running& program) {
  constexpr std::size_t kBatch = 1024;
  Json pages = Json::object();
  std::map<int, std::uint64_t> counts;
  std::vector<void*> addresses;
  std::vector<int> nodes(kBatch);
  for (std::uint64_t at = 0; at < program.bytes;) {
    addresses.clear();
    for (; at < program.bytes && addresses.size() < kBatch; at += program.page) {
      addresses.push_back(reinterpret_cast<void*>(program.address + at));  // NOLINT
    }
    if (syscall(SYS_move_pages, program.pid, addresses.size(), addresses.data(), nullptr,
                nodes.data(), 0) != 0) {
      return refuse(describe_errno("move_pages", errno));
    }
    for (std::size_t i = 0; i < addresses.size(); ++i) ++counts[nodes[i]];
  }
  for (const auto& [node, count] : counts) {
    pages[node >= 0 ? std::to_string(node) : errno_name(-node)] = count;
  }
  return pages;
}

/// Reports the CPUs and memory nodes that a thread may use; null if it has just ended.
Json report_thread(const std::string& tid) {
  int failed = 0;
  const std::string status = read_text("/proc/" + tid + "/status", failed);
  if (failed != 0) return nullptr;
  return {{"tid", tid},
          {"name", status_field("\n" + status, "Name")},
          {"cpusAllowed", status_field(status, "Cpus_allowed_list")},
          {"memsAllowed", status_field(status, "Mems_allowed_list")}};
}

/// Adds the threads of a group. Returns false if the group does not exist.
bool add_threads(const std::string& group, Json& threads) {
  int failed = 0;
  std::string tids = read_text(group + "/cgroup.threads", failed);
  if (failed != 0) tids = read_text(group + "/tasks", failed);  // version 1
  if (failed != 0) return false;
  std::istringstream lines(tids);
  for (std::string tid; std::getline(lines, tid);) {
    Json thread = report_thread(tid);
    if (!thread.is_null()) threads.push_back(std::move(thread));
  }
  return true;
}

}  // namespace

std::string status_field(const std::string& status, std::string_view name) {
  std::size_t at = status.find("\n" + std::string(name) + ":");
  if (at == std::string::npos) return {};
  at = status.find_first_not_of(" \t", at + name.size() + 2);
  return status.substr(at, status.find('\n', at) - at);
}

Json inspect_program(Agent& agent, const std::string& name) {
  const auto found = agent.running.find(name);
  if (found == agent.running.end()) return refuse("'" + name + "' was not started");
  const Running& program = found->second;
  Json report = {{"ok", true}, {"pid", program.pid}, {"alive", !program.ended}};
  if (program.ended) {
    describe_end(report, program.wait_status);
    return report;
  }
  int failed = 0;
  const std::string proc = "/proc/" + std::to_string(program.pid);
  const std::string status = read_text(proc + "/status", failed);
  report["cpusAllowed"] = status_field(status, "Cpus_allowed_list");
  report["memsAllowed"] = status_field(status, "Mems_allowed_list");
  report["cgroup"] = read_text(proc + "/cgroup", failed);
  report["pages"] = count_pages(program);
  return report;
}

Json inspect_threads(const std::string& group) {
  Json threads = Json::array();
  if (!add_threads(group, threads)) return refuse("there is no group '" + group + "'");
  std::error_code failed;
  for (std::filesystem::recursive_directory_iterator it(group, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (it->is_directory(failed)) (void)add_threads(it->path(), threads);
  }
  return {{"ok", true}, {"threads", threads}};
}

}  // namespace pinfold::guest
