#pragma once

#include <string>

#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/run_options.hpp"
#include "pinfold/harness/scenario.hpp"

/// Checksums of what a scenario consists of.
namespace pinfold::harness {

/// Adds everything that a step does, including the files that it names.
void add_step_to(Fingerprint& fingerprint, const ScenarioStep& step);

/// Adds the texts that a scenario puts into its guest: configuration and files.
void add_files_to(Fingerprint& fingerprint, const Scenario& scenario);

/// Returns a checksum of everything but the machine on which a result depends: the scenario's steps
/// and files, the contents of its programs, and those of the harness. A file that cannot be read
/// counts as empty.
[[nodiscard]] std::string sum_of_inputs(const Scenario& scenario, const RunOptions& options);

}  // namespace pinfold::harness
