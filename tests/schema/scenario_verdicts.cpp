// Prints the parser's errors for scenarios: a JSON line {"document", "error"} for each file, and
// {"error"} for each document (a JSON line on standard input). The error is null if there is none.
// Usage: scenario_verdicts MACHINES_FILE [FILE...]

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/harness/read_scenarios.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/text/document.hpp"

namespace {

using pinfold::harness::Machines;

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

nlohmann::json error_of(const std::string& text, const Machines& machines) {
  const auto scenarios = pinfold::harness::parse_scenarios(text, machines);
  return scenarios ? nlohmann::json() : nlohmann::json(scenarios.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto machines = pinfold::harness::parse_machines(text_of(argv[1]));
  if (!machines) {
    std::cerr << machines.error().message << "\n";
    return 1;
  }
  for (int i = 2; i < argc; ++i) {
    const std::string text = text_of(argv[i]);
    const auto document = pinfold::parse_document(text);
    std::cout << nlohmann::json{{"document", document.value_or(nlohmann::json())},
                                {"error", error_of(text, *machines)}}
              << "\n";
  }
  if (argc > 2) return 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << nlohmann::json{{"error", error_of(line, *machines)}} << "\n";
  }
}
