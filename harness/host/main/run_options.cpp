#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "command.hpp"
#include "parts.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/host.hpp"
#include "pinfold/harness/image.hpp"

namespace pinfold::harness {
namespace {

/// Returns a part of the harness: from the option, else from the environment, else the installed
/// one.
std::filesystem::path part(const std::string& named, const char* variable,
                           const std::filesystem::path& installed) {
  if (!named.empty()) return named;
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
  return value != nullptr && *value != '\0' ? std::filesystem::path(value) : installed;
}

Result<void> check_exists(const std::filesystem::path& file) {
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) return {};
  return fail(ErrorCode::kNotFound, fmt::format("'{}' does not exist", file.string()));
}

GuestParts parts_of_guest(const CommonOptions& options, const GuestParts& installed) {
  return {part(options.agent, "PINFOLD_GUEST_AGENT", installed.agent),
          part(options.product, "PINFOLD_COMMAND", installed.product)};
}

/// Sets the files of the run.
Result<void> find_files_of_run(const CommonOptions& options, RunOptions& run) {
  PINFOLD_LET(run.image_script, find_image_script(options.image_script));
  PINFOLD_LET(const auto parts, find_parts());
  run.amd64 = parts_of_guest(options, parts.amd64);
  run.arm64 = parts_of_guest(options, parts.arm64);
  run.cri_client = part("", "PINFOLD_CRI_CLIENT", parts.cri_client);
  PINFOLD_TRY(check_exists(run.amd64.agent));
  if (!run.amd64.product.empty()) PINFOLD_TRY(check_exists(run.amd64.product));
  if (!run.cri_client.empty()) PINFOLD_TRY(check_exists(run.cri_client));
  return {};
}

}  // namespace

Result<std::filesystem::path> find_image_script(const std::string& named) {
  PINFOLD_LET(const auto parts, find_parts());
  const auto script = part(named, "PINFOLD_VM_IMAGES", parts.image_script);
  PINFOLD_TRY(check_exists(script));
  return script;
}

int report(const Error& error) {
  fmt::print(stderr, "pinfold-harness: {}\n", error.message);
  return kUsageError;
}

Result<RunOptions> make_run_options(const CommonOptions& options, int interrupt_fd) {
  RunOptions run;
  PINFOLD_TRY(find_files_of_run(options, run));
  PINFOLD_TRY(check_cache(cache_folder(), kCacheRoom));
  if (options.accelerator == "tcg-multi") {
    run.accelerator = Accelerator::kTcgMulti;
  } else if (options.accelerator != "tcg") {
    const KvmProbe kvm = known_kvm(cache_folder());
    if (!kvm.usable && options.accelerator == "kvm") {
      return fail(
          ErrorCode::kUnsupported,
          fmt::format("--accel kvm: {}, expected a KVM that runs guests at hardware speed; use "
                      "--accel tcg",
                      kvm.why));
    }
    if (kvm.usable) run.accelerator = Accelerator::kKvm;
    run.without_kvm = kvm.why;
  }
  run.qemu = options.qemu;
  run.use_snapshots = !options.no_snapshots;
  run.time_scale = options.time_scale;
  run.interrupt_fd = interrupt_fd;
  return run;
}

}  // namespace pinfold::harness
