// Says what the parser makes of scenarios: one JSON line {"document", "error"} for each file named,
// and {"error"} for each document that comes as a JSON line over standard input. No error: null.

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/harness/scenario.hpp"
#include "pinfold/text/document.hpp"

namespace {

nlohmann::json error_of(const std::string& text) {
  const auto scenario = pinfold::harness::parse_scenario(text);
  return scenario ? nlohmann::json() : nlohmann::json(scenario.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i]);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto document = pinfold::parse_document(text);
    std::cout << nlohmann::json{{"document", document.value_or(nlohmann::json())},
                                {"error", error_of(text)}}
              << "\n";
  }
  if (argc > 1) return 0;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << nlohmann::json{{"error", error_of(line)}} << "\n";
  }
}
