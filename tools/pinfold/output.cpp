#include "output.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace pinfold::tools {

ExitStatus report(const Error& error) {
  fmt::print(stderr, "pinfold: {}\n", error.message);
  return kBadRequest;
}

void print_warnings(const Machine& machine) {
  for (const std::string& warning : machine.description().warnings) {
    fmt::print(stderr, "pinfold: warning: {}\n", warning);
  }
}

int exit_status(const Result<ExitStatus>& outcome) {
  return outcome ? *outcome : report(outcome.error());
}

cli::Option output_option(OutputFormat& format) {
  return {"-o,--output",
          cli::one_of<OutputFormat>(format,
                                    {{"text", OutputFormat::kText}, {"json", OutputFormat::kJson}}),
          "Output format: text for people, json for programs"};
}

}  // namespace pinfold::tools
