#include "pinfold/forecast/episodes.hpp"

#include <fmt/format.h>

#include <iterator>

namespace pinfold::forecast {
namespace {

/// Names what is used up: the same in every forecast of an episode.
std::string ended_text(const Forecast& forecast) {
  if (forecast.kind == Forecast::Kind::kLimit) {
    return fmt::format("{} no longer reaches its memory limit", forecast.group);
  }
  const bool is_one = forecast.numa_nodes.size() == 1;
  return fmt::format("NUMA {} no longer {} out of memory", forecast.numa_nodes.to_string(),
                     is_one ? "runs" : "run");
}

}  // namespace

std::vector<EpisodeNews> Episodes::look(const std::vector<Forecast>& forecasts,
                                        std::chrono::nanoseconds now) {
  std::vector<EpisodeNews> news;
  for (const Forecast& forecast : forecasts) {
    const std::string text = ended_text(forecast);
    const auto found = episodes_.find(text);
    const bool is_known = found != episodes_.end();
    if (forecast.in > (is_known && found->second.is_alarm ? 2 * kAlarm : kAlarm)) continue;
    Episode& episode = is_known ? found->second : episodes_[text];
    if (!is_known) episode.since = now;
    episode.last = now;
    if (episode.is_alarm || Seconds(now - episode.since) < kConfirm) continue;
    episode.is_alarm = true;
    news.push_back({true, to_string(forecast)});
  }
  for (auto episode = episodes_.begin(); episode != episodes_.end();) {
    const auto& [text, state] = *episode;
    const bool goes_on = state.is_alarm ? Seconds(now - state.last) < kCalm : state.last == now;
    if (!goes_on && state.is_alarm) news.push_back({false, text});
    episode = goes_on ? std::next(episode) : episodes_.erase(episode);
  }
  return news;
}

}  // namespace pinfold::forecast
