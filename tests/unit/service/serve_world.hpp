#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/socket/unix_socket.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

/// `pinfold serve` as an operator runs it.
namespace pinfold::test {

/// A service manager as described in sd_notify(3): receives the messages of the service.
class Manager {
 public:
  explicit Manager(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const auto address = socket::socket_address(path).value();
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("bind " + path);
    }
    timeval limit{60, 0};
    (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  /// Waits for the next message with this beginning and skips earlier ones. Returns "" if none
  /// comes.
  [[nodiscard]] std::string wait_for(const std::string& begin) const {
    std::array<char, 4096> buffer{};
    while (true) {
      const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (size <= 0) return "";
      std::string text(buffer.data(), static_cast<std::size_t>(size));
      if (text.starts_with(begin)) return text;
    }
  }

 private:
  UniqueFd socket_;
};

inline std::string read_all(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline constexpr const char* kOptions =
    "--state-dir state --machine node.json --config config.yaml --no-enforce --socket s.sock";

/// A directory with the files of a node, and optionally a service.
class Node {
 public:
  Node() {
    dir_.write("node.json", R"({"name":"n","cpus":[
      {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
      {"id":2,"core":2,"socket":0,"numa":0,"l3":0},{"id":3,"core":3,"socket":0,"numa":0,"l3":0}],
      "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],"devices":[]})");
    dir_.write("config.yaml",
               "kind: KubeletConfiguration\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
    dir_.write("agent.yaml", "logLevel: info\n");
    dir_.write("web.yaml", pod("web", 2));
    dir_.write("db.yaml", pod("db", 1));
    dir_.write("big.yaml", pod("big", 9));
    dir_.write("init.yaml",
               "apiVersion: v1\nkind: Pod\nmetadata: {name: init}\nspec:\n  initContainers:\n"
               "  - name: first\n    resources: {limits: {cpu: 1, memory: 64Mi}}\n  containers:\n"
               "  - name: main\n    resources: {limits: {cpu: 1, memory: 64Mi}}\n");
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() {
    if (service_ > 0) (void)end(SIGKILL);
  }

  static std::string pod(const std::string& name, int cpus) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  containers:\n" +
           "  - name: main\n    resources: {limits: {cpu: " + std::to_string(cpus) +
           ", memory: 64Mi}}\n";
  }
  [[nodiscard]] Outcome pinfold(const std::string& arguments) const {
    return run_shell("cd " + dir_.path() + " && " + PINFOLD_COMMAND + " " + arguments);
  }
  /// Runs `pinfold serve` until it is ready.
  void serve(const std::string& options = "--settings agent.yaml",
             const std::string& node_options = kOptions) {
    const std::string line = "cd " + dir_.path() + " && exec " + PINFOLD_COMMAND + " serve " +
                             node_options + " " + options + " 2>>log";
    service_ = ::fork();
    if (service_ == 0) {
      (void)::setenv("NOTIFY_SOCKET", (dir_ / "notify").c_str(), 1);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    ASSERT_THAT(manager_.wait_for("READY=1"), testing::HasSubstr("STATUS=")) << log();
  }
  /// Sends a signal and returns the exit status of the service, 128 + N after signal N.
  [[nodiscard]] int end(int signal) {
    (void)::kill(service_, signal);
    int status = 0;
    (void)::waitpid(service_, &status, 0);
    service_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void signal(int number) const { (void)::kill(service_, number); }
  [[nodiscard]] std::string log() const { return read_all(dir_ / "log"); }
  [[nodiscard]] std::string state(const std::string& file) const {
    return read_all(dir_ / ("state/" + file));
  }
  [[nodiscard]] const Manager& manager() const { return manager_; }
  [[nodiscard]] const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
  Manager manager_{dir_ / "notify"};
  pid_t service_ = -1;
};

inline std::string with_options(const std::string& command) {
  const std::size_t space = command.find(' ');
  return command.substr(0, space) + " " + kOptions +
         (space == std::string::npos ? "" : command.substr(space));
}

}  // namespace pinfold::test
