#include "memory_curve.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::load {
namespace {

constexpr double kKibOfMib = 1024;

double mib(const MemorySample& sample) { return sample.memory.total / kKibOfMib; }
double anonymous_mib(const MemorySample& sample) { return sample.memory.anonymous / kKibOfMib; }

double median_anonymous_mib(std::vector<MemorySample>::const_iterator begin,
                            std::vector<MemorySample>::const_iterator end) {
  std::vector<double> values;
  std::transform(begin, end, std::back_inserter(values), anonymous_mib);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

constexpr double kLeft = 50;
constexpr double kTop = 30;
constexpr double kWidth = 560;
constexpr double kHeight = 220;

struct Scale {
  double seconds = 1;
  double mib = 1;
  [[nodiscard]] double x(double at) const { return kLeft + kWidth * at / seconds; }
  [[nodiscard]] double y(double at) const { return kTop + kHeight * (1 - at / mib); }
};

std::string curve(const std::vector<MemorySample>& samples, const Scale& scale,
                  double Memory::*part) {
  std::string points;
  for (const MemorySample& sample : samples) {
    points += fmt::format(" {:.1f},{:.1f}", scale.x(sample.seconds),
                          scale.y(sample.memory.*part / kKibOfMib));
  }
  return points.substr(1);
}

}  // namespace

std::optional<std::string> judge_memory(const std::vector<MemorySample>& samples,
                                        double limit_mib) {
  for (const MemorySample& sample : samples) {
    if (mib(sample) <= limit_mib) continue;
    return fmt::format("memory: {:.1f} MiB after {:.0f} s, more than {} MiB", mib(sample),
                       sample.seconds, limit_mib);
  }
  constexpr std::ptrdiff_t kLeast = 8;
  const std::ptrdiff_t quarter = std::ssize(samples) / 4;
  if (std::ssize(samples) < kLeast) return std::nullopt;
  const double third = median_anonymous_mib(samples.end() - 2 * quarter, samples.end() - quarter);
  const double last = median_anonymous_mib(samples.end() - quarter, samples.end());
  if (last - third <= kMemoryNoiseMib) return std::nullopt;
  return fmt::format(
      "anonymous memory grows: median {:.1f} MiB in the third quarter, {:.1f} MiB in the last",
      third, last);
}

std::string draw_memory(const std::vector<MemorySample>& samples, double limit_mib) {
  const Scale scale{std::max(1.0, samples.back().seconds), limit_mib};
  constexpr int kLines = 4;
  const bool in_minutes = scale.seconds >= 600;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0f} {:.0f}" font-family="sans-serif" font-size="11">
<style>
svg {{ background: #fff; color: #24292f }} text {{ fill: currentColor }}
line {{ stroke: currentColor; stroke-opacity: .15 }} polyline {{ fill: none; stroke-width: 1.5 }}
@media (prefers-color-scheme: dark) {{ svg {{ background: #0d1117; color: #e6edf3 }} }}
</style>
<text x="{:.0f}" y="18" font-size="13">Memory of the service under churn, MiB (limit {:.0f})</text>
)",
      kLeft + kWidth + 20, kTop + kHeight + 50, kLeft, limit_mib);
  for (int i = 0; i <= kLines; ++i) {
    const double at = limit_mib * i / kLines;
    svg += fmt::format(
        "<line x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.0f}</text>\n",
        kLeft, kLeft + kWidth, scale.y(at), kLeft - 6, scale.y(at) + 4, at);
    const double seconds = scale.seconds * i / kLines;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{:.3g} {}</text>\n",
                       scale.x(seconds), kTop + kHeight + 18, in_minutes ? seconds / 60 : seconds,
                       in_minutes ? "min" : "s");
  }
  struct Line {
    const char* name;
    const char* colour;
    double Memory::*part;
  };
  double x = kLeft;
  for (const Line& line : {Line{"VmRSS", "#2f81f7", &Memory::total},
                           Line{"RssAnon (heap, stacks)", "#db6d28", &Memory::anonymous},
                           Line{"RssFile (program, libraries)", "#2da44e", &Memory::file}}) {
    svg += fmt::format("<polyline stroke=\"{}\" points=\"{}\"/>\n", line.colour,
                       curve(samples, scale, line.part));
    svg += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"10\" height=\"3\" fill=\"{}\"/>"
        "<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n",
        x, kTop + kHeight + 34, line.colour, x + 14, kTop + kHeight + 39, line.name);
    x += 170;
  }
  return svg + "</svg>\n";
}

}  // namespace pinfold::load
