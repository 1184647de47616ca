// The reader of memory_manager_state against a plain JSON parser, for files that both accept.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "json_agreement.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"

using pinfold::checkpoint::encode_memory;
using pinfold::checkpoint::restore_memory;

namespace {

void check(std::string_view bytes, bool gate) {
  const auto state = restore_memory(bytes, "Static", gate);
  if (!state) {
    if (state.error().message.empty()) std::abort();
    return;
  }
  const auto again = restore_memory(encode_memory(**state, "Static", gate), "Static", gate);
  if (!again || *again != *state) std::abort();
  const auto plain = pinfold::fuzz::plain_object(
      bytes, {"policyName", "machineState", "entries", "podEntries", "checksum"});
  if (!plain || !plain->contains("entries") || plain->at("entries").is_null()) return;
  if (plain->at("entries").size() != (**state).assignments.by_pod().size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  pinfold::fuzz::check_syntax(bytes);
  check(bytes, false);
  check(bytes, true);
  return 0;
}
