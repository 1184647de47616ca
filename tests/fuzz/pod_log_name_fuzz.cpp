#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pinfold/agent/pod_logs.hpp"
#include "pinfold/api/pod.hpp"

/// A name that was read consists of safe parts, and is the directory's name again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto pod = pinfold::agent::parse_pod_log_name(text);
  if (!pod) return 0;
  const std::string& uid = pod->uid.value;
  const bool is_safe = pinfold::is_safe_name(pod->namespace_name) &&
                       pinfold::is_safe_name(pod->name) && pinfold::is_safe_name(uid);
  if (!is_safe || pod->namespace_name + "_" + pod->name + "_" + uid != text) std::abort();
  return 0;
}
