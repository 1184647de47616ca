// The reader of cpu_manager_state against a plain JSON parser, for files that both accept.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "json_agreement.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"

using pinfold::checkpoint::encode_cpu;
using pinfold::checkpoint::restore_cpu;

namespace {

void check(std::string_view bytes, bool gate) {
  const auto state =
      restore_cpu(bytes, "static", gate, {{"id", {pinfold::PodUid("pod"), "container"}}});
  if (!state) {
    if (state.error().message.empty()) std::abort();
    return;
  }
  const auto again = restore_cpu(encode_cpu(**state, "static", gate), "static", gate, {});
  if (!again || *again != *state) std::abort();
  const auto plain = pinfold::fuzz::plain_object(
      bytes, {"policyName", "defaultCpuSet", "entries", "podEntries", "checksum"});
  if (!plain) return;
  const auto set = pinfold::CpuSet::parse(plain->value("defaultCpuSet", ""));
  if (!set || *set != (**state).default_set) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  pinfold::fuzz::check_syntax(bytes);
  check(bytes, false);
  check(bytes, true);
  return 0;
}
