#include "pinfold/types/trace.hpp"

#include <utility>

namespace pinfold {

void Trace::add(std::string_view source, std::string_view object, std::string text) {
  facts.push_back({std::string(source), std::string(object), std::move(text)});
}

}  // namespace pinfold
