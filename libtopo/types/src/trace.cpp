#include "pinfold/types/trace.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace pinfold {

void Trace::add(std::string_view source, std::string_view object, std::string text) {
  facts.push_back({std::string(source), std::string(object), std::move(text)});
}

nlohmann::json to_json(const Trace& trace) {
  nlohmann::json facts = nlohmann::json::array();
  for (const TraceFact& fact : trace.facts) {
    facts.push_back({{"source", fact.source}, {"object", fact.object}, {"text", fact.text}});
  }
  return facts;
}

}  // namespace pinfold
