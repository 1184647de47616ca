#include "node/missing_devices.hpp"

#include <fmt/format.h>

#include <set>

#include "input.hpp"

namespace pinfold::tools {

std::vector<std::string> missing_devices(const Machine& machine, const std::string& machine_file,
                                         const PodSpec& pod) {
  std::set<std::string> offered;
  for (const Device& device : machine.devices()) offered.insert(device.resource);
  std::vector<std::string> sentences;
  for (const std::string& resource : device_resources(pod)) {
    if (offered.contains(resource)) continue;
    const std::string name = pod.namespace_name + "/" + pod.name;
    sentences.push_back(
        machine_file.empty()
            ? fmt::format("{}: which devices this node offers is unknown; the decision ignores "
                          "'{}': 'pinfold topology --device' writes a machine with devices for "
                          "--machine",
                          name, resource)
            : fmt::format("{}: no device plugin on this machine offers '{}'; the decision ignores "
                          "it",
                          name, resource));
  }
  return sentences;
}

}  // namespace pinfold::tools
