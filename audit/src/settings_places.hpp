#pragma once

#include <string>
#include <vector>

#include "pinfold/audit/observed.hpp"
#include "pinfold/decide/start_advice.hpp"

/// Where an administrator changes the kubelet's settings: names of files, and "" for the flags in
/// its systemd unit.
namespace pinfold::audit {

/// Returns the place of a file; "": of the flags, which distributions keep in their own files.
[[nodiscard]] std::string place_of(const ObservedKubelet& kubelet, const std::string& file);
/// Returns the places that the steps change, each once; without steps, every place with a setting.
[[nodiscard]] std::vector<std::string> settings_places(const ObservedKubelet& kubelet,
                                                       const std::vector<AdviceStep>& steps);

}  // namespace pinfold::audit
