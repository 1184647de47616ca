#include "pinfold/memory/memory_drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "pinfold/text/go_text.hpp"
#include "pinfold/text/words.hpp"
#include "pinfold/types/quantity.hpp"

namespace pinfold {
namespace {

constexpr const char* kTolerance = "memory-drift-tolerance";
constexpr const char* kGate = "MemoryManagerDriftTolerance";
/// What the kernel's own allocations at boot can add to the shift of its image.
constexpr std::uint64_t kGrace = std::uint64_t{64} << 20U;
/// No kernel is as large as this; in bytes.
constexpr std::uint64_t kMostImage = std::uint64_t{1} << 40U;

struct AddressRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads "  01000000-01ffffff : Kernel code"; nullopt for any other resource.
std::optional<AddressRange> kernel_range(std::string_view line) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view name = trimmed(line.substr(colon + 1));
  if (name != "Kernel code" && name != "Kernel data" && name != "Kernel bss") return std::nullopt;
  const std::string_view range = trimmed(line.substr(0, colon));
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parse_hex(trimmed(range.substr(0, dash)));
  const auto last = parse_hex(trimmed(range.substr(dash + 1)));
  if (!first || !last || *last < *first) return std::nullopt;
  return AddressRange{*first, *last};
}

bool knows_option(const Config& config) {
  return config.profile == Profile::kFixed || config.profile == Profile::kKubelet138;
}

bool is_gate_on(const Config& config) {
  return config.set_gate(kGate, false).value_or(config.profile == Profile::kFixed);
}

tl::unexpected<Error> bad_value(const std::string& why) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("bad value for option {}: {}", go::quote(kTolerance), why));
}

Result<std::uint64_t> parse_tolerance(const std::string& value, const KernelImage& kernel) {
  if (value == "off") return 0;
  if (value == "auto") return kernel.bytes ? *kernel.bytes + kGrace : 0;
  const auto amount = Quantity::parse(value);
  if (!amount) return bad_value(amount.error().message);
  if (*amount < Quantity{}) return bad_value(fmt::format("{} is negative", go::quote(value)));
  return static_cast<std::uint64_t>(amount->value());
}

}  // namespace

std::optional<std::uint64_t> kernel_image_size(std::string_view iomem) {
  std::optional<AddressRange> image;
  while (!iomem.empty()) {
    const std::size_t end = std::min(iomem.find('\n'), iomem.size());
    const auto range = kernel_range(iomem.substr(0, end));
    iomem.remove_prefix(std::min(end + 1, iomem.size()));
    if (!range) continue;
    if (!image) image = range;
    image->first = std::min(image->first, range->first);
    image->last = std::max(image->last, range->last);
  }
  if (!image || image->last == 0 || image->last - image->first >= kMostImage) return std::nullopt;
  return image->last - image->first + 1;
}

bool needs_kernel_image(const Config& config) {
  const auto option = config.memory_manager_policy_options.find(kTolerance);
  return option != config.memory_manager_policy_options.end() && option->second == "auto";
}

Result<std::uint64_t> memory_drift_tolerance(const Config& config) {
  std::uint64_t tolerance = 0;
  if (!knows_option(config)) return tolerance;
  for (const auto& [name, value] : config.memory_manager_policy_options) {
    if (name != kTolerance) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("unknown Memory Manager Policy option: {}", go::quote(name)));
    }
    if (!is_gate_on(config)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("memory manager policy option {} requires the {} feature gate",
                              go::quote(name), kGate));
    }
    if (config.memory_manager_policy != "Static") {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("policy {} takes no Memory Manager Policy options",
                              go::quote(config.memory_manager_policy)));
    }
    PINFOLD_LET(tolerance, parse_tolerance(value, config.kernel_image));
  }
  return tolerance;
}

}  // namespace pinfold
