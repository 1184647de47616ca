// The reader of cpu_manager_state against a plain JSON parser, for files that both accept.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "json_agreement.hpp"
#include "pinfold/checkpoint/inspect.hpp"
#include "pinfold/checkpoint/kubelet.hpp"

using pinfold::checkpoint::Kubelet;
using pinfold::checkpoint::read_cpu;
using pinfold::checkpoint::write_cpu;

namespace {

void check(std::string_view bytes, const Kubelet& kubelet) {
  const auto reading =
      read_cpu(bytes, kubelet, "static", {{"id", {pinfold::PodUid("pod"), "container"}}});
  if (!reading.reads()) return;
  if (!nlohmann::json::accept(reading.json)) std::abort();
  const auto again = read_cpu(write_cpu(reading.state, "static", kubelet), kubelet, "static", {});
  if (!again.reads() || again.state != reading.state) std::abort();
  if (kubelet.minor >= 37) return;  // may read `data` instead of what is outside
  const auto plain = pinfold::fuzz::plain_object(
      bytes, {"policyName", "defaultCpuSet", "entries", "podEntries", "checksum"});
  if (!plain) return;
  const auto set = pinfold::CpuSet::parse(plain->value("defaultCpuSet", ""));
  if (!set || *set != reading.state.default_set) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  pinfold::fuzz::check_syntax(bytes);
  const auto keys = pinfold::checkpoint::unknown_keys(bytes);
  const std::string written =
      pinfold::checkpoint::encode_cpu({}, "static", pinfold::checkpoint::CpuFormat::kV4);
  const auto carried =
      pinfold::checkpoint::unknown_keys(pinfold::checkpoint::with_keys(written, keys));
  if (carried.outside != keys.outside || carried.in_data != keys.in_data) std::abort();
  (void)pinfold::checkpoint::inspect_cpu_unchecked(bytes);
  (void)pinfold::checkpoint::describe(pinfold::checkpoint::wrong_cpu_sums(bytes));
  for (const auto& known : pinfold::checkpoint::kubelets()) check(bytes, known.kubelet);
  return 0;
}
