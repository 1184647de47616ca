#include "pinfold/picture/svg.hpp"

#include <gtest/gtest.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <set>
#include <sstream>

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
      {"a", CpuUse::kExclusive, "shop/<db>&\"main\"", first, "2 GiB on NUMA 0"},
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

/// Calls `visit` with each element that has this name.
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
