#include "step_runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cgroup_paths.hpp"

namespace pinfold::harness {
namespace {

constexpr const char* kProduct = "/usr/bin/pinfold";
constexpr const char* kStateFolder = "/var/lib/pinfold";
constexpr const char* kConfigFile = "/etc/pinfold/config.yaml";
/// The serial port's buffer in the guest holds 64 KiB; escaped text can be six times as long.
constexpr std::size_t kPutBytes = 8192;

StepResult good() {
  StepResult result;
  result.good = true;
  return result;
}

StepResult bad(std::string message) {
  StepResult result;
  result.message = std::move(message);
  return result;
}

/// "status 1" or "signal 9" of an exec reply.
std::string describe_end(const Json& reply) {
  if (reply.value("timed_out", false)) return "the time limit";
  if (reply.contains("signal")) return "signal " + reply["signal"].dump();
  return "status " + reply.value("status", Json()).dump();
}

std::string excerpt(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > 2000) text = "..." + text.substr(text.size() - 2000);
  return text;
}

}  // namespace

VmResult<Json> StepRunner::ask(Json request) {
  // The guest gives up first where it can, so that a slow command is told from a guest that hangs.
  request["time_limit_ms"] = time_limit_.count();
  auto reply = session_.vm.request(std::move(request), time_limit_ + std::chrono::seconds(10));
  if (!reply && reply.error().trouble == Trouble::kTimeout) {
    reply.error().message = fmt::format("no answer within {} s", time_limit_.count() / 1000);
  }
  return reply;
}

VmResult<void> StepRunner::put(const std::string& path, const std::string& text) {
  for (std::size_t at = 0; at == 0 || at < text.size(); at += kPutBytes) {
    const auto reply = ask(
        {{"op", "put"}, {"path", path}, {"text", text.substr(at, kPutBytes)}, {"append", at != 0}});
    if (!reply) return tl::unexpected(reply.error());
    if (!reply->value("ok", false)) {
      return tl::unexpected(VmFailure{Trouble::kHost, reply->value("error", "put failed")});
    }
  }
  return {};
}

VmResult<void> StepRunner::prepare() {
  if (!needs_product(scenario_)) return {};
  if (auto made = ask({{"op", "mkdir"}, {"path", product_root(cgroup_mode())}}); !made) {
    return tl::unexpected(made.error());
  }
  if (auto made = ask({{"op", "mkdir"}, {"path", kStateFolder}}); !made) {
    return tl::unexpected(made.error());
  }
  return put(kConfigFile, scenario_.kubelet.dump(2, ' ', true, Json::error_handler_t::replace));
}

VmResult<StepResult> StepRunner::run(const Step& step) {
  const bool only_looks = std::holds_alternative<StartStep>(step.action) ||
                          std::holds_alternative<WriteStep>(step.action) ||
                          std::holds_alternative<ExpectStep>(step.action);
  if (!only_looks) decided_.reset();
  time_limit_ =
      Milliseconds(static_cast<std::int64_t>(step.time_limit_s * 1000 * options_.time_scale));
  auto result = std::visit([this](const auto& action) { return act(action); }, step.action);
  if (result) {
    if (auto noted = note_groups(step.action, *result); !noted) {
      return tl::unexpected(noted.error());
    }
  }
  return result;
}

VmResult<Json> StepRunner::run_product(std::vector<std::string> arguments) {
  std::vector<std::string> argv = {kProduct};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const std::string root = product_root(cgroup_mode());
  argv.insert(argv.end(), {"--state-dir", kStateFolder, "--cgroup-root", root, "--config",
                           kConfigFile, "--output", "json"});
  return ask({{"op", "exec"}, {"argv", argv}});
}

VmResult<StepResult> StepRunner::act(const AdmitStep& step) {
  const std::string file =
      fmt::format("/etc/pinfold/pods/{}.yaml", step.pod.empty() ? "pod" : step.pod);
  if (auto there = put(file, step.manifest); !there) return tl::unexpected(there.error());
  const auto reply = run_product({"admit", "--start", file});
  if (!reply) return tl::unexpected(reply.error());
  static constexpr const char* kAnswers[] = {"admitted", "rejected", "error"};
  const int status = reply->value("status", -1);
  const std::string answer = status >= 0 && status <= 2 ? kAnswers[status] : describe_end(*reply);
  const std::string said = reply->value("stdout", "") + reply->value("stderr", "");
  const std::string expected = kAnswers[static_cast<int>(step.answer)];
  if (answer != expected) {
    return bad(
        fmt::format("expected '{}', the answer is '{}': {}", expected, answer, excerpt(said)));
  }
  if (said.find(step.message) == std::string::npos) {
    return bad(fmt::format("expected '{}' in: {}", step.message, excerpt(said)));
  }
  if (status == 0) pod_uids_[step.pod] = step.uid;
  return good();
}

VmResult<std::vector<DecidedContainer>> StepRunner::decided(std::string& problem) {
  if (decided_) return *decided_;
  const auto reply = run_product({"status"});
  if (!reply) return tl::unexpected(reply.error());
  const std::string out = reply->value("stdout", "");
  const Json status = Json::parse(out, nullptr, false);
  // Status 1: the product itself sees that the kernel has something else. The judge decides.
  const int exit_status = reply->value("status", -1);
  if ((exit_status != 0 && exit_status != 1) || status.is_discarded()) {
    problem = fmt::format("'pinfold status' ended with {}: {}", describe_end(*reply),
                          excerpt(out + reply->value("stderr", "")));
    return std::vector<DecidedContainer>{};
  }
  auto containers = decided_containers(status);
  if (!containers) {
    problem = containers.error().message;
    return std::vector<DecidedContainer>{};
  }
  decided_ = *containers;
  return std::move(*containers);
}

VmResult<StepResult> StepRunner::start_one(const StartStep& step, const std::string& name,
                                           const std::string& cgroup) {
  Json request = {{"op", "start"}, {"name", name}, {"cgroup", cgroup}};
  if (step.command.empty()) {
    request["payload_bytes"] = step.memory;
  } else {
    request["argv"] = step.command;
  }
  const auto reply = ask(std::move(request));
  if (!reply) return tl::unexpected(reply.error());
  if (!reply->value("ok", false))
    return bad(fmt::format("{}: {}", name, reply->value("error", "")));
  running_[name] = cgroup;
  return good();
}

VmResult<StepResult> StepRunner::act(const StartStep& step) {
  if (!step.program.empty()) return start_one(step, step.program, step.cgroup);
  std::string problem;
  const auto containers = decided(problem);
  if (!containers) return tl::unexpected(containers.error());
  if (!problem.empty()) return bad(problem);
  int started = 0;
  for (const DecidedContainer& container : *containers) {
    if (!container.name.starts_with(step.pod + "/")) continue;
    auto one = start_one(step, container.name, container.cgroup);
    if (!one || !one->good) return one;
    ++started;
  }
  return started > 0 ? good() : bad(fmt::format("pod '{}' has no container", step.pod));
}

VmResult<StepResult> StepRunner::act(const StopStep& step) {
  const auto reply = ask({{"op", "stop"}, {"name", step.program}});
  if (!reply) return tl::unexpected(reply.error());
  running_.erase(step.program);
  return reply->value("ok", false) ? good() : bad(reply->value("error", ""));
}

VmResult<StepResult> StepRunner::act(const RemoveStep& step) {
  const auto uid = pod_uids_.find(step.pod);
  if (uid == pod_uids_.end()) return bad(fmt::format("pod '{}' was not admitted", step.pod));
  std::vector<std::string> programs;
  for (const auto& [program, cgroup] : running_) {
    if (program.starts_with(step.pod + "/")) programs.push_back(program);
  }
  for (const std::string& program : programs) {
    auto stopped = act(StopStep{program});
    if (!stopped || !stopped->good) return stopped;
  }
  const auto reply = run_product({"remove", "--pod", uid->second});
  if (!reply) return tl::unexpected(reply.error());
  if (reply->value("status", -1) != 0) {
    return bad(fmt::format("'pinfold remove' ended with {}: {}", describe_end(*reply),
                           excerpt(reply->value("stdout", "") + reply->value("stderr", ""))));
  }
  pod_uids_.erase(uid);
  return good();
}

VmResult<StepResult> StepRunner::act(const ExecStep& step) {
  const auto reply = ask({{"op", "exec"}, {"argv", step.command}, {"cgroup", step.cgroup}});
  if (!reply) return tl::unexpected(reply.error());
  if (!reply->value("ok", false)) return bad(reply->value("error", ""));
  const std::string out = reply->value("stdout", "");
  const std::string end = describe_end(*reply);
  const std::string said = excerpt(out + reply->value("stderr", ""));
  if (reply->value("timed_out", false))
    return bad(fmt::format("not done within {} s: {}", time_limit_.count() / 1000, said));
  if (step.status && reply->value("status", -1) != *step.status) {
    return bad(fmt::format("expected status {}, it ended with {}: {}", *step.status, end, said));
  }
  if (out.find(step.output) == std::string::npos) {
    return bad(fmt::format("expected '{}' in: {}", step.output, said));
  }
  return good();
}

VmResult<std::string> StepRunner::cgroup_of(const std::string& container, StepResult& result) {
  const auto containers = decided(result.message);
  if (!containers) return tl::unexpected(containers.error());
  const auto found = std::find_if(containers->begin(), containers->end(),
                                  [&](const auto& one) { return one.name == container; });
  if (found != containers->end()) return found->cgroup;
  if (result.message.empty()) result.message = fmt::format("there is no container '{}'", container);
  return std::string{};
}

VmResult<StepResult> StepRunner::act(const WriteStep& step) {
  std::string path = step.file;
  if (!step.container.empty()) {
    StepResult result;
    const auto cgroup = cgroup_of(step.container, result);
    if (!cgroup) return tl::unexpected(cgroup.error());
    if (!result.message.empty()) return result;
    path = group_file(cgroup_mode(), *cgroup, step.file);
  }
  const auto reply = ask({{"op", "write"}, {"path", path}, {"value", step.value}});
  if (!reply) return tl::unexpected(reply.error());
  const std::string error = reply->value("errno", "?");
  if (error == step.error) return good();
  return bad(fmt::format("write '{}' to '{}': expected {}, the kernel answers {}", step.value, path,
                         step.error.empty() ? "success" : step.error,
                         error.empty() ? "success" : error));
}

}  // namespace pinfold::harness
