#pragma once

#include <memory>
#include <string>

#include "pinfold/base/result.hpp"
#include "pinfold/quiet/knob.hpp"

namespace pinfold::quiet {

/// Reads and writes knobs: the only part of the module that touches the kernel or another program.
class KnobStore {
 public:
  KnobStore() = default;
  KnobStore(const KnobStore&) = delete;
  KnobStore& operator=(const KnobStore&) = delete;
  virtual ~KnobStore() = default;

  /// Opens what can stay open, so that the first container that becomes quiet does not wait for it.
  /// Keeps no value: until then it may change.
  virtual void prepare() const {}
  /// Adds all knobs of a kind with their values; none if the system does not have the kind. A knob
  /// that vanishes meanwhile is left out. Errors: kIo; kUnsupported, if another program that has
  /// them does not answer.
  [[nodiscard]] virtual Result<void> read(KnobKind kind, KnobValues& values) const = 0;
  /// Reads one knob. Errors: kNotFound; as read.
  [[nodiscard]] virtual Result<std::string> read_one(const Knob& knob) const = 0;
  /// Returns the value in effect: an interrupt goes to only a few of the CPUs that it may use.
  /// Errors: as read_one.
  [[nodiscard]] virtual Result<std::string> read_effective(const Knob& knob) const {
    return read_one(knob);
  }
  /// Writes a value. Errors: kNotFound; kUnsupported if the knob cannot have other CPUs, such as an
  /// interrupt that its driver manages; kIo.
  [[nodiscard]] virtual Result<void> write(const Knob& knob, const std::string& value) = 0;
};

/// Returns the knobs of this machine. `root`: the directory with proc/ and sys/, "" for the real
/// ones.
[[nodiscard]] std::unique_ptr<KnobStore> kernel_knobs(std::string root);

}  // namespace pinfold::quiet
