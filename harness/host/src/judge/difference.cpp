#include "judge/difference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "pinfold/harness/json.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxLine = 200;
constexpr int kMaxDepth = 8;

/// Returns the length of the longest common substring.
std::size_t shared_length(std::string_view a, std::string_view b) {
  std::size_t longest = 0;
  std::vector<std::size_t> above(b.size() + 1);  // lengths of common suffixes of a[..i) and b[..j)
  for (const char letter : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t ends_here = letter == b[j] ? diagonal + 1 : 0;
      diagonal = std::exchange(above[j + 1], ends_here);
      longest = std::max(longest, ends_here);
    }
  }
  return longest;
}

std::string string_field(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// Adds "reason: message" for each object that has one.
void collect_reasons(const Json& json, int depth, std::vector<std::string>& reasons) {
  if (depth > kMaxDepth) return;
  if (json.is_object()) {
    const std::string reason = string_field(json, "reason");
    const std::string message = string_field(json, "message");
    if (!reason.empty() || !message.empty()) {
      reasons.push_back(reason + (reason.empty() || message.empty() ? "" : ": ") + message);
    }
  }
  if (!json.is_structured()) return;
  for (const Json& below : json) collect_reasons(below, depth + 1, reasons);
}

}  // namespace

std::string describe_end(const Json& reply) {
  if (reply.value("timedOut", false)) return "the time limit, which --time-scale extends";
  if (reply.contains("signal")) return "signal " + reply["signal"].dump();
  return "status " + reply.value("status", Json()).dump();
}

std::string excerpt(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.size() > 2000) text = "..." + text.substr(text.size() - 2000);
  return text;
}

std::string list_difference(const CheckedValue& check) {
  if (!is_list_value(std::string_view(check.what).substr(check.what.rfind(' ') + 1))) return "";
  const auto expected = CpuSet::parse(check.expected);
  const auto observed = CpuSet::parse(check.observed);
  if (!expected || !observed) return "";
  const CpuSet lacking = *expected - *observed;
  const CpuSet more = *observed - *expected;
  std::string text;
  if (!lacking.empty()) text = "lacks " + lacking.to_string();
  if (!more.empty()) text += (text.empty() ? "also has " : ", also has ") + more.to_string();
  return text;
}

std::string nearest_line(std::string_view text, std::string_view wanted) {
  wanted = wanted.substr(0, kMaxLine);
  std::string_view nearest;
  std::size_t most = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, std::min(end, kMaxLine));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t shared = shared_length(line, wanted);
    if (shared > most) {
      most = shared;
      nearest = line;
    }
  }
  return 2 * most >= wanted.size() ? std::string(nearest) : "";
}

std::string missing_text(const std::string& wanted, const std::string& output) {
  if (const std::string line = nearest_line(output, wanted); !line.empty()) {
    return fmt::format("expected '{}' in the output, the nearest line is '{}'", wanted, line);
  }
  return fmt::format("expected '{}' in: {}", wanted, excerpt(output));
}

std::string reasons_in(const Json& reply) {
  const std::string out = reply.value("stdout", "");
  const std::string err = reply.value("stderr", "");
  const Json answer = Json::parse(out, nullptr, false);
  std::vector<std::string> reasons;
  collect_reasons(answer, 0, reasons);
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    collect_reasons(Json::parse(line, nullptr, false), 0, reasons);
  }
  std::string text = fmt::format("{}", fmt::join(reasons, "; "));
  if (text.empty()) text = excerpt(answer.is_discarded() ? out + err : err);
  return text.empty() ? "" : ": " + text;
}

}  // namespace pinfold::harness
