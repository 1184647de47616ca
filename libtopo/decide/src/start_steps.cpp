// Determines where each setting has to be changed: a kubelet's flags win over its files, and the
// last of several files wins. Objects of files are merged; feature gates also with those of flags.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "failed_start.hpp"
#include "pinfold/api/kubelet_flags.hpp"
#include "pinfold/text/document.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold {
namespace {

using nlohmann::json;
using Kind = AdviceStep::Kind;

/// Splits members in YAML at the commas outside of brackets and quotes.
std::vector<std::string> members_of(std::string_view write) {
  std::vector<std::string> members(1);
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < write.size(); ++i) {
    const char c = write[i];
    if (is_quoted && c == '\\' && i + 1 < write.size()) members.back() += write[i++];
    if (c == '"') is_quoted = !is_quoted;
    if (!is_quoted && (c == '{' || c == '[')) ++depth;
    if (!is_quoted && (c == '}' || c == ']')) --depth;
    const bool is_end = c == ',' && depth == 0 && !is_quoted;
    if (is_end) {
      members.emplace_back();
      ++i;  // the space
    } else {
      members.back() += write[i];
    }
  }
  return members;
}

/// Returns the flags as words of a shell.
std::string for_shell(const std::vector<std::string>& flags) {
  std::vector<std::string> words;
  words.reserve(flags.size());
  for (const std::string& flag : flags) words.push_back(shell_word(flag));
  return fmt::format("{}", fmt::join(words, " "));
}

class Steps {
 public:
  explicit Steps(const ConfigSources& sources) : sources_(sources) {}

  void add(const std::string& member) {
    const std::string field = member.substr(0, member.find(':'));
    const auto found = sources_.of_field.find(field);
    const auto sources =
        found == sources_.of_field.end() ? std::vector<std::string>() : found->second;
    const auto value = parse_document("{" + member + "}");
    if (!value || value->empty()) return write("", member);
    const bool by_flag = std::any_of(sources.begin(), sources.end(), is_flag);
    const auto flags = by_flag || sources_.is_of_flags ? flags_for(field, value->front())
                                                       : std::vector<std::string>();
    const bool is_left_out = by_flag && flags.empty() && value->front().empty();
    if (!flags.empty()) pass(flags);
    if (is_left_out) steps_.push_back({Kind::kLeaveOut, "", flag_name(field)});
    if (!flags.empty() && field != "featureGates") return;
    const bool is_done = is_left_out || !flags.empty();
    write_in_files(member, value->front().is_object() ? field : "", files_of(sources), is_done);
  }

  std::vector<AdviceStep> take() && { return std::move(steps_); }

 private:
  void write(const std::string& file, const std::string& member) {
    const auto same = std::find_if(steps_.begin(), steps_.end(), [&](const AdviceStep& step) {
      return step.kind == Kind::kWrite && step.file == file;
    });
    if (same == steps_.end()) {
      steps_.push_back({Kind::kWrite, file, member});
    } else {
      same->text += ", " + member;
    }
  }

  void pass(const std::vector<std::string>& flags) {
    const auto same = std::find_if(steps_.begin(), steps_.end(),
                                   [](const AdviceStep& step) { return step.kind == Kind::kPass; });
    if (same == steps_.end()) {
      steps_.push_back({Kind::kPass, "", for_shell(flags)});
    } else {
      same->text += " " + for_shell(flags);
    }
  }

  static std::vector<std::string> files_of(std::vector<std::string> sources) {
    std::erase_if(sources, is_flag);
    return sources;
  }

  /// Writes a member in the last of the files that have it; if none has it and it `is_done`
  /// elsewhere, nowhere. `merged`: its field, which the other files must not add to; "": they do
  /// not.
  void write_in_files(const std::string& member, const std::string& merged,
                      const std::vector<std::string>& files, bool is_done) {
    if (files.empty()) {
      if (!is_done) write("", member);
      return;
    }
    write(files.back(), member);
    for (const std::string& earlier : files) {
      if (!merged.empty() && earlier != files.back()) {
        steps_.push_back({Kind::kLeaveOut, earlier, merged});
      }
    }
  }

  const ConfigSources& sources_;
  std::vector<AdviceStep> steps_;
};

}  // namespace

std::vector<AdviceStep> start_steps(const std::string& write, const ConfigSources& sources) {
  if (write.empty()) return {};
  const bool is_one_file = sources.of_field.empty() && !sources.is_of_flags;
  if (is_one_file) return {{Kind::kWrite, "", write}};
  Steps steps(sources);
  for (const std::string& member : members_of(write)) steps.add(member);
  return std::move(steps).take();
}

bool is_flag(const std::string& source) { return source.starts_with("--"); }

std::string to_string(const AdviceStep& step) {
  const std::string in = step.file.empty() ? "" : fmt::format(" in '{}'", step.file);
  switch (step.kind) {
    case Kind::kWrite:
      return fmt::format("write{}: {}", in, step.text);
    case Kind::kPass:
      return "pass " + step.text;
    case Kind::kLeaveOut:
      return fmt::format("leave out {}{}", step.text, in);
  }
  return "";
}

}  // namespace pinfold
