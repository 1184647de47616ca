#include "pinfold/quiet/knob.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

namespace pinfold::quiet {
namespace {

constexpr std::size_t kBitsPerDigit = 4;

bool is_mask(KnobKind kind) {
  return kind == KnobKind::kNewInterrupts || kind == KnobKind::kReceive ||
         kind == KnobKind::kTransmit || kind == KnobKind::kWorkqueue;
}

/// Returns the value of a hexadecimal digit; nullopt for any other character.
std::optional<unsigned> digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  return std::nullopt;
}

/// Adds the CPUs of one hexadecimal digit, starting at `first`. Returns false for a CPU that no set
/// can have.
bool add_digit(unsigned digit, std::size_t first, CpuSet& cpus) {
  for (std::size_t bit = 0; bit < kBitsPerDigit; ++bit) {
    if ((digit >> bit & 1U) == 0) continue;
    if (first + bit >= static_cast<std::size_t>(CpuSet::kMaxCpus)) return false;
    cpus.insert(CpuId{static_cast<std::int32_t>(first + bit)});
  }
  return true;
}

tl::unexpected<Error> no_mask(std::string_view text) {
  constexpr std::size_t kShown = 80;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected a mask of CPUs such as '00000000,0000000f'",
                          text.substr(0, kShown)));
}

Result<CpuSet> parse_mask(std::string_view text) {
  CpuSet cpus;
  std::size_t first = 0;
  for (auto c = text.rbegin(); c != text.rend(); ++c) {
    if (*c == ',') continue;
    const auto digit = digit_of(*c);
    if (!digit || !add_digit(*digit, first, cpus)) return no_mask(text);
    first += kBitsPerDigit;
  }
  if (first == 0) return no_mask(text);
  return cpus;
}

/// Prints a mask with the digits and commas of another one.
std::string mask_like(const CpuSet& cpus, std::string_view like) {
  std::string mask(like);
  std::int32_t first = 0;
  for (auto c = mask.rbegin(); c != mask.rend(); ++c) {
    if (*c == ',') continue;
    unsigned digit = 0;
    for (std::int32_t bit = 0; bit < static_cast<std::int32_t>(kBitsPerDigit); ++bit) {
      if (cpus.contains(CpuId{first + bit})) digit |= 1U << static_cast<unsigned>(bit);
    }
    *c = "0123456789abcdef"[digit];
    first += static_cast<std::int32_t>(kBitsPerDigit);
  }
  return mask;
}

}  // namespace

std::string_view to_string(KnobKind kind) {
  switch (kind) {
    case KnobKind::kIrqbalance:
      return "irqbalance";
    case KnobKind::kNewInterrupts:
      return "new-interrupts";
    case KnobKind::kInterrupt:
      return "interrupt";
    case KnobKind::kReceive:
      return "receive-queue";
    case KnobKind::kTransmit:
      return "transmit-queue";
    case KnobKind::kWorkqueue:
      return "workqueue";
    case KnobKind::kKernelThread:
      return "kernel-thread";
    case KnobKind::kUnit:
      return "unit";
    case KnobKind::kExclusive:
      return "exclusive-cpus";
    case KnobKind::kPartition:
      break;
  }
  return "partition";
}

std::span<const KnobKind> enumerators(KnobKind /*type*/) {
  static constexpr std::array kAll = {
      KnobKind::kIrqbalance, KnobKind::kNewInterrupts, KnobKind::kInterrupt,    KnobKind::kReceive,
      KnobKind::kTransmit,   KnobKind::kWorkqueue,     KnobKind::kKernelThread, KnobKind::kUnit,
      KnobKind::kExclusive,  KnobKind::kPartition};
  return kAll;
}

bool isolates(KnobKind kind) {
  return kind == KnobKind::kExclusive || kind == KnobKind::kPartition;
}

std::string to_string(const Knob& knob) {
  const std::string_view kind = to_string(knob.kind);
  return knob.name.empty() ? std::string(kind) : fmt::format("{} '{}'", kind, knob.name);
}

Result<CpuSet> cpus_of(const Knob& knob, std::string_view value, const CpuSet& all) {
  if (is_mask(knob.kind)) return parse_mask(value);
  if (value.empty() && knob.kind == KnobKind::kUnit) return all;
  return CpuSet::parse(value);
}

std::string value_of(const Knob& knob, const CpuSet& cpus, std::string_view like) {
  return is_mask(knob.kind) ? mask_like(cpus, like) : cpus.to_string();
}

}  // namespace pinfold::quiet
