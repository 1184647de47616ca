#pragma once

#include <map>
#include <string>
#include <utility>

#include "pinfold/nri/messages.hpp"
#include "pinfold/types/cpuset.hpp"

namespace simple_pinning {

namespace api = pinfold::nri::api;
using pinfold::CpuSet;

/// The smallest plugin that pins: a container whose CPU limit is a whole number gets that many
/// exclusive CPUs, and all others share the rest. It assumes that its answers take effect;
/// docs/nri.md ("Walls") lists what can go wrong.
class SimplePinning {
 public:
  /// `reserved` is always shared.
  SimplePinning(CpuSet all, CpuSet reserved)
      : all_(std::move(all)), reserved_(std::move(reserved)) {}

  /// Takes over the containers that the runtime already has.
  void synchronize(const api::SynchronizeRequest& request);
  /// Errors: kNotFound if too few CPUs are free.
  [[nodiscard]] pinfold::Result<api::CreateContainerResponse> create(
      const api::CreateContainerRequest& request);
  /// Handles a container that has stopped or was removed.
  [[nodiscard]] api::StopContainerResponse end(const api::StopContainerRequest& request);

  /// Returns the CPUs that are exclusive to no container.
  [[nodiscard]] CpuSet shared() const;

 private:
  /// A container that is made again keeps its name.
  using Name = std::pair<std::string, std::string>;  ///< id of the sandbox, name of the container

  struct Pinned {
    std::string id;
    CpuSet cpus;  ///< exclusive; empty: it shares
  };
  template <class Answer>
  void update_others(const Name& except, Answer& answer) const;

  CpuSet all_;
  CpuSet reserved_;
  std::map<Name, Pinned> containers_;
};

}  // namespace simple_pinning
