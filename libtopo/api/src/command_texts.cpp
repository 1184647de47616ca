#include "pinfold/api/command_texts.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "pinfold/text/words.hpp"

namespace pinfold {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_command_line(std::string_view line) {
  const std::string_view flag = line.substr(std::min(line.find_first_not_of('-'), line.size()));
  const std::size_t dashes = line.size() - flag.size();
  if (dashes == 1 || dashes == 2) return !flag.empty() && is_letter(flag.front());
  const std::string_view program = line.substr(0, line.find_first_of(" \t"));
  constexpr std::array<std::string_view, 5> kPrograms = {"kubelet", "k3s", "rke2", "hyperkube",
                                                         "minikube"};
  return dashes == 0 &&
         std::find(kPrograms.begin(), kPrograms.end(), base_name(program)) != kPrograms.end();
}

/// True for NAME=..., with or without "export".
bool is_assignment(std::string_view line) {
  if (line.starts_with("export ")) line = trimmed(line.substr(7));
  const std::size_t end = std::min(line.find('='), line.size());
  return end > 0 && end < line.size() && (is_letter(line.front()) || line.front() == '_') &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); });
}

bool is_unit(std::string_view line) {
  return line == "[Unit]" || line == "[Service]" || line == "[Install]";
}

/// Returns whether a line ends with a mark of a terminal or of systemd for the part that it leaves
/// out.
bool is_cut_off(std::string_view line) {
  return line.ends_with("\u2026") || line.ends_with("...") || line.ends_with('>');
}

bool is_number(std::string_view word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns where the program of a kubelet, or of a program that contains one, ends in a line;
/// npos: nowhere.
std::size_t end_of_program(std::string_view line) {
  for (const std::string_view command :
       {"kubelet -", "k3s server -", "k3s agent -", "rke2 server -", "rke2 agent -"}) {
    const std::size_t at = line.find(command);
    if (at != std::string_view::npos) return at;
  }
  return std::string_view::npos;
}

/// Returns the command of a kubelet in a line of ps, pgrep or systemctl status, after the time, the
/// number or the user of the process; "" if the line has none, or cuts it off.
std::string_view command_of_process(std::string_view line) {
  const std::size_t program = end_of_program(line);
  if (program == std::string_view::npos || is_cut_off(line)) return {};
  const std::size_t start = line.substr(0, program).find_last_of(" \t") + 1;
  const bool is_program = program == start || line[program - 1] == '/';
  const std::string_view before = trimmed(line.substr(0, start));
  const std::string_view last = before.substr(before.find_last_of(" \t") + 1);
  const bool has_number = !last.empty() && last.back() >= '0' && last.back() <= '9';
  const bool is_process = last == before || last.find(':') != std::string_view::npos ||
                          last.find("\u2500") != std::string_view::npos;
  const std::string_view first = before.substr(0, before.find_first_of(" \t"));
  // The columns pid and user.
  const bool is_of_user =
      is_number(first) &&
      trimmed(before.substr(first.size())).find_first_of(" \t") == std::string_view::npos;
  return is_program && ((has_number && is_process) || is_of_user) ? trimmed(line.substr(start))
                                                                  : "";
}

/// Returns the flags that k3s and RKE2 log when they start their kubelet.
std::optional<FlagsText> flags_of_rancher_log(std::string_view text) {
  constexpr std::string_view kMark = "msg=\"Running kubelet -";
  const std::size_t at = text.rfind(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + kMark.size() - 1);
  std::string command = "kubelet ";
  for (std::size_t i = 0; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
    const bool is_escaped = text[i] == '\\' && i + 1 < text.size();
    command += text[is_escaped ? ++i : i];
  }
  return flags_of_command(split_words(command));
}

/// Returns the flags for a kubelet in a script or line that installs k3s or RKE2.
std::optional<FlagsText> flags_of_install(std::string_view text) {
  constexpr std::string_view kOption = "--kubelet-arg";
  const bool is_install = text.find("get.k3s.io") != std::string_view::npos ||
                          text.find("get.rke2.io") != std::string_view::npos;
  if (!is_install) return std::nullopt;
  std::vector<std::string> words = {"k3s"};
  for (const std::string& word : split_words(text)) {
    const std::size_t at = word.find(kOption);
    const bool is_variable = at != std::string::npos && at > 0;  // INSTALL_K3S_EXEC="..."
    if (!is_variable) words.push_back(word);
    for (std::string& inner : is_variable ? split_words(word.substr(at)) : words_of_file("", {})) {
      words.push_back(std::move(inner));
    }
  }
  if (option_values(words, kOption).empty()) return std::nullopt;
  return flags_of_command(words);
}

/// Returns a line without the prompt of a shell and sudo.
std::string_view without_prompt(std::string_view line) {
  for (const std::string_view prefix : {"$ ", "sudo "}) {
    if (line.starts_with(prefix)) line = trimmed(line.substr(prefix.size()));
  }
  return line;
}

/// Returns the flags of the only kubelet that a list of processes shows.
std::optional<FlagsText> flags_of_processes(std::string_view text) {
  std::set<std::string_view> commands;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (const auto command = command_of_process(trimmed(line)); !command.empty()) {
      commands.insert(command);
    }
  }
  if (commands.size() != 1) return std::nullopt;
  return flags_of_command(split_words(*commands.begin()));
}

}  // namespace

std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
    if (!line.empty() && !line.starts_with('#') && !line.starts_with(';')) return line;
  }
  return {};
}

bool has_cut_command(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const bool has_command = line.find("kubelet -") != std::string_view::npos ||
                             line.find("k3s server -") != std::string_view::npos;
    if (has_command && is_cut_off(trimmed(line))) return true;
  }
  return false;
}

bool shows_host(std::string_view text) {
  constexpr std::array<std::string_view, 5> kHosts = {"/k3s server", "/k3s agent", "/rke2 server",
                                                      "/rke2 agent", "/kubelite "};
  return std::any_of(kHosts.begin(), kHosts.end(), [&](std::string_view host) {
    return text.find(host) != std::string_view::npos;
  });
}

bool names_kubelet(std::string_view text) {
  return text.find("kubelet") != std::string_view::npos ||
         text.find("KUBELET") != std::string_view::npos;
}

std::optional<FlagsText> flags_of_text(std::string_view text, std::string_view unit,
                                       const UnitFiles& files) {
  if (text.find('\0') != std::string_view::npos) {
    return flags_of_command(parse_command_line(text));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::string_view whole = trimmed(text);
  if (whole.find('\n') == std::string_view::npos) text = without_prompt(whole);
  const std::string_view line = first_line(text);
  if (is_unit(line)) return flags_of_unit({std::string(text)}, unit, files);
  if (auto installed = flags_of_install(text)) return installed;
  if (is_command_line(line)) {
    const auto words = words_of_file(text, {});
    auto read = flags_of_command(words);
    return read ? std::move(read) : FlagsText{flags_of_words(words), {}};
  }
  if (is_assignment(line) && !text.starts_with("#!")) return flags_of_environment(text);
  if (auto logged = flags_of_rancher_log(text)) return logged;
  if (auto logged = flags_of_log(text)) {
    FlagsText read{*std::move(logged), {}};
    read.is_command = true;
    return read;
  }
  return flags_of_processes(text);
}

}  // namespace pinfold
