#pragma once

#include <map>
#include <string>
#include <utility>

#include "pinfold/nri/messages.hpp"
#include "pinfold/types/cpuset.hpp"

namespace simple_pinning {

namespace api = pinfold::nri::api;
using pinfold::CpuSet;

/// The least that pins: a container whose CPU limit is a number of whole CPUs gets so many for
/// itself, and all others share the rest. It answers and believes that what it has answered is so;
/// docs/nri.md ("Walls") has what goes wrong then.
class SimplePinning {
 public:
  /// `reserved`: shared for ever.
  SimplePinning(CpuSet all, CpuSet reserved)
      : all_(std::move(all)), reserved_(std::move(reserved)) {}

  /// Takes what the runtime has on record.
  void synchronize(const api::SynchronizeRequest& request);
  /// Errors: kNotFound if too few CPUs are free.
  [[nodiscard]] pinfold::Result<api::CreateContainerResponse> create(
      const api::CreateContainerRequest& request);
  /// The container has stopped, or was removed.
  [[nodiscard]] api::StopContainerResponse end(const api::StopContainerRequest& request);

  /// The CPUs that are exclusive to no container.
  [[nodiscard]] CpuSet shared() const;

 private:
  /// Of a container that is made again the name stays.
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
