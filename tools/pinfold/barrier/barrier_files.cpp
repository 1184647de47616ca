#include "barrier/barrier_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "pinfold/text/document.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::tools {
namespace {

using nlohmann::json;

/// Ends a line that config_with_gate() has written; the line that it replaced follows an arrow.
constexpr std::string_view kMark = " # by 'pinfold barrier install'";
constexpr std::string_view kArrow = ", instead of: ";

/// The lines of a text, each with its line break.
std::vector<std::string_view> lines_with_breaks(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

/// A line without white space, and with one kind of quotation marks.
std::string normal(std::string_view line) {
  std::string text(line);
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

/// The plugin of containerd 1.7, and that of 2.x.
constexpr std::array kPlugins = {"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"};

bool is_table_of(std::string_view line, const std::string& runtime_class) {
  const std::string table = normal(line);
  return std::any_of(kPlugins.begin(), kPlugins.end(), [&](const char* plugin) {
    return table.starts_with(
        fmt::format("[plugins.\"{}\".containerd.runtimes.{}]", plugin, runtime_class));
  });
}

std::string indent_of(std::string_view line) {
  return std::string(line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())));
}

json hook_of(const GateHook& hook) {
  json args = json::array({"pinfold-gate"});
  for (const std::string& argument : hook.arguments) args.push_back(argument);
  return {{"path", hook.program}, {"args", args}, {"timeout", hook.timeout_s}};
}

/// Returns the lines that `from` has and `in` does not.
std::string lines_missing(std::string_view from, std::string_view in, std::string_view sign) {
  const auto others = lines_with_breaks(in);
  const std::set<std::string_view> has(others.begin(), others.end());
  std::string text;
  for (const std::string_view line : lines_with_breaks(from)) {
    if (!has.contains(line)) text += fmt::format("  {} {}", sign, line);
  }
  return text;
}

}  // namespace

std::string hooks_file(const GateHook& hook) {
  const json file = {{"version", "1.0.0"},
                     {"hook", hook_of(hook)},
                     {"when", {{"always", true}}},
                     {"stages", {"createRuntime"}}};
  return file.dump(2) + "\n";
}

Result<std::string> spec_with_gate(const std::string& spec, const GateHook& hook) {
  PINFOLD_LET(auto document, parse_document(spec));
  if (!document.is_object() || !document.contains("ociVersion")) {
    return fail(ErrorCode::kInvalidArgument,
                "base specification: expected the output of 'ctr oci spec', with 'ociVersion'");
  }
  json& hooks = document["hooks"]["createRuntime"];
  if (!hooks.is_array() && !hooks.is_null()) {
    return fail_field("hooks.createRuntime", hooks, "expected a list");
  }
  hooks.push_back(hook_of(hook));
  return document.dump(2) + "\n";
}

Result<std::string> config_with_gate(const std::string& config, const std::string& runtime_class,
                                     const std::string& spec_file) {
  auto lines = lines_with_breaks(config);
  const auto table = std::find_if(lines.begin(), lines.end(), [&](std::string_view line) {
    return is_table_of(line, runtime_class);
  });
  if (table == lines.end()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("no table of runtime class '{}': expected a line [plugins.\"...\"."
                            "containerd.runtimes.{}], as 'containerd config default' prints it",
                            runtime_class, runtime_class));
  }
  if (!config.ends_with('\n')) {
    return fail(ErrorCode::kInvalidArgument, "expected a line break at the end of the file");
  }
  const auto end = std::find_if(
      table + 1, lines.end(), [](std::string_view line) { return normal(line).starts_with('['); });
  const auto present = std::find_if(table + 1, end, [](std::string_view line) {
    return normal(line).starts_with("base_runtime_spec=");
  });
  const bool replaces = present != end;
  if (replaces && normal(*present) != "base_runtime_spec=\"\"") {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("runtime class '{}' has '{}': expected no other specification; remove "
                            "the line, or add the hook to that file yourself",
                            runtime_class, normal(*present)));
  }
  const std::string ours = fmt::format(
      "{}base_runtime_spec = \"{}\"{}{}{}", indent_of(replaces ? *present : *table), spec_file,
      kMark, replaces ? kArrow : "", replaces ? *present : std::string_view("\n"));
  if (replaces) {
    *present = ours;
  } else {
    lines.insert(table + 1, ours);
  }
  return fmt::format("{}", fmt::join(lines, ""));
}

std::string without_gate(const std::string& config) {
  std::string text;
  for (const std::string_view line : lines_with_breaks(config)) {
    const std::size_t mark = line.find(kMark);
    if (mark == line.npos) {
      text += line;
      continue;
    }
    const std::string_view rest = line.substr(mark + kMark.size());
    if (rest.starts_with(kArrow)) text += rest.substr(kArrow.size());
  }
  return text;
}

std::string describe_edit(const FileEdit& edit) {
  if (edit.before == edit.after) return "";
  if (!edit.after) return fmt::format("removes '{}'\n", edit.path);
  if (!edit.before) return fmt::format("creates '{}'\n", edit.path);
  return fmt::format("changes '{}'\n{}{}", edit.path, lines_missing(*edit.before, *edit.after, "-"),
                     lines_missing(*edit.after, *edit.before, "+"));
}

}  // namespace pinfold::tools
