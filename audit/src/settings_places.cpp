#include "settings_places.hpp"

#include <algorithm>

namespace pinfold::audit {
namespace {

void add_once(std::string place, std::vector<std::string>& places) {
  if (std::find(places.begin(), places.end(), place) == places.end()) {
    places.push_back(std::move(place));
  }
}

}  // namespace

std::string place_of(const ObservedKubelet& kubelet, const std::string& file) {
  const bool has_own_file =
      !kubelet.settings_path.empty() && kubelet.settings_path != kubelet.config_path;
  return file.empty() && has_own_file ? kubelet.settings_path : file;
}

std::vector<std::string> settings_places(const ObservedKubelet& kubelet,
                                         const std::vector<AdviceStep>& steps) {
  std::vector<std::string> places;
  for (const AdviceStep& step : steps) {
    const bool is_config = step.file.empty() && step.kind == AdviceStep::Kind::kWrite;
    const std::string& file = is_config ? kubelet.config_path : step.file;
    add_once(place_of(kubelet, file), places);
  }
  if (!steps.empty()) return places;
  add_once(place_of(kubelet, kubelet.config_path), places);
  if (!kubelet.config) return places;
  const ConfigSources all = kubelet.config->sources.value();
  for (const auto& [field, sources] : all.of_field) {
    for (const std::string& source : sources) {
      add_once(place_of(kubelet, is_flag(source) ? "" : source), places);
    }
  }
  return places;
}

}  // namespace pinfold::audit
