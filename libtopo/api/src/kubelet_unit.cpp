#include "pinfold/api/kubelet_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <utility>

#include "flag_table.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/unit_file.hpp"

namespace pinfold {
namespace {

bool is_variable(std::string_view name) {
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), is_of_name);
}

/// The variables of a process, in the order in which they were first set.
class Environment {
 public:
  /// Ignores anything that is not the name of a variable, as systemd does.
  void add(std::string_view name, std::string value) {
    if (!is_variable(name)) return;
    const auto [at, is_new] = values_.insert_or_assign(std::string(name), std::move(value));
    if (is_new) order_.push_back(at->first);
  }
  void add_word(std::string_view word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    if (equals < word.size()) add(word.substr(0, equals), std::string(word.substr(equals + 1)));
  }
  void add_file(std::string_view text) {
    for (auto& [name, value] : parse_environment_file(text)) add(name, std::move(value));
  }
  void remove(const std::string& name) {
    if (values_.erase(name) > 0) std::erase(order_, name);
  }
  void clear() { *this = Environment(); }
  [[nodiscard]] const Variables& values() const { return values_; }
  /// Returns the flags in all values. Other words in them are not meant for a kubelet, unless the
  /// value begins with a flag, a variable or a dash of another script, or the variable is for
  /// flags.
  [[nodiscard]] KubeletFlags flags() const {
    KubeletFlags flags;
    for (const std::string& name : order_) {
      auto words = split_words(values_.find(name)->second);
      if (name == "Environment") words = words_of_show(words);
      KubeletFlags more = flags_of_words(words);
      const auto begins_with = [&](std::string_view start) {
        return !words.empty() && words.front().starts_with(start);
      };
      const bool is_meant = begins_with("-") || begins_with("$") || begins_with("\u2013") ||
                            begins_with("\u2014") || is_flags_variable(name);
      if (!is_meant) more.erase("--");
      merge_flags(flags, more);
    }
    return flags;
  }

 private:
  /// Returns the flags in the words that `systemctl show -p Environment` prints: NAME=VALUE.
  static std::vector<std::string> words_of_show(const std::vector<std::string>& assignments) {
    std::vector<std::string> words;
    for (const std::string& one : assignments) {
      const std::size_t equals = one.find('=');
      const bool is_assigned = !one.starts_with('-') && equals != std::string::npos;
      for (std::string& word : split_words(is_assigned ? one.substr(equals + 1) : one)) {
        if (word.starts_with('-')) words.push_back(std::move(word));
      }
    }
    return words;
  }

  Variables values_;
  std::vector<std::string> order_;
};

/// Reads the settings of a unit that determine the command line of its program.
class UnitReader {
 public:
  explicit UnitReader(std::string_view unit) : unit_(unit) {}

  /// An empty value resets what was set before.
  void read(const UnitSetting& setting) {
    if (setting.section != "Service") return;
    const std::string& value = setting.value;
    if (setting.key == "Type") is_oneshot_ = value == "oneshot";
    if (setting.key == "Environment") add_environment(value);
    if (setting.key == "EnvironmentFile") add_or_clear(files_, value);
    if (setting.key == "UnsetEnvironment") add_or_clear(unset_, value);
    if (setting.key == "ExecStart") add_or_clear(commands_, value);
  }
  /// The variables of files override those of Environment=.
  [[nodiscard]] FlagsText finish(const UnitFiles& files) && {
    FlagsText read;
    for (const std::string& name : files_) add_file(name, files, read);
    for (const std::string& names : unset_) {
      for (const std::string& name : split_unit_words(names)) environment_.remove(name);
    }
    if (commands_.size() > 1 && !is_oneshot_) {
      read.refusal = fmt::format(
          "it has {} ExecStart=, which only Type=oneshot allows: an empty 'ExecStart=' before a "
          "new one resets the others",
          commands_.size());
    }
    if (!commands_.empty()) read.command = words_of(commands_.back());
    read_flags(read);
    if (is_name_missing_) {
      read.notes.emplace_back(
          "the unit's name is unknown, so its specifiers, such as %N, are not replaced: pass the "
          "file under its own name, such as kubelet.service, or in kubelet.service.d");
    }
    return read;
  }

 private:
  static void add_or_clear(std::vector<std::string>& list, const std::string& value) {
    if (value.empty()) {
      list.clear();
    } else {
      list.push_back(value);
    }
  }
  std::string expanded(std::string_view text) {
    const bool names_unit = expand_specifiers(text, "a.service") != expand_specifiers(text, "");
    is_name_missing_ = is_name_missing_ || (names_unit && unit_.empty());
    return expand_specifiers(text, unit_);
  }
  void add_environment(const std::string& value) {
    if (value.empty()) environment_.clear();
    for (const std::string& word : split_unit_words(value)) {
      environment_.add_word(expanded(word));
    }
  }
  void add_file(const std::string& name, const UnitFiles& files, FlagsText& read) {
    const bool may_be_missing = name.starts_with('-');
    const std::string path = expanded(name.substr(may_be_missing ? 1 : 0));
    if (!path.starts_with('/')) return;
    const auto texts = files.read ? files.read(path) : std::vector<std::string>();
    for (const std::string& text : texts) environment_.add_file(text);
    if (!texts.empty()) return;
    if (!files.are_all) {
      read.notes.push_back(
          fmt::format("'{}' is not read: pass the unit and that file, or a copy with its name, "
                      "with --kubelet-flags",
                      printable(path)));
    } else if (!may_be_missing) {
      read.refusal = fmt::format(
          "EnvironmentFile '{}' cannot be read, and has no '-' that allows it to be missing",
          printable(path));
    }
  }
  /// Returns the words of ExecStart= without its prefixes. The first is the program.
  [[nodiscard]] std::vector<std::string> words_of(std::string_view command) {
    const std::size_t begin = std::min(command.find_first_not_of("@-:+!|"), command.size());
    const std::string_view prefixes = command.substr(0, begin);
    std::vector<std::string> words;
    for (const std::string& word : split_unit_words(command.substr(begin))) {
      words.push_back(expanded(word));
    }
    const bool has_other_name = prefixes.find('@') != std::string_view::npos && words.size() > 1;
    if (has_other_name) words.erase(words.begin() + 1);
    return prefixes.find(':') != std::string_view::npos
               ? words
               : expand_arguments(words, environment_.values());
  }
  /// Returns true for "-c" and "-ec", after which a shell has a script.
  static bool precedes_script(const std::string& word) {
    return word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
  }
  /// Returns true if the word `i` is the program of a kubelet, and not the value of an option, such
  /// as a directory.
  static bool is_program(const std::vector<std::string>& words, std::size_t i) {
    const std::string& word = words[i];
    const bool is_other = word.starts_with('-') || word.find_first_of(":,= ") != std::string::npos;
    if (is_other || base_name(word) != "kubelet") return false;
    const auto before = std::span(words).first(i);
    const bool is_after_option = std::any_of(
        before.begin(), before.end(), [](const std::string& one) { return one.starts_with('-'); });
    if (!is_after_option) return true;
    const std::string& last = before.back();
    if (precedes_script(last)) return false;
    const bool is_value = last.starts_with('-') && last.find('=') == std::string::npos;
    return word.ends_with("bin/kubelet") || (word == "kubelet" && !is_value);
  }
  /// Removes the wrapper that starts a kubelet, such as OpenShift's kubenswrapper, "numactl -m 0"
  /// or "docker run".
  static void skip_wrapper(std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!is_program(words, i)) continue;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  void read_flags(FlagsText& read) const {
    skip_wrapper(read.command);
    if (auto found = flags_of_command(read.command)) {
      read.flags = std::move(found->flags);
      read.is_command = found->is_command;
    } else {
      read.flags = environment_.flags();
      if (!read.command.empty()) read.hider = base_name(read.command.front());
    }
  }

  std::string_view unit_;
  Environment environment_;
  std::vector<std::string> files_;     ///< of EnvironmentFile=
  std::vector<std::string> unset_;     ///< of UnsetEnvironment=
  std::vector<std::string> commands_;  ///< of ExecStart=
  bool is_oneshot_ = false;
  bool is_name_missing_ = false;
};

}  // namespace

bool is_flags_variable(std::string_view name) {
  constexpr std::array<std::string_view, 3> kWords = {"ARGS", "OPTS", "FLAGS"};
  return name.find("KUBELET") != std::string_view::npos &&
         std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return name.ends_with(word); });
}

std::string unit_of_path(std::string_view path) {
  constexpr std::string_view kService = ".service";
  constexpr std::string_view kDropIns = ".d";
  std::string_view name = base_name(path);
  if (!name.ends_with(kService)) {
    name = base_name(path.substr(0, path.size() - std::min(path.size(), name.size() + 1)));
    if (!name.ends_with(kDropIns)) return "";
    name.remove_suffix(kDropIns.size());
  }
  // "service.d" and "my-.service.d" are for many units.
  const bool is_one = name.ends_with(kService) && name != kService && !name.ends_with("-.service");
  return is_one ? std::string(name) : "";
}

FlagsText flags_of_unit(const std::vector<std::string>& texts, std::string_view name,
                        const UnitFiles& files) {
  UnitReader reader(name);
  for (const std::string& text : texts) {
    for (const UnitSetting& setting : parse_unit_file(text)) reader.read(setting);
  }
  return std::move(reader).finish(files);
}

FlagsText flags_of_environment(std::string_view text) {
  constexpr std::string_view kExport = "export ";
  Environment environment;
  for (auto& [name, value] : parse_environment_file(text)) {
    const bool is_exported = name.starts_with(kExport);
    environment.add(trimmed(name.substr(is_exported ? kExport.size() : 0)), std::move(value));
  }
  return {environment.flags(), {}};
}

std::optional<FlagsText> flags_of_command(const std::vector<std::string>& words) {
  FlagsText read;
  if (auto flags = kubelet_flags(words)) {
    read.flags = *std::move(flags);
    read.is_command = true;
    return read;
  }
  const std::string_view program = words.empty() ? "" : base_name(words.front());
  if (program == "minikube") {
    constexpr std::string_view kKubelet = "kubelet.";
    std::vector<std::string> arguments;
    for (const std::string& value : option_values(words, "--extra-config")) {
      if (value.starts_with(kKubelet)) arguments.push_back(value.substr(kKubelet.size()));
    }
    read.flags = flags_of_args(arguments);
    return read;
  }
  if (program != "k3s" && program != "rke2") return std::nullopt;
  read.flags = flags_of_args(option_values(words, "--kubelet-arg"));
  add_rancher_flags(read.flags);
  return read;
}

Result<void> check_unit(const FlagsText& read) {
  if (!read.refusal.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("systemd does not start the unit: {}", read.refusal));
  }
  if (read.hider.empty()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("ExecStart '{}' is not a kubelet and hides its flags: pass the kubelet's "
                          "configuration file with --config, and its flags with --kubelet-flags",
                          printable(read.hider)));
}

}  // namespace pinfold
