#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/audit/tasks.hpp"

/// The files stat and status of a thread, with an empty line between them. A thread that is read
/// has ids and a CPU that the kernel can have, and may run somewhere.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t between = text.find("\n\n");
  if (between == std::string_view::npos) return 0;
  const std::string_view stat = text.substr(0, between + 1);
  const auto task = audit::parse_task(stat, text.substr(between + 2));
  if (!task) return 0;
  if (task->process < 0 || task->thread < 0 || task->cpu.value < 0) std::abort();
  if (task->allowed.empty() || stat.find(task->command) == std::string_view::npos) std::abort();
  return 0;
}
