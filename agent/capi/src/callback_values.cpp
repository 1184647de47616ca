#include "callback_values.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "pinfold/text/utf8.hpp"

/// The functions of the C interface that callbacks call.
namespace pinfold::capi {
namespace {

constexpr int kMaskBits = 64;

bool is_utf8(std::string_view text) { return utf8::find_invalid(text) == std::string_view::npos; }

/// Describes what is wrong with a hint's resource; nullptr if nothing.
const char* find_problem(const char* resource) {
  if (resource == nullptr) return "the resource is NULL";
  const std::size_t size = ::strnlen(resource, kMaxResourceName + 1);
  if (size == 0 || size > kMaxResourceName || !is_utf8({resource, size})) {
    return "the resource is not 1 to 317 bytes of UTF-8";
  }
  return nullptr;
}

/// Finds or adds the hints of a resource; nullptr if there are too many resources.
ResourceHints::mapped_type* hints_of(pinfold_hints& hints, const char* resource) {
  const auto found = hints.value.find(resource);
  if (found != hints.value.end()) return &found->second;
  if (hints.value.size() >= kMaxResources) return nullptr;
  return &hints.value[resource];
}

/// Runs `change`, which returns a problem or nullptr, and records the problem.
template <class Change>
pinfold_code change_hints(pinfold_hints* hints, const char* resource, Change&& change) noexcept {
  if (hints == nullptr) return PINFOLD_INVALID_ARGUMENT;
  try {
    const char* problem = find_problem(resource);
    if (problem == nullptr) problem = change();
    if (problem == nullptr) return PINFOLD_OK;
    return hints->misuse.record(PINFOLD_INVALID_ARGUMENT, problem);
  } catch (...) {  // only std::bad_alloc is possible
    return hints->misuse.record(PINFOLD_NO_MEMORY, "no memory is left");
  }
}

}  // namespace

pinfold_code Misuse::record(pinfold_code given, const char* why) noexcept {
  if (code == PINFOLD_OK) {
    code = given;
    reason = why;
  }
  return given;
}

}  // namespace pinfold::capi

using namespace pinfold;  // NOLINT(google-build-using-namespace): C functions have no namespace
using namespace pinfold::capi;  // NOLINT(google-build-using-namespace)

pinfold_code pinfold_text_set(pinfold_text* text, const char* value) {
  if (text == nullptr) return PINFOLD_INVALID_ARGUMENT;
  Misuse& misuse = text->misuse;
  misuse = {};  // a callback may try again
  if (value == nullptr) return misuse.record(PINFOLD_INVALID_ARGUMENT, "its text is NULL");
  const std::size_t size = ::strnlen(value, text->most + 1);
  if (size > text->most) {
    return misuse.record(PINFOLD_INVALID_ARGUMENT, "its text is too long");
  }
  if (!is_utf8({value, size})) {
    return misuse.record(PINFOLD_INVALID_ARGUMENT, "its text is not UTF-8");
  }
  try {
    text->value.assign(value, size);
  } catch (...) {
    return misuse.record(PINFOLD_NO_MEMORY, "no memory is left");
  }
  text->is_set = true;
  return PINFOLD_OK;
}

pinfold_code pinfold_hints_add(pinfold_hints* hints, const char* resource, uint64_t numa_mask,
                               int preferred) {
  return change_hints(hints, resource, [&]() -> const char* {
    if (hints->numa_count < kMaskBits && (numa_mask >> hints->numa_count) != 0) {
      return "the mask has NUMA nodes that the machine does not have";
    }
    auto* const list = hints->count < kMaxHints ? hints_of(*hints, resource) : nullptr;
    if (list == nullptr) return "there are too many hints";
    TopologyHint hint;
    if (numa_mask != 0) hint.numa = NumaMask(numa_mask);
    hint.preferred = preferred != 0;
    if (!*list) list->emplace();
    (*list)->push_back(hint);
    ++hints->count;
    return nullptr;
  });
}

pinfold_code pinfold_hints_set_impossible(pinfold_hints* hints, const char* resource) {
  return change_hints(hints, resource, [&]() -> const char* {
    auto* const list = hints_of(*hints, resource);
    if (list == nullptr) return "there are too many hints";
    list->emplace();
    return nullptr;
  });
}
