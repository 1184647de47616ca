#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace pinfold {

/// Annotation of a pod with how quiet its exclusive CPUs are: "off", "interrupts", "system" or
/// "isolated". The NRI plugin of the service reads it.
inline constexpr std::string_view kQuietAnnotation = "pinfold.io/quiet";

/// Returns what to tell the author of a pod with this annotation who has it admitted in another
/// way. `pod`: "default/dsp".
[[nodiscard]] std::string quiet_note(std::string_view pod);
/// Returns a note for each pod of a document with this annotation. Domain: as PodCollector::add;
/// empty for anything else.
[[nodiscard]] std::vector<std::string> quiet_notes(const nlohmann::json& document);
/// Does the same for all documents of a text; empty if it cannot be parsed.
[[nodiscard]] std::vector<std::string> quiet_notes_in(std::string_view yaml_or_json);

}  // namespace pinfold
