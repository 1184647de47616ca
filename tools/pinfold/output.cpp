#include "output.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "documents.hpp"
#include "pinfold/agent/outcome.hpp"
#include "pinfold/picture/text.hpp"
#include "pinfold/text/kubelet_words.hpp"
#include "pinfold/text/message.hpp"

namespace pinfold::tools {

namespace {

OutputFormat& message_format() {
  static OutputFormat format = OutputFormat::kText;
  return format;
}

bool& has_changed() {
  static bool changed = false;
  return changed;
}

int& changes_in_progress() {
  static int count = 0;
  return count;
}

/// Wraps a message as explanations are wrapped: on a terminal, at its width.
void print_message(const std::string& message) {
  fmt::print(stderr, "{}", wrapped_lines(escaped(message) + "\n", message_style()));
}

void print_json_line(const MessageLine& line) { fmt::print(stderr, "{}", json_text(line, -1)); }

}  // namespace

void set_message_format(OutputFormat format) { message_format() = format; }

OutputFormat requested_format(int argc, const char* const* argv) {
  OutputFormat format = OutputFormat::kText;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool is_next = (word == "-o" || word == "--output") && i + 1 < argc;
    std::string_view value;
    if (is_next) {
      value = argv[i + 1];
    } else if (word.starts_with("--output=")) {
      value = word.substr(word.find('=') + 1);
    } else if (word.starts_with("-o")) {
      value = word.substr(2);
    } else {
      continue;
    }
    format = value == "json" ? OutputFormat::kJson : OutputFormat::kText;
  }
  return format;
}

ExitStatus report(const Error& error) {
  Error plain = error;
  plain.message = in_plain_words(error.message);
  if (message_format() == OutputFormat::kJson) {
    print_json_line({plain, std::nullopt});
  } else {
    print_message("pinfold: " + plain.message);
  }
  return kBadRequest;
}

void print_warnings(const Machine& machine) {
  for (const std::string& warning : machine.description().warnings) warn(warning);
}

void warn(const std::string& message, std::string_view code) {
  const std::string plain = in_plain_words(message);
  static std::set<std::string> printed;  // steps of one command often find the same problem
  if (!printed.insert(plain).second) return;
  if (message_format() == OutputFormat::kJson) {
    print_json_line({std::nullopt, WarningText{std::string(code), plain}});
  } else {
    print_message("pinfold: warning: " + plain);
  }
}

void note_change() { has_changed() = true; }

void begin_change() { ++changes_in_progress(); }

void end_change() { --changes_in_progress(); }

int report_exception(ErrorCode code, std::string message) {
  if (changes_in_progress() > 0) note_change();
  if (has_changed())
    message += "; all or part of the change may have been made: 'pinfold status' shows it";
  return final_status(report({code, 0, std::move(message)}));
}

int final_status(int status) { return status == kBadRequest && has_changed() ? kUnknown : status; }

int exit_status(const Result<ExitStatus>& outcome) {
  if (outcome) return *outcome;
  Error error = outcome.error();
  if (agent::is_unknown_outcome(error)) {
    note_change();
    error.message += ": 'pinfold status' shows it, and the command can be repeated";
  } else if (has_changed()) {
    error.message += "; what the command did before is stored: 'pinfold status' shows it";
  }
  return report(error);
}

cli::Option output_option(OutputFormat& format) {
  return {"-o,--output",
          cli::one_of<OutputFormat>(format,
                                    {{"text", OutputFormat::kText}, {"json", OutputFormat::kJson}}),
          "Output format: text for people, json for programs"};
}

}  // namespace pinfold::tools
