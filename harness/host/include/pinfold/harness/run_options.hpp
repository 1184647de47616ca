#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "pinfold/harness/accelerator.hpp"
#include "pinfold/harness/platform.hpp"
#include "pinfold/harness/scenario_result.hpp"

namespace pinfold::harness {

/// Pinfold's programs for guests of an architecture.
struct GuestParts {
  std::filesystem::path agent;    ///< the guest agent's program
  std::filesystem::path product;  ///< the pinfold command; "": none
};

/// Options of a run.
struct RunOptions {
  std::filesystem::path image_script;  ///< vm-images/build
  GuestParts amd64;
  GuestParts arm64;
  std::filesystem::path cri_client;  ///< pinfold-cri; "": no scenario has a container runtime
  Accelerator accelerator = Accelerator::kTcg;
  std::string without_kvm;  ///< why KVM is not used; "": it is used, or was not tried
  std::string qemu;         ///< "": the host's QEMU, or the newer one for machines that need it
  bool use_snapshots = true;
  bool keep = false;               ///< keep the guest of a failed step, see keep_guest
  std::filesystem::path coverage;  ///< directory for gcov data of the guests; "": none
  int interrupt_fd = -1;
  double time_scale = 1;  ///< factor for all time limits
  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
  std::function<void(const StepResult&)> on_step = [](const StepResult&) {};

  [[nodiscard]] const GuestParts& parts_for(Arch arch) const {
    return arch == Arch::kArm64 ? arm64 : amd64;
  }
};

}  // namespace pinfold::harness
