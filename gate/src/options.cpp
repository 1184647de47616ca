#include "pinfold/gate/options.hpp"

#include <algorithm>
#include <charconv>

namespace pinfold::gate {
namespace {

bool read_time(std::string_view text, std::int64_t& time_ms) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, time_ms);
  return error == std::errc{} && stop == end && time_ms > 0 && time_ms <= Options::kLongestMs;
}

bool read_unplaced(std::string_view word, Unplaced& unplaced) {
  const auto parsed = parse_unplaced(word);
  if (parsed) unplaced = *parsed;
  return parsed.has_value();
}

bool add_rule(std::string_view text, Options& options) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos || options.rule_count == Options::kMostRules) return false;
  const std::string_view name_space = text.substr(0, equals);
  for (std::size_t i = 0; i < options.rule_count; ++i) {
    if (options.rules[i].name_space == name_space) return false;  // which one counts?
  }
  NamespaceRule& rule = options.rules[options.rule_count++];
  rule.name_space = name_space;
  return read_unplaced(text.substr(equals + 1), rule.unplaced);
}

bool add_exempt(std::string_view text, Options& options) {
  if (text.empty() || options.exempt_count == Options::kMostRules) return false;
  options.exempt[options.exempt_count++] = text;
  return true;
}

struct PathOption {
  std::string_view name;
  const char* Options::*member;
};
constexpr std::array kPaths = {
    PathOption{"--state-dir", &Options::state_dir}, PathOption{"--socket", &Options::socket},
    PathOption{"--cgroup-mount", &Options::cgroup_mount}, PathOption{"--log", &Options::log}};

bool read_option(std::string_view name, const char* value, Options& options) {
  for (const PathOption& path : kPaths) {
    if (path.name == name) options.*path.member = value;
    if (path.name == name) return true;
  }
  if (name == "--time-limit-ms") return read_time(value, options.time_limit_ms);
  if (name == "--unplaced") return read_unplaced(value, options.unplaced);
  if (name == "--unplaced-in") return add_rule(value, options);
  return name == "--exempt" && add_exempt(value, options);
}

bool is_named(std::string_view exempt, const HookedContainer& container) {
  const std::size_t slash = exempt.find('/');
  if (exempt.substr(0, slash) != container.name_space) return false;
  if (slash == exempt.npos) return true;
  std::string_view pod = exempt.substr(slash + 1);
  if (!pod.ends_with('*')) return pod == container.pod;
  pod.remove_suffix(1);
  return container.pod.starts_with(pod);
}

}  // namespace

std::optional<Options> parse_options(std::span<const char* const> arguments,
                                     std::string_view& wrong) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    wrong = arguments[i];
    if (i + 1 == arguments.size() || !read_option(wrong, arguments[i + 1], options)) {
      return std::nullopt;
    }
  }
  return options;
}

bool concerns_gate(const Options& options, const HookedContainer& container) {
  const bool is_ours = container.is_hooked || !container.uid.empty();
  if (!is_ours || container.is_sandbox() || container.has_pod_file) return false;
  const auto* const end = options.exempt.begin() + options.exempt_count;
  return std::none_of(options.exempt.begin(), end,
                      [&](std::string_view exempt) { return is_named(exempt, container); });
}

Unplaced unplaced_of(const Options& options, const HookedContainer& container) {
  Unplaced unplaced = options.unplaced;
  for (std::size_t i = 0; i < options.rule_count; ++i) {
    const NamespaceRule& rule = options.rules[i];
    if (rule.name_space == container.name_space) unplaced = rule.unplaced;
  }
  return std::max(unplaced, container.unplaced.value_or(unplaced));
}

}  // namespace pinfold::gate
