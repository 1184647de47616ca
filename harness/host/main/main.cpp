#include <fmt/format.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "command.hpp"
#include "pinfold/harness/image.hpp"
#include "pinfold/harness/session.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// A part of ours: named by the user, else by the environment, else where the build put it.
std::string part(const std::string& named, const char* variable, const char* built) {
  if (!named.empty()) return named;
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
  return value != nullptr && *value != '\0' ? value : built;
}

}  // namespace

int report(const Error& error) {
  fmt::print(stderr, "pinfold-harness: {}\n", error.message);
  return kBadRequest;
}

void add_common_options(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--accel", options.accelerator, "auto, kvm or tcg; auto tries how fast KVM is")
      ->check(CLI::IsMember({"auto", "kvm", "tcg"}));
  command.add_option("--agent", options.agent, "The guest agent's program");
  command.add_option("--pinfold", options.product, "The pinfold command that goes into the guest");
  command.add_option("--images", options.image_script, "The script vm-images/build");
  command.add_option("--qemu", options.qemu,
                     "QEMU's program [the host's, or a newer one where it is needed]");
  command.add_option("--time-scale", options.time_scale, "Multiplies every time limit")
      ->check(CLI::Range(0.1, 100.0));
  command.add_flag("--no-snapshots", options.no_snapshots, "Boot every machine anew");
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
  run.accelerator = options.accelerator == "auto"  ? choose_accelerator(cache_folder())
                    : options.accelerator == "kvm" ? Accelerator::kKvm
                                                   : Accelerator::kTcg;
  run.qemu = options.qemu;
  run.use_snapshots = !options.no_snapshots;
  run.time_scale = options.time_scale;
  run.interrupt_fd = interrupt_fd;
  return run;
}

void add_clean(CLI::App& app, int& exit_status) {
  CLI::App* command =
      app.add_subcommand("clean", "Remove snapshots, initramfs files and leftovers");
  auto all = std::make_shared<bool>(false);
  command->add_flag("--all", *all, "Kernels and downloaded packages as well");
  command->callback([&exit_status, all] {
    std::error_code failed;
    const fs::path cache = cache_folder();
    std::uintmax_t removed = 0;
    for (const char* folder : {"snapshots", "initramfs", "stripped"}) {
      removed += fs::remove_all(cache / folder, failed);
    }
    for (const char* folder : {"images", "debs", "apt"}) {
      if (*all) removed += fs::remove_all(cache / folder, failed);
    }
    const int swept = sweep_temporary_folders();
    fmt::print("removed {} entries of '{}' and {} folders of runs that were killed\n", removed,
               cache.string(), swept);
    exit_status = kGood;
  });
}

namespace {

int run(int argc, char** argv, int interrupt_fd) {
  CLI::App app{"Runs scenarios on virtual machines with any number of sockets and NUMA nodes."};
  app.require_subcommand(1);
  int exit_status = kGood;
  add_run(app, interrupt_fd, exit_status);
  add_demo(app, interrupt_fd, exit_status);
  add_list(app, exit_status);
  add_shell(app, interrupt_fd, exit_status);
  add_machine(app, interrupt_fd, exit_status);
  add_report(app, exit_status);
  add_clean(app, exit_status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kBadRequest;
  }
  return exit_status;
}

}  // namespace
}  // namespace pinfold::harness

int main(int argc, char** argv) {
  // Interrupts become readable input, so that every wait sees them and cleans up.
  sigset_t interrupts;
  (void)sigemptyset(&interrupts);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) (void)sigaddset(&interrupts, one);
  (void)pthread_sigmask(SIG_BLOCK, &interrupts, nullptr);
  (void)std::signal(SIGPIPE, SIG_IGN);
  const pinfold::harness::UniqueFd interrupt(signalfd(-1, &interrupts, SFD_CLOEXEC | SFD_NONBLOCK));
  try {
    return pinfold::harness::run(argc, argv, interrupt.get());
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold-harness: %s\n", error.what());
    return pinfold::harness::kBadRequest;
  }
}
