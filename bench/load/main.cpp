// Puts load on a service that this program starts. Description and results: docs/performance.md.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "load.hpp"
#include "must.hpp"
#include "pinfold/cli/run.hpp"
#include "temp_dir.hpp"

namespace pinfold::load {
namespace {

enum class Part { kAll, kLatency, kClients, kChurn, kMemory };

struct Arguments {
  LoadOptions load;
  Part only = Part::kAll;
};

cli::Command declaration(const std::shared_ptr<Arguments>& arguments) {
  constexpr int kMost = 1'000'000;
  LoadOptions& load = arguments->load;
  cli::Command command{
      "bench_load",
      "Start a pinfold service, drive it through its sockets, and print how long that takes and "
      "how much memory it needs"};
  command.add({
      {.name = "--only",
       .target = cli::one_of(arguments->only, {{"all", Part::kAll},
                                               {"latency", Part::kLatency},
                                               {"clients", Part::kClients},
                                               {"churn", Part::kChurn},
                                               {"memory", Part::kMemory}}),
       .help = "What to measure"},
      {.name = "--rounds",
       .target = cli::Integer{&load.rounds, 1, kMost},
       .help = "Latency: admissions of each kind; clients: a 20th of it"},
      {.name = "--active",
       .target = cli::Integer{&load.active, 0, 250},
       .help = "Latency: the most pods that are active; 0, 60 and 250 are measured, up to this"},
      {.name = "--pods", .target = cli::Integer{&load.pods, 1, kMost}, .help = "Churn: pods"},
      {.name = "--at-once",
       .target = cli::Integer{&load.at_once, 4, 1000},
       .help = "Churn and memory: the most pods that are active"},
      {.name = "--rate",
       .target = cli::Integer{&load.rate, 0, kMost},
       .help = "Churn and memory: pods in a second; 0: as many as possible"},
      {.name = "--duration",
       .target = cli::Integer{&load.duration_s, 1, kMost},
       .help = "Memory: seconds"},
      {.name = "--every",
       .target = cli::Integer{&load.every_s, 1, kMost},
       .help = "Memory: seconds between two samples"},
      {.name = "--limit",
       .target = cli::Integer{&load.limit_mib, 1, kMost},
       .help = "Memory: MiB that the service may need"},
      {"--svg", &load.svg, "Memory: also draw it into this file", "FILE"},
      {"--enforce", &load.enforces,
       "Use the machine as it is, and its cgroups where they can be written"},
      {"--dir", &load.directory, "Keep the files of the nodes in this directory [a temporary one]",
       "DIR"},
      {"--programs", &load.programs, "Directory of pinfold and pinfold-serve", "DIR"},
      {"--metrics-address", &load.metrics_address, "Address of the metrics of the services",
       "ADDRESS"},
      {.name = "--interval",
       .target = cli::Integer{&load.interval_s, 1, 3600},
       .help = "Seconds between two reconciliations"},
      {.name = "--seed",
       .target = cli::Integer{&load.seed, 0, kMost},
       .help = "Of all that is random"},
  });
  command.sections = {
      {"Exit status",
       {{"0", "Done"},
        {"1",
         "The service did not answer as it should, or its memory was above the limit, or in the "
         "last quarter of the run more than 1 MiB above that of the third one (medians)"}}}};
  return command;
}

std::string machine_load() {
  std::ifstream in("/proc/loadavg");
  std::string minute;
  in >> minute;
  return minute;
}

void run(const Arguments& arguments) {
  LoadOptions options = arguments.load;
  std::unique_ptr<test::TempDir> temporary;
  if (options.directory.empty()) {
    temporary = std::make_unique<test::TempDir>(std::filesystem::temp_directory_path());
    options.directory = temporary->path();
  }
  if (options.enforces) {
    try {
      remove_groups(writable_cgroup_root("try"));
    } catch (const Failure& failure) {
      fmt::print("--enforce: {}: without cgroups\n", failure.what());
      options.enforces = false;
    }
  }
  fmt::print("files below {}, {}; load of the machine {}\n", options.directory,
             options.enforces ? "with cgroups" : "without cgroups", machine_load());
  const auto wants = [&](Part part) {
    return arguments.only == part || arguments.only == Part::kAll;
  };
  if (wants(Part::kLatency)) measure_latency(options);
  if (wants(Part::kClients)) measure_clients(options);
  if (wants(Part::kChurn)) measure_churn(options);
  if (wants(Part::kMemory)) measure_memory(options);
}

}  // namespace
}  // namespace pinfold::load

int main(int argc, char** argv) {
  using namespace pinfold;
  const auto complain = [](const std::string& message) {
    (void)std::fputs(fmt::format("bench_load: {}\n", message).c_str(), stderr);
  };
  try {
    const auto arguments = std::make_shared<load::Arguments>();
    arguments->load.programs = PINFOLD_PROGRAMS;
    cli::Command program = load::declaration(arguments);
    (void)std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a run may take an hour
    program.run = [arguments] {
      load::run(*arguments);
      return EXIT_SUCCESS;
    };
    return cli::run(program, argc, argv,
                    [&](const std::string& message, bool /*is_usage*/) { complain(message); });
  } catch (const std::exception& failure) {
    complain(failure.what());
    return EXIT_FAILURE;
  }
}
