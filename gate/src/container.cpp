#include "pinfold/gate/container.hpp"

#include <algorithm>
#include <array>

#include "pinfold/gate/json.hpp"

namespace pinfold::gate {
namespace {

constexpr std::string_view kHooked = "io.pinfold.";

struct TextAnnotation {
  std::string_view key;
  std::string_view HookedContainer::*member;
};
constexpr std::array kTexts = {
    TextAnnotation{"io.kubernetes.cri.sandbox-uid", &HookedContainer::uid},
    TextAnnotation{"io.kubernetes.cri.sandbox-namespace", &HookedContainer::name_space},
    TextAnnotation{"io.kubernetes.cri.sandbox-name", &HookedContainer::pod},
    TextAnnotation{"io.kubernetes.cri.container-name", &HookedContainer::name},
    TextAnnotation{"io.kubernetes.cri.container-type", &HookedContainer::type},
    TextAnnotation{"io.kubernetes.pod.uid", &HookedContainer::uid},
    TextAnnotation{"io.kubernetes.pod.namespace", &HookedContainer::name_space},
    TextAnnotation{"io.kubernetes.pod.name", &HookedContainer::pod},
    TextAnnotation{"io.kubernetes.container.name", &HookedContainer::name},
    TextAnnotation{"io.kubernetes.cri-o.ContainerType", &HookedContainer::type},
    TextAnnotation{"io.pinfold.container", &HookedContainer::hooked_name},
    TextAnnotation{"io.pinfold.cpu", &HookedContainer::cpu},
    TextAnnotation{"io.pinfold.memory", &HookedContainer::memory}};

void read_text(std::string_view HookedContainer::*member, std::string_view value,
               HookedContainer& container) {
  std::string_view& text = container.*member;
  if (!text.empty() && text != value) container.is_contradictory = true;
  text = value;
}

void read_annotation(std::string_view key, std::string_view value, HookedContainer& container) {
  const auto* const text = std::find_if(kTexts.begin(), kTexts.end(),
                                        [&](const auto& entry) { return entry.key == key; });
  if (text != kTexts.end()) read_text(text->member, value, container);
  if (key == "io.pinfold.pod-file") container.has_pod_file = true;
  if (key == "pinfold.io/unplaced") {
    container.unplaced = parse_unplaced(value).value_or(Unplaced::kRefuse);
  }
  container.is_hooked = container.is_hooked || key.starts_with(kHooked);
}

void read_annotations(JsonCursor& json, HookedContainer& container) {
  json.enter();
  while (const auto key = json.next()) {
    if (const auto value = json.text()) read_annotation(*key, *value, container);
  }
}

void read_member(std::string_view key, JsonCursor& json, HookedContainer& container) {
  if (key == "pid") {
    container.pid = json.integer().value_or(0);
  } else if (key == "id") {
    container.id = json.text().value_or("");
  } else if (key == "annotations") {
    read_annotations(json, container);
  } else {
    json.skip();
  }
}

bool is_whole(std::string_view number) {
  constexpr std::string_view kMilli = "000m";
  if (number.ends_with(kMilli)) number.remove_suffix(kMilli.size());
  return !number.empty() && number.find_first_not_of("0123456789") == number.npos;
}

}  // namespace

std::optional<Unplaced> parse_unplaced(std::string_view word) {
  if (word == "allow") return Unplaced::kAllow;
  if (word == "confine") return Unplaced::kConfine;
  if (word == "refuse") return Unplaced::kRefuse;
  return std::nullopt;
}

std::optional<HookedContainer> parse_state(std::string_view state) {
  HookedContainer container;
  JsonCursor json(state);
  json.enter();
  while (const auto key = json.next()) read_member(*key, json, container);
  return json.at_end() && container.pid > 0 ? std::optional(container) : std::nullopt;
}

bool asks_exclusive(const HookedContainer& container) {
  return is_whole(container.cpu) && !container.memory.empty();
}

}  // namespace pinfold::gate
