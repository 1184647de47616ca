#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <set>

#include "command.hpp"
#include "kernels.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/host.hpp"
#include "pinfold/harness/image.hpp"

namespace pinfold::harness {
namespace {

/// Everything that is downloaded. All other parts of a guest are made from it.
struct Downloads {
  std::set<std::pair<std::string, Arch>> kernels;
  std::set<std::string> runtimes;
  bool newer_qemu = false;
  bool libraries = false;  ///< the libraries for arm64 programs
};

Result<Downloads> downloads_of_scenarios(const Selection& selection) {
  PINFOLD_LET(const auto found, find_scenarios(selection));
  Downloads downloads;
  for (const FoundScenario& one : found) {
    const Scenario& scenario = one.scenario;
    const Platform& platform = scenario.machine.platform;
    // With a user's kernel, the guest's other programs come from the default kernel's image.
    downloads.kernels.emplace(platform.kernel == kOwnKernel ? Platform().kernel : platform.kernel,
                              platform.arch);
    downloads.newer_qemu = downloads.newer_qemu || needs_newer_qemu(scenario.machine);
    downloads.libraries =
        downloads.libraries ||
        (platform.arch == Arch::kArm64 && (needs_product(scenario) || !scenario.programs.empty()));
    if (!scenario.runtime.empty()) downloads.runtimes.insert(scenario.runtime);
  }
  return downloads;
}

/// Returns the downloads for any scenario on the selected platforms, except those with a container
/// runtime.
Result<Downloads> downloads_of_platforms(const Selection& selection) {
  PINFOLD_TRY(check_platforms(selection));
  Downloads downloads;
  downloads.newer_qemu = selection.arch != Arch::kArm64;
  downloads.libraries = selection.arch == Arch::kArm64;
  for (const char* kernel : kKernels) {
    for (const CgroupMode mode : {CgroupMode::kV2, CgroupMode::kV1, CgroupMode::kHybrid}) {
      const Platform platform = {kernel, mode, selection.arch.value_or(Arch::kAmd64)};
      if (check_platform(platform) && is_selected(platform, selection)) {
        downloads.kernels.emplace(kernel, platform.arch);
      }
    }
  }
  if (downloads.kernels.empty()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("--on {}: no such kernel or cgroup version, expected one of {}",
                            fmt::join(selection.platforms, " --on "), fmt::join(kKernels, ", ")));
  }
  return downloads;
}

void say(const std::string& name, const std::filesystem::path& place) {
  fmt::print("{:<15} {}\n", name, place.string());
  (void)std::fflush(stdout);
}

/// Prints what a selection without scenarios does not cover.
void say_what_is_left_out(const Selection& selection) {
  if (selection.arch != Arch::kArm64) {
    fmt::print("not fetched: files for arm64 guests; run `pinfold-harness fetch --arch arm64`\n");
  }
  fmt::print(
      "not fetched: container runtimes; run `pinfold-harness fetch SCENARIO`\n"
      "not fetched: tests of other projects; each file of examples/suites has the commands\n");
}

Result<void> fetch_all(const FetchArguments& arguments) {
  PINFOLD_LET(const auto script, find_image_script(arguments.image_script));
  PINFOLD_LET(const auto downloads, arguments.selection.files.empty()
                                        ? downloads_of_platforms(arguments.selection)
                                        : downloads_of_scenarios(arguments.selection));
  PINFOLD_TRY(check_cache(cache_folder(), kCacheRoom));
  for (const auto& [kernel, arch] : downloads.kernels) {
    PINFOLD_LET(const auto image, prepare_image(script, kernel, arch));
    say(arch == Arch::kAmd64 ? kernel : fmt::format("{} {}", kernel, to_string(arch)),
        image.kernel.parent_path());
  }
  if (downloads.newer_qemu) {
    PINFOLD_LET(const auto qemu, prepare_qemu(script));
    say("QEMU", qemu.parent_path());
  }
  if (downloads.libraries) {
    PINFOLD_LET(const auto folder, run_image_script({script.string(), "--libraries"}));
    say("libraries arm64", folder);
  }
  for (const std::string& runtime : downloads.runtimes) {
    PINFOLD_LET(const auto folder, prepare_runtime_image(script, runtime));
    say(runtime, folder);
  }
  if (arguments.selection.files.empty()) say_what_is_left_out(arguments.selection);
  return {};
}

}  // namespace

int fetch_downloads(const FetchArguments& arguments) {
  const auto fetched = fetch_all(arguments);
  return fetched ? kOk : report(fetched.error());
}

}  // namespace pinfold::harness
