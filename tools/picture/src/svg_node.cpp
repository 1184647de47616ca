#include "svg_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "pinfold/picture/numa_use.hpp"

namespace pinfold::tools::svg {
namespace {

constexpr int kMostOuters = 16;  // side by side
constexpr int kMostInners = 8;
constexpr int kMostThreads = 4;  // in a column or row of a core

constexpr std::array<Form, 5> kForms = {{{42, 40, true, "big", false},
                                         {28, 28, true, "mid", false},
                                         {28, 28, true, "mid", true},
                                         {17, 16, false, "small", true},
                                         {12, 11, false, "tiny", true}}};

/// Distances of the two kinds of forms.
struct Gaps {
  int outer;    // between outer boxes
  int inner;    // between inner boxes
  int padding;  // inside of outer boxes
  int cache;
  int core;
  int edge;  // of a core, both sides together
  int title;
  int cache_title;
};
constexpr Gaps kDetailed = {16, 12, 12, 12, 4, 4, 22, 18};
constexpr Gaps kCompact = {8, 6, 6, 8, 2, 2, 16, 0};
const Gaps& gaps_of(bool is_compact) { return is_compact ? kCompact : kDetailed; }

/// Draws boxes in rows of `columns`, and returns their height. `draw` takes the position of a box,
/// its x and y from the first one's, and its width, and returns its height.
template <class Draw>
int draw_grid(std::size_t count, int columns, int width, int gap, const Draw& draw) {
  const int box = (width - (columns - 1) * gap) / columns;
  int top = 0;
  int bottom = -gap;
  for (std::size_t i = 0; i < count; ++i) {
    const int column = static_cast<int>(i) % columns;
    if (column == 0) top = bottom + gap;
    bottom = std::max(bottom, top + draw(i, column * (box + gap), top, box));
  }
  return std::max(bottom, 0);
}

/// Returns the first text that fits, or "" and notes that none does.
std::string first_fitting(Canvas& canvas, const std::vector<std::string>& texts, const Font& font,
                          int width) {
  for (const std::string& text : texts) {
    if (text_width(font, text) <= width) return text;
  }
  canvas.overflows = true;
  return "";
}

/// Returns descriptions of the use of memory, the longest first.
std::vector<std::string> amounts_of(const MemoryUse& memory, bool assigns_memory) {
  const std::string kernel =
      memory.kernel_free ? fmt::format(" (kernel: {})", human_bytes(*memory.kernel_free)) : "";
  if (!assigns_memory) return {"not assigned" + kernel, "not assigned"};
  const std::string free = "free " + human_bytes(free_bytes(memory));
  const std::string all = fmt::format("held {}, reserved {}, {}", human_bytes(memory.held),
                                      human_bytes(memory.reserved), free);
  return {all + kernel, all, free};
}

/// Draws held, reserved and free memory; what is held or reserved has at least two pixels.
std::string bar(const MemoryUse& memory, int x, int y, int width, int height) {
  const auto length = [&](std::uint64_t bytes) {
    if (memory.total == 0 || bytes == 0) return 0;
    const double share = static_cast<double>(bytes) / static_cast<double>(memory.total);
    return std::clamp(static_cast<int>(std::lround(share * width)), 2, width);
  };
  const int held = length(memory.held);
  const int reserved = std::min(width - held, length(memory.reserved));
  const auto rect = [&](int from, int part, const char* attributes) {
    return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", x + from, y,
                       part, height, attributes);
  };
  std::string out = rect(0, width, "class=\"bar\"");
  if (held > 0) out += rect(0, held, "class=\"held\"");
  if (reserved > 0) out += rect(held, reserved, "fill=\"url(#reserved)\"");
  return out;
}

int most_threads(const Machine& machine) {
  std::size_t most = 1;
  for (const Machine::Group& core : machine.cores()) most = std::max(most, core.cpus.size());
  return static_cast<int>(most);
}

/// Returns the number of free CPUs of each NUMA node, by position.
std::vector<std::size_t> free_by_numa(const Machine& machine, const Overlay& overlay) {
  std::vector<std::size_t> free;
  free.reserve(machine.numa_nodes().size());
  for (int numa = 0; numa < machine.numa_count(); ++numa) {
    free.push_back(free_cpus(machine, overlay, machine.cpus_of_numa(numa)).cpus.size());
  }
  return free;
}

std::vector<Scene::Cache> all_caches(const Scene::Outer& outer) {
  std::vector<Scene::Cache> all;
  for (const Scene::Inner& inner : outer.inners) {
    all.insert(all.end(), inner.caches.begin(), inner.caches.end());
  }
  return all;
}

}  // namespace

NodeDrawing::NodeDrawing(const Machine& machine, const Picture& picture, int most_height)
    : machine_(machine),
      picture_(picture),
      most_height_(most_height),
      scene_(make_scene(machine, lay_out(machine))),
      threads_(most_threads(machine)),
      free_(free_by_numa(machine, picture.overlay)),
      arrangement_(choose_arrangement()) {}

Arrangement NodeDrawing::choose_arrangement() const {
  std::optional<std::pair<int, Arrangement>> best;
  for (const Form& form : kForms) {
    const auto found = lowest(form);
    if (found && (!best || found->first < best->first)) best = found;
    if (best && best->first <= most_height_) break;
  }
  return best ? best->second : Arrangement{kForms.back()};
}

std::optional<std::pair<int, Arrangement>> NodeDrawing::lowest(const Form& form) const {
  std::size_t most = 1;
  for (const Scene::Outer& outer : scene_.outers) most = std::max(most, outer.inners.size());
  const int outers = std::min(kMostOuters, static_cast<int>(scene_.outers.size()));
  const int inners = std::min(kMostInners, static_cast<int>(most));
  std::optional<std::pair<int, Arrangement>> best;
  for (Arrangement arrangement{form}; arrangement.outers <= outers; ++arrangement.outers) {
    for (arrangement.inners = 1; arrangement.inners <= inners; ++arrangement.inners) {
      Canvas canvas{.out = "", .has_cpus = false};
      const int height = draw(canvas, arrangement, 0);
      if (!canvas.overflows && (!best || height < best->first))
        best = std::pair(height, arrangement);
    }
  }
  return best;
}

int NodeDrawing::draw(Canvas& canvas, int y) const { return draw(canvas, arrangement_, y); }

int NodeDrawing::draw(Canvas& canvas, const Arrangement& arrangement, int y) const {
  const Gaps& gaps = gaps_of(arrangement.form.is_compact);
  return gaps.outer + draw_grid(scene_.outers.size(), arrangement.outers, kWidth - 2 * kMargin,
                                gaps.outer, [&](std::size_t i, int dx, int dy, int width) {
                                  return draw_outer(canvas, arrangement, scene_.outers[i],
                                                    {kMargin + dx, y + dy, width});
                                });
}

/// Returns the NUMA node that is all there is to show of an outer box, if its form is compact.
const Scene::Title* NodeDrawing::only_numa(const Scene::Outer& outer) const {
  if (outer.title.numa >= 0) return &outer.title;
  const bool has_many = scene_.outers.size() > static_cast<std::size_t>(kMostInners);
  return has_many && outer.inners.size() == 1 ? &outer.inners.front().title : nullptr;
}

int NodeDrawing::draw_outer(Canvas& canvas, const Arrangement& arrangement,
                            const Scene::Outer& outer, const Place& place) const {
  const Form& form = arrangement.form;
  const int padding = gaps_of(form.is_compact).padding;
  const std::size_t begin = canvas.out.size();
  Place inside{place.x + padding, place.y + padding, place.width - 2 * padding};
  const Scene::Title* const numa = form.is_compact ? only_numa(outer) : nullptr;
  inside.y += draw_title(canvas, form, numa == nullptr ? outer.title : *numa,
                         form.is_compact ? kTile : kOuter, inside);
  inside.y += numa == nullptr ? draw_inners(canvas, arrangement, outer, inside)
                              : draw_caches(canvas, form, all_caches(outer), inside);
  const int height = inside.y - place.y + padding;
  canvas.out.insert(
      begin,
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" class=\"frame\"/>\n",
                  place.x, place.y, place.width, height));
  return height;
}

int NodeDrawing::draw_inners(Canvas& canvas, const Arrangement& arrangement,
                             const Scene::Outer& outer, const Place& place) const {
  const Form& form = arrangement.form;
  return draw_grid(outer.inners.size(), arrangement.inners, place.width,
                   gaps_of(form.is_compact).inner, [&](std::size_t i, int dx, int dy, int width) {
                     const Scene::Inner& inner = outer.inners[i];
                     Place at{place.x + dx, place.y + dy, width};
                     at.y += draw_title(canvas, form, inner.title, form.is_compact ? kTile : kInner,
                                        at);
                     return at.y + draw_caches(canvas, form, inner.caches, at) - place.y - dy;
                   });
}

bool NodeDrawing::has_use(int numa) const {
  return numa >= 0 && static_cast<std::size_t>(numa) < picture_.numa.size();
}

/// Returns what is said of a NUMA node next to its name, the longest form first.
std::vector<std::string> NodeDrawing::facts_of(const Scene::Title& title, const Form& form) const {
  if (!has_use(title.numa)) return {title.facts, title.facts.substr(0, title.facts.find("   "))};
  const CpuSet& cpus = machine_.cpus_of_numa(title.numa);
  const std::size_t free = free_[static_cast<std::size_t>(title.numa)];
  const std::string list = form.has_number ? "" : fmt::format(" ({})", cpus.to_string());
  const std::string counts =
      cpus.empty() ? "no CPUs"
                   : fmt::format("{}{}, {} free", counted(cpus.size(), "CPU"), list, free);
  if (!form.is_compact) return {counts};
  const auto& memory = picture_.numa[static_cast<std::size_t>(title.numa)].memory;
  std::vector<std::string> facts;
  if (picture_.assigns_memory && !memory.empty()) {
    facts.push_back(counts + ", " + human_bytes(free_bytes(memory.front())) + " of memory free");
  }
  facts.push_back(counts);
  if (!cpus.empty()) facts.push_back(fmt::format("{} free", free));
  return facts;
}

int NodeDrawing::draw_title(Canvas& canvas, const Form& form, const Scene::Title& title,
                            const Font& font, const Place& place) const {
  const Font& small = form.is_compact ? kTileFacts : kFacts;
  const int line = gaps_of(form.is_compact).title;
  const int name = text_width(font, title.name);
  if (name > place.width) canvas.overflows = true;
  const std::string facts =
      first_fitting(canvas, facts_of(title, form), small, place.width - name - kBetweenTexts);
  canvas.out +=
      two_texts_at(place.x, place.y + (form.is_compact ? 11 : 14), font, title.name, small, facts);
  if (!has_use(title.numa)) return line;
  return line + draw_memory(canvas, form, title.numa, {place.x, place.y + line, place.width});
}

int NodeDrawing::draw_memory(Canvas& canvas, const Form& form, int numa, const Place& place) const {
  constexpr int kBarAt = 120;
  constexpr int kBar = 100;
  constexpr int kTextAt = kBarAt + kBar + 10;
  const int line = form.is_compact ? 8 : 20;
  int at = place.y;
  for (const MemoryUse& memory : picture_.numa[static_cast<std::size_t>(numa)].memory) {
    const std::string size = human_bytes(memory.total);
    const std::vector<std::string> amounts = amounts_of(memory, picture_.assigns_memory);
    if (form.is_compact) {
      canvas.out += fmt::format("<g><title>{}</title>",
                                xml(memory.kind + " " + size + ": " + amounts.front()));
      canvas.out += bar(memory, place.x, at, place.width, 5) + "</g>\n";
    } else {
      canvas.out +=
          text_at(place.x, at + 11, kFacts,
                  first_fitting(canvas, {memory.kind + " " + size, size}, kFacts, kBarAt));
      canvas.out += bar(memory, place.x + kBarAt, at + 2, kBar, 10);
      canvas.out += text_at(place.x + kTextAt, at + 11, kFacts,
                            first_fitting(canvas, amounts, kFacts, place.width - kTextAt));
    }
    at += line;
  }
  return at - place.y + (form.is_compact ? 0 : 4);
}

int NodeDrawing::draw_caches(Canvas& canvas, const Form& form,
                             const std::vector<Scene::Cache>& caches, const Place& place) const {
  const Gaps& gaps = gaps_of(form.is_compact);
  const int step = core_width(form) + gaps.core;
  const int core_step = core_height(form) + gaps.core;
  int left = 0;
  int top = 0;
  int bottom = 0;
  for (const Scene::Cache& cache : caches) {
    const std::string name = cache.title();
    const int title = name.empty() ? 0 : gaps.cache_title;
    const int count = static_cast<int>(cache.cores.size());
    const int in_row = std::clamp((place.width + gaps.core) / step, 1, count);
    const int width = std::max(in_row * step - gaps.core, title > 0 ? text_width(kFacts, name) : 0);
    if (width > place.width) canvas.overflows = true;
    if (left > 0 && left + width > place.width) {
      left = 0;
      top = bottom + gaps.cache / 2;
    }
    const int x = place.x + left;
    const int y = place.y + top + title;
    if (title > 0) canvas.out += text_at(x, y - 5, kFacts, name);
    for (int i = 0; i < count; ++i) {
      draw_core(canvas, form, cache.cores[static_cast<std::size_t>(i)], x + i % in_row * step,
                y + i / in_row * core_step);
    }
    const int rows = (count + in_row - 1) / in_row;
    bottom = std::max(bottom, top + title + rows * core_step - gaps.core);
    left += width + gaps.cache;
  }
  return bottom;
}

/// The CPUs of a core are in a column, or in a row if they have no numbers.
int NodeDrawing::columns_in_core(const Form& form) const {
  return form.has_number ? (threads_ + kMostThreads - 1) / kMostThreads
                         : std::min(threads_, kMostThreads);
}

int NodeDrawing::rows_in_core(const Form& form) const {
  const int columns = columns_in_core(form);
  return (threads_ + columns - 1) / columns;
}

int NodeDrawing::core_width(const Form& form) const {
  return columns_in_core(form) * form.cpu_width + gaps_of(form.is_compact).edge;
}

int NodeDrawing::core_height(const Form& form) const {
  return rows_in_core(form) * form.cpu_height + gaps_of(form.is_compact).edge;
}

void NodeDrawing::draw_core(Canvas& canvas, const Form& form, const CpuSet& core, int x,
                            int y) const {
  if (!canvas.has_cpus) return;
  canvas.out +=
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" class=\"core\"/>\n",
                  x, y, core_width(form), core_height(form));
  const int edge = gaps_of(form.is_compact).edge / 2;
  const int rows = rows_in_core(form);
  int i = 0;
  for (const CpuId cpu : core) {
    draw_cpu(canvas, form, cpu, x + edge + i / rows * form.cpu_width,
             y + edge + i % rows * form.cpu_height);
    ++i;
  }
}

void NodeDrawing::draw_cpu(Canvas& canvas, const Form& form, CpuId cpu, int x, int y) const {
  const std::size_t index = entry_of(picture_.overlay, cpu);
  const Overlay::Entry* const entry =
      index == kNoEntry ? nullptr : &picture_.overlay.entries[index];
  const Overlay::Mark* const mark = mark_of(picture_.overlay, cpu);
  const std::string fill = entry == nullptr ? "" : fill_of(*entry, canvas.fills);
  const std::string_view use = entry == nullptr ? "shared" : to_string(entry->use);
  const char* const marked = mark == nullptr    ? ""
                             : mark->is_problem ? " class=\"marked\""
                                                : " class=\"marked change\"";
  canvas.out += fmt::format("<g class=\"cpu {} {}\"><title>CPU {}{}</title>", use, form.size,
                            cpu.value, entry == nullptr ? "" : ": " + xml(entry->text));
  canvas.out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"{}{}/>",
                            x + 1, y + 1, form.cpu_width - 2, form.cpu_height - 2, marked,
                            fill.empty() ? "" : fmt::format(" fill=\"{}\"", fill));
  const int middle = x + form.cpu_width / 2;
  const std::string label =
      (entry == nullptr ? "" : entry->label) + (mark == nullptr ? "" : mark->sign);
  const auto text = [&](int below, const char* css, const std::string& content) {
    canvas.out += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>", middle, y + below,
                              css, xml(content));
  };
  const int number_at = label.empty() ? form.cpu_height / 2 + 4 : form.cpu_height * 2 / 5;
  if (form.has_number) text(number_at, "number", std::to_string(cpu.value));
  const int label_at = form.cpu_height - (form.has_number ? form.cpu_height / 6 : 4);
  if (!label.empty()) text(label_at, "label", label);
  canvas.out += "</g>\n";
}

}  // namespace pinfold::tools::svg
