// pinfold-schema DIR: writes DIR/NAME.schema.json for each document of the commands, the C
// interface and the service's protocol, and DIR/README.md with a list of them.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "documents.hpp"

namespace {

using pinfold::tools::DocumentKind;

/// Returns whether two types of a document have the same name.
bool is_ambiguous(const nlohmann::json& schema) {
  const nlohmann::json definitions = schema.value("$defs", nlohmann::json::object());
  return std::any_of(definitions.begin(), definitions.end(), [](const nlohmann::json& definition) {
    return definition.contains("$comment");
  });
}

constexpr const char* kListHead = R"(# JSON schemas

A file for each document of [JSON](../json.md): JSON Schema, draft 2020-12. This page and they are written by

    cmake --build build/dev --target schemas

The package `pinfold` installs them in `/usr/share/pinfold/schema`.

| schema | document |
|---|---|
)";

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) fmt::print(stderr, "{}: cannot be written\n", file);
  return bool{out};
}

int write_all(const std::string& directory) {
  int status = 0;
  std::string list = kListHead;
  for (const DocumentKind& kind : pinfold::tools::document_kinds()) {
    const nlohmann::json schema = kind.schema(kind.title);
    const std::string name = fmt::format("{}.schema.json", kind.name);
    if (!write(fmt::format("{}/{}", directory, name), schema.dump(1) + "\n")) return 1;
    list += fmt::format("| [{}]({}) | {} |\n", kind.name, name, kind.title);
    if (is_ambiguous(schema)) {
      fmt::print(stderr, "{}: two types have the same name\n", name);
      status = 1;
    }
  }
  return write(directory + "/README.md", list) ? status : 1;
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
