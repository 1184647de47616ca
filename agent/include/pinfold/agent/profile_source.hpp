#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pinfold/api/config.hpp"
#include "pinfold/api/profile.hpp"

namespace pinfold::checkpoint {
struct Files;
}

namespace pinfold::agent {

/// What determines the profile of a node; the first source that applies wins.
enum class ProfileSource {
  kCommandLine,    ///< "commandLine": --profile
  kConfiguration,  ///< "configuration": `pinfold: {profile: ...}`, or a service's settings
  kKubelet,        ///< "kubelet": the version of the kubelet binary
  kStateFiles,     ///< "stateFiles": the format in which a kubelet wrote the state files
  kDefault,        ///< "default": nothing is known, so `fixed`
};
[[nodiscard]] std::string_view to_string(ProfileSource source);
/// Returns "profile kubelet-1.37: a kubelet wrote the state files in its format".
[[nodiscard]] std::string describe_profile(Profile profile, ProfileSource source);

/// Returns kConfiguration if the document names a profile, else kDefault.
[[nodiscard]] ProfileSource profile_source_of(const ParsedConfig& parsed);

/// Returns the profile of the kubelet that wrote these files: CPU V4 and memory V3 exist since
/// 1.37, pod entries outside of them only in 1.36. Files that Pinfold wrote do not show it, but
/// .pinfold_pods records it. nullopt if unknown.
[[nodiscard]] std::optional<Profile> profile_of_files(const checkpoint::Files& files);

/// Returns `config` for a node that had `until_now`, with the latter's profile if nothing named
/// another one.
[[nodiscard]] Config with_profile_of(const Config& until_now, Config config, ProfileSource source);

}  // namespace pinfold::agent
