#include <fmt/format.h>

#include <string_view>
#include <variant>

#include "pinfold/manual/manual.hpp"

namespace pinfold::manual {
namespace {

constexpr const char* kExamples = "Examples";

/// Escapes characters that Markdown would read as markup.
std::string markdown(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (std::string_view("\\`*_[]<>|#").find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out;
}

/// Returns "`--pod` `POD`", or "`POD.yaml`" for a positional argument.
std::string term_of(const cli::Option& option) {
  std::string out = fmt::format("`{}`", fmt::join(names_of(option), "`, `"));
  if (const std::string value = value_name(option); !value.empty() && !is_positional(option)) {
    out += fmt::format(" `{}`", value);
  }
  return out;
}

/// Returns one row of the table of options.
void add_option_row(const cli::Option& option, std::string& out) {
  const std::string text = default_text(option);
  out += fmt::format("| {} | {}{}{} |\n", term_of(option), markdown(option.help),
                     option.required ? " (required)" : "",
                     text.empty() ? "" : fmt::format(". Default: `{}`", text));
}

/// Returns "pinfold admit [options] POD".
std::string synopsis(const cli::Command& command, const std::string& path) {
  std::string out = path + " [options]";
  for (const cli::Option& option : command.options) {
    if (!is_positional(option)) continue;
    const bool repeats = std::holds_alternative<std::vector<std::string>*>(option.target);
    const std::string word = option.name + (repeats ? "..." : "");
    out += option.required ? " " + word : fmt::format(" [{}]", word);
  }
  return out;
}

/// Formats a section as a table, or as blocks that can be copied if it has examples.
void add_section(const cli::Section& section, const std::string& level, std::string& out) {
  out += fmt::format("\n{} {}\n\n", level, markdown(section.title));
  if (section.title == kExamples) {
    for (const auto& [term, text] : section.rows) {
      out += fmt::format("{}:\n\n```console\n$ {}\n```\n\n", markdown(text), term);
    }
    return;
  }
  out += "| | meaning |\n|---|---|\n";
  for (const auto& [term, text] : section.rows) {
    out += fmt::format("| {} | {} |\n", markdown(term), markdown(text));
  }
}

/// Describes a command and its subcommands. `path`: "pinfold checkpoint"; `level`: "#" for the
/// page's own heading.
void add_command_part(const cli::Command& command, const std::string& path,
                      const std::string& level, std::string& out) {
  out += fmt::format("{} {}\n\n{}.\n", level, path, markdown(command.help));
  if (command.commands.empty()) {
    out += fmt::format("\n```text\n{}\n```\n", synopsis(command, path));
    if (!command.options.empty()) out += "\n| option | meaning |\n|---|---|\n";
    for (const cli::Option& option : command.options) add_option_row(option, out);
  }
  for (const cli::Section& section : command.sections) add_section(section, level + "#", out);
  for (const cli::Command& below : command.commands) {
    out += "\n";
    add_command_part(below, path + " " + below.name, level + "#", out);
  }
}

/// Returns the page with all commands, and with the sections that apply to each of them.
std::string index_page(const cli::Command& program) {
  std::string out =
      fmt::format("# Commands\n\n{}\n\n| command | purpose |\n|---|---|\n", markdown(program.help));
  for (const cli::Command& command : program.commands) {
    out += fmt::format("| [`{0} {1}`]({1}.md) | {2} |\n", program.name, command.name,
                       markdown(command.help));
  }
  for (const cli::Section& section : program.sections) add_section(section, "##", out);
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> markdown_pages(const cli::Command& program) {
  std::vector<std::pair<std::string, std::string>> pages = {{"index.md", index_page(program)}};
  for (const cli::Command& command : program.commands) {
    std::string page;
    add_command_part(command, program.name + " " + command.name, "#", page);
    page += "\nExit status: [one table for all commands](index.md#exit-status).\n";
    pages.emplace_back(command.name + ".md", std::move(page));
  }
  return pages;
}

}  // namespace pinfold::manual
