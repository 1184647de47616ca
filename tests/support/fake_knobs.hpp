#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/quiet/knob_store.hpp"

namespace pinfold::test {

/// The knobs of a machine that exists only in memory. Outlives the stores that show it.
struct KnobWorld {
  quiet::KnobValues values;
  std::set<quiet::Knob> fixed;                         ///< cannot be written
  std::set<quiet::KnobKind> silent;                    ///< cannot be read
  std::vector<quiet::Knob> written;                    ///< in order
  std::set<std::pair<quiet::Knob, std::string>> ours;  ///< every value that was written
  int readings = 0;                                    ///< of all knobs of a kind
  std::function<void()> before_write;  ///< may throw, which is the end of the process
};

class FakeKnobs final : public quiet::KnobStore {
 public:
  explicit FakeKnobs(KnobWorld& world) : world_(world) {}

  [[nodiscard]] Result<void> read(quiet::KnobKind kind, quiet::KnobValues& values) const override {
    ++world_.readings;
    if (world_.silent.contains(kind)) return fail(ErrorCode::kUnsupported, "no answer");
    for (const auto& [knob, value] : world_.values) {
      if (knob.kind == kind) values[knob] = value;
    }
    return {};
  }
  [[nodiscard]] Result<std::string> read_one(const quiet::Knob& knob) const override {
    const auto found = world_.values.find(knob);
    if (found == world_.values.end()) return fail(ErrorCode::kNotFound, "gone");
    return found->second;
  }
  [[nodiscard]] Result<void> write(const quiet::Knob& knob, const std::string& value) override {
    if (world_.before_write) world_.before_write();
    const auto found = world_.values.find(knob);
    if (found == world_.values.end()) return fail(ErrorCode::kNotFound, "gone");
    if (world_.fixed.contains(knob)) return fail(ErrorCode::kUnsupported, "fixed");
    found->second = value;
    world_.ours.emplace(knob, value);
    world_.written.push_back(knob);
    return {};
  }

 private:
  KnobWorld& world_;
};

}  // namespace pinfold::test
