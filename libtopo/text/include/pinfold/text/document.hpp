#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/text/document_rules.hpp"

namespace pinfold {

/// Parses one YAML or JSON document into a JSON value. All files that users write go through it.
/// Text that begins with '{' or '[' is JSON, unless the first key has no double quotes: then it is
/// flow-style YAML, "{kind: Pod}". Plain YAML scalars become numbers, booleans, null or strings by
/// the core schema of YAML 1.2, so that `cpu: 2` and `cpu: "2"` both work where a quantity is
/// expected. Domain: UTF-8, at most 16 MiB, at most 100 levels deep, no duplicate keys, no
/// aliases that repeat more than 1 MiB, at most 100 directives. Merge keys ("<<") add the members
/// that an object lacks. Errors: kInvalidArgument, with line and column.
[[nodiscard]] Result<nlohmann::json> parse_document(std::string_view text,
                                                    DocumentRules rules = DocumentRules::kCore);

/// Output that a command prints for people, which is not a document.
struct PrintedForm {
  std::string_view begins_with;
  std::string_view has;  ///< at the beginning of a later line; "": nothing
  const char* what;
  const char* pass;  ///< what to pass instead
};
/// Returns the form of a text; nullptr for any other text.
[[nodiscard]] const PrintedForm* printed_form(std::string_view text);

/// Like parse_document, for a stream of several YAML or JSON documents separated by "---", or a
/// JSON object on each line. Skips empty documents.
[[nodiscard]] Result<std::vector<nlohmann::json>> parse_documents(
    std::string_view text, DocumentRules rules = DocumentRules::kCore);

}  // namespace pinfold
