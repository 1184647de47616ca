#include "pinfold/picture/svg.hpp"

#include <gtest/gtest.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "pinfold/discover/discover.hpp"

namespace pinfold::tools {
namespace {

using boost::property_tree::ptree;

SvgPanel panel_of(const char* text) {
  auto machine = discover(HwlocSynthetic{text}, "n1");
  EXPECT_TRUE(machine) << machine.error().message;
  SvgPanel panel{"", std::move(*machine), {}, {}};
  const CpuSet first = panel.machine.cores().front().cpus;
  panel.picture.overlay.entries = {
      {"a", CpuUse::kExclusive, "shop/<db>&\"main\"", first, "2Gi on NUMA 0"},
      {".", CpuUse::kShared, "shared pool", panel.machine.all_cpus() - first}};
  panel.picture.overlay.marks = {{"!", "drift", first}};
  for (const NumaNode& node : panel.machine.numa_nodes()) {
    panel.picture.numa.push_back({{{"4Ki", node.memory, 1 << 20, 1 << 21, {}}}, {}});
  }
  panel.notes = {"a sentence with <angles> & an ampersand"};
  return panel;
}

ptree parsed(const std::string& svg) {
  std::istringstream in(svg);
  ptree tree;
  EXPECT_NO_THROW(boost::property_tree::read_xml(in, tree)) << svg;
  return tree;
}

/// Calls `visit` with each element of this name.
template <class Visit>
void each(const ptree& tree, const std::string& name, const Visit& visit) {
  for (const auto& [key, child] : tree) {
    if (key == name) visit(child);
    each(child, name, visit);
  }
}

/// Returns the numbers of the drawn CPUs.
std::multiset<int> drawn_cpus(const ptree& tree) {
  std::multiset<int> cpus;
  each(tree, "g", [&](const ptree& group) {
    const std::string title = group.get<std::string>("title", "");
    if (title.rfind("CPU ", 0) == 0) cpus.insert(std::stoi(title.substr(4)));
  });
  return cpus;
}

TEST(Svg, DrawsEachCpuOnceWithinTheImage) {
  for (const char* text : {"pu:8", "pack:2 [numa] l3:2 core:8 pu:2", "[numa] pack:2 core:2 pu:8",
                           "pack:2 numa:4 l3:2 core:8 pu:2", "pack:2 numa:8 core:32 pu:2"}) {
    const SvgPanel panel = panel_of(text);
    const ptree tree = parsed(render_svg("status", {panel}));
    std::multiset<int> all;
    for (const Cpu& cpu : panel.machine.cpus()) all.insert(cpu.id.value);
    EXPECT_EQ(drawn_cpus(tree), all) << text;
    const int width = tree.get<int>("svg.<xmlattr>.width");
    const int height = tree.get<int>("svg.<xmlattr>.height");
    each(tree.get_child("svg"), "rect", [&](const ptree& rect) {
      const auto number = [&](const std::string& name) {
        return rect.get<int>("<xmlattr>." + name, 0);
      };
      EXPECT_GE(number("x"), 0) << text;
      EXPECT_LE(number("x") + number("width"), width) << text;
      EXPECT_LE(number("y") + number("height"), height) << text;
    });
  }
}

/// A text and its position in an image, in pixels.
struct Line {
  double left = 0;
  double right = 0;
  double base = 0;
  double size = 0;  ///< of its font
  std::string text;
};

/// Returns the font size of class `css`: that within groups of class `group`, if there is one.
double font_size(const std::string& style, const std::string& group, const std::string& css) {
  std::size_t rule = style.find("." + group + " ." + css + " { font-size: ");
  if (rule == std::string::npos) rule = style.find("." + css + " { font-size: ");
  EXPECT_NE(rule, std::string::npos) << css;
  if (rule == std::string::npos) return 0;
  return std::stod(style.substr(style.find("font-size: ", rule) + 11));
}

/// Estimates the width of a text in DejaVu Sans by the average width of its characters.
double width_of(const std::string& text, double size, bool is_bold) {
  return static_cast<double>(display_width(text)) * size * (is_bold ? 0.69 : 0.6);
}

std::string last_word(const std::string& text) { return text.substr(text.rfind(' ') + 1); }

/// Adds the texts of an element. `group`: the last class of the group that contains it.
void add_lines(const ptree& element, const std::string& style, const std::string& group,
               std::vector<Line>& lines) {
  const std::string bold = " title caption outer inner tile label ";
  for (const auto& [key, child] : element) {
    const auto css = last_word(child.get<std::string>("<xmlattr>.class", ""));
    if (key != "text") {
      add_lines(child, style, key == "g" ? css : group, lines);
      continue;
    }
    Line line;
    line.size = font_size(style, group, css);
    line.text = child.data();
    double width = css == "mono" ? static_cast<double>(display_width(line.text)) * line.size * 0.602
                                 : width_of(line.text, line.size,
                                            bold.find(" " + css + " ") != std::string::npos);
    if (const auto more = child.get_child_optional("tspan")) {
      const auto small = more->get<std::string>("<xmlattr>.class");
      width += more->get<double>("<xmlattr>.dx") +
               width_of(more->data(), font_size(style, group, small), false);
      line.text += " " + more->data();
    }
    const bool is_centred = css == "label" || css == "number" || !group.empty();
    line.left = child.get<double>("<xmlattr>.x") - (is_centred ? width / 2 : 0);
    line.right = line.left + width;
    line.base = child.get<double>("<xmlattr>.y");
    lines.push_back(std::move(line));
  }
}

std::vector<Line> lines_of(const ptree& image) {
  std::vector<Line> lines;
  add_lines(image.get_child("svg"), image.get<std::string>("svg.style"), "", lines);
  return lines;
}

bool overlap(const Line& one, const Line& other) {
  constexpr double kHeight = 0.75;  // of capitals, relative to the font size
  const Line& lower = one.base > other.base ? one : other;
  const Line& upper = one.base > other.base ? other : one;
  return lower.base - lower.size * kHeight < upper.base && one.left + 1 < other.right &&
         other.left + 1 < one.right;
}

/// Expects every text to end within the frame in which it begins.
void expect_texts_within_frames(const ptree& image, const std::vector<Line>& lines) {
  each(image.get_child("svg"), "rect", [&](const ptree& rect) {
    if (rect.get<std::string>("<xmlattr>.class", "") != "frame") return;
    const auto left = rect.get<double>("<xmlattr>.x");
    const auto top = rect.get<double>("<xmlattr>.y");
    const double right = left + rect.get<double>("<xmlattr>.width");
    const double bottom = top + rect.get<double>("<xmlattr>.height");
    for (const Line& line : lines) {
      if (line.left < left || line.left > right || line.base < top || line.base > bottom) continue;
      EXPECT_LE(line.right, right) << line.text;
    }
  });
}

constexpr const char* kShapes[] = {"pu:8",
                                   "pack:2 [numa] l3:2 core:8 pu:2",
                                   "[numa] pack:2 core:2 pu:8",
                                   "pack:2 numa:4 l3:2 core:8 pu:2",
                                   "pack:2 [numa] l3:16 core:8 pu:1",
                                   "pack:8 numa:8 core:2 pu:2",
                                   "pack:8 numa:8 core:8 pu:2"};

TEST(Svg, TextsStayWithinTheImageAndDoNotOverlap) {
  for (const char* shape : kShapes) {
    SvgPanel panel = panel_of(shape);
    panel.needed = NeededCpus{"shop/web needs 10 CPUs", 10};
    panel.picture.overlay.entries[0].text = std::string(200, 'n');
    panel.notes.push_back(std::string(300, 'x') + " and many words that need another line");
    const ptree image = parsed(render_svg(std::string(120, 't'), {panel, panel}));
    const std::vector<Line> lines = lines_of(image);
    for (const Line& line : lines) {
      EXPECT_GE(line.left, 0) << shape << ": " << line.text;
      EXPECT_LE(line.right, 1280) << shape << ": " << line.text;
      EXPECT_LE(line.base, image.get<double>("svg.<xmlattr>.height")) << shape << ": " << line.text;
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        EXPECT_FALSE(overlap(lines[i], lines[j]))
            << shape << ": '" << lines[i].text << "' and '" << lines[j].text << "'";
      }
    }
    expect_texts_within_frames(image, lines);
  }
}

TEST(Svg, LargeMachinesFitASlide) {
  const auto height_of = [](const char* shape) {
    SvgPanel panel = panel_of(shape);
    panel.picture.overlay.marks.clear();
    panel.notes.clear();
    return parsed(render_svg("status", {panel})).get<int>("svg.<xmlattr>.height");
  };
  EXPECT_LE(height_of("pack:8 numa:8 core:2 pu:2"), 720);
  EXPECT_LE(height_of("pack:64 [numa] core:4 pu:1"), 720);
  EXPECT_LE(height_of("pack:2 [numa] l3:16 core:8 pu:1"), 720);
  EXPECT_LE(height_of("pack:2 numa:4 l3:2 core:8 pu:2"), 720);
  EXPECT_LE(height_of("pack:8 numa:8 core:8 pu:2"), 800);  // 1,024 CPUs
}

TEST(Svg, LargeMachinesWithManyPodsFitASlide) {
  for (const char* shape : {"pack:8 numa:8 core:2 pu:2", "pack:64 [numa] core:4 pu:1",
                            "pack:2 [numa] l3:16 core:8 pu:1", "pack:2 numa:4 l3:2 core:8 pu:2"}) {
    SvgPanel panel = panel_of(shape);
    panel.picture.overlay.marks.clear();
    panel.notes.clear();
    for (int pod = 0; pod < 60; ++pod) {
      panel.picture.overlay.entries.push_back({"a", CpuUse::kExclusive,
                                               "default/pod-" + std::to_string(pod) + "/main",
                                               CpuSet{pod}, "4Gi on NUMA 0"});
    }
    const ptree image = parsed(render_svg("status", {panel}));
    EXPECT_LE(image.get<int>("svg.<xmlattr>.height"), 720) << shape;
    for (const Line& line : lines_of(image)) {
      EXPECT_EQ(line.text.find("…"), std::string::npos) << shape << ": " << line.text;
    }
  }
}

TEST(Svg, NamesCpusOfSmallMachinesAndCaches) {
  const std::string small = render_svg("status", {panel_of("pack:2 [numa] l3:2 core:4 pu:2")});
  EXPECT_NE(small.find(">L3 3</text>"), std::string::npos) << small;
  EXPECT_NE(small.find("class=\"number\">31</text>"), std::string::npos) << small;
  EXPECT_NE(small.find("held 2Mi, reserved 1Mi, free"), std::string::npos) << small;
}

TEST(Svg, LabelsTheKindsOfCoresOfAHybridMachine) {
  SvgPanel panel = panel_of("[numa] l3:1 core:8 pu:1");
  MachineDescription description = panel.machine.description();
  description.core_kinds = {{"performance", CpuSet::range(0, 3)},
                            {"efficiency", CpuSet::range(4, 7)}};
  panel.machine = Machine::make(std::move(description)).value();
  const std::string svg = render_svg("status", {panel});
  EXPECT_NE(svg.find(">L3 0 performance</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">L3 0 efficiency</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">Kinds of cores: performance 0-3, efficiency 4-7</text>"), std::string::npos)
      << svg;
  EXPECT_NE(parsed(svg).get<std::string>("svg.desc").find("efficiency 4-7."), std::string::npos);
  EXPECT_EQ(drawn_cpus(parsed(svg)).size(), 8U);
}

TEST(Svg, ShowsNeededCpusAndFramesThoseThatWouldBeFree) {
  SvgPanel panel = panel_of("pack:2 [numa] core:4 pu:1");
  panel.picture.overlay.marks = {{"+", "would be free if shop/db is removed", CpuSet{2, 3}, false}};
  panel.needed = NeededCpus{"shop/web needs 6 CPUs", 6};
  const ptree image = parsed(render_svg("explain", {panel}));
  std::size_t needed = 0;
  std::size_t framed = 0;
  each(image, "rect", [&](const ptree& rect) {
    const auto css = rect.get<std::string>("<xmlattr>.class", "");
    if (css == "needed") ++needed;
    if (css == "marked change") ++framed;
  });
  EXPECT_EQ(needed, 6U);
  EXPECT_EQ(framed, 2U);
  const auto description = image.get<std::string>("svg.desc");
  EXPECT_NE(description.find("would be free if shop/db is removed: CPUs 2-3."), std::string::npos)
      << description;
  EXPECT_NE(description.find("shop/web needs 6 CPUs."), std::string::npos) << description;
}

TEST(Svg, LimitsTheBoxesOfNeededCpus) {
  SvgPanel panel = panel_of("core:4 pu:1");
  panel.needed = NeededCpus{"shop/web needs 5000 CPUs", 5000};
  const ptree image = parsed(render_svg("explain", {panel}));
  EXPECT_LE(image.get<int>("svg.<xmlattr>.height"), 720);
}

TEST(Svg, LoadsNothingAndRunsNothing) {
  const std::string svg = render_svg("status", {panel_of("pack:2 core:2 pu:2")});
  for (const char* word : {"<script", "href", "@import", "<image", "<foreignObject", "onload"}) {
    EXPECT_EQ(svg.find(word), std::string::npos) << word;
  }
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(Svg, NamesOwnersInTextToo) {
  const ptree tree = parsed(render_svg("status of n1", {panel_of("pack:2 core:2 pu:2")}));
  EXPECT_EQ(tree.get<std::string>("svg.title"), "status of n1");
  const auto description = tree.get<std::string>("svg.desc");
  EXPECT_NE(description.find("a: shop/<db>&\"main\", CPUs 0-1."), std::string::npos) << description;
  std::size_t labels = 0;
  each(tree, "text", [&](const ptree& text) {
    if (text.get<std::string>("<xmlattr>.class", "") == "label") {
      EXPECT_TRUE(text.data() == "a!" || text.data() == ".") << text.data();
      ++labels;
    }
  });
  EXPECT_EQ(labels, 8U);
}

TEST(Svg, GivesALabelTheSameFillInEveryPanel) {
  SvgPanel before = panel_of("core:4 pu:1");
  before.picture.overlay.entries[0].label = "b";
  SvgPanel after = before;
  after.picture.overlay.entries.insert(after.picture.overlay.entries.begin(),
                                       {"a", CpuUse::kExclusive, "shop/new/main", CpuSet{3}});
  const std::string svg = render_svg("plan", {before, after});
  EXPECT_NE(svg.find("class=\"marked\" fill=\"url(#e1p1)\""), std::string::npos) << svg;
  EXPECT_EQ(svg.find("class=\"marked\" fill=\"url(#e0p0)\""), std::string::npos);
}

TEST(Svg, EscapesControlCharacters) {
  SvgPanel panel = panel_of("core:2 pu:1");
  panel.picture.overlay.entries[0].text = "a\x01\x1b[31m";
  const std::string svg = render_svg("x", {panel});
  EXPECT_EQ(svg.find('\x1b'), std::string::npos);
  parsed(svg);
}

}  // namespace
}  // namespace pinfold::tools
