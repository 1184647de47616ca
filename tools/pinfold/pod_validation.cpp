#include "pod_validation.hpp"

namespace pinfold::tools {

cli::Option no_validation_option(bool& is_set) {
  return {"--no-validation", &is_set,
          "Accept pods whose resources the API server would reject, such as requests above limits"};
}

}  // namespace pinfold::tools
