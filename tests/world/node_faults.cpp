// SimulatedNode: faults, and the actions of foreign programs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "node.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::world {
namespace {

using enforce::CgroupVersion;

constexpr const char* kStranger = "stranger";
constexpr const char* kNested = "nested";  ///< see node_foreign.cpp

bool needs_space(const Operation& operation) {
  const auto is = [&](const char* verb) { return operation.text.starts_with(verb); };
  return operation.is_on_disk && (is("create ") || is("reserve ") || is("write "));
}

bool is_of_gate(const Operation& operation) { return operation.text.starts_with("gate: "); }

bool strikes_gate(const Fault& fault) {
  return fault.kind == Fault::Kind::kGate || fault.kind == Fault::Kind::kSilent;
}

/// Adds the groups below a group, parents before their children.
void add_groups(const test::ModelKernel::Dir& dir, const std::string& path,
                std::vector<std::string>& groups) {
  for (const auto& [name, child] : dir.children) {
    const std::string group = path + "/" + name;
    groups.push_back(group);
    add_groups(*child, group, groups);
  }
}

}  // namespace

void SimulatedNode::arm(const Faults& faults) {
  faults_.clear();
  for (const Fault& fault : faults) faults_.push_back({fault});
  failures_.clear();
  operations_ = 0;
  readings_ = 0;
  let_late_happen();
}

Faults SimulatedNode::disarm() {
  Faults rest;
  for (auto& [fault, has_happened] : std::exchange(faults_, {})) {
    if (has_happened && fault.kind != Fault::Kind::kFull) continue;
    const bool is_reading = fault.kind == Fault::Kind::kUnreadable;
    fault.at = std::max(0, fault.at - (is_reading ? readings_ : operations_));
    rest.push_back(fault);
  }
  let_late_happen();
  return rest;
}

void SimulatedNode::let_late_happen() {
  if (late_.empty() || --until_late_ > 0) return;
  for (const auto& change : std::exchange(late_, {})) change();
}

/// Strikes faults before an operation of the service. Returns the errno with which it fails.
int SimulatedNode::before(const Operation& operation) {
  ++tally.operations;
  const int number = operations_++;
  int error = 0;
  for (Armed& one : faults_) {
    const bool is_full = one.fault.kind == Fault::Kind::kFull;
    if (number < one.fault.at || one.fault.kind == Fault::Kind::kUnreadable) continue;
    if (is_full && !needs_space(operation)) continue;
    if (strikes_gate(one.fault) && !is_of_gate(operation)) continue;
    const bool is_new = !std::exchange(one.has_happened, true);
    if (is_new) count(one.fault);
    if (is_new || is_full) error = std::max(error, happen(one.fault));
    if (process_->is_dead) return EIO;
  }
  return error;
}

int SimulatedNode::step(const std::string& text) {
  const bool was_dead = process_->is_dead;
  const bool was_ending = std::exchange(process_->is_ending, true);  // a kill does not throw here
  const int error = before({false, text, ""});
  process_->is_ending = was_ending;
  if (!process_->is_dead) return error;
  if (!was_dead) bury();
  return 0;
}

int SimulatedNode::before_reading() {
  const int number = readings_++;
  int error = 0;
  for (Armed& one : faults_) {
    const bool is_meant = one.fault.kind == Fault::Kind::kUnreadable && number >= one.fault.at;
    if (!is_meant || std::exchange(one.has_happened, true)) continue;
    count(one.fault);
    error = EIO;
  }
  return error;
}

void SimulatedNode::count(const Fault& fault) {
  failures_.insert(fault.kind);
  ++tally.faults[std::string(name_of(fault.kind))];
}

int SimulatedNode::happen(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::kCut:
      cut_power(fault.choice);
      [[fallthrough]];
    case Fault::Kind::kKill:
      process_->kill();
      return EIO;
    case Fault::Kind::kUnreadable:
    case Fault::Kind::kError:
      return EIO;
    case Fault::Kind::kFull:
      return ENOSPC;
    case Fault::Kind::kRewrite:
      rewrite(fault.choice);
      return 0;
    case Fault::Kind::kOffline:
      take_offline(fault.choice);
      return 0;
    case Fault::Kind::kClock:
      clock_error_ += std::chrono::seconds(fault.choice);
      return 0;
    case Fault::Kind::kRuntime:
      if (kill_runtime) kill_runtime();
      return 0;
    case Fault::Kind::kGate:
      is_gate_killed = true;
      return 0;
    case Fault::Kind::kSilent:
      is_answer_lost = true;
      return 0;
  }
  return 0;
}

void SimulatedNode::balance(int choice) {
  auto knob = knobs.values.begin();
  std::advance(knob, choice % std::ssize(knobs.values));
  const CpuSet cpus = CpuSet::range(choice % 5, choice % 5 + choice / 10 % 4);
  const std::string value = value_of(knob->first, cpus, "00");
  // The service cannot tell such a value from the one that it has written.
  if (knobs.ours.contains({knob->first, value})) return;
  knob->second = their_knobs[knob->first] = value;
}

void SimulatedNode::disturb(test::ModelKernel::Dir& dir, const std::string& path) {
  disturbed.insert(path);
  for (const auto& [name, child] : dir.children) disturb(*child, path + "/" + name);
}

void SimulatedNode::set_online(const CpuSet& online) {
  kernel.set_online(online);
  for (const char* const top : {"pinfold", "kubepods"}) {
    if (auto* const root = kernel.find(top)) disturb(*root, top);
  }
}

void SimulatedNode::widen_runtime_groups() {
  const std::function<void(test::ModelKernel::Dir&, const std::string&)> widen =
      [&](test::ModelKernel::Dir& dir, const std::string& path) {
        if (dir.children.empty() || dir.children.contains(kNested)) return;
        dir.processes.clear();
        (void)kernel.fs()->write(path, "cpuset.cpus", online().to_string());
        for (const auto& [name, child] : dir.children) widen(*child, path + "/" + name);
      };
  if (auto* const pods = kernel.find("kubepods")) widen(*pods, "kubepods");
}

void SimulatedNode::take_offline(int choice) {
  const auto files = checkpoint::read_files(*disk_to_read());
  if (!files || !files->node) return;  // the machine's CPUs are unknown before the first commit
  set_online(online() - CpuSet::of(CpuId{1 + choice % 7}));
}

void SimulatedNode::change_cpuset(const std::string& group, const CpuSet& cpus) {
  // The kernel refuses some sets; then nothing has changed.
  const auto written = kernel.fs()->write(group, "cpuset.cpus", cpus.to_string());
  if (!written) return;
  disturb(*kernel.find(group), group);
  if (group.starts_with("pinfold")) notify();
}

/// Returns the groups that others change: those of Pinfold, and those of a runtime.
std::vector<std::string> SimulatedNode::groups_of_others() {
  std::vector<std::string> groups;
  for (const char* const top : {"pinfold", "kubepods"}) {
    if (auto* const root = kernel.find(top)) add_groups(*root, top, groups);
  }
  std::erase(groups, std::string("pinfold/") + kStranger);
  return groups;
}

void SimulatedNode::rewrite(int choice) {
  auto groups = groups_of_others();
  // Only the program that took CPUs from the group of a runtime's pod can give them back.
  std::erase_if(groups, [&](const std::string& group) {
    return group.starts_with("kubepods") && !kernel.find(group)->children.empty();
  });
  if (groups.empty()) return;
  const std::array sets = {kernel.possible_cpus, CpuSet{0}, CpuSet::range(1, 2),
                           CpuSet::range(0, 3), CpuSet{5}};
  const auto number = static_cast<std::size_t>(choice);
  change_cpuset(groups[number % groups.size()], sets.at(number / groups.size() % sets.size()));
}

void SimulatedNode::reset_cpusets() {
  for (const std::string& group : groups_of_others()) {
    // On cgroup v2 the groups of a runtime's pods follow those above them.
    const bool follows = kernel.version == CgroupVersion::kV2 && group.starts_with("kubepods") &&
                         !kernel.find(group)->children.empty();
    change_cpuset(group, follows ? CpuSet() : online());
  }
}

void SimulatedNode::toggle_stranger() {
  auto* const root = kernel.find("pinfold");
  if (root == nullptr) return;
  notify();
  if (root->children.erase(kStranger) > 0) return;
  const std::string group = std::string("pinfold/") + kStranger;
  kernel.make_path(group);
  auto* const dir = kernel.find(group);
  if (kernel.version == CgroupVersion::kV1) dir->files["cpuset.cpus"] = online().to_string();
  dir->processes = {new_process()};
}

}  // namespace pinfold::world
