#include "pinfold/machine/machine.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold {

Result<Machine> parse_machine(std::string_view text) {
  PINFOLD_LET(const auto document, parse_document(text));
  return Machine::from_json(document);
}

}  // namespace pinfold
