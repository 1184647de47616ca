#include "this_machine.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "pinfold/base/boot_id.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/sealed.hpp"
#include "pinfold/checkpoint/store.hpp"
#include "pinfold/discover/discover.hpp"

namespace pinfold::capi {
namespace {

constexpr const char* kKind = "pinfold_machine";

/// Returns what a description of the CPUs is valid for; "" if that is unknown.
std::string validity(const std::string& online) {
  const std::string& boot = boot_id();
  return boot.empty() || online.empty() ? "" : fmt::format("{}\n{}", boot, online);
}

/// Returns the kept description if it is of this boot and these CPUs.
std::optional<Machine> kept_machine(checkpoint::Fs& fs, const std::string& valid_for) {
  const auto text = fs.read(kMachineFileName);
  if (!text || !*text) return std::nullopt;
  const auto body = checkpoint::unseal(kKind, **text);
  if (!body) return std::nullopt;
  const auto json = nlohmann::json::parse(*body, nullptr, false);
  const bool is_valid = json.is_object() && json.contains("machine") &&
                        json.value("validFor", nlohmann::json()) == valid_for;
  if (!is_valid) return std::nullopt;
  auto machine = Machine::from_json(json["machine"]);
  return machine ? std::optional(*std::move(machine)) : std::nullopt;
}

/// Replaces the file without the lock of the directory: if two are written at the same time, one
/// may be torn, which its checksum shows. A failure costs the next call some time.
void keep(checkpoint::Fs& fs, const Machine& machine, const std::string& valid_for) {
  nlohmann::json json = {{"validFor", valid_for}, {"machine", machine.to_json()}};
  if (!machine.description().has_cache_info) {
    for (nlohmann::json& cpu : json["machine"]["cpus"]) cpu.erase("l3");
  }
  (void)checkpoint::replace_side_file(fs, kMachineFileName, checkpoint::seal(kKind, json.dump()));
}

}  // namespace

std::string online_cpus() { return read_file("/sys/devices/system/cpu/online").value_or(""); }

Result<std::unique_ptr<checkpoint::Fs>> open_directory_of_machine(
    const agent::AgentOptions& options, std::vector<std::string> names) {
  names.emplace_back(kMachineFileName);
  return checkpoint::open_state_directory_of(options.state_dir, names,
                                             checkpoint::owner_check(options.insecure_state_dir));
}

Result<Machine> this_machine(const agent::AgentOptions& options, const std::string& online,
                             checkpoint::Fs* directory) {
  const std::string valid_for = validity(online);
  if (directory == nullptr || valid_for.empty()) return discover(SysTree{}, "node");
  if (const auto known = kept_machine(*directory, valid_for))
    return discover_again(SysTree{}, *known);
  PINFOLD_LET(auto machine, discover(SysTree{}, "node"));
  // Contradictions in /sys cause a warning at each opening, and are not in the description.
  const bool is_kept = !options.is_query && machine.description().warnings.empty();
  if (is_kept) keep(*directory, machine, valid_for);
  return machine;
}

}  // namespace pinfold::capi
