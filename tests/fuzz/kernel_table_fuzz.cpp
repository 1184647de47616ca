#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "table.hpp"

/// The kernel's table of cpusets. The text of a row that is parsed gives the same row again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const std::string_view script(reinterpret_cast<const char*>(data), size);
  const auto rows = test::parse_table(script);
  if (!rows) {
    if (rows.error().code != ErrorCode::kInvalidArgument) std::abort();
    return 0;
  }
  for (const test::TableRow& row : *rows) {
    const auto again = test::parse_row(row.text, row.kind);
    if (!again || again->before != row.before || again->after != row.after) std::abort();
    if (again->effective != row.effective || again->states != row.states) std::abort();
    if (again->exclusive != row.exclusive || again->isolated != row.isolated) std::abort();
    const std::size_t groups = test::table_groups(row.kind).size();
    const std::size_t top = row.kind == test::TableKind::kInPartition ? 1 : 0;
    if (row.before.size() != groups + top || row.after.size() != groups) std::abort();
  }
  return 0;
}
