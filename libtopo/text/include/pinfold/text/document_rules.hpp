#pragma once

namespace pinfold {

/// How a document is read.
enum class DocumentRules {
  /// The core schema of YAML 1.2.
  kCore,
  /// As a kubelet reads its configuration: in YAML yes, no, on and off are booleans, digits may
  /// have underscores, and 110.0 is a whole number. Source: sigs.k8s.io/yaml.
  kKubelet,
  /// Likewise, but of several members with one key the last one counts. So a kubelet reads a
  /// configuration that the stricter rules refuse.
  kKubeletLenient,
};

}  // namespace pinfold
