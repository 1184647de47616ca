#include "guest/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "guest/guest_files.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/host.hpp"
#include "pinfold/harness/kubelet.hpp"
#include "pinfold/harness/own_kernel.hpp"
#include "pinfold/harness/qemu_command.hpp"
#include "pinfold/harness/runtime.hpp"
#include "pinfold/harness/saved_state.hpp"
#include "pinfold/harness/slowness.hpp"
#include "pinfold/harness/snapshot.hpp"

namespace pinfold::harness {
namespace {

/// The time limit to start a container runtime and import its images.
constexpr Milliseconds kRuntimeBootLimit = std::chrono::minutes(5);

Result<std::string> choose_qemu(const VmMachine& machine, const RunOptions& options) {
  if (!options.qemu.empty()) return options.qemu;
  if (!needs_newer_qemu(machine)) return qemu_program(machine.platform.arch);
  PINFOLD_LET(auto newer, prepare_qemu(options.image_script));
  return newer.string();
}

Result<Image> image_of(const Scenario& scenario, const RunOptions& options) {
  const Platform& platform = scenario.machine.platform;
  if (platform.kernel != kOwnKernel) {
    return prepare_image(options.image_script, platform.kernel, platform.arch);
  }
  const GuestWork work = !scenario.runtime.empty() ? GuestWork::kRuntime
                         : needs_product(scenario) ? GuestWork::kPods
                                                   : GuestWork::kPlain;
  return prepare_own_kernel(options.image_script, scenario.kernel, scenario.machine, work);
}

/// Checks that the guest agent exists. For another architecture it is built only with its compiler.
Result<void> check_agent(const std::filesystem::path& agent, Arch arch) {
  std::error_code failed;
  if (std::filesystem::exists(agent, failed)) return {};
  return fail(
      ErrorCode::kNotFound,
      fmt::format("the guest agent for {}, '{}', does not exist; install the compiler for it "
                  "(package g++-aarch64-linux-gnu) and build Pinfold again",
                  to_string(arch), agent.string()));
}

Result<Launch> prepare(const Scenario& scenario, const RunOptions& options,
                       ScenarioResult& result) {
  if (!scenario.skipped.empty()) return fail(ErrorCode::kInvalidArgument, scenario.skipped);
  PINFOLD_TRY(check_kubelets(scenario));
  PINFOLD_LET(const auto memory, host_memory("/"));
  PINFOLD_TRY(check_memory(scenario.machine, memory));
  // Checked before anything is downloaded; a newer QEMU is one of the downloads.
  const bool newer = options.qemu.empty() && needs_newer_qemu(scenario.machine);
  if (!newer) {
    PINFOLD_LET(const auto qemu, choose_qemu(scenario.machine, options));
    PINFOLD_TRY(check_qemu(qemu, scenario.machine));
  }
  PINFOLD_LET(const auto image, image_of(scenario, options));
  const Arch arch = scenario.machine.platform.arch;
  PINFOLD_TRY(check_agent(options.parts_for(arch).agent, arch));
  PINFOLD_LET(auto files, guest_files(scenario, options, image));
  PINFOLD_LET(const auto qemu, choose_qemu(scenario.machine, options));
  PINFOLD_LET(const auto version, check_qemu(qemu, scenario.machine));
  Launch ready;
  ready.load = std::move(files.load);
  // KVM can only run guests of the host's architecture.
  const bool can_use_it = arch == Arch::kAmd64 || options.accelerator != Accelerator::kKvm;
  const Accelerator accelerator = can_use_it ? options.accelerator : Accelerator::kTcg;
  ready.command = qemu_command(
      scenario.machine, {qemu, image.kernel.string(), files.initramfs.string()}, accelerator);
  ready.snapshot_key = SnapshotStore::key(version, ready.command, image.version);
  result.kernel = image.version;
  if (image.unchecked) {
    result.notes.push_back(
        fmt::format("kernel '{}': its configuration was not checked, as it is neither next to the "
                    "image nor in it "
                    "(CONFIG_IKCONFIG=y)",
                    scenario.kernel.string()));
  }
  result.accelerator = to_string(accelerator);
  return ready;
}

/// Returns a limit, scaled by the options and by what this host is worth at the moment.
HostLimit host_limit(const RunOptions& options, Milliseconds usual) {
  return {scaled(options, usual), host_slowness()};
}

bool is_readable(int fd) {
  pollfd watched = {fd, POLLIN, 0};
  return poll(&watched, 1, 0) == 1;
}

void conclude(ScenarioResult& result, const VmFailure& failure, std::string_view console,
              const std::string& doing) {
  result.verdict = classify(failure.trouble, console);
  result.message = fmt::format("{}: {}", doing, failure.message);
  result.console = end_of_console(console);
}

/// Starts the scenario's container runtime, if any. Returns false if that fails; `result` has the
/// reason.
bool boot_runtime(const Scenario& scenario, const RunOptions& options, GuestSession& session,
                  ScenarioResult& result) {
  if (scenario.runtime.empty()) return true;
  const std::string doing = "starting " + scenario.runtime;
  options.on_progress(doing);
  const HostLimit limit = host_limit(options, kRuntimeBootLimit);
  const auto booted = control_runtime(session.vm, RuntimeVerb::kBoot, limit.limit());
  if (booted && booted->error.empty()) return true;
  conclude(result, booted ? VmFailure{Trouble::kHost, booted->error} : booted.error(),
           session.vm.console(), limit.explain_if_expired(doing));
  return false;
}

/// Runs a verb of kubelet.sh. Returns nullopt if that fails; `result` has the reason.
std::optional<std::string> run_kubelet_verb(const RunOptions& options, GuestSession& session,
                                            ScenarioResult& result, std::vector<std::string> verb,
                                            const std::string& doing) {
  const HostLimit limit = host_limit(options, kRuntimeBootLimit);
  auto answer = control_kubelet(session.vm, std::move(verb), limit.limit());
  if (answer && answer->error.empty()) return std::move(answer->output);
  conclude(result, answer ? VmFailure{Trouble::kHost, answer->error} : answer.error(),
           session.vm.console(), limit.explain_if_expired(doing));
  return std::nullopt;
}

/// Prepares the guest for the scenario's kubelets, if any. Returns false if that fails; `result`
/// has the reason.
bool prepare_for_kubelets(const Scenario& scenario, const RunOptions& options,
                          GuestSession& session, ScenarioResult& result) {
  if (scenario.kubelets.empty()) return true;
  options.on_progress("preparing the guest for a kubelet");
  return run_kubelet_verb(options, session, result, {"prepare"},
                          "preparing the guest for a kubelet")
      .has_value();
}

/// Makes the memory that host and guest share. It is all zero, so that snapshots do not contain it,
/// and not on a disk: QEMU reads all of it to save and restore a machine, which would take ten
/// times longer.
Result<UniqueFd> make_load_file() {
  UniqueFd file(memfd_create("load", MFD_CLOEXEC));
  if (!file || ftruncate(file.get(), kMaxLoad) != 0) {
    return fail_errno(errno, "make the memory that host and guest share");
  }
  return file;
}

bool write_all(int fd, std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count =
        pwrite(fd, bytes.data() + written, bytes.size() - written, static_cast<off_t>(written));
    if (count <= 0) return false;
    written += static_cast<std::size_t>(count);
  }
  return true;
}

/// Loads the programs into a running guest. Returns false if that fails; `result` has the reason.
bool load_programs(const Scenario& scenario, const RunOptions& options, GuestSession& session,
                   ScenarioResult& result) {
  const GuestLoad& load = *session.launch.load;
  if (load.files.empty()) return true;
  const auto give_up = [&](const VmFailure& failure) {
    conclude(result, failure, session.vm.console(), "loading the programs");
    return false;
  };
  if (!write_all(session.load_file.get(), load.bytes)) {
    return give_up({Trouble::kHost, "the memory that host and guest share cannot be written"});
  }
  Json files = Json::array();
  for (const GuestLoad::File& each : load.files) {
    files.push_back({{"path", each.path}, {"offset", each.offset}, {"bytes", each.size}});
  }
  const auto reply = session.vm.request({{"op", "load"}, {"files", std::move(files)}},
                                        ready_limit(scenario.machine, options));
  if (!reply) return give_up(reply.error());
  if (!reply->value("ok", false)) return give_up({Trouble::kHost, reply->value("error", "")});
  return true;
}

VmResult<GuestSession> start(const Launch& ready, const std::filesystem::path& snapshot,
                             int interrupt_fd) {
  auto folder = TemporaryFolder::make();
  if (!folder) return tl::unexpected(VmFailure{Trouble::kHost, folder.error().message});
  auto load = make_load_file();
  if (!load) return tl::unexpected(VmFailure{Trouble::kHost, load.error().message});
  auto command = snapshot.empty() ? ready.command : with_saved_memory(ready.command, snapshot);
  PINFOLD_LET(auto vm,
              Vm::start({std::move(command), folder->path(), snapshot, interrupt_fd, load->get()}));
  return GuestSession{std::move(*folder), std::move(*load), std::move(vm), ready};
}

/// Restores from a snapshot; nullopt if that fails, which is not fatal.
std::optional<GuestSession> restore(const Scenario& scenario, const RunOptions& options,
                                    const Launch& ready, const SnapshotStore& store,
                                    ScenarioResult& result) {
  const auto snapshot = store.find(ready.snapshot_key);
  if (!snapshot) return std::nullopt;
  auto session = restore_machine(ready, *snapshot, options.interrupt_fd,
                                 ready_limit(scenario.machine, options));
  if (session) {
    const auto same = check_guest(scenario, options, *session, result);
    if (same && *same) {
      result.restored = true;
      return std::optional<GuestSession>(std::move(*session));
    }
    if (!same) session = tl::unexpected(same.error());
  }
  if (!session && session.error().trouble == Trouble::kInterrupted) {
    conclude(result, session.error(), "", "restoring");
    return std::nullopt;
  }
  store.remove(ready.snapshot_key);
  result.notes.push_back(fmt::format("a snapshot could not be used: {}",
                                     session ? result.message : session.error().message));
  return std::nullopt;
}

/// Boots once. `never_up`: the guest never reached its init, so a retry may help.
std::optional<GuestSession> boot(const Scenario& scenario, const RunOptions& options,
                                 const Launch& ready, ScenarioResult& result, bool& never_up) {
  ++result.boots;
  never_up = false;
  auto session = start(ready, {}, options.interrupt_fd);
  if (!session) {
    conclude(result, session.error(), "", "starting QEMU");
    return std::nullopt;
  }
  const HostLimit limit = host_limit(options, std::chrono::seconds(scenario.boot_limit_s));
  if (auto hello = session->vm.wait_for_agent(limit.limit()); !hello) {
    never_up = hello.error().trouble != Trouble::kInterrupted;
    conclude(result, hello.error(), session->vm.console(),
             limit.explain("booting") + ", init was not reached");
    return std::nullopt;
  }
  auto same = check_guest(scenario, options, *session, result);
  if (!same)
    conclude(result, same.error(), session->vm.console(), "asking the guest for its machine");
  // The kubelet's file systems are mounted before the runtime uses them.
  if (!same || !*same || !prepare_for_kubelets(scenario, options, *session, result) ||
      !check_kubelet_versions(scenario, options, *session, result) ||
      !boot_runtime(scenario, options, *session, result)) {
    return std::nullopt;
  }
  return std::optional<GuestSession>(std::move(*session));
}

}  // namespace

Milliseconds ready_limit(const VmMachine& machine, const RunOptions& options) {
  return scaled(options, Milliseconds(20000 + 500 * machine.cpu_count()));
}

VmResult<bool> check_guest(const Scenario& scenario, const RunOptions& options,
                           GuestSession& session, ScenarioResult& result) {
  PINFOLD_LET(auto reply,
              session.vm.request({{"op", "machine"}}, ready_limit(scenario.machine, options)));
  result.guest = reply.value("machine", Json::object());
  const auto differences = machine_differences(scenario.machine, result.guest);
  if (!differences.empty()) {
    result.verdict = Verdict::kWrongMachine;
    result.message = fmt::format("the guest's machine differs from the description: {}",
                                 fmt::join(differences, "; "));
    result.console = end_of_console(session.vm.console());
    return false;
  }
  return true;
}

bool check_kubelet_versions(const Scenario& scenario, const RunOptions& options,
                            GuestSession& session, ScenarioResult& result) {
  for (const auto& kubelet : scenario.kubelets) {
    const auto printed = run_kubelet_verb(
        options, session, result, {"version", kubelet_in_guest(scenario.kubelets, kubelet)},
        fmt::format("running kubelet '{}' in the guest", kubelet.string()));
    if (!printed) return false;
    auto note = check_kubelet_version(kubelet, *printed);
    if (!note) {
      result.verdict = Verdict::kHarnessError;
      result.message = note.error().message;
      return false;
    }
    if (!note->empty()) result.notes.push_back(std::move(*note));
  }
  return true;
}

VmResult<GuestSession> restore_machine(const Launch& launch, const std::filesystem::path& snapshot,
                                       int interrupt_fd, Milliseconds limit) {
  PINFOLD_LET(auto session, start(launch, snapshot, interrupt_fd));
  PINFOLD_TRY(resume(session.vm, limit));
  return session;
}

std::optional<Launch> prepare_launch(const Scenario& scenario, const RunOptions& options,
                                     ScenarioResult& result) {
  options.on_progress("preparing kernel and initramfs");
  auto ready = prepare(scenario, options, result);
  if (ready) return std::move(*ready);
  // Ctrl-C in a terminal also ends the programs that prepare the machine.
  const bool interrupted = is_readable(options.interrupt_fd);
  result.verdict = interrupted ? Verdict::kInterrupted : Verdict::kHarnessError;
  result.message = interrupted ? "preparing: interrupted" : ready.error().message;
  return std::nullopt;
}

std::optional<GuestSession> open_launch(const Scenario& scenario, const RunOptions& options,
                                        const Launch& ready, ScenarioResult& result) {
  const SnapshotStore store(cache_folder() / "snapshots");
  std::optional<GuestSession> session;
  UniqueFd lock;
  if (options.use_snapshots) {
    lock = store.lock(ready.snapshot_key, options.interrupt_fd);
    session = restore(scenario, options, ready, store, result);
    if (!session && result.verdict == Verdict::kInterrupted) return std::nullopt;
  }
  bool never_up = true;
  for (int attempt = 0; !session && never_up && attempt < 2; ++attempt) {
    if (attempt > 0) result.notes.push_back("booted a second time: " + result.message);
    options.on_progress(fmt::format(
        "booting {} CPUs, {} NUMA nodes, kernel {}, {}{}", scenario.machine.cpu_count(),
        scenario.machine.nodes.size(), result.kernel, result.accelerator,
        options.without_kvm.empty() ? "" : fmt::format(" (without KVM: {})", options.without_kvm)));
    session = boot(scenario, options, ready, result, never_up);
  }
  if (session && result.restored && !check_kubelet_versions(scenario, options, *session, result)) {
    return std::nullopt;
  }
  if (session && !result.restored && options.use_snapshots) {
    const auto saved = store.save(ready.snapshot_key, session->vm);
    if (!saved) {
      conclude(result, saved.error(), session->vm.console(), "saving a snapshot");
      return std::nullopt;
    }
  }
  if (session && !load_programs(scenario, options, *session, result)) return std::nullopt;
  if (session) result.message.clear();
  return session;
}

}  // namespace pinfold::harness
