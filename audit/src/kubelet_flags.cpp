#include "pinfold/audit/kubelet_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "pinfold/audit/proc_files.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/go_text.hpp"

namespace pinfold::audit {
namespace {

using nlohmann::json;

/// How a flag's text becomes a field.
enum class Form { kText, kBoolean, kMap, kBooleans, kMemory };

struct Flag {
  const char* name;
  const char* field;
  Form form;
};
constexpr std::array kFlags = {
    Flag{"--cgroup-driver", "cgroupDriver", Form::kText},
    Flag{"--cgroup-root", "cgroupRoot", Form::kText},
    Flag{"--cpu-cfs-quota", "cpuCFSQuota", Form::kBoolean},
    Flag{"--cpu-cfs-quota-period", "cpuCFSQuotaPeriod", Form::kText},
    Flag{"--cpu-manager-policy", "cpuManagerPolicy", Form::kText},
    Flag{"--cpu-manager-policy-options", "cpuManagerPolicyOptions", Form::kMap},
    Flag{"--eviction-hard", "evictionHard", Form::kMap},
    Flag{"--feature-gates", "featureGates", Form::kBooleans},
    Flag{"--kube-reserved", "kubeReserved", Form::kMap},
    Flag{"--memory-manager-policy", "memoryManagerPolicy", Form::kText},
    Flag{"--reserved-cpus", "reservedSystemCPUs", Form::kText},
    Flag{"--reserved-memory", "reservedMemory", Form::kMemory},
    Flag{"--system-reserved", "systemReserved", Form::kMap},
    Flag{"--topology-manager-policy", "topologyManagerPolicy", Form::kText},
    Flag{"--topology-manager-policy-options", "topologyManagerPolicyOptions", Form::kMap},
    Flag{"--topology-manager-scope", "topologyManagerScope", Form::kText},
};

tl::unexpected<Error> fail_flag(const Flag& flag, std::string_view text,
                                std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("flag '{}': '{}': expected {}", flag.name, printable(text), expected));
}

/// "a=1,b=2"; `between`: what is between a key and its value ("<" too for eviction thresholds).
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

/// "0:memory=1Gi,hugepages-1Gi=1Gi;1:memory=1Gi"
Result<json> memory_of(const Flag& flag, std::string_view text) {
  json list = json::array();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::size_t colon = std::min(part.find(':'), part.size());
    const auto numa = parse_number(part.substr(0, colon));
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
    case Form::kMemory:
      return memory_of(flag, text);
    case Form::kMap:
    case Form::kBooleans:
      break;
  }
  return map_of(flag, text);
}

bool is_kubelet(std::string_view word) { return word.substr(word.rfind('/') + 1) == "kubelet"; }

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
  KubeletFlags flags;
  for (std::size_t i = begin + 1; i < words.size(); ++i) {
    std::string word = words[i];
    if (!word.starts_with('-') || word == "-" || word == "--") continue;
    if (!word.starts_with("--")) word.insert(0, "-");  // one dash is as good as two
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) {
      flags[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
      flags[word] = words[++i];
    } else {
      flags[word] = "true";
    }
  }
  return flags;
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

}  // namespace pinfold::audit
