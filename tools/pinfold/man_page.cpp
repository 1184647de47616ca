#include <fmt/format.h>

#include <algorithm>

#include "manual.hpp"

namespace pinfold::tools {
namespace {

/// Text as roff has it: nothing in it is a request or an escape.
std::string roff(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
  }
  return !out.empty() && (out.front() == '.' || out.front() == '\'') ? "\\&" + out : out;
}

void add_option(const CLI::Option& option, std::string& out) {
  const bool is_positional = option.get_positional();
  std::string name = is_positional ? option.get_name(true) : option.get_name(false, true);
  for (std::size_t comma = name.find(','); comma != std::string::npos;
       comma = name.find(',', comma + 2)) {
    name.insert(comma + 1, " ");
  }
  out += fmt::format(".TP\n\\fB{}\\fR", roff(name));
  if (const std::string value = value_name(option); !value.empty() && !is_positional) {
    out += fmt::format(" \\fI{}\\fR", roff(value));
  }
  out += "\n" + roff(option.get_description());
  if (!option.get_default_str().empty()) {
    out += fmt::format(" [{}]", roff(option.get_default_str()));
  }
  if (option.get_required()) out += " (required)";
  out += "\n";
}

/// One command, and the commands below it: "pinfold checkpoint show".
void add_command(const CLI::App& command, const std::string& path, std::string& out) {
  out += fmt::format(".SS {}\n{}\n", roff(path), roff(command.get_description()));
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_name(false, true).ends_with("--help") && !option->check_lname("help-all")) {
      add_option(*option, out);
    }
  }
  for (const CLI::App* below : command.get_subcommands({})) {
    add_command(*below, path + " " + below->get_name(), out);
  }
}

}  // namespace

std::string value_name(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  std::string name = option.get_type_name();
  // A check adds its own words to the type: "ENUM:text|json", "TEXT:{on,off}".
  if (const auto colon = name.find(':'); colon != std::string::npos) name.erase(0, colon + 1);
  if (name.starts_with('{') && name.ends_with('}')) {
    name = name.substr(1, name.size() - 2);
    std::replace(name.begin(), name.end(), ',', '|');
  }
  return name;
}

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string out = fmt::format(
      ".TH PINFOLD 1 \"\" \"pinfold {}\" \"User Commands\"\n.SH NAME\npinfold \\- {}\n"
      ".SH SYNOPSIS\n.B pinfold\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
      ".SH DESCRIPTION\n{}\n.SH COMMANDS\n",
      version, "decides which CPUs and memory nodes a container gets", roff(app.get_description()));
  for (const CLI::App* command : app.get_subcommands({})) {
    add_command(*command, "pinfold " + command->get_name(), out);
  }
  out +=
      ".SH EXIT STATUS\n.TP\n0\ndone, admitted, equal\n.TP\n1\na negative answer: rejected, a "
      "check "
      "failed, different\n.TP\n2\nusage or input error; nothing has changed\n"
      ".SH FILES\n.TP\n/var/lib/pinfold\nthe state directory, if no other is given\n"
      ".TP\n/var/lib/pinfold/config.yaml\nKubeletConfiguration, if no other is given\n";
  return out;
}

}  // namespace pinfold::tools
