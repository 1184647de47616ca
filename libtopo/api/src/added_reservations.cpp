#include "added_reservations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "pinfold/types/quantity.hpp"

namespace pinfold {
namespace {

using nlohmann::json;
using AmountTexts = std::map<std::string, std::string>;

/// A systemReserved of Talos. Source: siderolabs/talos v1.0.0 to v1.13.0,
/// pkg/machinery/constants/constants.go; commit 6b15ca19c changed the memory for v1.8.0.
struct TalosReservation {
  const char* where;
  std::string_view type;  ///< of the machine; "": any
  bool is_before_1_8;
  const char* memory;
};
constexpr std::array kTalos = {
    TalosReservation{"a worker of Talos 1.8 or later", "worker", false, "384Mi"},
    TalosReservation{"a control plane of Talos 1.8 or later", "controlplane", false, "512Mi"},
    TalosReservation{"Talos before 1.8", "", true, "192Mi"},
};

const json* at_pointer(const json& document, const char* pointer) {
  const json::json_pointer path(pointer);
  return document.contains(path) ? &document.at(path) : nullptr;
}

std::string text_at(const json& document, const char* pointer) {
  const json* const value = at_pointer(document, pointer);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

/// Returns whether the version of an image, "ghcr.io/siderolabs/installer:v1.7.5", is below 1.8;
/// nullopt if it has none.
std::optional<bool> is_before_1_8(std::string_view image) {
  constexpr std::string_view kTag = ":v1.";
  constexpr int kFirst = 8;
  const std::size_t tag = image.rfind(kTag);
  if (tag == std::string_view::npos) return std::nullopt;
  image.remove_prefix(tag + kTag.size());
  int minor = 0;
  const auto read = std::from_chars(image.data(), image.data() + image.size(), minor);
  return read.ec == std::errc() ? std::optional(minor < kFirst) : std::nullopt;
}

std::vector<AddedReservation> of_talos(const json& document) {
  const json* const named = at_pointer(document, "/machine/kubelet/extraConfig/systemReserved");
  if (named != nullptr && !named->empty()) return {};
  const std::string type = text_at(document, "/machine/type");
  const std::string_view role = type == "init" ? "controlplane" : std::string_view(type);
  const auto is_before = is_before_1_8(text_at(document, "/machine/install/image"));
  std::vector<AddedReservation> possible;
  for (const TalosReservation& one : kTalos) {
    const bool is_type = one.type.empty() || role.empty() || one.type == role;
    if (!is_type || is_before.value_or(one.is_before_1_8) != one.is_before_1_8) continue;
    possible.push_back(
        {one.where,
         {{"cpu", "50m"}, {"ephemeral-storage", "256Mi"}, {"memory", one.memory}, {"pid", "100"}}});
  }
  return possible;
}

/// OpenShift sets each resource that the file leaves out. Source:
/// openshift/machine-config-operator, templates/common/_base/files/kubelet-auto-sizing.yaml, and
/// pkg/controller/kubelet-config, createNewKubeletDynamicSystemReservedIgnition.
std::vector<AddedReservation> of_openshift(const json& document) {
  const json* const sizes_itself = at_pointer(document, "/spec/autoSizingReserved");
  if (sizes_itself != nullptr && *sizes_itself == true) return {};
  AmountTexts amounts = {{"cpu", "500m"}, {"ephemeral-storage", "1Gi"}, {"memory", "1Gi"}};
  const json* const named = at_pointer(document, "/spec/kubeletConfig/systemReserved");
  const json own = named == nullptr ? json::object() : *named;
  if (!own.is_object() || (own.contains("cpu") && own.contains("memory"))) return {};
  for (const auto& [name, amount] : own.items()) {
    if (!amount.is_string()) return {};  // its reader explains what is wrong
    amounts[name] = amount.get<std::string>();
  }
  return {{"OpenShift without autoSizingReserved", std::move(amounts)}};
}

Quantity amount_in(const AmountTexts& amounts, const char* name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? Quantity{} : Quantity::parse(found->second).value_or(Quantity{});
}

/// Returns whether reservedMemory adds up to what is reserved. A percentage, which depends on the
/// machine, counts as nothing.
bool adds_up(const Config& config, const AmountTexts& system_reserved) {
  Quantity rest =
      amount_in(system_reserved, "memory") + amount_in(config.kube_reserved, "memory") +
      amount_in(config.eviction_hard.value_or(AmountTexts{{"memory.available", "100Mi"}}),
                "memory.available");
  for (const MemoryReservation& one : config.reserved_memory) {
    rest -= amount_in(one.limits, "memory");
  }
  return rest.is_zero();
}

std::string text_of_amounts(const AmountTexts& amounts) {
  std::vector<std::string> texts;
  texts.reserve(amounts.size());
  for (const auto& [name, amount] : amounts) texts.push_back(fmt::format("{} {}", name, amount));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::vector<AddedReservation> added_reservations(const json& document) {
  if (at_pointer(document, "/machine/kubelet") != nullptr) return of_talos(document);
  return text_at(document, "/kind") == "KubeletConfig" ? of_openshift(document)
                                                       : std::vector<AddedReservation>();
}

std::string add_reservation(const std::vector<AddedReservation>& possible, json& config) {
  const auto parsed = config_from_json(config);
  const auto match = std::find_if(possible.begin(), possible.end(), [&](const auto& one) {
    return parsed && adds_up(parsed->config, one.amounts);
  });
  const bool is_match = match != possible.end() && !parsed->config.reserved_memory.empty();
  const AddedReservation& chosen = is_match ? *match : possible.front();
  config["systemReserved"] = chosen.amounts;
  std::vector<std::string> others;
  for (const AddedReservation& one : possible) {
    if (&one == &chosen) continue;
    others.push_back(fmt::format("memory {} on {}", one.amounts.at("memory"), one.where));
  }
  return fmt::format(
      "systemReserved: assumed {}: the constant of {}{}{}; if the node has another one, write "
      "systemReserved, or pass it with --kubelet-flags '--system-reserved=cpu=...,memory=...'",
      text_of_amounts(chosen.amounts), chosen.where,
      is_match ? ", which agrees with reservedMemory" : "",
      others.empty() ? "" : fmt::format(" (it is {})", fmt::join(others, ", ")));
}

}  // namespace pinfold
