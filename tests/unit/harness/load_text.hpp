#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/scenario.hpp"
#include "temp_dir.hpp"

namespace pinfold::harness {

/// Loads the scenarios of a file with this text. Next to it are pod.yaml, with a pod 'filed', and
/// `others`, each a name and a text.
inline Result<std::vector<Scenario>> load_text(
    const std::string& text, const std::vector<std::pair<std::string, std::string>>& others = {}) {
  const test::TempDir folder;
  folder.write("pod.yaml", "{metadata: {name: filed, uid: u}, spec: {containers: [{name: c}]}}");
  for (const auto& [name, content] : others) folder.write(name, content);
  folder.write("a.yaml", text);
  auto loaded = load_scenarios(folder / "a.yaml");
  if (!loaded) {  // the file name differs in each run
    std::string& message = loaded.error().message;
    message.erase(0, message.find("': ") + 3);
  }
  return loaded;
}

}  // namespace pinfold::harness
