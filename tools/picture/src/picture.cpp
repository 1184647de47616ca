#include "pinfold/picture/picture.hpp"

namespace pinfold::tools {

std::string_view to_string(CpuUse use) {
  switch (use) {
    case CpuUse::kShared:
      return "shared";
    case CpuUse::kReserved:
      return "reserved";
    case CpuUse::kOffline:
      return "offline";
    case CpuUse::kExclusive:
      break;
  }
  return "exclusive";
}

std::string overlay_label(std::size_t index) {
  constexpr std::size_t kLetters = 26;
  std::string label;
  for (std::size_t rest = index + 1; rest > 0; rest = (rest - 1) / kLetters) {
    label.insert(label.begin(), static_cast<char>('a' + (rest - 1) % kLetters));
  }
  return label;
}

std::size_t entry_of(const Overlay& overlay, CpuId cpu) {
  for (std::size_t i = 0; i < overlay.entries.size(); ++i) {
    if (overlay.entries[i].cpus.contains(cpu)) return i;
  }
  return kNoEntry;
}

}  // namespace pinfold::tools
