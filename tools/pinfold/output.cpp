#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "command.hpp"

namespace pinfold::tools {

Result<std::string> read_input(const std::string& path) {
  if (path == "-") return std::string{std::istreambuf_iterator<char>(std::cin), {}};
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) {
    return fail_errno(errno == 0 ? EIO : errno, fmt::format("read '{}'", path));
  }
  return text;
}

int report(const Error& error) {
  fmt::print(stderr, "pinfold: {}\n", error.message);
  return kBadRequest;
}

void add_output_option(CLI::App& command, OutputFormat& format) {
  static const std::map<std::string, OutputFormat> kFormats = {{"text", OutputFormat::kText},
                                                               {"json", OutputFormat::kJson}};
  command.add_option("-o,--output", format, "text for people, json for programs")
      ->transform(CLI::CheckedTransformer(kFormats).description("text|json"))
      ->default_str("text");
}

}  // namespace pinfold::tools
