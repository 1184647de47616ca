#include "pinfold/checkpoint/go_dump.hpp"

#include <fmt/format.h>

namespace pinfold::checkpoint {

std::uint32_t fnv1a_32(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

void GoDump::type(std::string_view name) {
  text_ += '(';
  text_ += name;
  text_ += ')';
}

void GoDump::field(std::string_view go_name, std::string_view /*json_name*/,
                   std::string_view go_type) {
  separate();
  text_ += go_name;
  text_ += ':';
  if (!go_type.empty()) type(go_type);
}

void GoDump::key(std::string_view name) {
  separate();
  text_ += name;
  text_ += ':';
}

void GoDump::key(std::int64_t number) { key(fmt::format_int(number).c_str()); }

void GoDump::number(std::uint64_t value) {
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
}

void GoDump::number(std::int64_t value) {
  const fmt::format_int digits(value);
  text_.append(digits.data(), digits.size());
}

void GoDump::open(std::string_view bracket) {
  text_ += bracket;
  first_ = true;
}

void GoDump::close(char bracket) {
  text_ += bracket;
  first_ = false;
}

void GoDump::separate() {
  if (!first_) text_ += ' ';
  first_ = false;
}

}  // namespace pinfold::checkpoint
