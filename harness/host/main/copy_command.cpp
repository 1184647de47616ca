#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "pinfold/discover/discover.hpp"
#include "pinfold/discover/pci.hpp"
#include "pinfold/harness/copy_machine.hpp"
#include "pinfold/harness/machine_copy.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxXml = std::size_t{64} << 20U;

Result<Source> source_at(const std::string& place) {
  if (place == "this") return SysTree{};
  std::error_code failed;
  if (std::filesystem::is_directory(place, failed)) return SysTree{place};
  PINFOLD_LET(auto text, read_file(place, kMaxXml));
  return source_of_text(std::move(text));
}

/// Returns the devices found by hwloc, which takes a captured tree only from the environment.
Result<std::vector<SourceDevice>> devices_of(const Source& source) {
  // NOLINTBEGIN(concurrency-mt-unsafe): one thread
  for (const char* variable : {"HWLOC_FSROOT", "HWLOC_XMLFILE", "HWLOC_SYNTHETIC",
                               "HWLOC_THISSYSTEM", "HWLOC_COMPONENTS"}) {
    (void)::unsetenv(variable);
  }
  (void)::setenv("HWLOC_HIDE_ERRORS", "2", 1);
  const auto* const tree = std::get_if<SysTree>(&source);
  if (tree != nullptr && tree->root != "/") (void)::setenv("HWLOC_FSROOT", tree->root.c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
  PINFOLD_LET(const auto found, pci_devices(source));
  std::vector<SourceDevice> devices;
  devices.reserve(found.size());
  for (const PciDevice& device : found) {
    devices.push_back({device.address, device.numa_nodes, is_workload_device(device)});
  }
  return devices;
}

Result<MachineCopy> copy_of(const std::string& place, std::optional<std::uint64_t> memory) {
  PINFOLD_LET(const auto source, source_at(place));
  PINFOLD_LET(const auto machine, discover(source, place));
  SourceTraits traits;
  if (const auto* const tree = std::get_if<SysTree>(&source)) {
    traits = read_traits(tree->root, machine.all_cpus());
  }
  if (place == "this") {
    traits.page_kib = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  }
  PINFOLD_LET(traits.devices, devices_of(source));
  return copy_machine(machine, traits, memory);
}

Result<std::optional<std::uint64_t>> parse_memory(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto quantity = Quantity::parse(text);
  if (quantity && quantity->sign() > 0 && quantity->is_whole()) {
    return static_cast<std::uint64_t>(quantity->value());
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--memory: '{}': expected an amount such as 4Gi", text));
}

Result<std::string> copied_text(const MachineArguments& arguments) {
  PINFOLD_LET(const auto memory, parse_memory(arguments.memory));
  PINFOLD_LET_WRAP(const auto copy, copy_of(arguments.from, memory),
                   fmt::format("--from '{}'", arguments.from));
  if (arguments.output != "json") return copy_yaml(copy, arguments.from);
  return copy_json(copy, arguments.from)
             .dump(2, ' ', true, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace

int copy_machine_of(const MachineArguments& arguments) {
  const auto text = copied_text(arguments);
  if (!text) return report(text.error());
  fmt::print("{}", *text);
  return kOk;
}

}  // namespace pinfold::harness
