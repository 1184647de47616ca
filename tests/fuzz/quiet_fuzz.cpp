#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dbus_message.hpp"
#include "irqbalance.hpp"
#include "pinfold/quiet/kept_knobs.hpp"
#include "pinfold/quiet/plan_quiet.hpp"

/// What the kernel, systemd, irqbalance and the side file say about knobs. Each parser takes any
/// bytes, and a plan for any value restores it.
namespace pinfold::quiet {
namespace {

void require(bool is_true) {
  if (!is_true) std::abort();
}

void restore(const Knob& knob, const std::string& value) {
  const CpuSet online = CpuSet::range(0, 7);
  QuietCpus quiet;
  quiet.add(QuietLevel::kSystem, CpuSet{1, 2});
  const QuietPlan plan = plan_quiet({{{knob, value}}, {}, {}, {}, {quiet, online, {}}});
  require(plan.leave.size() <= 1 && plan.give_back.empty());
  if (plan.leave.empty()) return;
  const QuietPlan back =
      plan_quiet({{{knob, plan.leave[0].value}}, {}, plan.kept, quiet, {{}, online, {}}});
  require(back.give_back.size() == 1 && back.give_back[0].value == value);
}

void read_values(std::string_view text) {
  for (const KnobKind kind : enumerators(KnobKind())) {
    const Knob knob{kind, "x"};
    const auto cpus = cpus_of(knob, text, CpuSet{0, 1});
    if (!cpus) continue;
    const auto again = cpus_of(knob, value_of(knob, *cpus, text), CpuSet{0, 1});
    require(again && (*again == *cpus || kind == KnobKind::kUnit));
    restore(knob, std::string(text));
  }
}

void read_record(std::string_view text) {
  const auto kept = decode_kept(text, "boot");
  if (!kept) return;
  const auto again = decode_kept(encode_kept(*kept, "boot"), "boot");
  require(again && *again == *kept);
}

}  // namespace
}  // namespace pinfold::quiet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::quiet;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_values(text);
  read_record(text);
  (void)parse_irqbalance_setup(text);
  const auto message = dbus_size(text);
  const auto reply = parse_reply(text);
  require(!reply || (message && *message <= text.size()));
  return 0;
}
