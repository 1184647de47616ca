#include "pinfold/audit/distributions.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

namespace pinfold::audit {
namespace {

using nlohmann::json;

constexpr std::array<Distribution, 4> kDistributions = {
    Distribution{"k3s",
                 {"server", "agent"},
                 FlagSource::kRancher,
                 true,
                 "/etc/rancher/k3s/config.yaml",
                 "/var/lib/rancher/k3s",
                 {"k3s", "k3s-agent"}},
    Distribution{"rke2",
                 {"server", "agent"},
                 FlagSource::kRancher,
                 false,
                 "/etc/rancher/rke2/config.yaml",
                 "/var/lib/rancher/rke2",
                 {"rke2-server", "rke2-agent"}},
    Distribution{"k0s",
                 {"worker", "controller"},
                 FlagSource::kK0s,
                 false,
                 "/var/lib/k0s/kubelet-config.yaml",
                 "/var/lib/k0s",
                 {"k0sworker", "k0scontroller"}},
    Distribution{"kubelite",
                 {},
                 FlagSource::kArgsFile,
                 true,
                 "/var/snap/microk8s/current/args/kubelet",
                 "/var/snap/microk8s/common",
                 {"snap.microk8s.daemon-kubelite", ""}},
};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool has_option(const std::vector<std::string>& arguments, const std::string& name) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& one) {
    return one == name || one == name + "=true" || one == name.substr(1);
  });
}

std::vector<std::string> strings_of(const json& value) {
  std::vector<std::string> strings;
  if (value.is_string()) strings.push_back(value.get<std::string>());
  if (!value.is_array()) return strings;
  for (const json& one : value) {
    if (one.is_string()) strings.push_back(one.get<std::string>());
  }
  return strings;
}

void append(std::vector<std::string>& list, std::vector<std::string> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string expand(std::string_view text,
                   const std::map<std::string, std::string, std::less<>>& variables) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    const bool is_braced = text.substr(1).starts_with('{');
    const std::size_t begin = is_braced ? 2 : 1;
    std::size_t end = begin;
    while (end < text.size() && is_of_name(text[end])) ++end;
    const bool is_closed = !is_braced || text.substr(end).starts_with('}');
    const auto found = variables.find(text.substr(begin, end - begin));
    const std::size_t size = end + (is_braced && is_closed ? 1 : 0);
    out += found != variables.end() && is_closed ? std::string_view(found->second)
                                                 : text.substr(0, size);
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

const std::array<Distribution, 4>& distributions() { return kDistributions; }

std::optional<KubeletHost> kubelet_host(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  std::vector<std::string> all = words;
  std::erase(all, "");
  if (all.size() == 1) all = split_words(all[0]);  // a title that the program has given itself
  if (all.empty()) return std::nullopt;
  const std::string_view program = base_name(all[0]);
  for (const Distribution& one : kDistributions) {
    if (program != one.program) continue;
    const bool needs_command = !one.commands[0].empty();
    if (needs_command && (all.size() < 2 || std::find(one.commands.begin(), one.commands.end(),
                                                      all[1]) == one.commands.end())) {
      return std::nullopt;
    }
    const std::size_t first = needs_command ? 2 : 1;
    KubeletHost host{
        &one, std::string(program), {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()}};
    if (needs_command) host.title += " " + all[1];
    const bool is_control_plane_only = one.source == FlagSource::kK0s && all[1] == "controller" &&
                                       !has_option(host.arguments, "--enable-worker") &&
                                       !has_option(host.arguments, "--single");
    if (is_control_plane_only) return std::nullopt;
    return host;
  }
  return std::nullopt;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool is_open = false;  // a word has begun, maybe an empty one in quotes
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      is_open = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      is_open = true;
    } else if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) {
      word += c;
      is_open = true;
    } else if (is_open) {
      words.push_back(std::exchange(word, {}));
      is_open = false;
    }
  }
  if (is_open) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> option_values(const std::vector<std::string>& arguments,
                                       std::string_view name) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view one = arguments[i];
    if (!one.starts_with(name)) continue;
    if (one.size() > name.size() && one[name.size()] == '=') {
      values.emplace_back(one.substr(name.size() + 1));
    } else if (one.size() == name.size() && i + 1 < arguments.size()) {
      values.push_back(arguments[++i]);
    }
  }
  return values;
}

void merge_rancher(RancherConfig& config, const json& document) {
  if (!document.is_object()) return;
  for (const auto& [key, value] : document.items()) {
    if (key == "kubelet-arg") config.kubelet_args = strings_of(value);
    if (key == "data-dir" && value.is_string()) config.data_dir = value.get<std::string>();
    if (key == "disable-agent" && value.is_boolean()) config.has_kubelet = !value.get<bool>();
  }
  const auto more = document.find("kubelet-arg+");
  if (more != document.end()) append(config.kubelet_args, strings_of(*more));
}

void merge_rancher(RancherConfig& config, const std::vector<std::string>& arguments) {
  append(config.kubelet_args, option_values(arguments, "--kubelet-arg"));
  for (const char* const name : {"--data-dir", "-d"}) {
    for (std::string& value : option_values(arguments, name)) config.data_dir = std::move(value);
  }
  if (has_option(arguments, "--disable-agent")) config.has_kubelet = false;
}

KubeletFlags flags_of_args(const std::vector<std::string>& args) {
  KubeletFlags flags;
  for (const std::string& arg : args) {
    const std::size_t begin = arg.find_first_not_of('-');
    if (begin == std::string::npos) continue;
    const std::size_t equals = std::min(arg.find('=', begin), arg.size());
    if (equals == begin) continue;
    flags["--" + arg.substr(begin, equals - begin)] =
        equals < arg.size() ? arg.substr(equals + 1) : "true";
  }
  return flags;
}

KubeletFlags flags_of_file(std::string_view text,
                           const std::map<std::string, std::string, std::less<>>& variables) {
  std::vector<std::string> words = {"kubelet"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.starts_with('#')) continue;
    append(words, split_words(expand(line, variables)));
  }
  return kubelet_flags(words).value_or(KubeletFlags{});
}

}  // namespace pinfold::audit
