#include "pinfold/decide/start_advice.hpp"

#include <fmt/format.h>

#include "known_start_errors.hpp"
#include "start_mends.hpp"

namespace pinfold {

std::optional<StartAdvice> advise_start(const Machine& machine, const Config& config,
                                        const StartError& error) {
  if (auto advice = mend_start({machine, config, error})) return advice;
  const KnownStartError* const known = find_known_start_error(error.error);
  return known == nullptr ? std::nullopt : std::optional(StartAdvice{known->cause, known->write});
}

std::string to_string(const StartAdvice& advice) {
  return advice.write.empty() ? advice.cause
                              : fmt::format("{}; write: {}", advice.cause, advice.write);
}

std::string describe_start_error(const Machine& machine, const Config& config,
                                 const StartError& error) {
  const auto advice = advise_start(machine, config, error);
  return fmt::format("start: {}: {}{}", to_string(error.stage), error.error,
                     advice ? "; " + to_string(*advice) : "");
}

}  // namespace pinfold
