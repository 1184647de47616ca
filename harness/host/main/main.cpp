#include <fmt/format.h>
#include <sys/signalfd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "command.hpp"
#include "pinfold/harness/host.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// A part of the harness: from the option, else from the environment, else from the build.
std::string part(const std::string& named, const char* variable, const char* built) {
  if (!named.empty()) return named;
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
  return value != nullptr && *value != '\0' ? value : built;
}

}  // namespace

int report(const Error& error) {
  fmt::print(stderr, "pinfold-harness: {}\n", error.message);
  return kUsageError;
}

Result<RunOptions> make_run_options(const CommonOptions& options, int interrupt_fd) {
  RunOptions run;
  run.agent = part(options.agent, "PINFOLD_GUEST_AGENT",
                   PINFOLD_BUILD_FOLDER "/harness/guest/pinfold-guest");
  run.image_script =
      part(options.image_script, "PINFOLD_VM_IMAGES", PINFOLD_SOURCE_FOLDER "/vm-images/build");
  for (const fs::path& needed : {run.agent, run.image_script}) {
    if (!fs::exists(needed))
      return fail(ErrorCode::kNotFound, fmt::format("'{}' does not exist", needed.string()));
  }
  const fs::path product =
      part(options.product, "PINFOLD_COMMAND", PINFOLD_BUILD_FOLDER "/tools/pinfold/pinfold");
  if (fs::exists(product)) {
    run.product = product;
  } else if (!options.product.empty()) {
    return fail(ErrorCode::kNotFound, fmt::format("'{}' does not exist", product.string()));
  }
  const fs::path client =
      part("", "PINFOLD_CRI_CLIENT", PINFOLD_BUILD_FOLDER "/harness/guest/pinfold-cri");
  if (fs::exists(client)) run.cri_client = client;
  PINFOLD_TRY(check_cache(cache_folder(), kCacheRoom));
  if (options.accelerator != "tcg") {
    const KvmProbe kvm = known_kvm(cache_folder());
    if (!kvm.usable && options.accelerator == "kvm") {
      return fail(
          ErrorCode::kUnsupported,
          fmt::format("--accel kvm: {}, expected a KVM that runs a guest at the speed of the "
                      "hardware; use --accel tcg",
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

int clean_cache(bool all) {
  std::error_code failed;
  const fs::path cache = cache_folder();
  std::uintmax_t removed = 0;
  for (const char* folder : {"snapshots", "initramfs", "stripped"}) {
    removed += fs::remove_all(cache / folder, failed);
  }
  for (const char* folder : {"images", "debs", "apt"}) {
    if (all) removed += fs::remove_all(cache / folder, failed);
  }
  const int swept = sweep_temporary_folders();
  fmt::print("removed {} entries of '{}' and {} folders of runs that were killed\n", removed,
             cache.string(), swept);
  return kOk;
}

}  // namespace pinfold::harness

int main(int argc, char** argv) {
  // Turn interrupts into readable input, so that every wait sees them and cleans up.
  sigset_t interrupts;
  (void)sigemptyset(&interrupts);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) (void)sigaddset(&interrupts, one);
  (void)pthread_sigmask(SIG_BLOCK, &interrupts, nullptr);
  (void)std::signal(SIGPIPE, SIG_IGN);
  const pinfold::UniqueFd interrupt(signalfd(-1, &interrupts, SFD_CLOEXEC | SFD_NONBLOCK));
  try {
    return pinfold::harness::run_command_line(argc, argv, interrupt.get());
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold-harness: %s\n", error.what());
    return pinfold::harness::kUsageError;
  }
}
