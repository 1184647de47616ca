#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "pinfold/discover/source.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold {
namespace {

constexpr const char* kPass =
    "pass the output of 'pinfold topology -o json' on that machine, hwloc XML ('lstopo "
    "machine.xml'), or a directory with its sys/ and proc/";

struct OtherForm {
  std::string_view begins_with;
  const char* what;
};
constexpr std::array kTextForms = {
    OtherForm{"Architecture:", "the output of 'lscpu', which has no memory of NUMA nodes"},
    OtherForm{"# The following is the parsable format",
              "the output of 'lscpu -p', which has no memory"},
    OtherForm{"# CPU,", "the output of 'lscpu -p', which has no memory"},
    OtherForm{"CPU NODE ", "the output of 'lscpu -e', which has no memory"},
    OtherForm{"CPU SOCKET ", "the output of 'lscpu -e', which has no memory"},
    OtherForm{"CPU CORE ", "the output of 'lscpu -e', which has no memory"},
    OtherForm{"processor\t: ", "/proc/cpuinfo alone, which has no NUMA nodes"},
    OtherForm{"MemTotal: ", "/proc/meminfo alone, which has no CPUs"},
    OtherForm{"available: ", "the output of 'numactl -H', which has no cores and sockets"},
    OtherForm{"<svg", "a drawing"},
    OtherForm{"<html", "a page in HTML"},
    OtherForm{"<domain", "a domain of libvirt, not a machine"},
    OtherForm{"<capabilities", "libvirt's capabilities of a host"}};

constexpr const char* kInfoAlone = "a kubelet's MachineInfo, which is expected alone";

/// Returns XML without what precedes its first element, any other text unchanged.
std::string_view without_prolog(std::string_view text) {
  const auto is_prolog = [](std::string_view rest) {
    return rest.starts_with("<?") || rest.starts_with("<!");
  };
  const auto skip_blanks = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  };
  for (skip_blanks(); is_prolog(text); skip_blanks()) {
    const std::string_view end = text.starts_with("<!--") ? "-->" : ">";
    const auto at = text.find(end);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  }
  return text;
}

/// POSIX has the mark of a tar archive in its first header.
bool is_tar(std::string_view text) {
  constexpr std::size_t kMark = 257;
  return text.size() > kMark && text.substr(kMark).starts_with("ustar");
}

bool is_kind(const nlohmann::json& object, std::string_view kind) {
  const auto found = object.find("kind");
  return found != object.end() && found->is_string() &&
         found->get_ref<const std::string&>() == kind;
}

/// True for an object of this kind, or a list of such objects.
bool has_kind(const nlohmann::json& document, std::string_view kind) {
  if (is_kind(document, kind)) return true;
  const auto items = document.find("items");
  return items != document.end() && items->is_array() && !items->empty() &&
         items->front().is_object() && is_kind(items->front(), kind);
}

/// True for the machine that cAdvisor describes in a kubelet.
bool is_info(const nlohmann::json& value) {
  return value.is_object() && value.contains("num_cores") && value.contains("topology");
}

bool has_cpu_rows(const nlohmann::json& document) {
  const auto cpus = document.find("cpus");
  return cpus != document.end() && cpus->is_array() && !cpus->empty() &&
         cpus->front().is_object() && cpus->front().contains("cpu");
}

std::optional<std::string> name_document(std::string_view text) {
  const auto document = parse_document(text);
  if (!document || !document->is_structured()) return std::nullopt;
  if (document->is_array()) {
    if (document->empty() || !is_info(document->front())) return std::nullopt;
    return fmt::format("a list with {}", kInfoAlone);
  }
  if (has_kind(*document, "Node")) return "a Node of Kubernetes, which has no topology";
  if (has_kind(*document, "NodeResourceTopology")) {
    return "a NodeResourceTopology, which has sums of NUMA nodes but no cores ('pinfold predict "
           "--nodes' reads it)";
  }
  if (document->contains("lscpu")) return "the output of 'lscpu -J', which has no memory";
  if (has_cpu_rows(*document)) return "the output of 'lscpu -e -J', which has no memory";
  if (document->contains("num_cores") && !document->contains("topology")) {
    return "a kubelet's MachineInfo without its topology";
  }
  for (const auto& [key, value] : document->items()) {
    if (is_info(value)) return fmt::format("an object with '{}', {}", printable(key), kInfoAlone);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> name_other_form(std::string_view text) {
  if (is_tar(text)) {
    return "it is a tar archive: unpack it, and pass the directory with sys/ and proc/ in it";
  }
  const std::string_view body = without_prolog(text);
  const auto found = std::find_if(kTextForms.begin(), kTextForms.end(), [&](const auto& form) {
    return body.starts_with(form.begins_with);
  });
  const PrintedForm* const printed = printed_form(text);
  const auto what = found != kTextForms.end() ? std::optional<std::string>(found->what)
                    : printed != nullptr      ? std::optional<std::string>(printed->what)
                                              : name_document(text);
  if (!what) return std::nullopt;
  return fmt::format("it is {}: {}", *what, kPass);
}

}  // namespace pinfold
