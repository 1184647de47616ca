// How it works
//
// A container runtime runs this program as its OCI hook createRuntime: the container's group and
// first process exist, its program does not run yet, and the runtime waits. The program ends with
// status 0 once the kernel agrees with the decision for the container, else with 1, and the runtime
// then deletes the container.
//
// The decision is read from the snapshot in the state directory, which the service publishes before
// any answer. If the kernel shows something else, or the snapshot cannot be read, the program asks
// the service to adopt the group; it acts itself only if the service does not do so within the time
// limit. It never waits for NRI: the runtime calls START_CONTAINER after this hook.
//
// Invariants: no allocation; every wait ends at the time limit; soon after it, an alarm ends
// anything that hangs outside of waits (a state directory on a network, say).

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>

#include "kernel.hpp"
#include "os.hpp"
#include "pinfold/gate/line.hpp"
#include "pinfold/gate/passage.hpp"
#include "service.hpp"

namespace pinfold::gate {
namespace {

constexpr int kPass = 0;
constexpr int kRefuse = 1;

constexpr std::size_t kLargestInput = std::size_t{1} << 20U;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): room without an allocation
std::array<char, kLargestInput> g_input;

void write_line(int fd, std::string_view line) {
  // If the log cannot be written, there is nowhere to say so.
  (void)!::write(fd, line.data(), line.size());
}

/// Writes one line to standard error and to the log.
void report(const Options& options, std::string_view who, std::string_view what) {
  std::array<char, 4096> buffer{};
  Line line(buffer);
  line.add("pinfold-gate: ").add(who).add(what);
  const std::string_view text = line.view().substr(0, buffer.size() - 1);
  std::array<char, 4096> ended{};
  const std::string_view whole = Line(ended).add(text).add("\n").view();
  write_line(STDERR_FILENO, whole);
  if (options.log == nullptr) return;
  const Fd log(open_path({options.log}, O_WRONLY | O_APPEND | O_NONBLOCK));
  if (log) write_line(log.get(), whole);
}

/// The machine, for the passage of one container.
class OsHost {
 public:
  OsHost(const Options& options, const HookedContainer& container)
      : options_(options), container_(container), owner_(owner_of(container)) {}

  [[nodiscard]] static std::int64_t now_ms() { return gate::now_ms(); }
  static void pause(std::int64_t ms) {
    const timespec time{0, ms * 1'000'000};
    (void)::nanosleep(&time, nullptr);
  }
  bool look(ShownCpus& shown, std::optional<DecidedCpus>& decision) {
    groups_ = groups_of(container_.pid);
    if (!groups_) return false;
    shown = observe(options_, container_, *groups_);
    decision = decision_of(options_, owner_);
    return true;
  }
  [[nodiscard]] bool adopt(std::int64_t end_ms) const {
    std::array<char, 8192> buffer{};
    return ask_to_adopt(options_.socket, owner_, directory_of(options_, groups_->cpuset, buffer),
                        end_ms);
  }
  [[nodiscard]] bool write(const CpuBits& cpus) const {
    return write_cpus(options_, groups_->cpuset, cpus);
  }

 private:
  const Options& options_;
  const HookedContainer& container_;
  StateName owner_;
  std::optional<ProcessGroups> groups_;
};

/// Reports how the passage of a container has ended, and returns the status of the program.
int end(const Options& options, const HookedContainer& container, const PassageEnd& verdict,
        const ShownCpus& shown, std::int64_t took_ms) {
  std::array<char, 2048> name{};
  Line who(name);
  who.add("container '").add(owner_of(container).name).add("' (").add(container.id);
  who.add(") of pod '").add(container.name_space).add("/").add(container.pod).add("' ");
  std::array<char, 1024> cpus{};
  std::array<char, 2048> outcome{};
  Line line(outcome);
  line.add(verdict.why).add("; CPUs ").add(shown.effective.print(cpus)).add("; ");
  line.add(took_ms).add(" ms");
  report(options, who.view(), line.view());
  return verdict.passes ? kPass : kRefuse;
}

int pass(const Options& options, const HookedContainer& container) {
  const std::int64_t begin_ms = now_ms();
  OsHost host(options, container);
  Passage passage(host, unplaced_of(options, container), options.time_limit_ms);
  const PassageEnd verdict = passage.run();
  return end(options, container, verdict, passage.shown(), now_ms() - begin_ms);
}

/// Ends the program with a signal one to two seconds after the time limit.
void set_alarm(const Options& options) {
  (void)::alarm(static_cast<unsigned>((options.time_limit_ms + 999) / 1000 + 1));
}

int run(std::span<const char* const> arguments) {
  std::string_view wrong;
  const auto options = parse_options(arguments, wrong);
  if (!options) {
    report({}, wrong, ": expected an option of docs/barrier.md and its value");
    return kRefuse;
  }
  set_alarm(*options);
  const auto state = read_all(STDIN_FILENO, g_input);
  const auto container = state ? parse_state(*state) : std::nullopt;
  if (!container) {
    report(*options, "standard input", ": expected the state of an OCI hook, below 1 MiB");
    return kRefuse;
  }
  if (container->is_contradictory) {
    report(*options, "standard input",
           ": expected the annotations of one runtime; those of containerd and of CRI-O contradict "
           "each other");
    return kRefuse;
  }
  if (!concerns_gate(*options, *container)) return kPass;
  return pass(*options, *container);
}

}  // namespace
}  // namespace pinfold::gate

int main(int count, char** arguments) {
  const std::span<const char* const> all(arguments, static_cast<std::size_t>(count));
  return pinfold::gate::run(all.subspan(std::min<std::size_t>(1, all.size())));
}
