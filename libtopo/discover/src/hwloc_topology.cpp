#include "hwloc_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "pinfold/text/field.hpp"
#include "read_in_child.hpp"

namespace pinfold {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

Result<Topology> new_topology(const Libhwloc& hwloc, Devices devices) {
  hwloc_topology* raw = nullptr;
  if (hwloc.topology_init(&raw) != 0) return fail(ErrorCode::kInternal, "hwloc failed to start");
  Topology topology(raw, DestroyTopology{&hwloc});
  if (devices == Devices::kFind) {
    for (const auto type : {HWLOC_OBJ_PCI_DEVICE, HWLOC_OBJ_OS_DEVICE}) {
      if (hwloc.topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL) != 0) {
        return fail(ErrorCode::kInternal, "hwloc cannot look for devices");
      }
    }
  }
  return topology;
}

/// Returns the number of CPUs in a synthetic description: the product of the counts outside
/// brackets. Checked before hwloc builds millions of objects; hwloc itself reports malformed text.
std::uint64_t count_cpus(std::string_view text) {
  std::uint64_t cpus = 1;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] != ':' || depth > 0) continue;
    std::uint64_t count = 1;
    const auto parsed = std::from_chars(text.data() + i + 1, text.data() + text.size(), count);
    if (parsed.ec == std::errc::result_out_of_range) count = CpuSet::kMaxCpus + 1;
    cpus *= std::clamp<std::uint64_t>(count, 1, CpuSet::kMaxCpus + 1);
    cpus = std::min<std::uint64_t>(cpus, CpuSet::kMaxCpus + 1);
  }
  return cpus;
}

std::string first_line(std::string_view text) {
  constexpr std::size_t kShown = 60;
  const std::string_view line = text.substr(0, text.find('\n'));
  const bool is_cut_at_line_end = line.size() < text.size() && line.size() <= kShown;
  return printable(line, kShown) + (is_cut_at_line_end ? "..." : "");
}

/// Loads a topology; nullptr if hwloc cannot read the text. Domain: less than 2 GiB.
Result<Topology> load_xml(const Libhwloc& hwloc, const std::string& text, Devices devices) {
  PINFOLD_LET(auto topology, new_topology(hwloc, devices));
  hwloc_topology* const raw = topology.get();
  // The exporter may have been confined to part of the machine.
  const bool is_loaded =
      hwloc.topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
      hwloc.topology_set_xmlbuffer(raw, text.c_str(), static_cast<int>(text.size()) + 1) == 0 &&
      hwloc.topology_load(raw) == 0;
  return is_loaded ? std::move(topology) : Topology();
}

/// Returns the format version that a text declares, "3.0"; empty for formats before 2.
std::string_view xml_format(std::string_view text) {
  constexpr std::string_view kElement = "<topology";
  constexpr std::string_view kVersion = "version=\"";
  const auto element = text.find(kElement);
  if (element == std::string_view::npos) return {};
  text = text.substr(element, text.find('>', element) - element);
  const auto version = text.find(kVersion);
  if (version == std::string_view::npos) return {};
  text.remove_prefix(version + kVersion.size());
  return text.substr(0, text.find('"'));
}

/// Returns the major version of a format, 2 for "2.0".
int major_of(std::string_view format) {
  int major = 0;
  (void)std::from_chars(format.data(), format.data() + format.size(), major);
  return major;
}

/// Returns a text as hwloc rewrites it; nullopt if hwloc cannot read it.
std::optional<std::string> rewrite_xml(const Libhwloc& hwloc, const std::string& text,
                                       Devices devices) {
  const auto topology = load_xml(hwloc, text, devices);
  char* written = nullptr;
  int size = 0;
  if (!topology || *topology == nullptr ||
      hwloc.topology_export_xmlbuffer(topology->get(), &written, &size, 0) != 0) {
    return std::nullopt;
  }
  std::string out(written);
  hwloc.free_xmlbuffer(topology->get(), written);
  return out;
}

}  // namespace

Result<Topology> load_topology(const SysTree& source, Devices devices) {
  PINFOLD_LET(const auto* const hwloc, libhwloc());
  PINFOLD_LET(auto topology, new_topology(*hwloc, devices));
  hwloc_topology* const raw = topology.get();
  // Use only the kernel's files, not the processor on which this program runs.
  hwloc->topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  // Read the whole machine, even if this program's cpuset is smaller.
  if (devices == Devices::kIgnore &&
      hwloc->topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0) {
    return fail(ErrorCode::kInternal, "hwloc cannot include CPUs outside this program's cpuset");
  }
  if (hwloc->topology_load(raw) != 0) {
    return invalid(fmt::format("'{}': hwloc finds no machine there", source.root));
  }
  const bool is_here = hwloc->topology_is_thissystem(raw) != 0;
  if (is_here != (source.root == "/")) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("'{}': hwloc reads {}, expected HWLOC_FSROOT to name the tree",
                            source.root, is_here ? "this machine" : "another machine"));
  }
  return topology;
}

Result<Topology> load_topology(const HwlocXml& source, Devices devices) {
  constexpr const char* kExpected = "expected a topology that hwloc exported as XML";
  if (source.text.size() >= std::numeric_limits<int>::max()) {
    return invalid(fmt::format("{} bytes of XML: {}", source.text.size(), kExpected));
  }
  const std::string_view format = xml_format(source.text);
  constexpr int kNewest = HWLOC_API_VERSION >> 16;
  if (major_of(format) > kNewest) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("hwloc XML format {}: the newest supported is {}.x; write it with "
                            "'lstopo --export-xml-flags v2 FILE'",
                            printable(format), kNewest));
  }
  PINFOLD_LET(const auto* const hwloc, libhwloc());
  // hwloc crashes on some texts that it did not write. So a child reads the text, and this process
  // reads what the child has rewritten.
  const auto is_not_read = [&](std::string_view why) {
    const bool is_cut_off = source.text.find("<topology") != std::string::npos &&
                            source.text.find("</topology>") == std::string::npos;
    return invalid(fmt::format("'{}': {}{}{}", first_line(source.text), why,
                               is_cut_off ? "cut off, without '</topology>'; " : "", kExpected));
  };
  auto written = read_in_child([&] { return rewrite_xml(*hwloc, source.text, devices); });
  if (!written && written.error().code != ErrorCode::kInvalidArgument) {
    return fail(std::move(written).error());
  }
  if (!written) return is_not_read(written.error().message + "; ");
  if (!*written) return is_not_read("");
  PINFOLD_LET(auto topology, load_xml(*hwloc, **written, devices));
  if (topology == nullptr) return is_not_read("");
  return topology;
}

Result<Topology> load_topology(const HwlocSynthetic& source, Devices devices) {
  if (count_cpus(source.text) > CpuSet::kMaxCpus) {
    return invalid(fmt::format("synthetic topology '{}': expected at most {} CPUs",
                               first_line(source.text), CpuSet::kMaxCpus));
  }
  PINFOLD_LET(const auto* const hwloc, libhwloc());
  PINFOLD_LET(auto topology, new_topology(*hwloc, devices));
  hwloc_topology* const raw = topology.get();
  if (hwloc->topology_set_synthetic(raw, source.text.c_str()) != 0 ||
      hwloc->topology_load(raw) != 0) {
    const bool has_pus = source.text.find("pu:") != std::string::npos ||
                         source.text.find("PU:") != std::string::npos;
    return invalid(
        fmt::format("synthetic topology '{}': expected {}hwloc's form, such as "
                    "'pack:2 [numa(memory=16GB)] l3:1 core:4 pu:2'",
                    first_line(source.text),
                    has_pus ? "" : "'pu:N' (threads per core) as the last level, in "));
  }
  return topology;
}

}  // namespace pinfold
