#include "pinfold/audit/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "commands.hpp"
#include "documents.hpp"
#include "output.hpp"
#include "pinfold/audit/fields.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {
namespace {

struct DoctorCommand {
  std::string root = "/";
  audit::DoctorOptions files;
  OutputFormat format = OutputFormat::kText;
};

struct Mark {
  Paint paint;
  const char* unicode;
  const char* ascii;
};

Mark mark_of(audit::CheckStatus verdict) {
  switch (verdict) {
    case audit::CheckStatus::kProblem:
      return {Paint::kRed, "✗", "x"};
    case audit::CheckStatus::kWarning:
      return {Paint::kYellow, "!", "!"};
    case audit::CheckStatus::kUnknown:
      return {Paint::kCyan, "?", "?"};
    case audit::CheckStatus::kOk:
      break;
  }
  return {Paint::kGreen, "✓", "+"};
}

/// Breaks text into lines of at most `width` columns; all but the first have an indent of `indent`
/// spaces. Longer words have a line each.
std::string in_lines(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::size_t wide = display_width(word);
    if (column > indent && column + 1 + wide > width) {
      out += fmt::format("\n{:{}}", "", indent);
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += wide;
  }
  return out + "\n";
}

std::string check_text(const audit::Check& check, const Style& style) {
  constexpr std::size_t kNameWidth = 18;  // the longest name
  constexpr std::size_t kIndent = kNameWidth + 4;
  const Mark mark = mark_of(check.verdict);
  std::string out = fmt::format(
      "{} {:{}}  {}", paint(style, mark.paint, style.unicode ? mark.unicode : mark.ascii),
      check.name, kNameWidth, in_lines(escaped(check.observed), kIndent, style.width));
  if (!check.expected.empty()) {
    out += fmt::format("{:{}}{}", "", kIndent,
                       in_lines("expected: " + escaped(check.expected), kIndent, style.width));
  }
  if (!check.caution.empty()) {
    out += fmt::format("{:{}}{}", "", kIndent,
                       in_lines("caution: " + escaped(check.caution), kIndent, style.width));
  }
  // On one line, however long, so that it can be copied.
  if (!check.remedy.empty())
    out += fmt::format("    {}\n", paint(style, Paint::kBold, check.remedy));
  return out;
}

std::string checks_text(const audit::Checks& checks, const std::string& root, const Style& style) {
  const std::size_t problems = audit::count(checks, audit::CheckStatus::kProblem);
  const std::size_t warnings = audit::count(checks, audit::CheckStatus::kWarning);
  const std::size_t unknown = audit::count(checks, audit::CheckStatus::kUnknown);
  const Paint colour = problems > 0             ? Paint::kRed
                       : warnings + unknown > 0 ? Paint::kYellow
                                                : Paint::kGreen;
  std::string out =
      fmt::format("{}  {}\n",
                  paint(style, colour,
                        fmt::format("{}, {}, {} unknown, {} ok", counted(problems, "problem"),
                                    counted(warnings, "warning"), unknown,
                                    audit::count(checks, audit::CheckStatus::kOk))),
                  escaped(root + "/"));
  for (const audit::Check& check : checks) out += check_text(check, style);
  return out;
}

Result<ExitStatus> examine(const DoctorCommand& options) {
  PINFOLD_LET(const auto tree, audit::Tree::open(options.root));
  const audit::ObservedSystem system = audit::observe_system(tree, options.files);
  const audit::Checks checks = audit::check_system(system);
  if (options.format == OutputFormat::kJson) {
    fmt::print("{}",
               json_text(audit::DoctorDocument{system.root.empty() ? "/" : system.root, checks}));
  } else {
    fmt::print("{}", checks_text(checks, system.root, terminal_style()));
  }
  return audit::count(checks, audit::CheckStatus::kProblem) == 0 ? kYes : kNo;
}

}  // namespace

cli::Command doctor_command() {
  const auto options = std::make_shared<DoctorCommand>();
  cli::Command command{"doctor",
                       "Check that this machine has what Pinfold and a kubelet with a static "
                       "policy need, and print the command that fixes each problem. Changes "
                       "nothing"};
  command.add(
      {{"--root", &options->root,
        "Root of the machine's file system: / for this machine, the mounted file system of "
        "another one, or a captured tree with /proc and /sys",
        "DIR"},
       output_option(options->format),
       {"--state-dir", &options->files.state_dir,
        "Pinfold's state directory on the machine [that of /etc/pinfold/agent.yaml, or "
        "/var/lib/pinfold]",
        "DIR"},
       {"--cgroup-root", &options->files.cgroup_root,
        "The control group for Pinfold's pods on the machine [that of /etc/pinfold/agent.yaml, or "
        "'pinfold' below the mount with cpusets]",
        "DIR"},
       {"--kubelet-dir", &options->files.kubelet_dir,
        "The kubelet's root directory on the machine [that of the running kubelet, or "
        "/var/lib/kubelet]",
        "DIR"},
       {"--kubelet-config", &options->files.kubelet_config,
        "KubeletConfiguration on the machine [that of the running kubelet, or the usual files]",
        "FILE"}});
  command.run = [options] { return exit_status(examine(*options)); };
  command.sections = {
      {"Examples",
       {{"pinfold doctor", "Check this machine; as root, to read the state directory"},
        {"pinfold doctor -o json", "The same for monitoring"},
        {"pinfold doctor --root /host", "In a privileged container with the node's file system"}}}};
  return command;
}

}  // namespace pinfold::tools
