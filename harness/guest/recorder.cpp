#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "agent.hpp"

/// Children of the agent that record something while steps run.
namespace pinfold::guest {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of a signal handler
volatile std::sig_atomic_t g_recorder_ends = 0;
void end_recorder(int /*signal*/) { g_recorder_ends = 1; }

[[noreturn]] void record(const std::function<Json()>& work, int results) {
  struct sigaction action {};
  action.sa_handler = end_recorder;
  (void)sigaction(SIGTERM, &action, nullptr);
  const std::string text = work().dump();
  const bool is_written =
      write(results, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(is_written ? 0 : 1);
}

std::string text_of(const UniqueFd& file) {
  std::string text;
  char chunk[4096];
  (void)lseek(file.get(), 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(file.get(), chunk, sizeof chunk)) > 0;) {
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

bool recorder_ends() { return g_recorder_ends != 0; }

Json start_recorder(RecordingChild& recorder, const std::string& name,
                    const std::function<Json()>& work) {
  if (recorder.pid >= 0) return refuse("the " + name + " is already running");
  UniqueFd results(memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!results) return refuse(describe_errno("memfd_create", errno));
  const pid_t pid = fork();
  if (pid < 0) return refuse(describe_errno("fork", errno));
  if (pid == 0) record(work, results.get());
  recorder = {pid, std::move(results)};
  return {{"ok", true}};
}

Json stop_recorder(RecordingChild& recorder, const std::string& name) {
  if (recorder.pid < 0) return refuse("the " + name + " does not run");
  (void)kill(recorder.pid, SIGTERM);
  int wait_status = 0;
  (void)waitpid(recorder.pid, &wait_status, 0);
  Json report = Json::parse(text_of(recorder.results), nullptr, false);
  recorder = {};
  if (!report.is_object()) {
    Json failure = refuse("the " + name + " did not stop");
    describe_end(failure, wait_status);
    return failure;
  }
  report["ok"] = true;
  return report;
}

}  // namespace pinfold::guest
