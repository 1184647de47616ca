#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <thread>

#include "step_result.hpp"
#include "step_runner.hpp"

/// Hot-plugging: QEMU's monitor adds the hardware, the guest brings it online.
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

}  // namespace

VmResult<StepResult> StepRunner::act(const PlugStep& step) {
  if (step.memory > 0) {
    auto plugged = plug_memory(step.memory, step.node);
    if (!plugged || !plugged->ok) return plugged;
    machine_.nodes[static_cast<std::size_t>(step.node)].memory += step.memory;
  }
  for (const CpuId cpu : step.cpus) {
    auto plugged = plug_cpu(cpu);
    if (!plugged || !plugged->ok) return plugged;
    machine_.absent.erase(cpu);
  }
  return look_at_machine();
}

VmResult<StepResult> StepRunner::look_at_machine() {
  PINFOLD_LET(const auto reply, ask({{"op", "machine"}}));
  StepResult result;
  result.machine = reply.value("machine", Json::object());
  // The kernel's topology omits CPUs that a step has taken offline.
  if (result.machine.value("online", "") == result.machine.value("present", "")) {
    const auto differences = machine_differences(machine_, result.machine);
    result.message = fmt::format("{}", fmt::join(differences, "; "));
  }
  return concluded(std::move(result));
}

VmResult<StepResult> StepRunner::wait_for(const std::string& path,
                                          const std::function<bool(const std::string&)>& done) {
  const Clock::time_point deadline = Clock::now() + time_limit_;
  while (true) {
    PINFOLD_LET(const auto text, read_one(path));
    if (done(text)) return success();
    if (Clock::now() > deadline) {
      return failure(
          fmt::format("the guest does not take it: '{}' is still '{}'", path, excerpt(text)));
    }
    std::this_thread::sleep_for(Milliseconds(50));
  }
}

VmResult<StepResult> StepRunner::plug_cpu(CpuId cpu) {
  PINFOLD_LET(const auto slots,
              session_.vm.monitor("query-hotpluggable-cpus", Json::object(), kMonitorLimit));
  const auto sorted = in_order(slots);
  const auto index = static_cast<std::size_t>(cpu.value);
  if (index >= sorted.size() || sorted[index].contains("qom-path")) {
    return failure(fmt::format("CPU {}: expected one that is absent", cpu.value));
  }
  Json device = sorted[index].value("props", Json::object());
  device["driver"] = sorted[index].value("type", "");
  device["id"] = fmt::format("cpu{}", cpu.value);
  PINFOLD_TRY(session_.vm.monitor("device_add", std::move(device), kMonitorLimit));
  auto present = wait_for("/sys/devices/system/cpu/present", [&](const std::string& list) {
    const auto cpus = CpuSet::parse(list);
    return cpus && cpus->contains(cpu);
  });
  if (!present || !present->ok) return present;
  return act(CpusStep{CpuSet::of(cpu), true});
}

VmResult<StepResult> StepRunner::plug_memory(std::uint64_t bytes, int node) {
  auto online = act(WriteStep{"/sys/devices/system/memory/auto_online_blocks", "", "online", ""});
  if (!online || !online->ok) return online;
  const std::string meminfo = fmt::format("/sys/devices/system/node/node{}/meminfo", node);
  PINFOLD_LET(const auto before, read_one(meminfo));
  const std::string backend = fmt::format("plugged{}", plugged_++);
  PINFOLD_TRY(session_.vm.monitor(
      "object-add", {{"qom-type", "memory-backend-ram"}, {"id", backend}, {"size", bytes}},
      kMonitorLimit));
  PINFOLD_TRY(session_.vm.monitor(
      "device_add",
      {{"driver", "pc-dimm"}, {"id", "dimm-" + backend}, {"memdev", backend}, {"node", node}},
      kMonitorLimit));
  return wait_for(
      meminfo, [&](const std::string& text) { return total_of(text) >= total_of(before) + bytes; });
}

}  // namespace pinfold::harness
