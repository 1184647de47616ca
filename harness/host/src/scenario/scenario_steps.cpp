#include "scenario/scenario_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pinfold/harness/json.hpp"
#include "scenario/scenario_expect.hpp"
#include "scenario/scenario_fields.hpp"
#include "scenario/scenario_kubelet.hpp"
#include "scenario/scenario_runtime.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxSteps = 1000;
constexpr const char* kStepsExpected = "expected a list of 1 to 1000 steps";

StepAction read_admit(FieldReader& fields) {
  AdmitStep step;
  const Json* pod = fields.find("pod");
  if (pod != nullptr && pod->is_object()) {
    step.manifest = pod->dump(2, ' ', true, Json::error_handler_t::replace);
  } else {
    step.file = fields.required_text("pod");
  }
  using Answer = AdmitStep::Answer;
  step.answer = fields.choice<Answer>("answer", {{"admitted", Answer::kAdmitted},
                                                 {"rejected", Answer::kRejected},
                                                 {"error", Answer::kError}});
  step.start = fields.boolean("start", step.start);
  step.message = fields.text("message", "");
  return step;
}

StepAction read_start(FieldReader& fields) {
  StartStep step;
  step.pod = fields.text("pod", "");
  step.container = fields.text("container", "");
  step.program = fields.text("program", "");
  step.cgroup = fields.text("cgroup", "");
  step.command = fields.texts("command");
  if (fields.find("command") != nullptr && step.command.empty()) {
    fields.complain("command", "expected a program and its arguments");
  }
  step.memory = fields.bytes("memory", step.memory);
  step.page_size = fields.bytes("pageSize", 0);
  step.error = fields.text("error", "");
  if (!step.container.empty() && step.pod.empty()) {
    fields.complain("container", "expected a pod with it");
  }
  if (step.pod.empty() == step.program.empty()) {
    fields.complain("program", "expected either pod or program");
  }
  if (step.memory == 0) fields.complain("memory", "0: expected at least one byte");
  return step;
}

StepAction read_stop(FieldReader& fields) { return StopStep{fields.required_text("program")}; }

StepAction read_remove(FieldReader& fields) {
  return RemoveStep{fields.required_text("pod"), fields.text("container", "")};
}

StepAction read_restart(FieldReader& fields) {
  RestartStep step;
  if (fields.find("kubelet") != nullptr) step.kubelet = read_kubelet(fields, "kubelet");
  using Answer = RestartStep::Answer;
  step.answer = fields.choice<Answer>("answer", {{"ok", Answer::kOk}, {"error", Answer::kError}});
  step.message = fields.text("message", "");
  return step;
}

StepAction read_cpus(FieldReader& fields, bool online) {
  CpusStep step{fields.cpus("cpus"), online};
  if (step.cpus.empty()) fields.complain("cpus", "expected at least one CPU");
  return step;
}
StepAction read_plug(FieldReader& fields) {
  PlugStep step{fields.cpus("cpus"), fields.bytes("memory", 0), fields.integer("node", 0, 0, 63)};
  if (step.cpus.empty() == (step.memory == 0)) {
    fields.complain("cpus", "expected either cpus or memory");
  }
  return step;
}
StepAction read_offline(FieldReader& fields) { return read_cpus(fields, false); }
StepAction read_online(FieldReader& fields) { return read_cpus(fields, true); }

StepAction read_exec(FieldReader& fields) {
  ExecStep step;
  step.command = read_command(fields);
  step.cgroup = fields.text("cgroup", "");
  step.output = fields.text("output", "");
  static constexpr std::string_view kFormats[] = {"tap", "kselftest", "exit"};
  if (fields.find("results") != nullptr) {
    step.results = static_cast<TestFormat>(
        fields.chosen("results", {std::begin(kFormats), std::end(kFormats)}));
  }
  // The program's tests decide, unless the scenario names a status.
  const bool any = step.results && fields.find("status") == nullptr;
  step.status = any ? std::nullopt : read_status(fields);
  return step;
}

StepAction read_write(FieldReader& fields) {
  WriteStep step;
  step.file = fields.required_text("file");
  step.container = fields.text("container", "");
  step.value = fields.required_text("value");
  step.error = fields.text("error", "");
  if (!fields.failed() && step.container.empty() != step.file.starts_with('/')) {
    fields.complain(
        "file",
        fmt::format("'{}': expected {}", step.file,
                    step.container.empty() ? "a full path" : "a file of the container's cgroup"));
  }
  return step;
}

StepAction read_start_sampling(FieldReader&) { return StartSamplingStep{}; }

StepAction read_stop_sampling(FieldReader& fields) {
  return StopSamplingStep{
      static_cast<std::uint64_t>(fields.integer("atLeast", 1, 1, 1000000000)),
      fields.text("exclusive", ""),
      fields.boolean("allowUnpinned", false) ? NeverPinned::kSkipEnded : NeverPinned::kCount};
}

StepAction read_start_witness(FieldReader&) { return StartWitnessStep{}; }

StepAction read_stop_witness(FieldReader& fields) {
  return StopWitnessStep{static_cast<std::size_t>(fields.integer("atLeast", 1, 1, 1000000)),
                         fields.text("exclusive", "")};
}

/// Reads a list of commands, each a list of texts.
std::vector<std::vector<std::string>> read_commands(FieldReader& fields, const char* key) {
  const Json* list = fields.find(key);
  if (list == nullptr) return {};
  std::vector<std::vector<std::string>> commands;
  for (const Json& one : list->is_array() ? *list : Json::array()) {
    commands.emplace_back();
    for (const Json& part : one.is_array() ? one : Json::array()) {
      if (auto text = scalar_text(part)) commands.back().push_back(*text);
    }
    if (commands.back().empty() || commands.back().size() != one.size()) {
      fields.complain(key, show_value(one) + ": expected a program and its arguments");
    }
  }
  if (!list->is_array()) fields.complain(key, show_value(*list) + ": expected a list of commands");
  return commands;
}

StepAction read_power_cuts(FieldReader& fields) {
  static constexpr WriteLoss kAll[] = {WriteLoss::kNone, WriteLoss::kAll, WriteLoss::kSome,
                                       WriteLoss::kTorn};
  PowerCutsStep step;
  const bool chosen = fields.find("losses") != nullptr;
  const std::vector<std::string> names = fields.texts("losses");
  for (const WriteLoss loss : kAll) {
    if (!chosen || std::count(names.begin(), names.end(), to_string(loss)) == 1) {
      step.losses.push_back(loss);
    }
  }
  if (chosen && (names.empty() || step.losses.size() != names.size())) {
    fields.complain("losses", "expected one or more of: none, all, some, torn");
  }
  step.commands = read_commands(fields, "commands");
  step.files = fields.texts("files");
  if (step.files.empty()) fields.complain("files", "expected files below the disk's folder");
  step.at_least = static_cast<std::uint64_t>(fields.integer("atLeast", 1, 1, 1000000));
  return step;
}

StepAction read_verify(FieldReader&) { return VerifyStep{}; }

struct Verb {
  const char* name;
  StepAction (*read)(FieldReader&);
};
constexpr Verb kVerbs[] = {{"admit", read_admit},
                           {"start", read_start},
                           {"stop", read_stop},
                           {"remove", read_remove},
                           {"restart", read_restart},
                           {"offline", read_offline},
                           {"online", read_online},
                           {"exec", read_exec},
                           {"write", read_write},
                           {"plug", read_plug},
                           {"verify", read_verify},
                           {"startSampling", read_start_sampling},
                           {"stopSampling", read_stop_sampling},
                           {"startWitness", read_start_witness},
                           {"stopWitness", read_stop_witness},
                           {"powerCuts", read_power_cuts},
                           {"runPod", read_run_pod},
                           {"stopPod", read_stop_pod},
                           {"removePod", read_remove_pod},
                           {"createContainer", read_create_container},
                           {"startContainer", read_start_container},
                           {"execContainer", read_exec_container},
                           {"stopContainer", read_stop_container},
                           {"removeContainer", read_remove_container},
                           {"killRuntime", read_kill_runtime},
                           {"restartRuntime", read_restart_runtime},
                           {"startKubelet", read_start_kubelet},
                           {"restartKubelet", read_restart_kubelet},
                           {"stopKubelet", read_stop_kubelet},
                           {"waitKubelet", read_wait_kubelet},
                           {"runStaticPod", read_run_static_pod},
                           {"removeStaticPod", read_remove_static_pod},
                           {"waitPod", read_wait_pod}};

std::optional<KillPoint> read_kill_point(FieldReader& fields, std::optional<Complaint>& complaint) {
  const Json* value = fields.find("killAt");
  if (value == nullptr) return std::nullopt;
  FieldReader point(*value, fields.path_of("killAt"), complaint);
  static constexpr std::string_view kCalls[] = {"any",      "open",   "write",  "fsync",
                                                "truncate", "rename", "remove", "mkdir"};
  const std::size_t call = point.chosen("call", {std::begin(kCalls), std::end(kCalls)});
  KillPoint kill{call == 0 ? "" : std::string(kCalls[call]), point.text("file", ""),
                 point.integer("number", 1, 1, 1000000)};
  point.finish();
  return kill;
}

/// Returns true if a step has a program that `killAt` can kill.
bool can_be_killed(const StepAction& action) {
  const auto* const kubelet = std::get_if<KubeletStep>(&action);
  if (kubelet != nullptr) return kubelet->what != KubeletStep::Do::kStop;
  return std::holds_alternative<AdmitStep>(action) || std::holds_alternative<StartStep>(action) ||
         std::holds_alternative<RemoveStep>(action) ||
         std::holds_alternative<RestartStep>(action) || std::holds_alternative<ExecStep>(action);
}

std::string title_of(const std::string& verb, const Json& value) {
  if (!value.is_object()) return verb;
  for (const char* key :
       {"pod", "program", "container", "file", "command", "cpus", "memory", "kubelet", "binary"}) {
    const auto found = value.find(key);
    if (found == value.end()) continue;
    std::string text;
    if (found->is_array()) {
      for (const Json& part : *found)
        text += (text.empty() ? "" : " ") + scalar_text(part).value_or("");
    } else if (found->is_object()) {
      text = "(inline)";
    } else {
      text = scalar_text(*found).value_or("");
    }
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return fmt::format("{} {}", verb, text);
  }
  return verb;
}

/// Reads one entry of a list of steps.
class StepReader {
 public:
  enum Groups { kWithGroups, kWithoutGroups };

  StepReader(const Json& value, FieldPath path, std::optional<Complaint>& complaint)
      : value_(value),
        path_(std::move(path)),
        fields_(value, path_, complaint),
        complaint_(complaint) {}

  /// Appends the step, or those of the group, if they are for the platform of `scope`.
  void read(const PlatformScope& scope, Groups groups, std::vector<PlacedStep>& steps) {
    const auto narrowed = narrow(fields_, scope);
    if (fields_.failed() || !narrowed) return;
    if (groups == kWithGroups && fields_.find("steps") != nullptr) {
      read_group(*narrowed, steps);
    } else {
      steps.push_back({read_step(*narrowed), path_});
    }
  }

 private:
  void read_group(const PlatformScope& scope, std::vector<PlacedStep>& steps);
  [[nodiscard]] ScenarioStep read_step(const PlatformScope& scope);

  const Json& value_;
  FieldPath path_;
  FieldReader fields_;
  std::optional<Complaint>& complaint_;
};

void read_list(const Json& list, const FieldPath& path, const PlatformScope& scope,
               StepReader::Groups groups, std::vector<PlacedStep>& steps,
               std::optional<Complaint>& complaint) {
  if (!list.is_array() || list.empty() || list.size() > kMaxSteps) {
    complaint = Complaint{path, kStepsExpected};
    return;
  }
  for (std::size_t i = 0; i < list.size() && !complaint; ++i) {
    FieldPath one = path;
    one.push_back(std::to_string(i));
    StepReader(list[i], std::move(one), complaint).read(scope, groups, steps);
  }
}

void StepReader::read_group(const PlatformScope& scope, std::vector<PlacedStep>& steps) {
  const Json* list = fields_.find("steps");
  if (fields_.find("for") == nullptr) fields_.complain("for", "missing");
  fields_.finish();
  if (fields_.failed()) return;
  read_list(*list, fields_.path_of("steps"), scope, kWithoutGroups, steps, complaint_);
}

ScenarioStep StepReader::read_step(const PlatformScope& scope) {
  ScenarioStep step;
  step.definition = value_.dump(-1, ' ', true, Json::error_handler_t::replace);
  int verbs = 0;
  const auto read_with = [&](const char* name, const auto& reader) {
    const Json* content = fields_.find(name);
    if (content == nullptr) return;
    ++verbs;
    step.title = title_of(name, *content);
    step.path = fields_.path_of(name);
    reader(*content, step.path);
  };
  for (const Verb& verb : kVerbs) {
    read_with(verb.name, [&](const Json& content, FieldPath where) {
      FieldReader inner(content, std::move(where), complaint_);
      step.action = verb.read(inner);
      inner.finish();
    });
  }
  read_with("expect", [&](const Json& content, const FieldPath& where) {
    step.action = read_expect(content, where, scope, complaint_);
  });
  if (needs_runtime(step.action)) step.time_limit_s = kRuntimeLimitS;
  if (needs_kubelet(step.action)) step.time_limit_s = kKubeletLimitS;
  step.time_limit_s = fields_.integer("timeLimit", step.time_limit_s, 1, 3600);
  step.has_own_title = fields_.find("title") != nullptr;
  step.title = fields_.text("title", step.title);
  step.kill_at = read_kill_point(fields_, complaint_);
  if (step.kill_at && !can_be_killed(step.action)) {
    fields_.complain("killAt",
                     "expected with admit, start, remove, restart, exec, startKubelet or "
                     "restartKubelet");
  }
  fields_.finish();
  if (verbs != 1 && !complaint_) complaint_ = Complaint{path_, "expected exactly one verb"};
  return step;
}

}  // namespace

std::vector<PlacedStep> read_steps(const Json* list, const PlatformScope& scope,
                                   std::optional<Complaint>& complaint) {
  std::vector<PlacedStep> steps;
  if (complaint) return steps;
  const FieldPath path = {"steps"};
  if (list == nullptr) {
    complaint = Complaint{path, kStepsExpected};
    return steps;
  }
  read_list(*list, path, scope, StepReader::kWithGroups, steps, complaint);
  if (!complaint && (steps.empty() || steps.size() > kMaxSteps)) {
    complaint = Complaint{
        path, fmt::format("{} for {}: {}", steps.size(), to_string(scope.current), kStepsExpected)};
  }
  return steps;
}

}  // namespace pinfold::harness
