#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "model_kernel.hpp"
#include "pinfold/quiet/knob_store.hpp"

namespace pinfold::test {

/// The knobs that isolate the cgroups of a model kernel, which must outlive them; it has no others.
class GroupKnobs final : public quiet::KnobStore {
 public:
  explicit GroupKnobs(ModelKernel& kernel) : fs_(kernel.fs()) {}

  [[nodiscard]] Result<void> read(quiet::KnobKind /*kind*/,
                                  quiet::KnobValues& /*values*/) const override {
    return {};
  }
  [[nodiscard]] Result<std::string> read_one(const quiet::Knob& knob) const override {
    if (!knob.name.starts_with(kMount)) return fail(ErrorCode::kNotFound, "not a cgroup");
    PINFOLD_LET(auto value, fs_->read(group_of(knob), file_of(knob)));
    const bool is_invalid =
        knob.kind == quiet::KnobKind::kPartition && value.find(' ') != std::string::npos;
    return is_invalid ? std::string(quiet::kMemberPartition) : value;
  }
  [[nodiscard]] Result<void> write(const quiet::Knob& knob, const std::string& value) override {
    PINFOLD_TRY(fs_->write(group_of(knob), file_of(knob), value));
    PINFOLD_LET(const auto has, fs_->read(group_of(knob), file_of(knob)));
    if (has == value) return {};
    PINFOLD_TRY(fs_->write(group_of(knob), file_of(knob), quiet::kMemberPartition));
    return fail(ErrorCode::kUnsupported, "the kernel has '" + has + "'");
  }

 private:
  static constexpr std::string_view kMount = "/model/";

  static std::string group_of(const quiet::Knob& knob) { return knob.name.substr(kMount.size()); }
  static std::string file_of(const quiet::Knob& knob) {
    return knob.kind == quiet::KnobKind::kPartition ? "cpuset.cpus.partition"
                                                    : "cpuset.cpus.exclusive";
  }

  std::unique_ptr<enforce::CgroupFs> fs_;
};

}  // namespace pinfold::test
