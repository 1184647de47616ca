// pinfold-schema DIR: writes DIR/NAME.schema.json for each document of the commands, the C
// interface and the service's protocol.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "documents.hpp"

namespace {

using pinfold::tools::DocumentKind;

/// Returns whether two types of a document have the same name.
bool is_ambiguous(const nlohmann::json& schema) {
  for (const auto& [name, definition] : schema.value("$defs", nlohmann::json::object()).items()) {
    if (definition.contains("$comment")) return true;
  }
  return false;
}

int write_all(const std::string& directory) {
  int status = 0;
  for (const DocumentKind& kind : pinfold::tools::document_kinds()) {
    const nlohmann::json schema = kind.schema(kind.title);
    const std::string file = fmt::format("{}/{}.schema.json", directory, kind.name);
    std::ofstream out(file);
    out << schema.dump(1) << "\n";
    out.close();
    if (!out) {
      fmt::print(stderr, "{}: cannot be written\n", file);
      return 1;
    }
    if (is_ambiguous(schema)) {
      fmt::print(stderr, "{}: two types have the same name\n", file);
      status = 1;
    }
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2) return write_all(argv[1]);
    fmt::print(stderr, "usage: pinfold-schema DIR\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "pinfold-schema: {}\n", error.what());
  }
  return 2;
}
