#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "pinfold/forecast/forecast.hpp"

namespace pinfold::forecast {

/// A forecast becomes an alarm once it has been at most kAlarm away for kConfirm. The alarm ends
/// after kCalm without a forecast that is at most twice as far away.
inline constexpr Seconds kAlarm{120};
inline constexpr Seconds kConfirm{5};
inline constexpr Seconds kCalm{30};

/// The beginning or the end of an alarm.
struct EpisodeNews {
  bool begins = true;
  std::string text;  ///< the forecast's sentence, or "NUMA 1 no longer runs out of memory"

  friend bool operator==(const EpisodeNews&, const EpisodeNews&) = default;
};

/// Turns forecasts that recur into alarms that are reported once. Pure.
class Episodes {
 public:
  /// Returns what is new. `now` never decreases.
  [[nodiscard]] std::vector<EpisodeNews> look(const std::vector<Forecast>& forecasts,
                                              std::chrono::nanoseconds now);

 private:
  struct Episode {
    std::chrono::nanoseconds since{0};  ///< the first forecast that was near enough
    std::chrono::nanoseconds last{0};
    bool is_alarm = false;
  };
  std::map<std::string, Episode> episodes_;  ///< by what runs out
};

}  // namespace pinfold::forecast
