#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "documents.hpp"
#include "input.hpp"
#include "output.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/predict/fields.hpp"
#include "pinfold/predict/ledger.hpp"
#include "pinfold/predict/pod_query.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/types/named.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

struct PredictOptions {
  std::vector<std::string> nodes;
  std::vector<std::string> pods;
  std::string bound;
  std::vector<std::string> ignored;
  std::string scoring = "LeastNUMANodes";
  bool cycle = false;
  bool no_validation = false;
  OutputFormat format = OutputFormat::kText;
};

Result<Fleet> read_fleet(const PredictOptions& options) {
  Fleet fleet(options.ignored);
  for (const std::string& file : options.nodes) {
    PINFOLD_LET(auto text, read_input(file));
    PINFOLD_LET_WRAP(auto topologies, parse_node_topologies(text), input_name(file));
    for (const std::string& warning : fleet.add_all(std::move(topologies))) {
      warn(input_name(file) + ": " + warning);
    }
  }
  if (fleet.size() == 0 && fleet.unread().empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no NodeResourceTopology in {}: expected at least one, as 'kubectl get "
                            "noderesourcetopologies -o yaml' prints them",
                            input_names(options.nodes)));
  }
  return fleet;
}

/// Subtracts the resources of pods that are already bound, if they are given.
Result<void> subtract_bound(const PredictOptions& options, Fleet& fleet) {
  if (options.bound.empty()) return {};
  std::vector<BoundPod> bound;
  PINFOLD_LET(auto text, read_input(options.bound));
  PINFOLD_LET_WRAP(const auto document, parse_document(text), input_name(options.bound));
  if (!document.is_array()) {
    return fail(ErrorCode::kInvalidArgument, options.bound + ": expected a list of pods");
  }
  for (std::size_t i = 0; i < document.size(); ++i) {
    const json& item = document[i];
    const bool is_placed = !(item.is_object() && item.contains("node") && item["node"].is_null());
    if (!is_placed) continue;
    PINFOLD_LET_WRAP(auto pod, bound_pod_from_json(fleet, item),
                     fmt::format("{}: [{}]", options.bound, i));
    bound.push_back(std::move(pod));
  }
  reconstruct(fleet, bound);
  return {};
}

void warn_of_missing_devices(const PredictOptions& options, const Fleet& fleet,
                             const std::vector<PodSpec>& pods) {
  const auto& ignored = options.ignored;
  for (const PodSpec& pod : pods) {
    for (const std::string& resource : device_resources(pod)) {
      const bool is_known = fleet.resource_id(resource).has_value() ||
                            std::find(ignored.begin(), ignored.end(), resource) != ignored.end();
      if (is_known) continue;
      warn(fmt::format("{}/{}: no node reports '{}' by NUMA node; the prediction ignores it",
                       pod.namespace_name, pod.name, resource));
    }
  }
}

std::string name_of(const PodSpec& pod) { return pod.namespace_name + "/" + pod.name; }

/// The predictions for one pod on every node.
class Answers {
 public:
  Answers(const Fleet& fleet, const PodSpec& pod, ScoringStrategy strategy)
      : fleet_(fleet), pod_(pod), query_(fleet, pod) {
    query_.predict_all(strategy, predictions_);
    nodes_ = ranked(predictions_);
  }

  /// Returns whether a node whose zones are known admits the pod.
  [[nodiscard]] bool is_admitted() const {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](std::size_t node) {
      return predictions_[node].admits() && fleet_.zone_count(node) > 0;
    });
  }
  /// Returns the best node, if any admits the pod; without zones a node admits every pod.
  [[nodiscard]] std::optional<std::size_t> best() const {
    if (nodes_.empty() || !predictions_[nodes_.front()].admits()) return std::nullopt;
    return nodes_.front();
  }
  [[nodiscard]] const Prediction& prediction(std::size_t node) const { return predictions_[node]; }
  PodQuery& query() { return query_; }

  PodPredictions document() { return predictions_of(fleet_, pod_, query_, predictions_); }

  std::string as_text() {
    TextTable table({{"NODE", TextTable::Align::kLeft},
                     {"OUTCOME", TextTable::Align::kLeft},
                     {"SCORE", TextTable::Align::kRight},
                     {"POLICY", TextTable::Align::kLeft},
                     {"WHERE, OR WHY NOT", TextTable::Align::kLeft}});
    for (const auto& [group, cells, names] : equal_answers()) {
      table.add({name_list(names), cells[0], cells[1], cells[2], cells[3]});
    }
    for (const UnreadTopology& node : fleet_.unread()) {
      table.add({node.name, "unknown", "", "", node.why});
    }
    return fmt::format("{}: {}\n{}", name_of(pod_), headline(), table.render(terminal_style(), 2));
  }

  /// Explains why no node admits the pod, with the reason of the best one.
  std::string why_nowhere() {
    if (nodes_.empty()) return "no nodes given";
    return fmt::format("{}: {}", fleet_.name(nodes_.front()), query_.explain(nodes_.front()));
  }

 private:
  using Cells = std::array<std::string, 4>;
  struct EqualAnswers {
    AnswerGroup group;
    Cells cells;  ///< outcome, score, policy, why
    std::vector<std::string> nodes;
  };

  /// Returns the rows of the table, the best first, and of those that reject, the ones with too
  /// little in total last, so that each number of the headline counts neighbouring rows. Nodes with
  /// the same answer share one.
  std::vector<EqualAnswers> equal_answers() {
    std::vector<EqualAnswers> rows;
    std::map<Cells, std::size_t> known;
    for (const std::size_t node : nodes_) {
      const Prediction& prediction = predictions_[node];
      const Cells cells = {std::string(to_string(prediction.outcome)),
                           prediction.admits() ? std::to_string(prediction.score) : "",
                           std::string(to_string(fleet_.policy(node))), query_.explain(node)};
      const auto [row, fresh] = known.emplace(cells, rows.size());
      if (fresh) rows.push_back({query_.group(node, prediction), cells, {}});
      rows[row->second].nodes.push_back(fleet_.name(node));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return a.group < AnswerGroup::kTooLittle && b.group == AnswerGroup::kTooLittle;
    });
    return rows;
  }

  /// Returns the names, cut after the second one: "a, b and 7 more".
  static std::string name_list(const std::vector<std::string>& names) {
    return some_named(names, 2);
  }

  /// How many nodes are in each group, and the nearest of those that reject.
  struct Tally {
    std::map<AnswerGroup, std::size_t> nodes;
    NearMiss nearest;
    std::string nearest_name;
  };

  Tally tally() {
    Tally tally;
    for (std::size_t node = 0; node < predictions_.size(); ++node) {
      ++tally.nodes[query_.group(node, predictions_[node])];
      if (predictions_[node].admits()) continue;
      NearMiss miss = query_.near_miss(node);
      if (!tally.nearest_name.empty() && miss.distance >= tally.nearest.distance) continue;
      tally.nearest = std::move(miss);
      tally.nearest_name = fleet_.name(node);
    }
    return tally;
  }

  /// Returns the first lines, which count the nodes.
  std::string headline() {
    Tally found = tally();
    const std::size_t aligned = found.nodes[AnswerGroup::kAligned];
    const std::size_t unaligned = found.nodes[AnswerGroup::kNotAligned];
    const std::size_t unable = found.nodes[AnswerGroup::kCannotAlign];
    const std::size_t lacking = found.nodes[AnswerGroup::kTooLittle];
    const std::size_t unpredicted = found.nodes[AnswerGroup::kNoZones];
    const std::size_t unknown = fleet_.unread().size();
    const std::size_t all = predictions_.size() + unknown;
    std::string text = fmt::format("{} of {} {} it", aligned + unaligned, counted(all, "node"),
                                   all == 1 ? "admits" : "admit");
    if (aligned + unaligned > 0) {
      text += fmt::format(" ({} aligned, {} not aligned)", aligned, unaligned);
    }
    if (unable > 0) text += fmt::format("; {} cannot align it", unable);
    if (lacking > 0) {
      text += fmt::format("; {} {} too little in total", lacking, lacking == 1 ? "has" : "have");
    }
    if (unpredicted > 0) {
      text += fmt::format("; {} {} no zones", unpredicted, unpredicted == 1 ? "reports" : "report");
    }
    if (unknown > 0) text += fmt::format("; {} unknown", unknown);
    if (!found.nearest.lacks.empty()) {
      text += fmt::format("\n  nearest miss: {}: {}", found.nearest_name, found.nearest.lacks);
    }
    return text;
  }

  const Fleet& fleet_;
  const PodSpec& pod_;
  PodQuery query_;
  std::vector<Prediction> predictions_;
  std::vector<std::size_t> nodes_;
};

ExitStatus ask_each(const PredictOptions& options, const Fleet& fleet,
                    const std::vector<PodSpec>& pods, ScoringStrategy strategy) {
  ExitStatus status = kYes;
  std::vector<PodPredictions> documents;
  for (const PodSpec& pod : pods) {
    Answers answers(fleet, pod, strategy);
    if (!answers.is_admitted()) status = kNo;
    if (options.format == OutputFormat::kJson) {
      documents.push_back(answers.document());
    } else {
      fmt::print("{}", answers.as_text());
    }
  }
  if (options.format == OutputFormat::kJson) fmt::print("{}", json_text(documents, 1));
  return status;
}

/// Places each pod on its best node and subtracts its resources there.
ExitStatus run_cycle(const PredictOptions& options, Fleet& fleet, const std::vector<PodSpec>& pods,
                     ScoringStrategy strategy) {
  Ledger ledger(fleet);
  ExitStatus status = kYes;
  std::vector<PlacedPod> placed;
  TextTable table({{"POD", TextTable::Align::kLeft},
                   {"NODE", TextTable::Align::kLeft},
                   {"SCORE", TextTable::Align::kRight},
                   {"WHERE, OR WHY NOT", TextTable::Align::kLeft}});
  for (const PodSpec& pod : pods) {
    Answers answers(fleet, pod, strategy);
    const auto node = answers.best();
    if (!node) {
      status = kNo;
      table.add({name_of(pod), "nowhere", "", answers.why_nowhere()});
      placed.push_back({ref_of(pod), {}, {}, {}, answers.why_nowhere()});
      continue;
    }
    table.add({name_of(pod), fleet.name(*node), std::to_string(answers.prediction(*node).score),
               answers.query().explain(*node)});
    Placement placement = answers.query().place(*node);
    placed.push_back({ref_of(pod), fleet.name(*node), amounts_of(fleet, *node, placement), {}, {}});
    ledger.place(pod.uid, *node, std::move(placement));
  }
  if (options.format == OutputFormat::kJson) {
    fmt::print("{}", json_text(placed, 1));
  } else {
    fmt::print("{}", table.render(terminal_style()));
  }
  return status;
}

Result<ExitStatus> run(const PredictOptions& options) {
  PINFOLD_LET_WRAP(const auto strategy, parse_scoring_strategy(options.scoring), "--scoring");
  PINFOLD_LET(auto fleet, read_fleet(options));
  PINFOLD_LET(const auto pods, read_pods(options.pods, RejectedPods::kDecide));
  if (!options.no_validation) PINFOLD_TRY(validate_all(pods));
  warn_of_missing_devices(options, fleet, pods);
  PINFOLD_TRY(subtract_bound(options, fleet));
  return options.cycle ? run_cycle(options, fleet, pods, strategy)
                       : ask_each(options, fleet, pods, strategy);
}

}  // namespace

cli::Command predict_command() {
  auto options = std::make_shared<PredictOptions>();
  cli::Command command{"predict", "Predict which nodes would admit a pod"};
  command.add(
      {{.name = "--nodes",
        .target = &options->nodes,
        .help = "NodeResourceTopology objects, YAML or JSON: one, a list, a stream or one per "
                "line; - for standard input",
        .value = "FILE",
        .required = true},
       {.name = "--pod",
        .target = &options->pods,
        .help = "Pod manifests, YAML or JSON; - for standard input",
        .value = "FILE",
        .required = true},
       {"--cycle", &options->cycle,
        "Place the pods in order, each on its best node, and subtract its resources for the next "
        "ones"},
       {"--bound", &options->bound,
        "Pods that are already bound, as 'predict --cycle -o json' prints them: available "
        "resources "
        "are computed from them, not read from the nodes",
        "FILE"},
       {"--ignore", &options->ignored,
        "Resource that the kubelets of these nodes do not align; may be repeated", "RESOURCE"},
       {.name = "--scoring",
        .target = &options->scoring,
        .help = "LeastNUMANodes, LeastAllocated, MostAllocated or BalancedAllocation",
        .value = "NAME",
        .suggestions = {"LeastNUMANodes", "LeastAllocated", "MostAllocated", "BalancedAllocation"}},
       no_validation_option(options->no_validation),
       output_option(options->format)});
  command.sections = {
      {"Examples",
       {{"pinfold predict --nodes nodes.yaml --pod pod.yaml",
         "Predict which nodes would admit a pod"},
        {"kubectl get noderesourcetopologies -o yaml | pinfold predict --nodes - --pod pod.yaml",
         "The same with the objects of a cluster"}}}};
  command.run = [options] { return exit_status(run(*options)); };
  return command;
}

}  // namespace pinfold::tools
