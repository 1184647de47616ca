#include "pinfold/text/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document_builder.hpp"
#include "parser_words.hpp"
#include "pinfold/text/field.hpp"
#include "pinfold/text/utf8.hpp"
#include "yaml.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxBytes = 16U << 20U;

tl::unexpected<Error> fail_at(std::string_view text, std::size_t offset, std::string_view problem) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("line {}, column {}: {}", line, column, printable(problem)));
}

/// Iterates over the text and records how far the parser has read, for the position in errors.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// Passes nlohmann's parser events to a DocumentBuilder.
// The destructor of nlohmann's JSON allocates. NOLINTNEXTLINE(bugprone-exception-escape)
class JsonEvents {
 public:
  explicit JsonEvents(DocumentRules rules) : builder_(rules == DocumentRules::kKubeletLenient) {}
  // The names are those of nlohmann::json_sax.
  bool null() { return builder_.value(nullptr); }
  bool boolean(bool value) { return builder_.value(value); }
  bool number_integer(std::int64_t value) { return builder_.value(value); }
  bool number_unsigned(std::uint64_t value) { return builder_.value(value); }
  bool number_float(double value, const std::string& /*text*/) { return builder_.value(value); }
  bool string(std::string& value) { return builder_.value(std::move(value)); }
  bool binary(json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return builder_.begin(json::object()); }
  bool key(std::string& name) { return builder_.key(std::move(name)); }
  bool end_object() { return builder_.end(); }
  bool start_array(std::size_t /*size*/) { return builder_.begin(json::array()); }
  bool end_array() { return builder_.end(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*last*/,
                   const json::exception& error) {
    return builder_.refuse(std::string(json_problem(error.what())));
  }

  DocumentBuilder& builder() { return builder_; }

 private:
  DocumentBuilder builder_;
};

Result<json> parse_json(std::string_view text, DocumentRules rules) {
  const char* reached = text.data();
  JsonEvents events(rules);
  const Cursor begin(text.data(), &reached);
  const Cursor end(text.data() + text.size(), &reached);
  if (!json::sax_parse(begin, end, &events)) {
    const auto read = static_cast<std::size_t>(reached - text.data());
    return fail_at(text, read == 0 ? 0 : read - 1, events.builder().problem());
  }
  return events.builder().take();
}

/// Reads one JSON value on each line, as `jq -c` prints them. nullopt if the text has another form.
std::optional<std::vector<json>> parse_json_lines(std::string_view text, DocumentRules rules) {
  std::vector<json> documents;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto document = parse_json(line, rules);
    if (!document || !document->is_object()) return std::nullopt;
    documents.push_back(*std::move(document));
  }
  return documents.size() > 1 ? std::optional(std::move(documents)) : std::nullopt;
}

/// True for text that begins with a bracket, except flow-style YAML such as "{kind: Pod}", where
/// JSON would have a quote.
bool begins_as_json(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  constexpr auto kNone = std::string_view::npos;
  const auto first = text.find_first_not_of(kSpace);
  if (first == kNone || (text[first] != '{' && text[first] != '[')) return false;
  const auto brace = text.find_first_not_of("[ \t\r\n", first);
  if (brace == kNone || text[brace] != '{') return true;
  const auto key = text.find_first_not_of(kSpace, brace + 1);
  return key == kNone || text[key] == '"' || text[key] == '}';
}

/// Adds what to do about a template to the error of a text that is one.
Result<std::vector<json>> name_template(Result<std::vector<json>> documents,
                                        std::string_view text) {
  if (documents || text.find("{{") == std::string_view::npos) return documents;
  documents.error().message +=
      "; it is a template: pass the output of 'helm template', or of what else fills it in";
  return documents;
}

constexpr const char* kGetYaml = "pass the output of 'kubectl get -o yaml'";
constexpr const char* kDescribed = "the output of 'kubectl describe', which is for people";
constexpr const char* kListed = "a table of 'kubectl get', which is for people";
constexpr std::array kPrintedForms = {
    PrintedForm{"Machine (", "", "the text that 'lstopo' prints for people",
                "pass the output of 'lstopo --of xml'"},
    PrintedForm{"Name:  ", "Namespace:  ", kDescribed, kGetYaml},
    PrintedForm{"Name:  ", "Roles:  ", kDescribed, kGetYaml},
    PrintedForm{"Name:  ", "Labels:  ", kDescribed, kGetYaml},
    PrintedForm{"NAME  ", "", kListed, kGetYaml},
    PrintedForm{"NAMESPACE  ", "", kListed, kGetYaml},
    PrintedForm{"CONTAINER  ", "", "a table of 'crictl ps', which is for people", kGetYaml},
    PrintedForm{"No resources found", "", "an answer of kubectl that there is no such object",
                kGetYaml},
    PrintedForm{"Error from server", "", "an error of kubectl", kGetYaml},
    PrintedForm{"HTTP/", "", "an HTTP answer with its headers", "pass its body alone"},
    PrintedForm{"Starting pod/", "", "the output of 'oc debug' with its messages",
                "pass what comes after them; 2>/dev/null keeps them apart"},
};

}  // namespace

const PrintedForm* printed_form(std::string_view text) {
  constexpr std::size_t kHead = 4096;
  text = text.substr(0, kHead);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const auto* const found =
      std::find_if(kPrintedForms.begin(), kPrintedForms.end(), [&](const PrintedForm& form) {
        return text.starts_with(form.begins_with) &&
               (form.has.empty() ||
                text.find("\n" + std::string(form.has)) != std::string_view::npos);
      });
  return found == kPrintedForms.end() ? nullptr : &*found;
}

Result<std::vector<json>> parse_documents(std::string_view text, DocumentRules rules) {
  if (text.size() > kMaxBytes) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} bytes: expected at most {}", text.size(), kMaxBytes));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    return fail(ErrorCode::kInvalidArgument,
                "UTF-16 text, expected UTF-8: 'iconv -f UTF-16 -t UTF-8' converts it");
  }
  const std::size_t offset = std::min(utf8::find_invalid(text), text.find('\0'));
  if (offset != std::string_view::npos) {
    return fail_at(text, offset, "expected UTF-8 text without NUL bytes");
  }
  if (const PrintedForm* const form = printed_form(text)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", form->what, form->pass));
  }
  if (!begins_as_json(text)) return name_template(parse_yaml(text, rules), text);
  auto document = parse_json(text, rules);
  // JSON documents separated by "---" form a YAML stream.
  if (!document && text.find("\n---") != std::string_view::npos) return parse_yaml(text, rules);
  if (!document) {
    if (auto lines = parse_json_lines(text, rules)) return *std::move(lines);
    return fail(std::move(document).error());
  }
  std::vector<json> documents;
  documents.push_back(*std::move(document));
  return documents;
}

Result<json> parse_document(std::string_view text, DocumentRules rules) {
  PINFOLD_LET(auto documents, parse_documents(text, rules));
  if (documents.size() != 1) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} documents: expected one", documents.size()));
  }
  return std::move(documents.front());
}

}  // namespace pinfold
