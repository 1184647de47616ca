#include "pinfold/explain/remedy.hpp"

namespace pinfold {

std::string_view to_string(Remedy::Kind kind) {
  switch (kind) {
    case Remedy::Kind::kRequest:
      return "request";
    case Remedy::Kind::kMoves:
      return "moves";
    case Remedy::Kind::kResize:
      return "resize";
    case Remedy::Kind::kPods:
      return "pods";
    case Remedy::Kind::kSetting:
      return "setting";
    case Remedy::Kind::kOnline:
      return "online";
  }
  return "unknown";
}

}  // namespace pinfold
