#include "node.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "must.hpp"
#include "pinfold/enforce/cgroups.hpp"
#include "pinfold/enforce/mounts.hpp"

namespace pinfold::load {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  require(!out.fail(), fmt::format("write '{}'", path));
}

json machine() {
  constexpr int kNodes = 4;
  constexpr int kCpusOfNode = kMachineCpus / kNodes;
  constexpr std::uint64_t kMemory = std::uint64_t{128} << 30U;
  json cpus = json::array();
  for (int id = 0; id < kMachineCpus; ++id) {
    const int node = id / kCpusOfNode;
    cpus.push_back({{"id", id}, {"core", id}, {"socket", node}, {"numa", node}, {"l3", node}});
  }
  json nodes = json::array();
  for (int id = 0; id < kNodes; ++id) {
    nodes.push_back({{"id", id}, {"memory", kMemory}, {"hugepages", json::object()}});
  }
  return {{"name", "load"}, {"cpus", cpus}, {"numaNodes", nodes}, {"devices", json::array()}};
}

constexpr const char* kConfig = R"(kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
memoryManagerPolicy: Static
topologyManagerPolicy: single-numa-node
systemReserved: {memory: 64Mi}
evictionHard: {memory.available: 64Mi}
reservedMemory: [{numaNode: 0, limits: {memory: 128Mi}}]
)";

/// Returns the HTTP answer, with its headers.
std::string get_metrics(const std::string& host, const std::string& port) {
  namespace asio = boost::asio;
  asio::io_context io;
  asio::ip::tcp::socket socket(io);
  asio::connect(socket, asio::ip::tcp::resolver(io).resolve(host, port));
  asio::write(socket, asio::buffer(std::string_view("GET /metrics HTTP/1.0\r\n\r\n")));
  std::string answer;
  boost::system::error_code end;  // the server closes the connection
  asio::read(socket, asio::dynamic_buffer(answer), end);
  return answer;
}

/// Removes a group and those below it. The files of a group cannot be removed one by one.
void remove_group(const fs::path& group) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(group, failed)) {
    if (entry.is_directory(failed)) remove_group(entry.path());
  }
  (void)::rmdir(group.c_str());
}

}  // namespace

std::vector<std::string> LoadedNode::options() const {
  std::vector<std::string> options = {"--state-dir", *this / "state", "--config",
                                      *this / "config.yaml"};
  if (has_machine_of_its_own) options.insert(options.end(), {"--machine", *this / "machine.json"});
  if (cgroup_root.empty()) {
    options.emplace_back("--no-enforce");
  } else {
    options.insert(options.end(), {"--cgroup-root", cgroup_root});
  }
  return options;
}

void LoadedNode::write_files() const {
  fs::create_directories(directory);
  write(*this / "config.yaml", kConfig);
  write(*this / "settings.yaml", "logLevel: info\n");
  if (has_machine_of_its_own) write(*this / "machine.json", machine().dump());
}

std::string writable_cgroup_root(const std::string& name) {
  const std::string root = must(enforce::default_root()) + "-load-" + name;
  if (::mkdir(root.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    throw Failure(fmt::format("'{}': {}", root, std::generic_category().message(errno)));
  }
  remove_groups(root);
  return root;
}

void remove_groups(const std::string& cgroup_root) {
  const std::string name = fs::path(cgroup_root).filename();
  const auto mounts = enforce::parse_mountinfo(content("/proc/self/mountinfo"));
  for (const auto& mount : mounts.value_or(std::vector<enforce::Mount>{})) {
    if (mount.fs_type == "cgroup" || mount.fs_type == "cgroup2") {
      remove_group(fs::path(mount.point) / name);
    }
  }
}

GroupsOf::~GroupsOf() {
  if (!root_.empty()) remove_groups(root_);
}

ServiceProcess::ServiceProcess(const LoadedNode& node, const std::string& metrics_address,
                               int interval_s)
    : log_file_(node / "log"),
      metrics_host_(metrics_address.substr(0, metrics_address.rfind(':'))) {
  write(log_file_, "");
  std::vector<std::string> words = {node.program(), "serve", "--settings", node / "settings.yaml"};
  for (std::string& option : node.options()) words.push_back(std::move(option));
  for (const auto& [option, value] :
       {std::pair<const char*, std::string>{"--socket", node / "agent.sock"},
        {"--grpc-socket", node / "pinfold.sock"},
        {"--pod-resources-socket", node / "pod-resources.sock"},
        {"--metrics-address", metrics_address},
        {"--interval", std::to_string(interval_s)}}) {
    words.insert(words.end(), {option, value});
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  require(pid_ >= 0, "fork");
  if (pid_ == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int log = ::open(log_file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (::getppid() == parent && ::dup2(log, STDERR_FILENO) >= 0) {
      ::execv(arguments.front(), arguments.data());
    }
    ::_exit(EXIT_FAILURE);
  }
  wait_until_ready();
}

ServiceProcess::~ServiceProcess() {
  if (pid_ < 0) return;
  (void)::kill(pid_, SIGKILL);
  (void)::waitpid(pid_, nullptr, 0);
}

std::string ServiceProcess::log() const { return content(log_file_); }

void ServiceProcess::wait_until_ready() const {
  constexpr std::chrono::milliseconds kPause(20);
  while (log().find("serves state directory") == std::string::npos) {
    siginfo_t ended{};
    (void)::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    require(ended.si_pid == 0, "the service does not start: " + log());
    std::this_thread::sleep_for(kPause);
  }
}

void ServiceProcess::stop() {
  (void)::kill(pid_, SIGTERM);
  int status = 0;
  (void)::waitpid(pid_, &status, 0);
  pid_ = -1;
  require(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the service failed: " + log());
}

std::map<std::string, double> ServiceProcess::metrics() const {
  const std::string text = log();
  const std::string begin = "', port ";
  const std::size_t found = text.find(begin, text.find("serves metrics at"));
  require(found != std::string::npos, "the service has no metrics: " + text);
  const int port = std::atoi(text.c_str() + found + begin.size());
  std::istringstream http(get_metrics(metrics_host_, std::to_string(port)));
  std::map<std::string, double> samples;
  for (std::string line; std::getline(http, line);) {
    const std::size_t space = line.rfind(' ');
    if (line.starts_with('#') || space == std::string::npos) continue;
    samples[line.substr(0, space)] = std::strtod(line.c_str() + space, nullptr);
  }
  require(samples.contains("pinfold_pods"), "the service answers no metrics");
  return samples;
}

Memory ServiceProcess::memory() const {
  std::ifstream status(fmt::format("/proc/{}/status", pid_));
  Memory memory;
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> memory.total;
    if (word == "RssAnon:") status >> memory.anonymous;
    if (word == "RssFile:") status >> memory.file;
  }
  require(memory.total > 0, "the service has ended: " + log());
  return memory;
}

double ServiceProcess::cpu_us() const {
  clockid_t clock = 0;
  timespec used = {};
  require(::clock_getcpuclockid(pid_, &clock) == 0 && ::clock_gettime(clock, &used) == 0,
          "the service has ended: " + log());
  return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

}  // namespace pinfold::load
