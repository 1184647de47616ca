#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "call.hpp"
#include "pinfold/predict/ledger.hpp"
#include "pinfold/predict/pod_query.hpp"

/// The functions of the C interface that take a fleet.

struct pinfold_fleet {
  explicit pinfold_fleet(pinfold::Fleet given) : fleet(std::move(given)), ledger(fleet) {}
  std::mutex one_at_a_time;
  pinfold::Fleet fleet;
  pinfold::Ledger ledger;
};

namespace pinfold::capi {
namespace {

Result<void> need(const void* pointer, const char* what) {
  if (pointer != nullptr) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is NULL", what));
}

std::vector<std::string> split(const char* list) {
  std::vector<std::string> parts;
  std::string_view rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    if (comma != 0) parts.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return parts;
}

Result<Fleet> read_fleet(const char* nodes, const char* ignored) {
  PINFOLD_TRY(need(nodes, "nodes"));
  PINFOLD_LET(const auto topologies, parse_node_topologies(nodes));
  Fleet fleet(split(ignored));
  for (const NodeTopology& topology : topologies) {
    PINFOLD_TRY(fleet.add(topology));
  }
  return fleet;
}

Result<PodSpec> read_pod(const char* pod) {
  PINFOLD_TRY(need(pod, "pod"));
  auto spec = parse_pod(pod);
  if (spec) apply_defaults(*spec);
  return spec;
}

/// Runs body() with the fleet to itself; the text of an error begins with `intent`.
template <class Body>
pinfold_code with_fleet(pinfold_fleet* fleet, const char* intent, char** error, Body&& body) {
  return call(error, [&]() -> Result<pinfold_code> {
    PINFOLD_TRY_WRAP(need(fleet, "fleet"), intent);
    const std::lock_guard lock(fleet->one_at_a_time);
    Result<pinfold_code> done = body();
    if (!done) return fail(std::move(done).error().wrap(intent));
    return done;
  });
}

Result<pinfold_code> predict(const pinfold_fleet& fleet, const char* pod, const char* scoring,
                             char** json) {
  PINFOLD_TRY(need(json, "json"));
  PINFOLD_LET(const auto spec, read_pod(pod));
  PINFOLD_LET_WRAP(const auto strategy,
                   parse_scoring_strategy(scoring == nullptr ? "LeastNUMANodes" : scoring),
                   "scoring");
  PodQuery query(fleet.fleet, spec);
  std::vector<Verdict> verdicts;
  query.ask_all(strategy, verdicts);
  char* const text = copy_text(answers_json(fleet.fleet, spec, query, verdicts).dump());
  if (text == nullptr) return PINFOLD_NO_MEMORY;
  *json = text;
  for (const Verdict& verdict : verdicts) {
    if (verdict.admits()) return PINFOLD_OK;
  }
  return PINFOLD_REJECTED;
}

Result<pinfold_code> place(pinfold_fleet& fleet, const char* pod, const char* node, char** error) {
  PINFOLD_TRY(need(node, "node"));
  PINFOLD_LET(const auto spec, read_pod(pod));
  const auto number = fleet.fleet.find(node);
  if (!number) return fail(ErrorCode::kNotFound, fmt::format("node '{}'", node));
  // Where it was does not stand in its own way.
  const Ledger::Mark mark = fleet.ledger.mark();
  if (fleet.ledger.find(spec.uid) != nullptr) (void)fleet.ledger.remove(spec.uid);
  PodQuery query(fleet.fleet, spec);
  if (!query.ask(*number, ScoringStrategy::kLeastNumaNodes).admits()) {
    if (error != nullptr) *error = copy_text(query.explain(*number));
    fleet.ledger.discard(mark);
    return PINFOLD_REJECTED;
  }
  fleet.ledger.place(spec.uid, *number, query.place(*number));
  return PINFOLD_OK;
}

}  // namespace
}  // namespace pinfold::capi

using namespace pinfold::capi;  // NOLINT(google-build-using-namespace): what follows is one use

pinfold_code pinfold_fleet_open(const char* nodes, const char* ignored, pinfold_fleet** fleet,
                                char** error) {
  return call(error, [&]() -> pinfold::Result<pinfold_code> {
    if (auto given = need(fleet, "fleet"); !given) {
      return pinfold::fail(std::move(given).error().wrap("open fleet"));
    }
    auto read = read_fleet(nodes, ignored);
    if (!read) return pinfold::fail(std::move(read).error().wrap("open fleet"));
    *fleet = new pinfold_fleet(std::move(*read));
    return PINFOLD_OK;
  });
}

void pinfold_fleet_close(pinfold_fleet* fleet) { delete fleet; }

pinfold_code pinfold_fleet_predict(pinfold_fleet* fleet, const char* pod, const char* scoring,
                                   char** json, char** error) {
  return with_fleet(fleet, "predict", error, [&] { return predict(*fleet, pod, scoring, json); });
}

pinfold_code pinfold_fleet_place(pinfold_fleet* fleet, const char* pod, const char* node,
                                 char** error) {
  return with_fleet(fleet, "place pod", error, [&] { return place(*fleet, pod, node, error); });
}

pinfold_code pinfold_fleet_remove(pinfold_fleet* fleet, const char* pod_uid, char** error) {
  return with_fleet(fleet, "remove pod", error, [&]() -> pinfold::Result<pinfold_code> {
    if (auto given = need(pod_uid, "pod_uid"); !given) {
      return pinfold::fail(std::move(given).error());
    }
    if (auto removed = fleet->ledger.remove(pod_uid); !removed) {
      return pinfold::fail(std::move(removed).error());
    }
    return PINFOLD_OK;
  });
}
