#include "pinfold/enforce/fields.hpp"

#include <limits>

namespace pinfold::enforce {
namespace {

using fields::Fields;
using fields::up_to;

constexpr pid_t kMaxPid = std::numeric_limits<pid_t>::max();

}  // namespace

void describe(Fields& fields, ForeignGroup& group) {
  fields.type("ForeignGroup", "A control group below the root that is not Pinfold's.");
  fields.member("cgroupPath", group.directory, "Absolute.");
  fields.member("cpus", group.cpus, "The CPUs that its processes use, or would use.");
  fields.member("processCount", group.processes, "Processes, with those of the groups below it.");
}

void describe(Fields& fields, Affinity& affinity) {
  fields.type("Affinity", "The CPU affinity of the processes of a container.");
  fields.member("pid", up_to(affinity.main.pid, kMaxPid), "The process that has run longest.");
  fields.member("cpus", affinity.cpus, "The CPUs that its threads together may run on.");
  fields.member("threadCount", affinity.threads, "Threads of all processes.");
  fields.member("narrowedThreadCount", affinity.narrowed,
                "How many of them may run only on part of the CPUs of their group.");
  fields.computed("note", limit_of(affinity), "What to know about it; \"\": nothing.");
}

void describe(Fields& fields, CpuQuota& quota) {
  fields.type("CpuQuota", "A CFS quota as the kernel has it.");
  std::int64_t number = quota.quota_us.value_or(-1);
  fields.member("cpuQuota", number, "Microseconds per period; -1: no limit.");
  fields.member("cpuPeriod", quota.period_us, "Microseconds.");
  if (!fields.reads()) return;
  quota.quota_us.reset();
  if (number >= 0) quota.quota_us = number;
}

void describe(Fields& fields, ProcessId& process) {
  fields.type("ProcessId", "A process.");
  fields.may_lack("pid", up_to(process.pid, kMaxPid), "As the service sees it.");
  fields.may_lack("startTime", process.start_time,
                  "Field 22 of /proc/PID/stat, in ticks, which distinguishes it from a later "
                  "process with the same id.");
}

}  // namespace pinfold::enforce
