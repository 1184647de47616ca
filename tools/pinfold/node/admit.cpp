#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <set>

#include "agent/agent_arguments.hpp"
#include "agent/agent_session.hpp"
#include "agent/agent_view.hpp"
#include "commands.hpp"
#include "documents.hpp"
#include "input.hpp"
#include "node/explain.hpp"
#include "pinfold/agent/enforced_layout.hpp"
#include "pinfold/agent/observed_cgroups.hpp"
#include "pinfold/api/pod.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

struct AdmitOptions {
  AgentArguments agent;
  std::vector<std::string> files;
  bool explain = false;
  bool start = false;
  bool no_validation = false;
};

/// One pod and the result of its admission.
struct Admission {
  PodSpec pod;
  agent::AdmitOutcome outcome;
  Trace trace;
  /// The pod after a dry run; nullopt: the agent has it.
  std::optional<agent::PodStatus> previewed = {};
};

/// Starts every container in order, as the kubelet does after an admission.
Result<void> start_all(AgentSession& session, Admission& admission) {
  for (const Container& container : admission.pod.containers) {
    const ContainerId id{admission.pod.uid, container.name};
    PINFOLD_LET(auto started, session.execute<agent::ChangeOutcome>(verbs::Start{id}));
    if (started.not_enforced) admission.outcome.not_enforced = started.not_enforced;
  }
  return {};
}

/// Returns an admitted pod; nullopt if it is rejected.
std::optional<agent::PodStatus> admitted_pod(const agent::NodeAgent& agent,
                                             const Admission& admission) {
  if (admission.outcome.rejection) return std::nullopt;
  return admission.previewed ? admission.previewed : agent::pod_status(agent, admission.pod.uid);
}

AdmittedPod pod_document(const agent::NodeAgent& agent, const Admission& admission, bool explain) {
  const agent::AdmitOutcome& outcome = admission.outcome;
  AdmittedPod out;
  auto view = admitted_pod(agent, admission);
  static_cast<agent::PodStatus&>(out) =
      view ? *std::move(view) : agent::pod_without_groups(agent, admission.pod);
  out.rejection = outcome.rejection;
  out.is_enforced = agent.enforces() && !outcome.not_enforced;
  out.not_enforced = outcome.not_enforced;
  out.notes = outcome.notes;
  if (explain) out.trace = admission.trace;
  return out;
}

void print_text(const agent::NodeAgent& agent, const std::vector<Admission>& admissions,
                bool explain) {
  std::vector<agent::PodStatus> admitted;
  for (const Admission& admission : admissions) {
    const auto& [pod, outcome, trace, previewed] = admission;
    const std::string name = pod.namespace_name + "/" + pod.name;
    if (outcome.rejection) {
      fmt::print("{}: rejected, {}: {}\n", name, outcome.rejection->reason,
                 escaped(outcome.rejection->message));
    } else {
      fmt::print("{}: admitted\n", name);
      if (auto view = admitted_pod(agent, admission)) admitted.push_back(*std::move(view));
    }
    for (const std::string& note : outcome.notes) fmt::print("  {}\n", escaped(note));
    if (explain) fmt::print("{}", trace_text(trace));
  }
  if (!admitted.empty())
    fmt::print("\n{}", container_table(admitted, agent.enforces(), terminal_style()));
}

/// Warns of held pods: the state directory of a kubelet can name pods that are unknown here.
void warn_of_held_pods(const agent::NodeAgent& agent, const std::vector<Admission>& admissions) {
  std::set<PodUid> held = agent.state().node.held;
  for (const Admission& admission : admissions) {  // after a dry run the agent still holds it
    if (!admission.outcome.rejection) held.erase(admission.pod.uid);
  }
  if (held.empty()) return;
  warn(fmt::format(
      "held pods, known only from the kubelet's files: {}; only their exclusive CPUs and memory "
      "are counted: admit them here too, or release them with --release-unknown",
      fmt::join(held, ", ")));
}

/// Decides all pods as admit_all() would, and stores nothing.
Result<std::vector<Admission>> preview_all(AgentSession& session, const std::vector<PodSpec>& pods,
                                           const AdmitOptions& options) {
  PINFOLD_LET(auto got, session.execute<verbs::Admissions>(
                            verbs::PreviewAdmit{pods, options.explain, options.start}));
  std::vector<Admission> admissions;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    admissions.push_back({pods[i], std::move(got.outcomes[i]),
                          options.explain ? std::move(got.traces[i]) : Trace(),
                          std::move(got.pods[i])});
  }
  return admissions;
}

/// Admits all pods in one transaction. With --start, admits and starts each pod before the next
/// one, because starting it releases the resources of its init containers.
Result<std::vector<Admission>> admit_all(AgentSession& session, const std::vector<PodSpec>& pods,
                                         const AdmitOptions& options) {
  std::vector<Admission> admissions;
  const auto admit = [&](const std::vector<PodSpec>& some) -> Result<void> {
    PINFOLD_LET(auto got, session.execute<verbs::Admissions>(verbs::Admit{some, options.explain}));
    if (got.outcomes.size() != some.size() ||
        got.traces.size() != (options.explain ? some.size() : 0)) {
      return fail(ErrorCode::kInternal, "the service's answer is for different pods");
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      admissions.push_back({some[i], std::move(got.outcomes[i]),
                            options.explain ? std::move(got.traces[i]) : Trace()});
    }
    return {};
  };
  if (!options.start) {
    PINFOLD_TRY(admit(pods));
    return admissions;
  }
  for (const PodSpec& pod : pods) {
    PINFOLD_TRY(admit({pod}));
    if (admissions.back().outcome.rejection) continue;
    PINFOLD_TRY(start_all(session, admissions.back()));
  }
  return admissions;
}

/// Prints the command that explains the rejections, with the options of this one.
void print_explaining_command(const AdmitOptions& options,
                              const std::vector<Admission>& admissions) {
  std::vector<const PodSpec*> rejected;
  for (const Admission& admission : admissions) {
    if (admission.outcome.rejection) rejected.push_back(&admission.pod);
  }
  if (rejected.empty()) return;
  std::string pod;  // "": all
  if (rejected.size() == 1 && admissions.size() > 1) {
    pod = rejected.front()->namespace_name + "/" + rejected.front()->name;
  }
  fmt::print(
      "What is missing, who holds it and what would help:\n  {}\n",
      escaped(explain_command_line(options.agent, options.files, pod, options.no_validation)));
}

/// Prints the profile if the operator did not name it.
void print_found_profile(const agent::NodeAgent& agent) {
  const agent::ProfileSource source = agent.options().profile_source;
  if (source != agent::ProfileSource::kKubelet && source != agent::ProfileSource::kStateFiles) {
    return;
  }
  fmt::print("{}\n", agent::describe_profile(agent.node().config().profile, source));
}

Result<ExitStatus> run(const AdmitOptions& options) {
  const auto reading = options.agent.dry_run ? RejectedPods::kDecide : RejectedPods::kSkip;
  PINFOLD_LET(const auto read, read_pod_files(options.files, reading));
  const std::vector<PodSpec>& pods = read.pods;
  for (const std::string& note : read.quiet_notes) warn(note);
  if (!options.no_validation) PINFOLD_TRY(validate_all(pods));
  PINFOLD_LET(auto session, AgentSession::open(options.agent));
  const agent::NodeAgent& agent = session.view();
  for (const PodSpec& pod : pods) {
    for (const std::string& sentence :
         missing_devices(agent.node().machine(), options.agent.machine, pod)) {
      warn(sentence);
    }
  }
  if (agent.enforces() && options.agent.output == OutputFormat::kText) {
    for (const std::string& warning : agent.enforced()->warnings()) warn(warning);
  }
  auto admitted = options.agent.dry_run ? preview_all(session, pods, options)
                                        : admit_all(session, pods, options);
  // Even after a failure, for earlier pods.
  PINFOLD_LET(const auto not_settled, session.checkpoint_journal());
  PINFOLD_LET(auto admissions, std::move(admitted));
  warn_of_held_pods(agent, admissions);
  const bool rejected =
      std::any_of(admissions.begin(), admissions.end(),
                  [](const Admission& admission) { return admission.outcome.rejection; });
  ExitStatus status = rejected ? kNo : kYes;
  if (options.agent.output == OutputFormat::kJson) {
    AdmitDocument document{agent::cgroups_status(agent),
                           agent.node().config().profile,
                           agent.options().profile_source,
                           !options.agent.dry_run,
                           not_settled,
                           {}};
    for (const Admission& admission : admissions) {
      document.pods.push_back(pod_document(agent, admission, options.explain));
    }
    fmt::print("{}", json_text(document));
  } else {
    print_found_profile(agent);
    print_text(agent, admissions, options.explain);
    print_dry_run(options.agent);
    print_explaining_command(options, admissions);
  }
  for (const Admission& admission : admissions) {
    if (admission.outcome.not_enforced)
      status = report_not_enforced(*admission.outcome.not_enforced);
  }
  return status;
}

}  // namespace

cli::Command admit_command() {
  auto options = std::make_shared<AdmitOptions>();
  cli::Command command{
      "admit", "Admit pods: assign CPUs and memory, store the decision and apply it to cgroups"};
  command.add(agent_arguments(options->agent));
  command.add({output_option(options->agent.output),
               dry_run_option(options->agent),
               socket_option(options->agent),
               release_unknown_option(options->agent),
               {"--explain", &options->explain, "Explain the decision"},
               {"--start", &options->start,
                "Mark all containers as started, in order, and init containers as finished"},
               no_validation_option(options->no_validation),
               {.name = "POD",
                .target = &options->files,
                .help = "Pod manifests, YAML or JSON; - for standard input",
                .required = true}});
  command.sections = {
      {"Examples",
       {{"pinfold admit --dry-run --explain pod.yaml",
         "Print which CPUs and memory a pod would get, and why"},
        {"pinfold admit pod.yaml", "Admit the pod"},
        {"kubectl get pod web -o yaml | pinfold admit -", "Admit a pod from the API server"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
