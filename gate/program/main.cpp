// How it works
//
// A container runtime runs this program as its OCI hook createRuntime: the container's group and
// first process exist, its program does not run yet, and the runtime waits. The program ends with
// status 0 once the kernel shows what was decided for the container, else with 1, and the runtime
// then deletes the container.
//
// What was decided is read from the snapshot in the state directory, which the service publishes
// before any answer. If the kernel shows something else, or the snapshot cannot be read, the
// service is asked to adopt the group; only if it does not until the time limit, the program acts
// itself. It never waits for NRI: the runtime calls START_CONTAINER after this hook.
//
// Invariants: no allocation; every wait ends at the time limit; an alarm ends what hangs outside
// of waits (a state directory on a network, say) soon after it.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>

#include "kernel.hpp"
#include "os.hpp"
#include "pinfold/gate/line.hpp"
#include "service.hpp"

namespace pinfold::gate {
namespace {

constexpr int kPass = 0;
constexpr int kRefuse = 1;
constexpr std::int64_t kPauseMs = 5;
constexpr std::int64_t kAskPauseMs = 250;

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

/// Whether the service was asked, and did it.
enum class Asking { kNever, kInVain, kDone };

/// A container at the gate.
class Passage {
 public:
  Passage(const Options& options, const HookedContainer& container)
      : options_(options), container_(container), owner_(owner_of(container)) {}

  int run() {
    while (look()) {
      if (is_shown()) return end(kPass, is_known() ? "is placed" : "passes: nothing is decided");
      if (now_ms() >= end_ms_) return act();
      if (!ask()) pause();
    }
    return end(kPass, "has ended");
  }

 private:
  /// Reads kernel and state. Returns false if the container has ended.
  bool look() {
    groups_ = groups_of(container_.pid);
    if (!groups_) return false;
    observed_ = observe(options_, container_, *groups_);
    decision_ = decision_of(options_, owner_);
    return true;
  }
  /// Without a snapshot, the answer of the service counts. Without either, containers pass that ask
  /// for no exclusive CPUs.
  [[nodiscard]] bool is_shown() const {
    if (decision_) return is_placed(decision_, observed_);
    return asked_ == Asking::kDone || (asked_ == Asking::kInVain && !observed_.asks_exclusive);
  }
  [[nodiscard]] bool is_known() const { return decision_ || asked_ == Asking::kDone; }
  /// Asks the service, unless it has been asked a moment ago. Returns whether it was asked.
  bool ask() {
    if (now_ms() < next_ask_ms_) return false;
    std::array<char, 8192> buffer{};
    const bool done = ask_to_adopt(options_.socket, owner_,
                                   directory_of(options_, groups_->cpuset, buffer), end_ms_);
    asked_ = done ? Asking::kDone : Asking::kInVain;
    next_ask_ms_ = now_ms() + kAskPauseMs;
    return true;
  }
  void pause() const {
    const timespec time{0, std::min(kPauseMs, time_left_ms(end_ms_)) * 1'000'000};
    (void)::nanosleep(&time, nullptr);
  }
  int act() {
    switch (unplaced_of(options_, container_)) {
      case Unplaced::kAllow:
        return end(kPass, "is unplaced, and allowed");
      case Unplaced::kConfine:
        return confine();
      case Unplaced::kRefuse:
        break;
    }
    return end(kRefuse, "is unplaced, and refused: 'pinfold status' shows what was decided");
  }
  int confine() {
    const CpuBits cpus = confinement(decision_, observed_.effective);
    if (!decision_) return end(kRefuse, "is refused: without a snapshot no shared pool is known");
    if (cpus.empty()) return end(kRefuse, "is refused: all its CPUs are exclusive to others");
    if (!write_cpus(options_, groups_->cpuset, cpus) || !look()) {
      return end(kRefuse, "is refused: the kernel does not accept other CPUs for its group");
    }
    observed_.asks_exclusive = false;
    if (is_placed(decision_, observed_)) return end(kPass, "is confined");
    return end(kRefuse, "is refused: it could not be confined");
  }
  [[nodiscard]] int end(int status, std::string_view what) const {
    std::array<char, 2048> name{};
    Line who(name);
    who.add("container '").add(container_.name).add("' (").add(container_.id);
    who.add(") of pod '").add(container_.name_space).add("/").add(container_.pod).add("' ");
    std::array<char, 1024> cpus{};
    std::array<char, 2048> outcome{};
    Line line(outcome);
    line.add(what).add("; CPUs ").add(observed_.effective.print(cpus)).add("; ");
    line.add(now_ms() - begin_ms_).add(" ms");
    report(options_, who.view(), line.view());
    return status;
  }

  const Options& options_;
  const HookedContainer& container_;
  StateName owner_;
  std::int64_t begin_ms_ = now_ms();
  std::int64_t end_ms_ = begin_ms_ + options_.time_limit_ms;
  std::int64_t next_ask_ms_ = begin_ms_;
  Asking asked_ = Asking::kNever;
  std::optional<ProcessGroups> groups_;
  ShownCpus observed_;
  std::optional<DecidedCpus> decision_;
};

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
  if (!concerns_gate(*options, *container)) return kPass;
  return Passage(*options, *container).run();
}

}  // namespace
}  // namespace pinfold::gate

int main(int count, char** arguments) {
  const std::span<const char* const> all(arguments, static_cast<std::size_t>(count));
  return pinfold::gate::run(all.subspan(std::min<std::size_t>(1, all.size())));
}
