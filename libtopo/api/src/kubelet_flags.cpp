#include "pinfold/api/kubelet_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "pinfold/text/field.hpp"
#include "pinfold/text/go_text.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

/// How the text of a flag becomes a field.
enum class Form { kText, kBoolean, kNumber, kList, kMap, kBooleans, kMemory };

struct Flag {
  const char* name;
  const char* field;
  Form form;
};
constexpr std::array kFlags = {
    Flag{"--cgroup-driver", "cgroupDriver", Form::kText},
    Flag{"--cgroup-root", "cgroupRoot", Form::kText},
    Flag{"--cgroups-per-qos", "cgroupsPerQOS", Form::kBoolean},
    Flag{"--cpu-cfs-quota", "cpuCFSQuota", Form::kBoolean},
    Flag{"--cpu-cfs-quota-period", "cpuCFSQuotaPeriod", Form::kText},
    Flag{"--cpu-manager-policy", "cpuManagerPolicy", Form::kText},
    Flag{"--cpu-manager-policy-options", "cpuManagerPolicyOptions", Form::kMap},
    Flag{"--enforce-node-allocatable", "enforceNodeAllocatable", Form::kList},
    Flag{"--eviction-hard", "evictionHard", Form::kMap},
    Flag{"--eviction-max-pod-grace-period", "evictionMaxPodGracePeriod", Form::kNumber},
    Flag{"--eviction-minimum-reclaim", "evictionMinimumReclaim", Form::kMap},
    Flag{"--eviction-soft", "evictionSoft", Form::kMap},
    Flag{"--eviction-soft-grace-period", "evictionSoftGracePeriod", Form::kMap},
    Flag{"--feature-gates", "featureGates", Form::kBooleans},
    Flag{"--kube-reserved", "kubeReserved", Form::kMap},
    Flag{"--kube-reserved-cgroup", "kubeReservedCgroup", Form::kText},
    Flag{"--max-pods", "maxPods", Form::kNumber},
    Flag{"--memory-manager-policy", "memoryManagerPolicy", Form::kText},
    Flag{"--pods-per-core", "podsPerCore", Form::kNumber},
    Flag{"--reserved-cpus", "reservedSystemCPUs", Form::kText},
    Flag{"--reserved-memory", "reservedMemory", Form::kMemory},
    Flag{"--system-reserved", "systemReserved", Form::kMap},
    Flag{"--system-reserved-cgroup", "systemReservedCgroup", Form::kText},
    Flag{"--topology-manager-policy", "topologyManagerPolicy", Form::kText},
    Flag{"--topology-manager-policy-options", "topologyManagerPolicyOptions", Form::kMap},
    Flag{"--topology-manager-scope", "topologyManagerScope", Form::kText},
};

/// Flags of kubelets without effect on decisions whose names resemble those with an effect.
constexpr std::array<std::string_view, 2> kOtherFlags = {"--qos-reserved", "--system-cgroups"};

tl::unexpected<Error> fail_flag(const Flag& flag, std::string_view text,
                                std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("flag '{}': '{}': expected {}", flag.name, printable(text), expected));
}

std::optional<std::int32_t> number_of(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Splits "a,b"; "none" and "" are empty lists, as for --enforce-node-allocatable.
json list_of(std::string_view text) {
  json list = json::array();
  if (text == "none") return list;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    list.push_back(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return list;
}

/// Reads "a=1,b=2", and "a<1" for eviction thresholds.
Result<json> map_of(const Flag& flag, std::string_view text) {
  json map = json::object();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::size_t equals = part.find_first_of("=<");
    if (equals == std::string_view::npos || equals == 0) {
      return fail_flag(flag, text, "KEY=VALUE,...");
    }
    const std::string_view value = part.substr(equals + 1);
    if (flag.form != Form::kBooleans) {
      map[std::string(part.substr(0, equals))] = std::string(value);
      continue;
    }
    const auto boolean = go::parse_bool(value);
    if (!boolean) return fail_flag(flag, text, "GATE=true or GATE=false");
    map[std::string(part.substr(0, equals))] = *boolean;
  }
  return map;
}

/// Reads "0:memory=1Gi,hugepages-1Gi=1Gi;1:memory=1Gi".
Result<json> memory_of(const Flag& flag, std::string_view text) {
  json list = json::array();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::size_t colon = std::min(part.find(':'), part.size());
    const auto numa = number_of(part.substr(0, colon));
    if (!numa || colon == part.size()) return fail_flag(flag, text, "NODE:memory=SIZE;...");
    PINFOLD_LET(auto limits, map_of(flag, part.substr(colon + 1)));
    list.push_back({{"numaNode", *numa}, {"limits", std::move(limits)}});
  }
  return list;
}

Result<json> value_of(const Flag& flag, const std::string& text) {
  switch (flag.form) {
    case Form::kText:
      return json(text);
    case Form::kBoolean: {
      const auto boolean = go::parse_bool(text);
      if (!boolean) return fail_flag(flag, text, "true or false");
      return json(*boolean);
    }
    case Form::kNumber: {
      const auto number = number_of(text);
      if (!number) return fail_flag(flag, text, "a number");
      return json(*number);
    }
    case Form::kList:
      return list_of(text);
    case Form::kMemory:
      return memory_of(flag, text);
    case Form::kMap:
    case Form::kBooleans:
      break;
  }
  return map_of(flag, text);
}

const Flag* find_flag(std::string_view name) {
  const auto* const found = std::find_if(kFlags.begin(), kFlags.end(),
                                         [&](const Flag& flag) { return name == flag.name; });
  return found == kFlags.end() ? nullptr : found;
}

/// Adds a flag; a repeated one is joined or replaced, and underscores in its name count as dashes,
/// as in the kubelet.
void add_flag(KubeletFlags& flags, std::string name, const std::string& value) {
  std::replace(name.begin(), name.end(), '_', '-');
  const Flag* const known = find_flag(name);
  const bool joins =
      known != nullptr && (known->form == Form::kList || known->form == Form::kMap ||
                           known->form == Form::kBooleans || known->form == Form::kMemory);
  const auto [before, is_new] = flags.try_emplace(name, value);
  if (is_new) return;
  if (joins) {
    before->second += (known->form == Form::kMemory ? ';' : ',') + value;
  } else {
    before->second = value;
  }
}

bool is_kubelet(std::string_view word) { return base_name(word) == "kubelet"; }

bool is_known(std::string_view name) {
  return find_flag(name) != nullptr ||
         std::find(kOtherFlags.begin(), kOtherFlags.end(), name) != kOtherFlags.end();
}

/// Returns the names that unknown flags may mean: none for more flags than a kubelet has, because
/// each comparison takes time.
std::vector<std::string_view> names_to_mean(const KubeletFlags& flags) {
  constexpr std::size_t kMost = 300;
  std::vector<std::string_view> names;
  if (flags.size() > kMost) return names;
  for (const Flag& flag : kFlags) names.emplace_back(flag.name);
  return names;
}

}  // namespace

std::vector<std::string> parse_command_line(std::string_view cmdline) {
  std::vector<std::string> words;
  while (!cmdline.empty()) {
    const std::size_t end = std::min(cmdline.find('\0'), cmdline.size());
    words.emplace_back(cmdline.substr(0, end));
    cmdline.remove_prefix(std::min(cmdline.size(), end + 1));
  }
  return words;
}

std::optional<KubeletFlags> kubelet_flags(const std::vector<std::string>& words) {
  std::size_t begin = 0;
  if (words.size() > 1 && !is_kubelet(words[0]) && words[1] == "kubelet") begin = 1;
  if (words.empty() || !is_kubelet(words[begin])) return std::nullopt;
  return flags_of_words({words.begin() + static_cast<std::ptrdiff_t>(begin) + 1, words.end()});
}

KubeletFlags flags_of_words(const std::vector<std::string>& words) {
  KubeletFlags flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (!word.starts_with('-') || word == "-" || word == "--") continue;
    if (!word.starts_with("--")) word.insert(0, "-");  // one dash works like two
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      add_flag(flags, word.substr(0, equals), word.substr(equals + 1));
    } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
      add_flag(flags, word, words[++i]);
    } else {
      add_flag(flags, word, "true");
    }
  }
  return flags;
}

void merge_flags(KubeletFlags& flags, const KubeletFlags& over) {
  for (const auto& [name, value] : over) add_flag(flags, name, value);
}

void merge_config(json& config, const json& over) {
  if (!config.is_object() || !over.is_object()) {
    config = over;
    return;
  }
  for (const auto& [key, value] : over.items()) {
    const auto found = config.find(key);
    if (found != config.end() && found->is_object() && value.is_object()) {
      for (const auto& [name, member] : value.items()) (*found)[name] = member;
    } else {
      config[key] = value;
    }
  }
}

Result<void> apply_flags(const KubeletFlags& flags, json& config) {
  for (const Flag& flag : kFlags) {
    const auto found = flags.find(flag.name);
    if (found == flags.end()) continue;
    PINFOLD_LET(json value, value_of(flag, found->second));
    const auto gates = config.find(flag.field);
    const bool merges = flag.form == Form::kBooleans && gates != config.end() && gates->is_object();
    if (merges) {
      gates->update(value);
    } else {
      config[flag.field] = std::move(value);
    }
  }
  return {};
}

KubeletFlags flags_of_args(const std::vector<std::string>& args) {
  KubeletFlags flags;
  for (const std::string& arg : args) {
    const std::size_t begin = arg.find_first_not_of('-');
    if (begin == std::string::npos) continue;
    const std::size_t equals = std::min(arg.find('=', begin), arg.size());
    if (equals == begin) continue;
    add_flag(flags, "--" + arg.substr(begin, equals - begin),
             equals < arg.size() ? arg.substr(equals + 1) : "true");
  }
  return flags;
}

KubeletFlags flags_of_file(std::string_view text, const Variables& variables) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.starts_with('#')) continue;
    for (std::string& word : split_words(expand_variables(line, variables))) {
      words.push_back(std::move(word));
    }
  }
  return flags_of_words(words);
}

void add_rancher_flags(KubeletFlags& flags) {
  flags.try_emplace("--eviction-hard", "imagefs.available<5%,nodefs.available<5%");
  flags.try_emplace("--eviction-minimum-reclaim", "imagefs.available=10%,nodefs.available=10%");
}

Result<void> check_flags(const KubeletFlags& flags) {
  const auto names = names_to_mean(flags);
  for (const auto& [name, value] : flags) {
    const std::string_view known = is_known(name) ? "" : nearest_spelling(name, names);
    if (known.empty()) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("unknown flag '{}', with which a kubelet does not start: did you mean "
                            "'{}'?",
                            printable(name), known));
  }
  return {};
}

std::vector<std::string> flag_warnings(const KubeletFlags& flags) {
  const auto names = names_to_mean(flags);
  std::vector<std::string> warnings;
  std::vector<std::string> ignored;
  for (const auto& [name, value] : flags) {
    if (find_flag(name) != nullptr) continue;
    if (name == "--config" || name == "--config-dir") {
      warnings.push_back(
          fmt::format("flag '{}': '{}' is not read: pass it with --config, and the "
                      "flags with --kubelet-flags",
                      name, printable(value)));
    } else if (const auto hint = did_you_mean(name, names); !is_known(name) && !hint.empty()) {
      warnings.push_back(fmt::format("unknown flag '{}'{}", printable(name), hint));
    } else {
      ignored.push_back(printable(name));
    }
  }
  if (!ignored.empty()) {
    warnings.push_back(fmt::format("flags without effect here: {}", fmt::join(ignored, ", ")));
  }
  return warnings;
}

}  // namespace pinfold
