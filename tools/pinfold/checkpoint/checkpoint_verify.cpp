#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoint/checkpoint_files.hpp"
#include "checkpoint/checkpoint_verdicts.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/kubelet_words.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

struct VerifyOptions {
  std::vector<std::string> paths;
  std::optional<std::string> policy;  ///< nullopt or "": the policy in the file
  std::string gate = "any";
  std::string kubelet = "any";
  std::string container_ids;
  OutputFormat format = OutputFormat::kText;
};

bool is_version(const checkpoint::Kubelet& kubelet, const VerifyOptions& options) {
  return options.kubelet == "any" || minor_version(options.kubelet) == version_of(kubelet);
}

bool is_selected(const checkpoint::Kubelet& kubelet, const VerifyOptions& options) {
  const bool is_gate = options.gate == "any" || (options.gate == "on") == kubelet.pod_level_gate;
  return is_gate && is_version(kubelet, options);
}

Result<void> check_selection(const VerifyOptions& options) {
  bool has_version = false;
  for (const auto& known : checkpoint::kubelets()) {
    if (is_selected(known.kubelet, options)) return {};
    has_version = has_version || is_version(known.kubelet, options);
  }
  if (!has_version) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--kubelet '{}': expected 1.35 to 1.38 or any", options.kubelet));
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--pod-level-resource-managers {}: kubelet {} does not have this gate",
                          options.gate, options.kubelet));
}

VerifiedFile document_of(const StateFile& file, const KubeletReading& verdict,
                         const std::vector<checkpoint::WrongSum>& sums) {
  VerifiedFile document{file.path, tools::document_of(verdict), sums, std::nullopt};
  if (!verdict.state.empty()) document.state = KubeletState{json::parse(verdict.state)};
  return document;
}

/// Extracts the reason from a kubelet's message.
std::string reason(const std::string& error) {
  constexpr std::string_view kHead = "could not restore state from checkpoint: ";
  const std::size_t start = error.starts_with(kHead) ? kHead.size() : 0;
  return error.substr(start, error.rfind(", please drain this node") - start);
}

std::string answer(const KubeletReading& verdict) {
  if (verdict.starts()) return "yes";
  if (verdict.error.empty())
    return "no, it reads the file but does not start: " + in_plain_words(verdict.start_error);
  return (verdict.is_crash ? "no, it crashes: " : "no: ") + in_plain_words(reason(verdict.error));
}

Result<ExitStatus> verify(const VerifyOptions& options) {
  PINFOLD_TRY(check_selection(options));
  PINFOLD_LET(const auto files, read_files(options.paths, Keyless::kAccept));
  PINFOLD_LET(const auto ids, read_container_ids(options.container_ids));
  std::optional<std::string> policy;
  if (options.policy && !options.policy->empty()) policy = options.policy;
  ExitStatus status = kYes;
  std::vector<VerifiedFile> documents;
  for (const StateFile& file : files) {
    bool is_valid = false;
    const auto sums = wrong_sums(file);
    TextTable table({{"KUBELET", TextTable::Align::kLeft},
                     {"PodLevelResourceManagers", TextTable::Align::kLeft},
                     {"LOADS IT", TextTable::Align::kLeft}});
    for (const KubeletReading& verdict : verdicts(file, policy, ids)) {
      if (!is_selected(verdict.kubelet, options)) continue;
      is_valid = is_valid || verdict.starts();
      table.add({version_of(verdict.kubelet), verdict.kubelet.pod_level_gate ? "on" : "off",
                 answer(verdict)});
      documents.push_back(document_of(file, verdict, sums));
    }
    if (!is_valid) status = kNo;
    warn_of_unknown_keys(file);
    if (options.format == OutputFormat::kText) {
      fmt::print("{}: {}\n{}", escaped(file.path), is_valid ? "valid" : "no kubelet loads it",
                 table.render(terminal_style(), 2));
      for (const std::string& line : checkpoint::describe(sums)) fmt::print("  {}\n", line);
    }
  }
  if (options.format == OutputFormat::kJson) fmt::print("{}", json_text(documents, -1));
  return status;
}

}  // namespace

cli::Command checkpoint_verify_command() {
  auto options = std::make_shared<VerifyOptions>();
  cli::Command command{
      "verify",
      "Check which kubelets load state files; with -o json also print the state that each would "
      "have. Exit status 1 if none loads a file. Does not compare with the machine; 'repair "
      "--dry-run' does"};
  command.add({state_files_option(options->paths),
               output_option(options->format),
               container_ids_option(options->container_ids),
               {"--policy", &options->policy, "Configured policy [the policy in the file]", "NAME"},
               {.name = "--kubelet",
                .target = &options->kubelet,
                .help = "Kubelet version, 1.35 to 1.38, or any",
                .value = "VERSION",
                .suggestions = {"1.35", "1.36", "1.37", "1.38", "any"}},
               {"--pod-level-resource-managers", cli::one_of(options->gate, {"on", "off", "any"}),
                "Setting of the feature gate PodLevelResourceManagers"}});
  command.sections = {
      {"Examples",
       {{"pinfold checkpoint verify /var/lib/kubelet", "Check which kubelets load the files"},
        {"pinfold checkpoint verify --kubelet 1.36 /var/lib/kubelet/cpu_manager_state",
         "Check whether one of them does"}}}};
  command.run = [options] { return exit_status(verify(*options)); };
  return command;
}

}  // namespace pinfold::tools
