#include "pinfold/discover/kernel_files.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "pinfold/text/field.hpp"

namespace pinfold {
namespace {

constexpr std::string_view kBlank = " \t";
// Longer values are cut in messages, because a file may hold anything.
constexpr std::size_t kShown = 60;

tl::unexpected<Error> wrong(std::string_view value, std::string_view expected) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected {}", printable(value, kShown), expected));
}

template <class Number>
bool read_whole(std::string_view text, Number& out, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out, base);
  return error == std::errc{} && stop == end;
}

/// Cuts the next word off the front of `rest`; empty at the end.
std::string_view next_word(std::string_view& rest, std::string_view separators) {
  const auto begin = rest.find_first_not_of(separators);
  if (begin == std::string_view::npos) return rest = {};
  rest.remove_prefix(begin);
  const std::string_view word = rest.substr(0, rest.find_first_of(separators));
  rest.remove_prefix(word.size());
  return word;
}

}  // namespace

Result<std::int32_t> parse_id(std::string_view text) {
  std::int32_t id = 0;
  if (!read_whole(text, id)) return wrong(text, "a whole number");
  return id;
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t count = 0;
  if (!read_whole(text, count)) return wrong(text, "a whole number, 0 or more");
  return count;
}

Result<CpuSet> parse_cpu_list(std::string_view text) {
  auto cpus = CpuSet::parse(text);
  if (!cpus) {
    return wrong(text, fmt::format("a list such as '0-3,8' of ids below {}", CpuSet::kMaxCpus));
  }
  return cpus;
}

Result<CpuSet> parse_cpu_mask(std::string_view text) {
  constexpr std::size_t kDigits = 8;
  constexpr std::int32_t kBits = 32;
  CpuSet cpus;
  std::int32_t base = 0;
  std::string_view rest = text;
  while (true) {  // from the last word, which is the least significant
    const auto comma = rest.rfind(',');
    const std::string_view word = comma == std::string_view::npos ? rest : rest.substr(comma + 1);
    std::uint32_t bits = 0;
    if (word.size() > kDigits || !read_whole(word, bits, 16)) {
      return wrong(text,
                   "a mask of hexadecimal words of up to 8 digits, such as '00000000,000000ff'");
    }
    if (bits != 0 && base + kBits > CpuSet::kMaxCpus) {
      return wrong(text, fmt::format("CPUs below {}", CpuSet::kMaxCpus));
    }
    for (std::int32_t bit = 0; bit < kBits; ++bit) {
      if ((bits >> bit & 1U) != 0) cpus.insert(CpuId{base + bit});
    }
    if (comma == std::string_view::npos) return cpus;
    rest = rest.substr(0, comma);
    // A file may have any number of leading zero words; the base must not overflow.
    if (base < CpuSet::kMaxCpus) base += kBits;
  }
}

Result<std::vector<std::uint32_t>> parse_distances(std::string_view text) {
  std::vector<std::uint32_t> row;
  std::string_view rest = text;
  for (auto word = next_word(rest, kBlank); !word.empty(); word = next_word(rest, kBlank)) {
    std::uint32_t distance = 0;
    if (!read_whole(word, distance)) return wrong(text, "distances such as '10 21'");
    row.push_back(distance);
  }
  return row;
}

Result<std::uint64_t> parse_mem_total(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemTotal:";
  std::string_view rest = meminfo;
  for (auto line = next_word(rest, "\n"); !line.empty(); line = next_word(rest, "\n")) {
    const auto key = line.find(kKey);
    if (key == std::string_view::npos) continue;
    std::string_view values = line.substr(key + kKey.size());
    const std::string_view number = next_word(values, kBlank);
    const std::string_view unit = next_word(values, kBlank);
    std::uint64_t kilobytes = 0;
    if (!read_whole(number, kilobytes) || unit != "kB" || !next_word(values, kBlank).empty() ||
        kilobytes > std::numeric_limits<std::int64_t>::max() / 1024) {
      return wrong(line, "'MemTotal:' with a number of kB");
    }
    return kilobytes * 1024;
  }
  return wrong(meminfo, "a line 'MemTotal:' with a number of kB");
}

std::string hugepage_resource(std::uint64_t kilobytes) {
  constexpr std::string_view kUnits = "KMGTP";
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && kilobytes >= 1024 && kilobytes % 1024 == 0) {
    kilobytes /= 1024;
    ++unit;
  }
  return fmt::format("hugepages-{}{}i", kilobytes, kUnits[unit]);
}

}  // namespace pinfold
