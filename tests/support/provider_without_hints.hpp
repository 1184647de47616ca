#pragma once

#include "pinfold/api/hint_provider.hpp"

namespace pinfold::test {

/// A provider that prefers no NUMA node.
class ProviderWithoutHints : public HintProvider {
 public:
  [[nodiscard]] ResourceHints container_hints(const std::string& /*state*/, const PodSpec& /*pod*/,
                                              const Container& /*container*/) const override {
    return {};
  }
  [[nodiscard]] ResourceHints pod_hints(const std::string& /*state*/,
                                        const PodSpec& /*pod*/) const override {
    return {};
  }
};

}  // namespace pinfold::test
