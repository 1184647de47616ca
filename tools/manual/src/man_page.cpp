#include <fmt/format.h>

#include "pinfold/manual/manual.hpp"

namespace pinfold::manual {
namespace {

/// Escapes text so that roff finds no request or escape in it.
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

void add_option(const cli::Option& option, std::string& out) {
  out += fmt::format(".TP\n\\fB{}\\fR", roff(fmt::format("{}", fmt::join(names_of(option), ", "))));
  if (const std::string value = value_name(option); !value.empty() && !is_positional(option)) {
    out += fmt::format(" \\fI{}\\fR", roff(value));
  }
  out += "\n" + roff(option.help);
  if (const std::string text = default_text(option); !text.empty()) {
    out += fmt::format(" [{}]", roff(text));
  }
  if (option.required) out += " (required)";
  out += "\n";
}

std::string upper(std::string text) {
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

void add_rows(const std::vector<cli::Row>& rows, std::string& out) {
  for (const auto& [term, text] : rows) {
    out += fmt::format(".TP\n{}\n{}\n", roff(term), roff(text));
  }
}

/// Describes one command and its subcommands. `path`: "pinfold checkpoint".
void add_command(const cli::Command& command, const std::string& path, std::string& out) {
  out += fmt::format(".SS {}\n{}\n", roff(path), roff(command.help));
  for (const cli::Option& option : command.options) add_option(option, out);
  for (const auto& [title, rows] : command.sections) {
    out += fmt::format(".P\n.B {}\n", roff(title));
    add_rows(rows, out);
  }
  for (const cli::Command& below : command.commands) {
    add_command(below, path + " " + below.name, out);
  }
}

}  // namespace

std::string man_page(const cli::Command& program) {
  const std::string name = roff(program.name);
  std::string out = fmt::format(
      ".TH {0} 1 \"\" \"{1} {2}\" \"User Commands\"\n.SH NAME\n{1} \\- {3}\n"
      ".SH SYNOPSIS\n.B {1}\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n.br\n.B {1}\n\\-\\-version\n"
      ".SH DESCRIPTION\n{4}\n.SH COMMANDS\n",
      upper(name), name, program.version, roff(program.summary), roff(program.help));
  for (const cli::Command& command : program.commands) {
    add_command(command, program.name + " " + command.name, out);
  }
  for (const auto& [title, rows] : program.sections) {
    out += fmt::format(".SH {}\n", upper(roff(title)));
    add_rows(rows, out);
  }
  return out;
}

}  // namespace pinfold::manual
