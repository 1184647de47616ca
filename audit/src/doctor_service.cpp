#include <fmt/format.h>
#include <sys/stat.h>

#include <string_view>
#include <vector>

#include "doctor_parts.hpp"
#include "pinfold/checkpoint/inspect.hpp"

namespace pinfold::audit {
namespace {

constexpr const char* kAsRoot = "sudo pinfold doctor";

void check_settings(const ObservedSystem& system, Checks& checks) {
  const ObservedService& service = system.service;
  if (!service.settings_error.empty()) {
    checks.push_back({"service-settings", CheckStatus::kProblem, service.settings_error,
                      "a configuration file of the service that can be read",
                      "edit '/etc/pinfold/agent.yaml', then: systemctl restart pinfold"});
  }
  if (!service.config_error.empty()) {
    checks.push_back({"config", CheckStatus::kProblem, service.config_error,
                      "a KubeletConfiguration",
                      fmt::format("edit '{}/config.yaml'", service.state_dir)});
  }
}

/// Returns true if only the owner can change the file, and the owner is root or the user.
bool is_safe(const FileStatus& status, uid_t user) {
  return (status.mode & (S_IWGRP | S_IWOTH)) == 0 && (status.owner == 0 || status.owner == user);
}

void check_state_directory(const ObservedSystem& system, Checks& checks) {
  const ObservedService& service = system.service;
  if (!service.state_error.empty()) {
    checks.push_back({"state-directory", CheckStatus::kUnknown, service.state_error,
                      "a directory that this user can list", kAsRoot});
    return;
  }
  if (!service.state_status) {
    checks.push_back({"state-directory", CheckStatus::kOk,
                      fmt::format("'{}' does not exist yet", service.state_dir)});
    return;
  }
  std::vector<std::string> unsafe;
  if (!is_safe(*service.state_status, service.user)) unsafe.push_back(service.state_dir);
  for (const auto& [name, status] : service.state_files) {
    if (!is_safe(status, service.user))
      unsafe.push_back(fmt::format("{}/{}", service.state_dir, name));
  }
  if (unsafe.empty()) {
    checks.push_back({"state-directory", CheckStatus::kOk, service.state_dir});
    return;
  }
  checks.push_back({"state-directory", CheckStatus::kProblem,
                    fmt::format("others can change '{}'", fmt::join(unsafe, "', '")),
                    "owned by root or this user, and writable by the owner only",
                    fmt::format("chown root '{0}' && chmod go-w '{0}'", fmt::join(unsafe, "' '"))});
}

void check_state_files(const ObservedSystem& system, Checks& checks) {
  const ObservedService& service = system.service;
  if (!service.state_status || !service.state_error.empty()) return;
  const std::size_t before = checks.size();
  for (const auto& [name, error] : service.unreadable) {
    checks.push_back({"state-files", CheckStatus::kUnknown, error,
                      "a regular file that this user can read", kAsRoot});
  }
  const auto damaged = [&](std::string_view name, const Error& error) {
    // After a power cut the journal holds the current state, and a start writes the files again.
    checks.push_back({"state-files",
                      service.has_journal ? CheckStatus::kWarning : CheckStatus::kProblem,
                      fmt::format("'{}/{}': {}", service.state_dir, name, error.message),
                      "a state file that a kubelet reads",
                      fmt::format("pinfold checkpoint repair '{}'", service.state_dir)});
  };
  if (service.files.cpu) {
    const auto read = checkpoint::inspect_cpu(*service.files.cpu);
    if (!read) damaged(checkpoint::kCpuFileName, read.error());
  }
  if (service.files.memory) {
    const auto read = checkpoint::inspect_memory(*service.files.memory);
    if (!read) damaged(checkpoint::kMemoryFileName, read.error());
  }
  if (checks.size() > before) return;
  checks.push_back({"state-files", CheckStatus::kOk,
                    fmt::format("{} readable{}", service.state_files.size(),
                                service.has_journal ? ", with a journal" : "")});
}

void check_socket(const ObservedSystem& system, Checks& checks) {
  const ObservedService& service = system.service;
  const bool is_socket = service.socket_status && S_ISSOCK(service.socket_status->mode);
  if (service.socket_status && !is_socket) {
    checks.push_back({"service", CheckStatus::kProblem,
                      fmt::format("'{}' is not a socket", service.socket),
                      "a socket, or no file if the service does not run",
                      fmt::format("rm '{}' && systemctl restart pinfold", service.socket)});
  } else if (service.pid && !is_socket) {
    checks.push_back(
        {"service", CheckStatus::kWarning,
         fmt::format("process {} runs without the socket '{}'", *service.pid, service.socket),
         "the socket that the service listens on", "systemctl restart pinfold"});
  } else if (!service.pid && is_socket) {
    checks.push_back(
        {"service", CheckStatus::kWarning,
         fmt::format("'{}' exists, but no process 'pinfold-serve' runs", service.socket),
         "a service that answers", "systemctl start pinfold"});
  } else {
    checks.push_back({"service", CheckStatus::kOk,
                      service.pid ? fmt::format("process {} at {}", *service.pid, service.socket)
                                  : "does not run: commands open the state directory themselves"});
  }
}

}  // namespace

void check_service(const ObservedSystem& system, Checks& checks) {
  check_settings(system, checks);
  check_state_directory(system, checks);
  check_state_files(system, checks);
  check_socket(system, checks);
}

}  // namespace pinfold::audit
