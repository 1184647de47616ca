#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/predict/ledger.hpp"
#include "pinfold/predict/pod_query.hpp"
#include "pinfold/text/document.hpp"
#include "text.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

struct Options {
  std::vector<std::string> nodes;
  std::vector<std::string> pods;
  std::string bound;
  std::vector<std::string> ignored;
  std::string scoring = "LeastNUMANodes";
  bool cycle = false;
  OutputFormat format = OutputFormat::kText;
};

Result<Fleet> read_fleet(const Options& options) {
  Fleet fleet(options.ignored);
  for (const std::string& file : options.nodes) {
    PINFOLD_LET(auto text, read_input(file));
    PINFOLD_LET_WRAP(const auto topologies, parse_node_topologies(text), file);
    for (const NodeTopology& topology : topologies) {
      PINFOLD_TRY_WRAP(fleet.add(topology), file);
    }
  }
  return fleet;
}

/// Pods that are bound already: what is available comes from their placements then.
Result<std::vector<BoundPod>> read_bound(const Options& options, Fleet& fleet) {
  std::vector<BoundPod> bound;
  if (options.bound.empty()) return bound;
  PINFOLD_LET(auto text, read_input(options.bound));
  auto document = parse_document(text);
  if (!document) return fail(std::move(document).error().wrap(options.bound));
  if (!document->is_array()) {
    return fail(ErrorCode::kInvalidArgument, options.bound + ": expected a list of pods");
  }
  for (std::size_t i = 0; i < document->size(); ++i) {
    const json& item = (*document)[i];
    if (item.is_object() && item.contains("node") && item["node"].is_null()) continue;  // nowhere
    PINFOLD_LET_WRAP(auto pod, bound_pod_from_json(fleet, item),
                     fmt::format("{}: [{}]", options.bound, i));
    bound.push_back(std::move(pod));
  }
  reconstruct(fleet, bound);
  return bound;
}

std::string name_of(const PodSpec& pod) { return pod.namespace_name + "/" + pod.name; }

/// One pod against every node.
class Answers {
 public:
  Answers(const Fleet& fleet, const PodSpec& pod, ScoringStrategy strategy)
      : fleet_(fleet), pod_(pod), query_(fleet, pod) {
    query_.predict_all(strategy, predictions_);
    nodes_ = ranked(predictions_);
  }

  /// The best node, if any admits the pod.
  [[nodiscard]] std::optional<std::size_t> best() const {
    if (nodes_.empty() || !predictions_[nodes_.front()].admits()) return std::nullopt;
    return nodes_.front();
  }
  [[nodiscard]] const Prediction& prediction(std::size_t node) const { return predictions_[node]; }
  PodQuery& query() { return query_; }

  json as_json() { return predictions_json(fleet_, pod_, query_, predictions_); }

  std::string as_text() {
    const auto admitting =
        std::count_if(predictions_.begin(), predictions_.end(),
                      [](const Prediction& prediction) { return prediction.admits(); });
    TextTable table({{"NODE", TextTable::Align::kLeft},
                     {"OUTCOME", TextTable::Align::kLeft},
                     {"SCORE", TextTable::Align::kRight},
                     {"POLICY", TextTable::Align::kLeft},
                     {"WHERE, OR WHY NOT", TextTable::Align::kLeft}});
    for (const std::size_t node : nodes_) {
      const Prediction& prediction = predictions_[node];
      table.add({fleet_.name(node), std::string(to_string(prediction.outcome)),
                 prediction.admits() ? std::to_string(prediction.score) : "",
                 std::string(to_string(fleet_.policy(node))), query_.explain(node)});
    }
    return fmt::format("{}: {} of {} admit it\n{}", name_of(pod_), admitting,
                       counted(predictions_.size(), "node"), table.render(terminal_style(), 2));
  }

  /// Why no node admits the pod, by the first one.
  std::string why_nowhere() {
    if (nodes_.empty()) return "there is no node";
    return fmt::format("{}: {}", fleet_.name(nodes_.front()), query_.explain(nodes_.front()));
  }

 private:
  const Fleet& fleet_;
  const PodSpec& pod_;
  PodQuery query_;
  std::vector<Prediction> predictions_;
  std::vector<std::size_t> nodes_;
};

int ask_each(const Options& options, const Fleet& fleet, const std::vector<PodSpec>& pods,
             ScoringStrategy strategy) {
  int status = kYes;
  json out = json::array();
  for (const PodSpec& pod : pods) {
    Answers answers(fleet, pod, strategy);
    if (!answers.best()) status = kNo;
    if (options.format == OutputFormat::kJson) {
      out.push_back(answers.as_json());
    } else {
      fmt::print("{}", answers.as_text());
    }
  }
  if (options.format == OutputFormat::kJson) fmt::print("{}\n", out.dump(1));
  return status;
}

/// Each pod goes to its best node, where the next ones find less.
int run_cycle(const Options& options, Fleet& fleet, const std::vector<PodSpec>& pods,
              ScoringStrategy strategy) {
  Ledger ledger(fleet);
  int status = kYes;
  json placed = json::array();
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
      placed.push_back({{"uid", pod.uid.value}, {"node", nullptr}, {"why", answers.why_nowhere()}});
      continue;
    }
    table.add({name_of(pod), fleet.name(*node), std::to_string(answers.prediction(*node).score),
               answers.query().explain(*node)});
    BoundPod bound{pod.uid, *node, {answers.query().place(*node), std::nullopt}};
    placed.push_back(to_json(fleet, bound));
    ledger.place(pod.uid, *node, std::move(*bound.record.predicted));
  }
  if (options.format == OutputFormat::kJson) {
    fmt::print("{}\n", placed.dump(1));
  } else {
    fmt::print("{}", table.render(terminal_style()));
  }
  return status;
}

int run(const Options& options) {
  const auto strategy = parse_scoring_strategy(options.scoring);
  if (!strategy) return report(Error(strategy.error()).wrap("--scoring"));
  auto fleet = read_fleet(options);
  if (!fleet) return report(fleet.error());
  const auto pods = read_pods(options.pods);
  if (!pods) return report(pods.error());
  if (auto bound = read_bound(options, *fleet); !bound) return report(bound.error());
  return options.cycle ? run_cycle(options, *fleet, *pods, *strategy)
                       : ask_each(options, *fleet, *pods, *strategy);
}

}  // namespace

void add_predict(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand(
      "predict", "Tell which of many nodes would admit a pod, without asking them");
  command
      ->add_option("--nodes", options->nodes,
                   "NodeResourceTopology objects, YAML or JSON: one, a list, a stream or one a "
                   "line; - for standard input")
      ->type_name("FILE")
      ->required();
  command->add_option("--pod", options->pods, "Pods, YAML or JSON; - for standard input")
      ->type_name("FILE")
      ->required();
  command->add_flag("--cycle", options->cycle,
                    "Place the pods in order, each on its best node, and keep what it takes from "
                    "the next ones");
  command
      ->add_option("--bound", options->bound,
                   "Pods that are bound already, as 'predict --cycle -o json' prints them: what is "
                   "available is computed from them, not read from the nodes")
      ->type_name("FILE");
  command
      ->add_option("--ignore", options->ignored,
                   "A resource that the kubelets of these nodes do not align; may be repeated")
      ->type_name("RESOURCE");
  command
      ->add_option("--scoring", options->scoring,
                   "LeastNUMANodes, LeastAllocated, MostAllocated or BalancedAllocation")
      ->type_name("NAME")
      ->capture_default_str();
  add_output_option(*command, options->format);
  command->callback([options, &exit_status] { exit_status = run(*options); });
}

}  // namespace pinfold::tools
