#include "pinfold/harness/accelerator.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kvm.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "pinfold/base/boot_id.hpp"
#include "pinfold/harness/process.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kGuestBytes = 2U << 20;
constexpr std::uint64_t kPageMap = 0x1000;  // the level 4 table; 0x2000 and 0x3000 follow
constexpr std::uint64_t kCodeAddress = 0x8000;
constexpr std::uint16_t kDonePort = 0xe9;
constexpr std::uint8_t kDoneByte = 0x42;

// mov ecx, 10000000; again: dec ecx; jnz again; mov al, 0x42; out 0xe9, al; hlt
constexpr std::uint8_t kLoop[] = {0xb9, 0x80, 0x96, 0x98, 0x00, 0xff, 0xc9,
                                  0x75, 0xfc, 0xb0, 0x42, 0xe6, 0xe9, 0xf4};

enum ProbeStatus : int {
  kUsable = 0,
  kNotOpen = 10,
  kNoKvm = 11,
  kNoMachine = 12,
  kWrongResult = 13,
  kTooSlow = 14,
  kNoDevice = 15,
  kNoResult = 16,
};

void fill_memory(std::uint8_t* memory) {
  const auto entry = [memory](std::uint64_t address, std::uint64_t value) {
    std::memcpy(memory + address, &value, sizeof value);
  };
  entry(kPageMap, 0x2000 | 3);  // present, writable
  entry(0x2000, 0x3000 | 3);
  entry(0x3000, 0x83);  // one page of 2 MiB at address 0
  std::memcpy(memory + kCodeAddress, kLoop, sizeof kLoop);
}

/// Sets up 64-bit mode with one identity-mapped page.
bool set_registers(int vcpu) {
  kvm_sregs system{};
  if (ioctl(vcpu, KVM_GET_SREGS, &system) != 0) return false;
  system.cr3 = kPageMap;
  system.cr4 = 0x20;
  system.cr0 = 0x80050033;
  system.efer = 0x500;
  kvm_segment code{};
  code.limit = 0xffffffff;
  code.selector = 8;
  code.type = 11;
  code.present = 1;
  code.s = 1;
  code.l = 1;
  code.g = 1;
  system.cs = code;
  kvm_segment data = code;
  data.selector = 16;
  data.type = 3;
  data.l = 0;
  data.db = 1;
  system.ds = system.es = system.fs = system.gs = system.ss = data;
  if (ioctl(vcpu, KVM_SET_SREGS, &system) != 0) return false;
  kvm_regs general{};
  general.rip = kCodeAddress;
  general.rflags = 2;
  return ioctl(vcpu, KVM_SET_REGS, &general) == 0;
}

/// Runs until the guest halts. The caller's alarm ends a guest that takes too long.
bool run_to_halt(int vcpu, kvm_run& run) {
  bool done = false;
  while (ioctl(vcpu, KVM_RUN, nullptr) == 0) {
    if (run.exit_reason == KVM_EXIT_HLT) return done;
    if (run.exit_reason != KVM_EXIT_IO || run.io.port != kDonePort) return false;
    done = reinterpret_cast<const std::uint8_t*>(&run)[run.io.data_offset] == kDoneByte;
  }
  return false;
}

int run_probe(const char* device) {
  const UniqueFd kvm(open(device, O_RDWR | O_CLOEXEC));
  if (!kvm) return kNotOpen;
  if (ioctl(kvm.get(), KVM_GET_API_VERSION, 0) != KVM_API_VERSION) return kNoKvm;
  const UniqueFd machine(ioctl(kvm.get(), KVM_CREATE_VM, 0));
  const int run_size = ioctl(kvm.get(), KVM_GET_VCPU_MMAP_SIZE, 0);
  void* memory =
      mmap(nullptr, kGuestBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!machine || run_size <= 0 || memory == MAP_FAILED) return kNoMachine;
  fill_memory(static_cast<std::uint8_t*>(memory));
  kvm_userspace_memory_region region{};
  region.memory_size = kGuestBytes;
  region.userspace_addr = reinterpret_cast<std::uintptr_t>(memory);
  if (ioctl(machine.get(), KVM_SET_USER_MEMORY_REGION, &region) != 0) return kNoMachine;
  const UniqueFd vcpu(ioctl(machine.get(), KVM_CREATE_VCPU, 0));
  if (!vcpu) return kNoMachine;
  void* run = mmap(nullptr, static_cast<std::size_t>(run_size), PROT_READ | PROT_WRITE, MAP_SHARED,
                   vcpu.get(), 0);
  if (run == MAP_FAILED || !set_registers(vcpu.get())) return kNoMachine;
  return run_to_halt(vcpu.get(), *static_cast<kvm_run*>(run)) ? kUsable : kWrongResult;
}

std::string_view meaning(int status) {
  switch (status) {
    case kNoDevice:
      return "does not exist";
    case kNotOpen:
      return "this user cannot open it";
    case kNoKvm:
      return "is not a KVM device";
    case kNoMachine:
      return "cannot create a virtual machine";
    case kTooSlow:
      return "too slow: ten million iterations of a loop took more than a second";
    case kNoResult:
      return "the probe's guest gave no result";
    default:
      return "the probe's guest had a wrong result";
  }
}

}  // namespace

std::string_view to_string(Accelerator accelerator) {
  static constexpr const char* kNames[] = {"kvm", "tcg", "tcg-multi"};
  return kNames[static_cast<int>(accelerator)];
}

KvmProbe probe_kvm(const std::filesystem::path& device) {
  const auto result = [&device](int status) {
    return status == kUsable
               ? KvmProbe{true, ""}
               : KvmProbe{false, fmt::format("'{}': {}", device.string(), meaning(status))};
  };
  if (access(device.c_str(), F_OK) != 0) return result(kNoDevice);
  if (access(device.c_str(), R_OK | W_OK) != 0) return result(kNotOpen);
  // In a separate process: a vCPU that never returns must not block the caller.
  const pid_t child = fork();
  if (child < 0) return result(kNoResult);
  if (child == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(1);
    _exit(run_probe(device.c_str()));
  }
  int status = 0;
  for (int waited_ms = 0; waited_ms < 3000; waited_ms += 5) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return result(WIFSIGNALED(status) ? kTooSlow : WEXITSTATUS(status));
    (void)usleep(5000);
  }
  (void)kill(child, SIGKILL);
  (void)waitpid(child, &status, WNOHANG);
  return result(kNoResult);
}

KvmProbe known_kvm(const std::filesystem::path& folder, const std::filesystem::path& device) {
  struct stat facts {};
  const std::string& boot = boot_id();
  const bool is_usable = access(device.c_str(), R_OK | W_OK) == 0;
  // A device that is absent, or that this user cannot open, is known at once.
  if (boot.empty() || !is_usable || stat(device.c_str(), &facts) != 0) return probe_kvm(device);
  // The file has the boot id, the state of the device, and the reason why KVM cannot be used.
  const std::string state =
      fmt::format("{}\n{:x} {:x}:{:x} {}:{} {}\n", boot, facts.st_mode, major(facts.st_rdev),
                  minor(facts.st_rdev), facts.st_uid, facts.st_gid, facts.st_ctime);
  const std::filesystem::path kept = folder / "kvm-result";
  if (const auto known = read_file(kept); known && known->starts_with(state)) {
    const std::string why = known->substr(state.size());
    return {why.empty(), why};
  }
  KvmProbe probe = probe_kvm(device);
  (void)write_file(kept, state + probe.why);  // on failure it is probed again
  return probe;
}

}  // namespace pinfold::harness
