#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>
#include <utility>

#include "judge/difference.hpp"
#include "steps/step_result.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {
namespace {

/// Returns the CPU slots in the order in which Linux numbers them.
std::vector<Json> in_order(const Json& slots) {
  std::vector<Json> sorted(slots.begin(), slots.end());
  const auto place = [](const Json& slot) {
    const Json props = slot.value("props", Json::object());
    return std::array{props.value("socket-id", 0), props.value("die-id", 0),
                      props.value("module-id", 0), props.value("core-id", 0),
                      props.value("thread-id", 0)};
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const Json& a, const Json& b) { return place(a) < place(b); });
  return sorted;
}

std::uint64_t total_of(const std::string& meminfo) {
  const std::size_t at = meminfo.find("MemTotal:");
  return at == std::string::npos ? 0 : std::strtoull(meminfo.c_str() + at + 9, nullptr, 10) * 1024;
}

/// Verifies the guest's machine against its expected state after plugging.
VmResult<StepResult> look_at_machine(StepContext& context) {
  PINFOLD_LET(const auto reply, context.ask({{"op", "machine"}}));
  StepResult result;
  result.machine = reply.value("machine", Json::object());
  // The kernel's topology omits CPUs that a step has taken offline.
  if (result.machine.value("online", "") == result.machine.value("present", "")) {
    const auto differences = machine_differences(context.machine, result.machine);
    result.message = fmt::format("{}", fmt::join(differences, "; "));
  }
  return concluded(std::move(result));
}

/// Reads a file of the guest repeatedly until `done` returns true.
VmResult<StepResult> wait_for(StepContext& context, const std::string& path,
                              const std::function<bool(const std::string&)>& done) {
  const Clock::time_point deadline = Clock::now() + context.time_limit;
  while (true) {
    PINFOLD_LET(const auto text, context.read_one(path));
    if (done(text)) return success();
    if (Clock::now() > deadline) {
      return failure(
          fmt::format("the guest does not accept it: '{}' is still '{}'", path, excerpt(text)));
    }
    std::this_thread::sleep_for(Milliseconds(50));
  }
}

VmResult<StepResult> plug_cpu(StepContext& context, CpuId cpu) {
  PINFOLD_LET(const auto slots,
              context.session.vm.monitor("query-hotpluggable-cpus", Json::object(), kMonitorLimit));
  const auto sorted = in_order(slots);
  const auto index = static_cast<std::size_t>(cpu.value);
  if (index >= sorted.size() || sorted[index].contains("qom-path")) {
    return failure(fmt::format("CPU {}: expected one that is absent", cpu.value));
  }
  Json device = sorted[index].value("props", Json::object());
  device["driver"] = sorted[index].value("type", "");
  device["id"] = fmt::format("cpu{}", cpu.value);
  PINFOLD_TRY(context.session.vm.monitor("device_add", std::move(device), kMonitorLimit));
  auto present = wait_for(context, "/sys/devices/system/cpu/present", [&](const std::string& list) {
    const auto cpus = CpuSet::parse(list);
    return cpus && cpus->contains(cpu);
  });
  if (!present || !present->ok) return present;
  return act(context, CpusStep{CpuSet::of(cpu), true});
}

VmResult<StepResult> plug_memory(StepContext& context, std::uint64_t bytes, int node) {
  auto online =
      act(context, WriteStep{"/sys/devices/system/memory/auto_online_blocks", "", "online", ""});
  if (!online || !online->ok) return online;
  const std::string meminfo = fmt::format("/sys/devices/system/node/node{}/meminfo", node);
  PINFOLD_LET(const auto before, context.read_one(meminfo));
  const std::string backend = fmt::format("plugged{}", context.plugged++);
  PINFOLD_TRY(context.session.vm.monitor(
      "object-add", {{"qom-type", "memory-backend-ram"}, {"id", backend}, {"size", bytes}},
      kMonitorLimit));
  PINFOLD_TRY(context.session.vm.monitor(
      "device_add",
      {{"driver", "pc-dimm"}, {"id", "dimm-" + backend}, {"memdev", backend}, {"node", node}},
      kMonitorLimit));
  return wait_for(context, meminfo, [&](const std::string& text) {
    return total_of(text) >= total_of(before) + bytes;
  });
}

}  // namespace

VmResult<StepResult> act(StepContext& context, const PlugStep& step) {
  if (step.memory > 0) {
    auto plugged = plug_memory(context, step.memory, step.node);
    if (!plugged || !plugged->ok) return plugged;
    context.machine.nodes[static_cast<std::size_t>(step.node)].memory += step.memory;
  }
  for (const CpuId cpu : step.cpus) {
    auto plugged = plug_cpu(context, cpu);
    if (!plugged || !plugged->ok) return plugged;
    context.machine.absent.erase(cpu);
  }
  return look_at_machine(context);
}

}  // namespace pinfold::harness
