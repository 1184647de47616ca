#pragma once

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "temp_dir.hpp"

/// The service as a process that follows NRI, with the kernel's cgroups. Needs root.
namespace pinfold::nri::test {

inline void check(bool is_so, const std::string& what) {
  if (!is_so) throw std::runtime_error(what);
}

inline std::string first_line(const std::filesystem::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

/// The kernel's groups of the pods. On cgroup v1 a new one has no CPUs until they are written.
class Groups {
 public:
  Groups() : root_("/sys/fs/cgroup") {
    is_v1_ = std::filesystem::exists(root_ / "cpuset/cpuset.cpus");
    if (is_v1_) root_ /= "cpuset";
    check(is_v1_ || std::filesystem::exists(root_ / "cgroup.controllers"),
          "no cgroups at " + root_.string());
    name_ = fmt::format("/pinfold-test-{}", ::getpid());
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  ~Groups() {
    std::vector<std::string> made = {root_.string() + name_};
    std::error_code ignored;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(made.front(), ignored)) {
      if (entry.is_directory()) made.push_back(entry.path());
    }
    for (auto group = made.rbegin(); group != made.rend(); ++group) ::rmdir(group->c_str());
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string service_root() const { return root_.string() + name_ + "/service"; }
  void make(const std::string& group) const {
    std::filesystem::path path = root_;
    for (const std::filesystem::path& part : std::filesystem::path(group).relative_path()) {
      const std::filesystem::path above = path;
      path /= part;
      if (::mkdir(path.c_str(), 0755) != 0) continue;
      if (is_v1_) {
        for (const char* const file : {"cpuset.cpus", "cpuset.mems"}) {
          std::ofstream(path / file) << first_line(above / file) << std::flush;
        }
      } else {
        std::ofstream(above / "cgroup.subtree_control") << "+cpuset" << std::flush;
      }
    }
  }
  [[nodiscard]] std::string all_cpus() const {
    return first_line(root_ / (is_v1_ ? "cpuset.cpus" : "cpuset.cpus.effective"));
  }
  /// Sets a cpuset, as a runtime does with a plugin's answer; "": the answer has none.
  void set_cpus(const std::string& group, const std::string& cpus) const {
    if (cpus.empty()) return;
    std::ofstream(root_.string() + group + "/cpuset.cpus") << cpus << std::flush;
  }
  void attach(const std::string& group, pid_t process) const {
    std::ofstream(root_.string() + group + "/cgroup.procs") << process << std::flush;
  }
  void remove(const std::string& group) const {
    const std::string path = root_.string() + group;
    for (int i = 0; ::rmdir(path.c_str()) != 0 && i < 1000; ++i) {  // its process is ending
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::filesystem::path root_;
  std::string name_;
  bool is_v1_ = false;
};

/// The service as a process.
class Service {
 public:
  Service(const std::string& program, const Groups& groups,
          const pinfold::test::TempDir& directory) {
    directory.write("agent.yaml",
                    fmt::format("profile: fixed\nstateDir: {0}/state\nsocket: {0}/agent.sock\n"
                                "config: {0}/config.yaml\ncgroupRoot: {1}\nlogLevel: warning\n"
                                "nri: {{podLevelResources: none, socket: {0}/nri.sock, "
                                "kubeletRoot: {0}/kubelet}}\n",
                                directory.path(), groups.service_root()));
    directory.write("config.yaml",
                    "kind: KubeletConfiguration\ncpuManagerPolicy: static\n"
                    "reservedSystemCPUs: \"0\"\ntopologyManagerPolicy: best-effort\n");
    std::filesystem::create_directories(directory / "kubelet");
    const std::string settings = directory / "agent.yaml";
    pid_ = ::fork();
    check(pid_ >= 0, "fork");
    if (pid_ == 0) {
      ::execl(program.c_str(), program.c_str(), "--settings", settings.c_str(), nullptr);
      ::_exit(127);
    }
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service() {
    (void)::kill(pid_, SIGTERM);
    (void)::waitpid(pid_, nullptr, 0);
  }

  void signal(int number) const { (void)::kill(pid_, number); }
  [[nodiscard]] double cpu_seconds() const {
    std::istringstream fields(first_line(fmt::format("/proc/{}/stat", pid_)));
    std::string field;
    double ticks = 0;
    for (int i = 1; i <= 15 && fields >> field; ++i) {
      if (i >= 14) ticks += std::stod(field);
    }
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  [[nodiscard]] std::string memory() const {
    std::ifstream status(fmt::format("/proc/{}/status", pid_));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return line.substr(line.find_first_not_of(" \t", 6));
    }
    return "unknown";
  }

 private:
  pid_t pid_;
};

}  // namespace pinfold::nri::test
