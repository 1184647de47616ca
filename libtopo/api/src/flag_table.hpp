#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The flags of kubelets.
namespace pinfold {

/// How a kubelet reads the value of a flag.
enum class FlagForm {
  kText,        ///< any other value; the last one counts
  kName,        ///< of a policy or scope; with an empty one the kubelet does not start
  kBoolean,     ///< takes no separate value word
  kNumber,      ///< 32 bits
  kList,        ///< "a,b"
  kMap,         ///< "a=1,b=2"
  kPair,        ///< "a=1", one for each flag
  kThresholds,  ///< "a<1,b<2"
  kBooleans,    ///< "a=true,b=false"
  kMemory,      ///< "0:memory=1Gi;1:memory=1Gi"
};

/// A flag of some version of the kubelet.
struct KnownFlag {
  std::string_view name = "";  ///< without dashes
  FlagForm form = FlagForm::kText;
  const char* field = "";    ///< of KubeletConfiguration; "": it affects no decision
  const char* initial = "";  ///< its value if it is not set, as a kubelet logs it
};

/// Returns the flag with this name ("--v"); nullptr if no version of the kubelet has it.
[[nodiscard]] const KnownFlag* find_flag(std::string_view name);
/// Returns the flag that sets a field; nullptr if none does.
[[nodiscard]] const KnownFlag* flag_of_field(std::string_view field);
/// Returns a string unchanged, anything else as JSON.
[[nodiscard]] std::string text_of(const nlohmann::json& value);
/// Returns the minor version that removed a flag ("--logtostderr"); nullopt if kubelet 1.36 has it,
/// or if the version is not known here.
[[nodiscard]] std::optional<int> removal_of(std::string_view name);
/// Returns true if the values of a repeated flag add up.
[[nodiscard]] bool is_repeatable(FlagForm form);
/// Returns all names, with two dashes.
[[nodiscard]] std::vector<std::string> flag_names();

/// Returns whether a variable is for a kubelet's flags by its name, such as KUBELET_EXTRA_ARGS.
[[nodiscard]] bool is_flags_variable(std::string_view name);

}  // namespace pinfold
