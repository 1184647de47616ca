#include "pinfold/reconfigure/fields.hpp"

#include <array>

#include "pinfold/memory/fields.hpp"

namespace pinfold {

using fields::Fields;

std::span<const Change> enumerators(Change /*type*/) {
  static constexpr std::array kAll = {Change::kKept,
                                      Change::kMoved,
                                      Change::kBecomesExclusive,
                                      Change::kBecomesShared,
                                      Change::kKeptAgainstRules,
                                      Change::kEvicted};
  return kAll;
}

void describe(Fields& fields, PlanCost& cost) {
  fields.type("PlanCost",
              "The cost of a plan. Plans are compared in the order evictedPodCount, "
              "againstRulesPodCount, movedContainerCount, movedCpuCount, movedBytes.");
  fields.member("evictedPodCount", cost.pods_evicted, "Pods that no longer fit.");
  fields.member("againstRulesPodCount", cost.pods_against_rules,
                "Pods that stay although the new rules would reject them.");
  fields.member("movedContainerCount", cost.containers_moved, "Containers that move.");
  fields.member("movedCpuCount", cost.cpus_moved, "The sum of the containers.");
  fields.member("movedBytes", cost.bytes_moved, "The sum of the containers.");
}

void describe(Fields& fields, PlannedContainer& planned) {
  fields.member("change", planned.change, "What the plan does with it.");
  fields.member("cpusBefore", planned.cpus_before, "null: the shared pool.");
  fields.member("cpusAfter", planned.cpus_after, "null: the shared pool.");
  fields.member("memoryBefore", planned.memory_before, "Empty: any NUMA node.");
  fields.member("memoryAfter", planned.memory_after, "Empty: any NUMA node.");
  fields.member("movedCpuCount", planned.cpus_moved,
                "How many CPUs it gains, if it had CPUs before.");
  fields.member("movedBytes", planned.bytes_moved, "Bytes of the blocks that lose a NUMA node.");
  fields.member("why", planned.why, "One sentence.");
  fields.member("rejection", planned.rejection,
                "Why the new rules would reject its pod; null: they would not.");
}

void describe(Fields& fields, PlannedMove& move) {
  fields.type("PlannedMove", "A container that moves.");
  describe(fields, move.container);
  describe(fields, move.planned);
}

}  // namespace pinfold
