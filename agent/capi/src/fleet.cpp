#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "call.hpp"
#include "pinfold/fields/json.hpp"
#include "pinfold/predict/fields.hpp"
#include "pinfold/predict/ledger.hpp"
#include "pinfold/predict/pod_query.hpp"

/// The functions of the C interface that take a fleet.

struct pinfold_fleet {
  explicit pinfold_fleet(pinfold::Fleet given) : fleet(std::move(given)), ledger(fleet) {}
  std::mutex mutex;
  pinfold::Fleet fleet;
  pinfold::Ledger ledger;
};

namespace pinfold::capi {
namespace {

std::vector<std::string> split(const char* list) {
  std::vector<std::string> parts;
  std::string_view rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

Result<Fleet> read_fleet(const char* topologies, const char* ignored_resources) {
  PINFOLD_TRY(require(topologies, "topologies"));
  PINFOLD_LET(auto nodes, parse_node_topologies(topologies));
  Fleet fleet(split(ignored_resources));
  (void)fleet.add_all(std::move(nodes));  // predictions report nodes that could not be added
  return fleet;
}

/// Runs body() while no other call uses the fleet; an error's message begins with `intent`.
template <class Body>
pinfold_code with_fleet(pinfold_fleet* fleet, const char* intent, char** error, Body&& body) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY_WRAP(require(fleet, "fleet"), intent);
    const std::lock_guard lock(fleet->mutex);
    PINFOLD_LET_WRAP(const auto code, body(), intent);
    return code;
  });
}

Result<pinfold_code> predict(const pinfold_fleet& fleet, const char* manifest, const char* scoring,
                             char** json) {
  PINFOLD_TRY(require(json, "json"));
  PINFOLD_LET(const auto read, read_manifest(manifest));
  const PodSpec& pod = read.spec;
  PINFOLD_LET_WRAP(const auto strategy,
                   parse_scoring_strategy(scoring == nullptr ? "LeastNUMANodes" : scoring),
                   "scoring");
  PodQuery query(fleet.fleet, pod);
  std::vector<Prediction> predictions;
  query.predict_all(strategy, predictions);
  const bool fits = std::any_of(predictions.begin(), predictions.end(),
                                [](const Prediction& prediction) { return prediction.admits(); });
  return set_text(json,
                  fields::to_json(predictions_of(fleet.fleet, pod, query, predictions)).dump(),
                  fits ? PINFOLD_OK : PINFOLD_REJECTED);
}

Result<pinfold_code> place_pod(pinfold_fleet& fleet, const char* manifest, const char* node_name,
                               char** error) {
  PINFOLD_TRY(require(node_name, "node_name"));
  PINFOLD_LET(const auto read, read_manifest(manifest));
  const PodSpec& pod = read.spec;
  const auto node = fleet.fleet.find(node_name);
  if (!node) return fail(ErrorCode::kNotFound, fmt::format("node '{}'", node_name));
  // A pod that moves must not compete with its own placement.
  const Ledger::Mark mark = fleet.ledger.mark();
  if (fleet.ledger.find(pod.uid) != nullptr) PINFOLD_TRY(fleet.ledger.remove(pod.uid));
  PodQuery query(fleet.fleet, pod);
  if (!query.predict(*node, ScoringStrategy::kLeastNumaNodes).admits()) {
    set_message(error, query.explain(*node));
    fleet.ledger.discard(mark);
    return PINFOLD_REJECTED;
  }
  fleet.ledger.place(pod.uid, *node, query.place(*node));
  return PINFOLD_OK;
}

}  // namespace
}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

pinfold_code pinfold_fleet_open(const char* topologies, const char* ignored_resources,
                                pinfold_fleet** fleet, char** error) {
  return guarded(error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY_WRAP(require(fleet, "fleet"), "open fleet");
    PINFOLD_LET_WRAP(auto read, read_fleet(topologies, ignored_resources), "open fleet");
    *fleet = new pinfold_fleet(std::move(read));
    return PINFOLD_OK;
  });
}

void pinfold_fleet_close(pinfold_fleet* fleet) { delete fleet; }

pinfold_code pinfold_fleet_predict(pinfold_fleet* fleet, const char* manifest, const char* scoring,
                                   char** json, char** error) {
  return with_fleet(fleet, "predict", error,
                    [&] { return predict(*fleet, manifest, scoring, json); });
}

pinfold_code pinfold_fleet_place_pod(pinfold_fleet* fleet, const char* manifest,
                                     const char* node_name, char** error) {
  return with_fleet(fleet, "place pod", error,
                    [&] { return place_pod(*fleet, manifest, node_name, error); });
}

pinfold_code pinfold_fleet_remove_pod(pinfold_fleet* fleet, const char* pod_uid, char** error) {
  return with_fleet(fleet, "remove pod", error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY(require(pod_uid, "pod_uid"));
    PINFOLD_TRY(fleet->ledger.remove(PodUid(pod_uid)));
    return PINFOLD_OK;
  });
}
