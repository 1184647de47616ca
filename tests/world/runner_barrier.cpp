// Runner: the barrier at the start of a runtime's containers.

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "pinfold/agent/node_agent.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/gate/passage.hpp"
#include "pinfold/verbs/action.hpp"
#include "pinfold/verbs/answer.hpp"
#include "runner.hpp"
#include "seen.hpp"

namespace pinfold::world {
namespace {

/// Shorter than that of the program: the limit decides only how often the gate looks and asks.
constexpr std::int64_t kTimeLimitMs = 600;

gate::CpuBits bits_of(const CpuSet& cpus) { return gate::CpuBits::parse(cpus.to_string()).value(); }

/// Returns the CPU state file of the state directory; "" if there is none, or it cannot be read.
std::string cpu_state(const SimulatedNode& node) {
  const auto files = checkpoint::read_files(*node.disk_to_read());
  return files ? files->cpu.value_or("") : "";
}

/// Returns whether an answer to the gate says that the kernel has the change.
bool is_enforced(const Result<verbs::Answer>& answer) {
  const auto* const change = answer ? std::get_if<agent::ChangeOutcome>(&*answer) : nullptr;
  return change != nullptr && !change->not_enforced;
}

}  // namespace

/// The machine as the gate of one container reaches it. Each function is a step before which faults
/// can strike. Copies what the runtime knows, because the runtime forgets it in a power cut.
class Runner::GateHost {
 public:
  GateHost(Runner& runner, const Runtime::Pod& pod, const Runtime::Container& container)
      : runner_(runner),
        id_{pod.spec.uid, container.name},
        group_(Runtime::group_of(pod, container)),
        boots_(runner.node_.boots()),
        is_service_down_(runner.node_.worker() == nullptr),
        can_come_back_(container.number % 2 == 0),
        asks_exclusive_(runner.asks_exclusive(pod.spec, container.name)) {}

  [[nodiscard]] std::int64_t now_ms() const {
    const auto now = runner_.node_.now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
  void pause(std::int64_t ms) {
    runner_.node_.pass_to(runner_.node_.now() + std::chrono::milliseconds(ms));
    if (can_come_back_ && !is_service_down_ && runner_.node_.worker() == nullptr) runner_.revive();
  }
  bool look(gate::ShownCpus& shown, std::optional<gate::DecidedCpus>& decision) {
    const bool is_read = step("look");
    if (has_ended()) return false;
    shown = {is_read ? bits_of(cpus()) : gate::CpuBits(), asks_exclusive_};
    std::string file = step("read the state") ? cpu_state(runner_.node_) : "";
    decision = gate::parse_cpu_state(file, {"", id_.pod.value, id_.name});
    has_read_ = has_read_ || decision;
    return !has_ended();
  }
  bool adopt(std::int64_t end_ms) {
    if (!step("ask") || has_ended()) return false;
    const bool is_done = runner_.ask_to_adopt(id_, "/model/" + group_);
    if (has_ended() || !std::exchange(runner_.node_.is_answer_lost, false)) return is_done;
    pause(end_ms - now_ms());
    return false;
  }
  bool write(const gate::CpuBits& cpus) {
    std::array<char, 64> buffer{};
    if (!step("confine") || has_ended()) return false;
    return runner_.node_.kernel.fs()->write(group_, "cpuset.cpus", cpus.print(buffer)).has_value();
  }

  [[nodiscard]] bool is_killed() const { return runner_.node_.is_gate_killed; }
  /// Returns true after a power cut: nothing of the container is left.
  [[nodiscard]] bool is_gone() const { return runner_.node_.boots() != boots_; }
  [[nodiscard]] CpuSet cpus() const {
    auto* const dir = runner_.node_.kernel.find(group_);
    return dir == nullptr ? CpuSet() : runner_.node_.kernel.effective(*dir, "cpuset.cpus");
  }
  [[nodiscard]] const ContainerId& id() const { return id_; }
  [[nodiscard]] const std::string& group() const { return group_; }
  [[nodiscard]] bool asks() const { return asks_exclusive_; }
  [[nodiscard]] bool has_read() const { return has_read_; }

 private:
  [[nodiscard]] bool has_ended() const {
    return is_gone() || is_killed() || runner_.outcome_.failure.has_value();
  }
  bool step(const char* what) {
    const int error = runner_.node_.step(fmt::format("gate: {} {}", what, group_));
    return error == 0;
  }

  Runner& runner_;
  ContainerId id_;
  std::string group_;
  int boots_;
  bool is_service_down_;
  bool can_come_back_;
  bool asks_exclusive_;
  bool has_read_ = false;  ///< the state
};

bool Runner::asks_exclusive(const PodSpec& pod, const std::string& name) const {
  return model_node_->cpu().guaranteed_cpus(PodView(pod), *pod.find(name)) > 0;
}

/// Asks the service to adopt a group, as a client of its socket. Returns whether it did.
bool Runner::ask_to_adopt(const ContainerId& id, const std::string& directory) {
  if (node_.worker() == nullptr) return false;
  std::optional<bool> is_done;
  const auto submitted = node_.worker()->submit(
      {verbs::Adopt{id.pod, {id.name, directory}},
       [&](const Result<verbs::Answer>& answer) { is_done = is_enforced(answer); }});
  if (!submitted) return false;
  try {
    node_.worker()->run_round();
  } catch (const Killed&) {
    note("  killed");
    node_.bury();
    return false;
  }
  if (!is_done) break_promise("answer", "a request of the gate is not answered");
  expect_state(node_.worker()->snapshot()->state, node_.has_failed());
  calls_.read(model_);
  return is_done.value_or(false);
}

/// Starts the service again while a gate waits. The runtime connects its plugin only after the
/// container's start.
void Runner::revive() {
  note("  the service is back");
  was_revived_ = true;
  is_connected_ = false;
  rest_ = node_.disarm();
  if (candidates_.empty()) candidates_ = {model_};
  start_again();
  node_.arm(rest_);
}

Runtime::AtGate Runner::pass_gate(const Runtime::Pod& pod, const Runtime::Container& container) {
  if (!history_.unplaced || !model_node_ || outcome_.failure) return Runtime::AtGate::kPasses;
  node_.is_gate_killed = false;
  node_.is_answer_lost = false;
  is_at_gate_ = true;
  GateHost host(*this, pod, container);
  gate::Passage passage(host, *history_.unplaced, kTimeLimitMs);
  gate::PassageEnd end = passage.run();
  is_at_gate_ = false;
  if (host.is_gone()) return Runtime::AtGate::kIsGone;
  if (bug_ == Bug::kOpenGate) end = {true, "passes"};
  if (host.is_killed()) end = {false, "is refused: its gate was killed"};
  note(fmt::format("  gate: {} {}", host.group(), end.why));
  ++(end.passes ? node_.tally.passed : node_.tally.refused);
  if (end.passes) {
    judge_passed(host, passage.shown());
  } else {
    judge_refused(host);
  }
  return end.passes ? Runtime::AtGate::kPasses : Runtime::AtGate::kIsRefused;
}

/// Checks that a container that passes the gate is placed as the state directory says, according to
/// the reader of the kubelet's files. The service handles changes of the kernel after the gate's
/// last look. A gate that could never read the state does not know what is placed.
void Runner::judge_passed(const GateHost& host, const gate::ShownCpus& shown) {
  if (!host.has_read()) return;
  if (bits_of(host.cpus()) != shown.effective && bug_ != Bug::kOpenGate) return;
  const std::string file = cpu_state(node_);
  const auto stored = checkpoint::inspect_cpu(file);
  if (outcome_.failure || !stored || history_.unplaced == gate::Unplaced::kAllow) return;
  CpuSet others;
  CpuSet own;
  for (const auto& entry : stored->state.assignments) {
    (entry.id() == host.id() ? own : others) |= entry.value;
  }
  const CpuSet cpus = host.cpus();
  const bool must_have_own = history_.unplaced == gate::Unplaced::kRefuse && host.asks();
  const bool is_placed =
      own.empty() ? !must_have_own && !cpus.intersects(others) : own.contains_all(cpus);
  if (!cpus.empty() && is_placed) return;
  break_promise("unplaced",
                fmt::format("{} passes the gate with {}, its own are {}, those of others {}",
                            host.group(), cpus.to_string(), own.to_string(), others.to_string()));
}

/// Checks that the gate refuses only containers that could not be placed: one that the plugin has
/// created passes if nothing is in the way.
void Runner::judge_refused(const GateHost& host) {
  const std::string above = host.group().substr(0, host.group().rfind('/'));
  const bool is_disturbed = node_.has_failed() || was_revived_ || is_behind_ ||
                            node_.has_trouble() || node_.disturbed.contains(host.group()) ||
                            node_.disturbed.contains(above);
  const bool has_all_cpus = offline_.empty() && node_.online() == model_node_->machine().all_cpus();
  const ActivePod* const pod = model_.node.find(host.id().pod);
  const bool is_known = pod != nullptr && pod->spec.find(host.id().name) != nullptr;
  if (outcome_.failure || node_.worker() == nullptr || is_disturbed || !has_all_cpus || !is_known)
    return;
  const CpuSet* const own = model_.node.cpu.assignments.find(host.id());
  const bool can_be_placed = own == nullptr ? has_room(host.group(), exclusive_in(model_))
                                            : can_be_free(host.id(), host.group(), *own);
  if (!can_be_placed || (own == nullptr && host.asks())) return;
  break_promise("admits", fmt::format("the gate refuses {}, which has {}", host.group(),
                                      host.cpus().to_string()));
}

}  // namespace pinfold::world
