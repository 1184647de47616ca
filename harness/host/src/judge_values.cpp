#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "pinfold/harness/judge.hpp"

namespace pinfold::harness {
namespace {

using Json = nlohmann::json;

std::string describe(const Wanted& wanted) {
  std::string text;
  if (wanted.at_least) text = fmt::format("at least {:g}", *wanted.at_least);
  if (!wanted.at_most) return text;
  return fmt::format("{}{}at most {:g}", text, text.empty() ? "" : " and ", *wanted.at_most);
}

}  // namespace

Check check_wanted(std::string what, std::string_view name, const Wanted& wanted,
                   std::string actual) {
  if (!wanted.at_least && !wanted.at_most) {
    return check_value(std::move(what), name, wanted.text, std::move(actual));
  }
  char* end = nullptr;
  const double number = std::strtod(actual.c_str(), &end);
  const bool good = !actual.empty() && *end == '\0' &&
                    (!wanted.at_least || number >= *wanted.at_least) &&
                    (!wanted.at_most || number <= *wanted.at_most);
  return {std::move(what), describe(wanted), std::move(actual), good};
}

std::string line_value(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' ')) {
      return line.substr(key.size() + 1);
    }
  }
  return "(no such line)";
}

std::string pages_on(const Json& pages, const std::string& node, bool share) {
  if (!pages.is_object()) return "?";
  std::uint64_t all = 0;
  for (const auto& [key, count] : pages.items()) all += count.get<std::uint64_t>();
  const std::uint64_t here = pages.value(node, std::uint64_t{0});
  if (!share) return std::to_string(here);
  return all == 0 ? "?" : fmt::format("{}", (here * 100 + all / 2) / all);
}

std::string common_value(const Json& threads, const char* key, const std::string& expected) {
  if (!threads.is_array() || threads.empty()) return "(no process)";
  std::string seen;
  for (const Json& thread : threads) {
    seen = thread.value(key, "");
    if (check_value("", "Cpus_allowed_list", expected, seen).good) continue;
    return fmt::format("{} ({} {})", seen, thread.value("tid", ""), thread.value("name", ""));
  }
  return seen;
}

std::vector<std::string> overlaps_seen(const Json& states, const ExclusiveCpus& exclusive) {
  std::vector<std::string> overlaps;
  for (const Json& state : states) {
    std::map<std::string, CpuSet> seen;
    std::istringstream lines(state.value("groups", ""));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t blank = line.find(' ');
      const std::string name = line.substr(0, blank);
      const auto cpus = CpuSet::parse(blank == std::string::npos ? "" : line.substr(blank + 1));
      // "pod.../container": the pod's own group has the CPUs of all of them.
      if (cpus && name.find('/') != std::string::npos) seen[name] = *cpus;
    }
    for (const auto& [owner, own] : exclusive) {
      const auto held = seen.find(owner);
      if (held == seen.end()) continue;
      const CpuSet mine = own & held->second;
      for (const auto& [other, theirs] : seen) {
        if (other == owner || !mine.intersects(theirs)) continue;
        overlaps.push_back(fmt::format("{} had CPUs {} of {} in {} looks", other,
                                       (mine & theirs).to_string(), owner,
                                       state.value("looks", 0)));
      }
    }
  }
  return overlaps;
}

std::vector<Check> check_disjoint(const std::vector<std::pair<std::string, std::string>>& lists) {
  std::vector<Check> checks;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t j = i + 1; j < lists.size(); ++j) {
      const auto one = CpuSet::parse(lists[i].second);
      const auto other = CpuSet::parse(lists[j].second);
      std::string actual = "(no list of CPUs)";
      if (one && other) actual = (*one & *other).to_string();
      checks.push_back({fmt::format("{} and {} in common", lists[i].first, lists[j].first), "",
                        actual, actual.empty()});
    }
  }
  return checks;
}

}  // namespace pinfold::harness
