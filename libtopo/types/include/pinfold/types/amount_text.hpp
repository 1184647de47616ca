#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pinfold {

/// Returns "2500Mi", "0": exactly, as manifests and configurations write it. Texts that show how
/// much there is, and are not copied, round instead.
[[nodiscard]] std::string exact_bytes(std::uint64_t bytes);

/// Returns what to write as an amount of `resource` instead of a text that Quantity::parse()
/// refuses: "expected CPUs such as 2 or 500m; did you mean 1000m?". Like expected_quantity(), which
/// does not know the resource.
[[nodiscard]] std::string expected_amount(std::string_view resource, std::string_view text);

}  // namespace pinfold
