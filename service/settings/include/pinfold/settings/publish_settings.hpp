#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "pinfold/base/result.hpp"

namespace pinfold::settings {

/// The `publish` section of the configuration file: what the service writes to the API server.
struct PublishSettings {
  std::string node_name;             ///< "": NODE_NAME of the environment, else the host name
  std::string kubeconfig;            ///< a file; "": the access of the Pod
  bool placements = true;            ///< also the placement of each pod, in its annotations
  std::chrono::seconds interval{1};  ///< the least time from one look at the node to the next

  friend bool operator==(const PublishSettings&, const PublishSettings&) = default;
};

/// Reads the section; it may be empty. Errors: kInvalidArgument, including for an unknown member.
[[nodiscard]] Result<PublishSettings> parse_publish_settings(const nlohmann::json& section);

}  // namespace pinfold::settings
