#include "groups.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace pinfold::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRoot = "/sys/fs/cgroup";

void write_value(const std::string& file, const std::string& value) {
  std::ofstream(file) << value << std::flush;
}

/// Makes a group whose parents pass the controllers on.
void make_group(const std::string& group) {
  for (std::size_t at = std::string_view(kRoot).size(); at != std::string::npos;) {
    at = group.find('/', at + 1);
    const std::string folder = group.substr(0, at);
    (void)mkdir(folder.c_str(), 0755);
    if (at == std::string::npos) return;  // the group itself has processes
    for (const char* controller : {"+cpuset", "+cpu", "+memory"}) {
      write_value(folder + "/cgroup.subtree_control", controller);
    }
  }
}

/// Runs in the child: enters the group and becomes the program.
[[noreturn]] void become(const Place& place) {
  (void)setsid();
  (void)signal(SIGCHLD, SIG_DFL);
  const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {0, 1, 2}) (void)dup2(none, fd);
  write_value(place.group + "/cgroup.procs", "0");
  std::vector<char*> argv;
  for (const std::string& word : place.command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  (void)execvp(argv[0], argv.data());
  _exit(127);
}

/// Starts the program and waits until it runs in its group.
void start(const Place& place) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t child = fork();
  if (child == 0) become(place);
  (void)close(ends[1]);
  char byte = 0;
  (void)!read(ends[0], &byte, 1);  // exec closes the other end
  (void)close(ends[0]);
}

}  // namespace

bool has_process(const std::string& group) {
  std::ifstream procs(group + "/cgroup.procs");
  std::string pid;
  return static_cast<bool>(procs >> pid);
}

void run(const Place& place) {
  make_group(place.group);
  write_value(place.group + "/cpuset.cpus", place.cpus);
  if (!place.mems.empty()) write_value(place.group + "/cpuset.mems", place.mems);
  if (!has_process(place.group)) start(place);
}

std::vector<std::string> pod_groups() {
  std::vector<std::string> groups;
  for (const char* parent : {"", "/burstable", "/besteffort"}) {
    std::error_code failed;
    for (fs::directory_iterator it(std::string(kPods) + parent, failed), end; !failed && it != end;
         it.increment(failed)) {
      const std::string name = it->path().filename();
      if (name.starts_with("pod")) groups.push_back(it->path());
    }
  }
  return groups;
}

void remove_group(const std::string& group) {
  write_value(group + "/cgroup.kill", "1");
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(group, failed)) {
    if (entry.is_directory(failed)) (void)rmdir(entry.path().c_str());
  }
  (void)rmdir(group.c_str());  // fails while a process ends; the next round tries again
}

}  // namespace pinfold::test
