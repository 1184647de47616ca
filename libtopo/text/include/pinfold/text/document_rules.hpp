#pragma once

namespace pinfold {

/// How a document is read.
enum class DocumentRules {
  /// The core schema of YAML 1.2.
  kCore,
  /// As a kubelet reads its configuration: in YAML yes, no, on and off are booleans, digits may
  /// have underscores, and 110.0 is a whole number. Source: sigs.k8s.io/yaml.
  kKubelet,
  /// The same, but if several members have one key, the last one counts. This is how a kubelet
  /// reads a configuration that the stricter rules reject.
  kKubeletLenient,
};

}  // namespace pinfold
