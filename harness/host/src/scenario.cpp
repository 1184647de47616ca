#include "pinfold/harness/scenario.hpp"

#include <fmt/format.h>

#include <array>

#include "field_reader.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/types/document.hpp"
#include "pinfold/types/pod.hpp"
#include "scenario_machine.hpp"

namespace pinfold::harness {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxSteps = 1000;

/// What a verb's reader gets: its fields, and where to complain.
using Context = std::optional<Complaint>;

Action read_admit(FieldReader& fields) {
  AdmitStep step;
  const Json* pod = fields.find("pod");
  if (pod != nullptr && pod->is_object()) {
    step.manifest = pod->dump(2, ' ', true, Json::error_handler_t::replace);
  } else {
    step.file = fields.required_text("pod");
  }
  const std::string answer = fields.text("answer", "admitted");
  if (answer == "rejected") step.answer = AdmitStep::Answer::kRejected;
  if (answer == "error") step.answer = AdmitStep::Answer::kError;
  if (answer != "admitted" && step.answer == AdmitStep::Answer::kAdmitted) {
    fields.complain("answer", fmt::format("'{}': expected admitted, rejected or error", answer));
  }
  step.message = fields.text("message", "");
  return step;
}

Action read_start(FieldReader& fields) {
  StartStep step;
  step.pod = fields.text("pod", "");
  step.program = fields.text("program", "");
  step.cgroup = fields.text("cgroup", "");
  step.command = fields.texts("command");
  step.memory = fields.bytes("memory", step.memory);
  if (step.pod.empty() == step.program.empty()) {
    fields.complain("program", "expected either pod or program");
  }
  if (step.memory == 0) fields.complain("memory", "0: expected at least one byte");
  return step;
}

Action read_stop(FieldReader& fields) { return StopStep{fields.required_text("program")}; }

Action read_remove(FieldReader& fields) { return RemoveStep{fields.required_text("pod")}; }

Action read_exec(FieldReader& fields) {
  ExecStep step;
  step.command = fields.texts("command");
  step.cgroup = fields.text("cgroup", "");
  step.output = fields.text("output", "");
  if (fields.text("status", "0") == "any") {
    step.status = std::nullopt;
  } else {
    step.status = fields.integer("status", 0, 0, 255);
  }
  if (step.command.empty()) fields.complain("command", "expected a program and its arguments");
  return step;
}

Action read_write(FieldReader& fields) {
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

/// Is there such a value: a file of a cgroup, or a fact about a process?
bool is_known_value(Expectation::Of of, std::string_view key) {
  if (of == Expectation::Of::kFile) return key == "equals";
  const bool of_process =
      key == "Cpus_allowed_list" || key == "Mems_allowed_list" || key == "pageNodes";
  const bool of_cgroup = key.find('.') != std::string_view::npos && is_safe_name(key);
  if (of == Expectation::Of::kProgram) return of_process;
  return of_cgroup || (of_process && of == Expectation::Of::kContainer);
}

Expectation read_expectation(const Json& value, FieldPath path, Context& complaint) {
  static constexpr std::array<std::pair<const char*, Expectation::Of>, 4> kSubjects = {{
      {"container", Expectation::Of::kContainer},
      {"cgroup", Expectation::Of::kCgroup},
      {"program", Expectation::Of::kProgram},
      {"file", Expectation::Of::kFile},
  }};
  Expectation expectation;
  FieldReader fields(value, std::move(path), complaint);
  int subjects = 0;
  for (const auto& [key, of] : kSubjects) {
    if (fields.find(key) == nullptr) continue;
    ++subjects;
    expectation.of = of;
    expectation.subject = fields.text(key, "");
  }
  if (subjects != 1) fields.complain("file", "expected one of container, cgroup, program, file");
  if (fields.failed()) return expectation;
  for (const auto& [key, member] : value.items()) {
    if (expectation.subject == scalar_text(member) &&
        (key == "container" || key == "cgroup" || key == "program" || key == "file")) {
      continue;
    }
    expectation.values.emplace_back(key, fields.text(key.c_str(), ""));
    if (!is_known_value(expectation.of, key)) {
      fields.complain(key.c_str(), "the kernel has no such value of this subject");
    }
  }
  if (expectation.values.empty()) fields.complain("equals", "expected at least one value");
  return expectation;
}

Action read_expect(const Json& list, const FieldPath& path, Context& complaint) {
  ExpectStep step;
  if (!list.is_array() || list.empty()) {
    complaint = Complaint{path, show_value(list) + ": expected a list of expectations"};
    return step;
  }
  for (std::size_t i = 0; i < list.size() && !complaint; ++i) {
    FieldPath one = path;
    one.push_back(std::to_string(i));
    step.expectations.push_back(read_expectation(list[i], std::move(one), complaint));
  }
  return step;
}

Action read_verify(FieldReader&) { return VerifyStep{}; }

struct Verb {
  const char* name;
  Action (*read)(FieldReader&);
};
constexpr Verb kVerbs[] = {{"admit", read_admit},   {"start", read_start}, {"stop", read_stop},
                           {"remove", read_remove}, {"exec", read_exec},   {"write", read_write},
                           {"verify", read_verify}};

std::string title_of(const std::string& verb, const Json& value) {
  if (!value.is_object()) return verb;
  for (const char* key : {"pod", "program", "container", "file", "command"}) {
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

Step read_step(const Json& value, const FieldPath& path, Context& complaint) {
  Step step;
  FieldReader fields(value, path, complaint);
  step.time_limit_s = fields.integer("timeLimit", step.time_limit_s, 1, 3600);
  int verbs = 0;
  const auto read_with = [&](const char* name, const auto& reader) {
    const Json* content = fields.find(name);
    if (content == nullptr) return;
    ++verbs;
    step.title = title_of(name, *content);
    reader(*content, fields.path_of(name));
  };
  for (const Verb& verb : kVerbs) {
    read_with(verb.name, [&](const Json& content, FieldPath where) {
      FieldReader inner(content, std::move(where), complaint);
      step.action = verb.read(inner);
      inner.finish();
    });
  }
  read_with("expect", [&](const Json& content, const FieldPath& where) {
    step.action = read_expect(content, where, complaint);
  });
  step.title = fields.text("title", step.title);
  fields.finish();
  if (verbs != 1 && !complaint) complaint = Complaint{path, "expected exactly one verb"};
  return step;
}

void read_steps(const Json* list, Scenario& scenario, Context& complaint) {
  if (complaint) return;
  if (list == nullptr || !list->is_array() || list->empty() || list->size() > kMaxSteps) {
    complaint = Complaint{{"steps"}, "expected a list of 1 to 1000 steps"};
    return;
  }
  for (std::size_t i = 0; i < list->size() && !complaint; ++i) {
    scenario.steps.push_back(read_step((*list)[i], {"steps", std::to_string(i)}, complaint));
  }
}

Scenario read_scenario(const Json& document, Context& complaint) {
  Scenario scenario;
  FieldReader fields(document, {}, complaint);
  scenario.name = fields.required_text("name");
  if (!is_safe_name(scenario.name)) {
    fields.complain("name", fmt::format("'{}': expected letters, digits, '.', '-' and '_'",
                                        scenario.name.substr(0, 60)));
  }
  scenario.description = fields.text("description", "");
  const std::string verdict = fields.text("verdict", "passed");
  if (const auto known = parse_verdict(verdict)) {
    scenario.verdict = *known;
  } else {
    fields.complain("verdict",
                    fmt::format("'{}': expected a verdict such as passed, failed, panic, "
                                "hang",
                                verdict));
  }
  scenario.because = fields.text("because", "");
  if (scenario.verdict == Verdict::kPassed && !scenario.because.empty()) {
    fields.complain("because", "expected a verdict other than passed with it");
  }
  scenario.boot_limit_s = fields.integer("bootLimit", scenario.boot_limit_s, 1, 3600);
  scenario.programs = fields.texts("programs");
  for (const std::string& program : scenario.programs) {
    if (!program.starts_with('/')) fields.complain("programs", program + ": expected a full path");
  }
  if (const Json* kubelet = fields.find("kubelet")) {
    if (kubelet->is_object()) {
      scenario.kubelet = *kubelet;
    } else {
      scenario.kubelet_file = fields.text("kubelet", "");
    }
  }
  const Json* machine = fields.find("machine");
  if (machine == nullptr) {
    fields.complain("machine", "missing");
  } else {
    scenario.machine = read_machine(*machine, {"machine"}, complaint);
  }
  read_steps(fields.find("steps"), scenario, complaint);
  fields.finish();
  return scenario;
}

/// Reads the files that a scenario names.
Result<void> load_files(Scenario& scenario, const std::filesystem::path& folder) {
  if (!scenario.kubelet_file.empty()) {
    auto text = read_file(folder / scenario.kubelet_file);
    if (!text) return fail(std::move(text).error().wrap("kubelet"));
    auto document = parse_document(*text);
    if (!document) return fail(std::move(document).error().wrap(scenario.kubelet_file.string()));
    scenario.kubelet = std::move(*document);
  }
  for (std::size_t i = 0; i < scenario.steps.size(); ++i) {
    auto* admit = std::get_if<AdmitStep>(&scenario.steps[i].action);
    if (admit == nullptr) continue;
    const std::string intent = fmt::format("steps[{}].admit.pod", i);
    if (!admit->file.empty()) {
      auto text = read_file(folder / admit->file);
      if (!text) return fail(std::move(text).error().wrap(intent));
      admit->manifest = std::move(*text);
      scenario.steps[i].title = "admit " + admit->file.filename().string();
    }
    const auto pod = parse_pod(admit->manifest);
    if (pod) {
      admit->pod = pod->name;
      admit->uid = pod->uid;
    } else if (admit->answer != AdmitStep::Answer::kError) {
      return fail(Error(pod.error()).wrap(intent));
    }
  }
  return {};
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view yaml_or_json) {
  const auto document = parse_document(yaml_or_json);
  if (!document) return fail(Error(document.error()));
  std::optional<Complaint> complaint;
  Scenario scenario = read_scenario(*document, complaint);
  if (!complaint) return scenario;
  const std::string path = to_string(complaint->path);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("line {}: {}{}{}", line_of(yaml_or_json, complaint->path), path,
                          path.empty() ? "" : ": ", complaint->text));
}

Result<Scenario> load_scenario(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (!text) return fail(std::move(text).error());
  auto scenario = parse_scenario(*text);
  const std::string intent = fmt::format("'{}'", file.string());
  if (!scenario) return fail(std::move(scenario).error().wrap(intent));
  if (auto loaded = load_files(*scenario, file.parent_path()); !loaded) {
    return fail(std::move(loaded).error().wrap(intent));
  }
  return scenario;
}

bool needs_product(const Scenario& scenario) {
  for (const Step& step : scenario.steps) {
    if (std::holds_alternative<AdmitStep>(step.action) ||
        std::holds_alternative<RemoveStep>(step.action) ||
        std::holds_alternative<VerifyStep>(step.action)) {
      return true;
    }
  }
  return false;
}

}  // namespace pinfold::harness
