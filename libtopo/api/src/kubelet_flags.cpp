#include "pinfold/api/kubelet_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "flag_table.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/go_text.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

/// The first word that is not a flag. A kubelet takes it for a command, which it does not know.
constexpr const char* kOperand = "--";

/// Changes what kubelets reserve, although no field of a configuration does the same.
constexpr const char* kIgnoresEviction = "--experimental-allocatable-ignore-eviction";

tl::unexpected<Error> fail_flag(const KnownFlag& flag, std::string_view text,
                                std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("flag '--{}': '{}': expected {}", flag.name, printable(text), expected));
}

std::optional<std::int32_t> number_of(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Splits as Go's strings.Split: "" is one empty part.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Splits "a,b"; "none" and "" are empty lists, as for --enforce-node-allocatable.
void add_to_list(std::string_view text, json& list) {
  if (text.empty() || text == "none") return;
  for (const std::string_view part : parts_of(text, ',')) list.push_back(std::string(part));
}

/// Adds "KEY=VALUE". White space around both does not count.
Result<void> add_pair(const KnownFlag& flag, std::string_view pair, json& map) {
  const bool is_threshold = flag.form == FlagForm::kThresholds;
  const std::size_t separator = pair.find(is_threshold ? '<' : '=');
  if (separator == std::string_view::npos) {
    return fail_flag(flag, pair, is_threshold ? "SIGNAL<VALUE,..." : "KEY=VALUE,...");
  }
  const std::string key(trimmed(pair.substr(0, separator)));
  const std::string_view value = trimmed(pair.substr(separator + 1));
  if (flag.form != FlagForm::kBooleans) {
    map[key] = std::string(value);
    return {};
  }
  const auto boolean = go::parse_bool(value);
  if (!boolean) return fail_flag(flag, pair, "GATE=true or GATE=false");
  map[key] = *boolean;
  return {};
}

/// Reads "a=1,b=2". Source: component-base/cli/flag MapStringString, MapStringBool and
/// LangleSeparatedMapStringString.
Result<void> add_to_map(const KnownFlag& flag, std::string_view text, json& map) {
  if (flag.form == FlagForm::kPair) return add_pair(flag, text, map);
  for (const std::string_view pair : parts_of(text, ',')) {
    if (!pair.empty()) PINFOLD_TRY(add_pair(flag, pair, map));
  }
  return {};
}

/// Reads "memory=1Gi,hugepages-1Gi=1Gi".
Result<json> limits_of(const KnownFlag& flag, std::string_view text) {
  json limits = json::object();
  for (const std::string_view limit : parts_of(text, ',')) {
    const auto both = parts_of(limit, '=');
    if (both.size() != 2 || (both[0] != "memory" && !both[0].starts_with("hugepages-"))) {
      return fail_flag(flag, limit, "memory=SIZE or hugepages-SIZE=SIZE");
    }
    limits[std::string(both[0])] = std::string(both[1]);
  }
  return limits;
}

/// Reads "0:memory=1Gi,hugepages-1Gi=1Gi;1:memory=1Gi". Source: pkg/util/flag ReservedMemoryVar.
Result<void> add_memory(const KnownFlag& flag, std::string_view text, json& list) {
  if (text.empty()) return {};
  for (const std::string_view node : parts_of(text, ';')) {
    const auto both = parts_of(node, ':');
    const auto numa = number_of(both[0]);
    if (!numa || both.size() != 2) return fail_flag(flag, text, "NODE:memory=SIZE;...");
    PINFOLD_LET(auto limits, limits_of(flag, both[1]));
    list.push_back({{"numaNode", *numa}, {"limits", std::move(limits)}});
  }
  return {};
}

/// Reads the values of a flag whose occurrences add up.
Result<json> value_of_all(const KnownFlag& flag, std::string_view text) {
  const bool is_list = flag.form == FlagForm::kList || flag.form == FlagForm::kMemory;
  json all = is_list ? json::array() : json::object();
  for (const std::string_view one : parts_of(text, '\n')) {
    if (flag.form == FlagForm::kList) {
      add_to_list(one, all);
    } else if (flag.form == FlagForm::kMemory) {
      PINFOLD_TRY(add_memory(flag, one, all));
    } else {
      PINFOLD_TRY(add_to_map(flag, one, all));
    }
  }
  return all;
}

Result<json> value_of(const KnownFlag& flag, const std::string& text) {
  if (is_repeatable(flag.form)) return value_of_all(flag, text);
  if (flag.form == FlagForm::kBoolean) {
    const auto boolean = go::parse_bool(text);
    if (!boolean) return fail_flag(flag, text, "true or false");
    return json(*boolean);
  }
  if (flag.form == FlagForm::kName && text.empty()) {
    return fail_flag(flag, text, "a name: a kubelet does not start with an empty one");
  }
  if (flag.form != FlagForm::kNumber) return json(text);
  const auto number = number_of(text);
  if (!number) return fail_flag(flag, text, "a number");
  return json(*number);
}

/// Returns "0:memory=1Gi,hugepages-2Mi=4Mi;1:memory=1Gi".
std::string memory_text(const json& list) {
  std::vector<std::string> nodes;
  for (const json& node : list) {
    std::vector<std::string> limits;
    for (const auto& [name, limit] : node.at("limits").items()) {
      limits.push_back(fmt::format("{}={}", name, text_of(limit)));
    }
    nodes.push_back(fmt::format("{}:{}", text_of(node.at("numaNode")), fmt::join(limits, ",")));
  }
  return fmt::format("{}", fmt::join(nodes, ";"));
}

/// Returns what value_of() reads as this value. Domain: a value of the flag's field, no kPair.
std::string value_text(const KnownFlag& flag, const json& value) {
  if (flag.form == FlagForm::kMemory) return memory_text(value);
  if (!value.is_structured()) return text_of(value);
  std::vector<std::string> parts;
  for (const auto& [name, member] : value.items()) {
    const char* const separator = flag.form == FlagForm::kThresholds ? "<" : "=";
    parts.push_back(value.is_array() ? text_of(member)
                                     : fmt::format("{}{}{}", name, separator, text_of(member)));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

/// Adds a flag; a repeated one is joined or replaced, and underscores in its name count as dashes,
/// as in the kubelet.
void add_flag(KubeletFlags& flags, std::string name, const std::string& value) {
  std::replace(name.begin(), name.end(), '_', '-');
  const KnownFlag* const known = find_flag(name);
  const auto [before, is_new] = flags.try_emplace(name, value);
  if (is_new || name == kOperand) return;
  if (known != nullptr && is_repeatable(known->form)) {
    before->second += '\n' + value;
  } else {
    before->second = value;
  }
}

/// Converts a value from a log to the form of a flag: lists are logged in brackets, options
/// together, and the NUMA nodes of --reserved-memory are separated by commas. "" for the initial
/// value.
std::string value_of_logged(const KnownFlag& flag, std::string value) {
  if (value == flag.initial) return "";
  if (flag.form == FlagForm::kList && value.starts_with('[') && value.ends_with(']')) {
    return value.substr(1, value.size() - 2);
  }
  if (flag.form == FlagForm::kPair) std::replace(value.begin(), value.end(), ',', '\n');
  if (flag.form != FlagForm::kMemory) return value;
  for (std::size_t comma = value.find(','); comma != std::string::npos;
       comma = value.find(',', comma + 1)) {
    const std::size_t end = value.find_first_not_of("0123456789", comma + 1);
    if (end != std::string::npos && end > comma + 1 && value[end] == ':') value[comma] = ';';
  }
  return value;
}

/// Removes flags that a kubelet with a file does not have from its command line. It sets these
/// thresholds by itself; versions differ in what precedes them.
void drop_initial_values(KubeletFlags& flags) {
  constexpr std::string_view kThresholds =
      "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%";
  std::erase_if(flags, [](const auto& flag) { return flag.second.empty(); });
  const auto hard = flags.find("--eviction-hard");
  const bool is_initial = hard != flags.end() && hard->second.ends_with(kThresholds);
  if (is_initial && flags.contains("--config")) flags.erase(hard);
}

bool is_kubelet(std::string_view word) { return base_name(word) == "kubelet"; }

/// Returns true if the next word is the value of the flag. For an unknown flag this is a guess.
bool takes_next(std::string_view name, const std::string& next) {
  const KnownFlag* const known = find_flag(name);
  if (known == nullptr) return !next.starts_with('-');
  return known->form != FlagForm::kBoolean;
}

/// Returns a flag with one dash, "-v2", as one with two; all except "-v" and "-h" are unknown.
std::string without_shorthand(std::string word) {
  if (word == "-h") return "--help";
  if (!word.starts_with("-v")) return word;
  if (word.size() == 2 || word[2] == '=') return "-" + word;
  return "--v=" + word.substr(2);
}

/// Returns ", did you mean '--max-pods'?", or "". Does not compare long names, because each
/// comparison takes time.
std::string hint_for(const std::string& name) {
  constexpr std::size_t kLongest = 80;
  if (name.size() > kLongest) return "";
  const auto all = flag_names();
  return did_you_mean(name, std::vector<std::string_view>(all.begin(), all.end()));
}

tl::unexpected<Error> fail_unknown(const std::string& name) {
  const std::size_t colon = name.find(':');
  const bool has_colon = colon != std::string::npos && find_flag(name.substr(0, colon)) != nullptr;
  if (has_colon) {
    const std::size_t value = std::min(name.find_first_not_of(' ', colon + 1), name.size());
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("flag '{}': expected '=' instead of ':': write '{}={}'",
                            printable(name), name.substr(0, colon), printable(name.substr(value))));
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("unknown flag '{}': a kubelet does not start with it{}", printable(name),
                          hint_for(name)));
}

tl::unexpected<Error> fail_operand(const std::string& word) {
  if (find_flag(word) != nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("flag '{}': expected a value after it", word));
  }
  for (const std::string_view dash : {"\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2212"}) {
    if (!word.starts_with(dash)) continue;
    const std::size_t begin = std::min(word.find_first_not_of('-', dash.size()), word.size());
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected a flag: a dash of typeset text, such as U+2013, comes "
                            "before it, and a kubelet does not start: write '--'",
                            printable(word.substr(begin))));
  }
  const std::string flag = "--" + word.substr(0, word.find('='));
  const bool lacks_dashes = find_flag(flag) != nullptr;
  const std::string advice =
      lacks_dashes             ? fmt::format("write '--{}'", printable(word))
      : word.starts_with("$(") ? "a shell replaces this, not systemd: pass what it prints"
      : word.starts_with('$')  ? "systemd replaces no variables in environment files"
                               : "the value of a boolean flag follows '='";
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "'{}': expected a flag; a kubelet takes this for a command and does not start: {}",
          printable(word), advice));
}

}  // namespace

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

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
    const bool is_flag = words[i].size() > 1 && words[i].starts_with('-') && words[i] != "--";
    const std::string word = is_flag ? without_shorthand(words[i]) : words[i];
    const std::size_t equals = word.find('=');
    if (!is_flag) {
      add_flag(flags, kOperand, word);
    } else if (equals != std::string::npos) {
      add_flag(flags, word.substr(0, equals), word.substr(equals + 1));
    } else if (i + 1 < words.size() && takes_next(word, words[i + 1])) {
      add_flag(flags, word, words[++i]);
    } else {
      const KnownFlag* const known = find_flag(word);
      if (known != nullptr && known->form != FlagForm::kBoolean) add_flag(flags, kOperand, word);
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

void set_eviction_defaults(json& config) {
  const json merges = config.value("mergeDefaultEvictionSettings", json());
  config.erase("mergeDefaultEvictionSettings");
  json& hard = config["evictionHard"];
  const bool is_default = hard.is_null() || merges == true;
  if (hard.is_null()) hard = json::object();
  if (is_default && hard.is_object()) hard.emplace("memory.available", "100Mi");
}

Result<void> apply_flags(const KubeletFlags& flags, json& config) {
  for (const auto& [name, text] : flags) {
    const KnownFlag* const flag = find_flag(name);
    if (flag == nullptr || *flag->field == '\0' || name == kIgnoresEviction) continue;
    PINFOLD_LET(json value, value_of(*flag, text));
    const auto gates = config.find(flag->field);
    const bool merges =
        flag->form == FlagForm::kBooleans && gates != config.end() && gates->is_object();
    if (merges) {
      gates->update(value);
    } else {
      config[flag->field] = std::move(value);
    }
  }
  const auto ignores = flags.find(kIgnoresEviction);
  if (ignores == flags.end() || go::parse_bool(ignores->second) != true) return {};
  json& hard = config["evictionHard"];
  if (hard.is_null()) hard = json::object();
  if (hard.is_object()) hard["memory.available"] = "0%";  // reserves nothing
  return {};
}

KubeletFlags flags_of_args(const std::vector<std::string>& args) {
  KubeletFlags flags;
  for (const std::string& arg : args) {
    const std::size_t begin = arg.find_first_not_of('-');
    if (begin == std::string::npos) continue;
    const std::size_t equals = std::min(arg.find('=', begin), arg.size());
    std::string name = arg.substr(begin, equals - begin);
    name.erase(name.find_last_not_of("+-") + 1);  // of k3s: add to its own values
    if (name.empty()) continue;
    add_flag(flags, "--" + name, equals < arg.size() ? arg.substr(equals + 1) : "true");
  }
  return flags;
}

std::optional<KubeletFlags> flags_of_log(std::string_view text) {
  constexpr std::string_view kMark = "FLAG: ";
  KubeletFlags flags;
  bool is_of_kubelet = false;
  for (std::size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark)) {
    text.remove_prefix(at + kMark.size());
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view name = line.substr(0, line.find('='));
    // In JSON, quotes have a backslash.
    const std::size_t begin = line.find('"', name.size()) + 1;
    const std::size_t end = line.find_first_of("\\\"", begin);
    if (!name.starts_with("--") || begin == 0 || end == std::string_view::npos) continue;
    const KnownFlag* const known = find_flag(name);
    const bool names_file = name == "--config" || name == "--config-dir";
    if (known == nullptr || (*known->field == '\0' && !names_file)) continue;
    // Other components have these, too.
    is_of_kubelet = is_of_kubelet || (!names_file && name != "--feature-gates");
    flags[std::string(name)] =
        value_of_logged(*known, std::string(line.substr(begin, end - begin)));
  }
  if (!is_of_kubelet) return std::nullopt;
  drop_initial_values(flags);
  return flags;
}

std::vector<std::string> words_of_file(std::string_view text, const Variables& variables) {
  std::vector<std::string> words;
  std::string joined;  // a backslash at its end continues a line in the next one
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool continues = line.ends_with('\\') && !text.empty();
    joined += line.substr(0, line.size() - (line.ends_with('\\') ? 1 : 0));
    if (continues) continue;
    const std::string whole = std::move(joined);
    joined.clear();
    line = whole;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.starts_with('#')) continue;
    for (std::string& word : split_words(expand_variables(line, variables))) {
      words.push_back(std::move(word));
    }
  }
  return words;
}

std::string flag_name(std::string_view field) {
  const KnownFlag* const flag = flag_of_field(field);
  return flag == nullptr ? "" : fmt::format("--{}", flag->name);
}

std::vector<std::string> flags_for(std::string_view field, const json& value) {
  const KnownFlag* const flag = flag_of_field(field);
  if (flag == nullptr) return {};
  if (flag->form == FlagForm::kPair) {
    std::vector<std::string> flags;
    for (const auto& [name, member] : value.items()) {
      flags.push_back(fmt::format("--{}={}={}", flag->name, name, text_of(member)));
    }
    return flags;
  }
  const bool is_unset = value.is_object() && value.empty();
  if (is_unset) return {};
  return {fmt::format("--{}={}", flag->name, value_text(*flag, value))};
}

void add_rancher_flags(KubeletFlags& flags) {
  flags.try_emplace("--eviction-hard", "imagefs.available<5%,nodefs.available<5%");
  flags.try_emplace("--eviction-minimum-reclaim", "imagefs.available=10%,nodefs.available=10%");
}

Result<void> check_flags(const KubeletFlags& flags) {
  constexpr int kMostOfAVendor = 50;
  int unknown = 0;
  for (const auto& [name, value] : flags) {
    if (name == kOperand) return fail_operand(value);
    if (name == "--max-pods" && value == "0") {
      return fail_field(name, value,
                        "expected 1 or more: a kubelet with it rejects every pod, OutOfpods");
    }
    const KnownFlag* const known = find_flag(name);
    if (known == nullptr) {
      const bool may_be_a_vendors = ++unknown <= kMostOfAVendor && hint_for(name).empty();
      if (!may_be_a_vendors) return fail_unknown(name);
      continue;
    }
    const bool is_checked = known->form == FlagForm::kBoolean || known->form == FlagForm::kName;
    if (is_checked) PINFOLD_TRY(value_of(*known, value));
  }
  return {};
}

std::string unknown_flags(const KubeletFlags& flags) {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : flags) {
    if (const auto removed = removal_of(name)) {
      unknown.push_back(fmt::format("{} (removed in 1.{})", name, *removed));
    } else if (name != kOperand && find_flag(name) == nullptr) {
      unknown.push_back(printable(name));
    }
  }
  if (unknown.empty()) return "";
  return fmt::format("flags that upstream's kubelets do not know, so they would not start: {}",
                     fmt::join(unknown, ", "));
}

std::vector<std::string> flag_warnings(const KubeletFlags& flags) {
  std::vector<std::string> warnings;
  std::vector<std::string> ignored;
  for (const auto& [name, value] : flags) {
    const KnownFlag* const known = find_flag(name);
    if (known == nullptr || *known->field != '\0' || removal_of(name)) continue;
    if (name == "--config" || name == "--config-dir") {
      warnings.push_back(
          fmt::format("flag '{}': '{}' is not read: pass it with --config, and the flags with "
                      "--kubelet-flags",
                      name, printable(value)));
    } else {
      ignored.push_back(name);
    }
  }
  if (auto unknown = unknown_flags(flags); !unknown.empty()) warnings.push_back(std::move(unknown));
  if (!ignored.empty()) {
    warnings.push_back(fmt::format("flags without effect here: {}", fmt::join(ignored, ", ")));
  }
  return warnings;
}

}  // namespace pinfold
