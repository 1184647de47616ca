#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {

/// The keys of objects within objects: {"status", "phase"}.
using JsonPath = std::initializer_list<std::string>;

/// Returns the value at a path; null if there is none, or if the document, which comes from a
/// guest, is not an object.
inline const Json& json_at(const Json& document, JsonPath path) {
  static const Json kNull;
  const Json* value = &document;
  for (const std::string& key : path) {
    const auto found = value->find(key);  // end() for anything but an object
    if (found == value->end()) return kNull;
    value = &*found;
  }
  return *value;
}

}  // namespace pinfold::harness
