#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/api/pod.hpp"
#include "pinfold/audit/observed.hpp"
#include "pinfold/base/result.hpp"

/// Asks the kubelet of this machine which pods it runs, through its read-only port: HTTP without
/// authentication, off unless it is configured.
namespace pinfold::tools {

struct ReadOnlyPort {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: off

  friend bool operator==(const ReadOnlyPort&, const ReadOnlyPort&) = default;
};
/// Returns the port of a kubelet by its flags and its configuration. Without a configuration file
/// it is 10255, the default of the flag. Source: kubernetes v1.36 cmd/kubelet/app/options
/// applyLegacyDefaults, AddKubeletConfigFlags.
[[nodiscard]] ReadOnlyPort read_only_port(const audit::ObservedKubelet& kubelet);

/// Returns the body of an HTTP/1 response that ends with the connection. Domain: any bytes. Errors:
/// kIo for a status other than 200, with its line, and for any other text.
[[nodiscard]] Result<std::string_view> body_of_response(std::string_view response);

/// Asks for the pods, as JSON. Waits five seconds at most for each step. Errors: kIo.
[[nodiscard]] Result<std::string> ask_for_pods(const ReadOnlyPort& at);

/// Returns the pods that the kubelet of this machine runs. Errors: kUnsupported if its port is off;
/// kIo, kInvalidArgument.
[[nodiscard]] Result<std::vector<PodSpec>> read_kubelet_pods();

}  // namespace pinfold::tools
