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
  quiet::KnobValues effective;                         ///< what is in force instead of the value
  std::set<quiet::KnobKind> silent;                    ///< cannot be read
  std::vector<quiet::Knob> written;                    ///< in order
  std::set<std::pair<quiet::Knob, std::string>> ours;  ///< every value that was written
  int preparations = 0;                                ///< calls of prepare()
  int readings = 0;                                    ///< reads of all knobs of a kind
  int single_readings = 0;                             ///< reads of one knob
  int writes = 0;                                      ///< including failed ones
  bool shows_late = false;             ///< irqbalance shows what was written only after balance()
  quiet::KnobValues late;              ///< what it will show
  std::function<void()> before_write;  ///< may throw to end the process

  void balance() {
    for (const auto& [knob, value] : late) values[knob] = value;
    late.clear();
  }
};

class FakeKnobs final : public quiet::KnobStore {
 public:
  explicit FakeKnobs(KnobWorld& world) : world_(world) {}

  void prepare() const override { ++world_.preparations; }
  [[nodiscard]] Result<void> read(quiet::KnobKind kind, quiet::KnobValues& values) const override {
    ++world_.readings;
    if (world_.silent.contains(kind)) return fail(ErrorCode::kUnsupported, "no answer");
    for (const auto& [knob, value] : world_.values) {
      if (knob.kind == kind) values[knob] = value;
    }
    return {};
  }
  [[nodiscard]] Result<std::string> read_one(const quiet::Knob& knob) const override {
    ++world_.single_readings;
    const auto found = world_.values.find(knob);
    if (found == world_.values.end()) return fail(ErrorCode::kNotFound, "gone");
    return found->second;
  }
  [[nodiscard]] Result<std::string> read_effective(const quiet::Knob& knob) const override {
    const auto found = world_.effective.find(knob);
    return found == world_.effective.end() ? read_one(knob) : found->second;
  }
  [[nodiscard]] Result<void> write(const quiet::Knob& knob, const std::string& value) override {
    if (world_.before_write) world_.before_write();
    ++world_.writes;
    const auto found = world_.values.find(knob);
    if (found == world_.values.end()) return fail(ErrorCode::kNotFound, "gone");
    if (world_.fixed.contains(knob)) return fail(ErrorCode::kUnsupported, "fixed");
    const bool is_late = world_.shows_late && knob.kind == quiet::KnobKind::kIrqbalance;
    (is_late ? world_.late[knob] : found->second) = value;
    world_.ours.emplace(knob, value);
    world_.written.push_back(knob);
    return {};
  }

 private:
  KnobWorld& world_;
};

}  // namespace pinfold::test
