// A day of a cluster's life in logical time: watches that are lost anywhere, versions that are
// forgotten, garbage, clocks that jump, nodes that are renamed or get other zones, and a scheduler
// that asks all the time. The API server's clock, which dates objects, also jumps back. Afterwards
// the view must be that of a program that has just started.

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "cluster_objects.hpp"
#include "pinfold/cluster/sinks.hpp"
#include "pinfold/kube/list_watch.hpp"
#include "pinfold/scheduling/answers.hpp"

namespace pinfold::cluster {
namespace {

using kube::Kind;
using kube::ListWatch;
using kube::Time;
using nlohmann::json;

/// Returns the value of a parameter of a query; "" if it has none.
std::string parameter(const std::string& target, const std::string& name) {
  const auto at = target.find(name + "=");
  if (at == std::string::npos) return "";
  const auto start = at + name.size() + 1;
  return target.substr(start, target.find('&', start) - start);
}

/// The objects of one kind, and what an API server remembers of their changes.
class KeptObjects {
 public:
  void put(const std::string& key, json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    note(objects_.contains(key) ? "MODIFIED" : "ADDED", object);
    objects_[key] = std::move(object);
  }
  void remove(const std::string& key) {
    json object = objects_.at(key);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    note("DELETED", object);
    objects_.erase(key);
  }
  void forget() {
    oldest_ = version_;
    events_.clear();
    pages_.clear();
  }

  /// All pages of a list show the objects as they were at the first one.
  std::string page(const std::string& target) {
    const std::string token = parameter(target, "continue");
    if (token.empty()) pages_[++last_list_] = {version_, objects_};
    const std::uint64_t id = token.empty() ? last_list_ : std::stoull(token);
    const auto& [version, objects] = pages_.at(id);
    json list = {{"metadata", {{"resourceVersion", std::to_string(version)}}},
                 {"items", json::array()}};
    auto it =
        token.empty() ? objects.begin() : objects.lower_bound(token.substr(token.find('_') + 1));
    for (; it != objects.end() && list["items"].size() < std::stoul(parameter(target, "limit"));
         ++it) {
      list["items"].push_back(it->second);
    }
    if (it != objects.end()) list["metadata"]["continue"] = std::to_string(id) + "_" + it->first;
    return list.dump();
  }
  [[nodiscard]] bool is_gone(const std::string& target) const {
    const std::string since = parameter(target, "resourceVersion");
    const std::string token = parameter(target, "continue");
    if (!token.empty()) return !pages_.contains(std::stoull(token));
    return !since.empty() && std::stoull(since) < oldest_;
  }
  [[nodiscard]] std::string news(const std::string& target) const {
    std::string text;
    const auto since = std::stoull(parameter(target, "resourceVersion"));
    for (auto it = events_.upper_bound(since); it != events_.end(); ++it) text += it->second;
    return text;
  }
  [[nodiscard]] const std::map<std::string, json>& objects() const { return objects_; }

 private:
  void note(const char* type, const json& object) {
    events_[version_] = json{{"type", type}, {"object", object}}.dump() + "\n";
  }

  std::uint64_t version_ = 1;
  std::uint64_t oldest_ = 0;
  std::map<std::string, json> objects_;
  std::map<std::uint64_t, std::string> events_;
  std::uint64_t last_list_ = 0;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::map<std::string, json>>> pages_;
};

constexpr kube::ListWatchOptions kSmallPages{.page = 7};

/// A program that watches, and its unreliable connection.
class SoakedView {
 public:
  explicit SoakedView(std::uint64_t seed) : random_(seed) {
    for (const Kind kind : kube::kKinds) {
      sinks_[kind] = std::make_unique<ViewSink>(
          kind, view, [this] { return now; }, [](const std::string&) {});
      watches_.emplace(kind, ListWatch(kind, kSmallPages, seed));
    }
  }

  /// Sends the request of one kind if it is due. The connection fails in `failing` of 100 cases.
  void ask(Kind kind, KeptObjects& api, unsigned failing) {
    ListWatch& watch = watches_.at(kind);
    if (watch.due() > now) return;
    const auto request = watch.next();
    if (below(100) < failing) return fail(watch, *sinks_.at(kind));
    if (api.is_gone(request.target)) return (void)watch.answered(410, "", now, *sinks_.at(kind));
    if (!request.is_watch) {
      (void)watch.answered(200, api.page(request.target), now, *sinks_.at(kind));
      return;
    }
    receive(watch, api.news(request.target), failing > 0, *sinks_.at(kind));
  }

  SharedView view{ClusterOptions{}};
  Time now{0};

 private:
  std::size_t below(std::size_t n) { return random_() % n; }

  void fail(ListWatch& watch, ViewSink& sink) {
    switch (below(4)) {
      case 0:
        return watch.ended(now, true);
      case 1:
        return (void)watch.answered(503, "busy", now, sink);
      case 2:
        return (void)watch.answered(410, "gone", now, sink);
      default:
        if (watch.next().is_watch) return (void)watch.received("garbage\n", now, sink);
        return (void)watch.answered(200, "<html>", now, sink);
    }
  }
  /// Delivers the text in two parts, or only the first part.
  void receive(ListWatch& watch, const std::string& text, bool may_break, ViewSink& sink) {
    const std::size_t cut = text.empty() ? 0 : below(text.size());
    if (!watch.received(text.substr(0, cut), now, sink)) return;
    if (may_break && below(10) == 0) return watch.ended(now, true);
    if (watch.received(text.substr(cut), now, sink)) watch.ended(now, false);
  }

  std::mt19937_64 random_;
  std::map<Kind, std::unique_ptr<ViewSink>> sinks_;
  std::map<Kind, ListWatch> watches_;
};

/// The changes in the cluster.
class SoakedCluster {
 public:
  explicit SoakedCluster(std::uint64_t seed) : random_(seed) {}

  /// Changes something at a time of the steady clock.
  void change(Time now) {
    now_ = now;
    if (below(300) == 0) offset_ = std::chrono::seconds(below(14'400)) - std::chrono::hours(2);
    switch (below(8)) {
      case 0:
        return add_node();
      case 1:
        return remove_node();
      case 2:
      case 3:
        return publish(any_node());
      case 4:
        return add_pod();
      case 5:
      case 6:
        return change_pod();
      default:
        if (below(20) == 0) kinds.at(kube::kKinds[below(3)]).forget();
    }
  }

  /// Returns the UID of a pod, which may be gone.
  std::string any_pod() { return "u" + std::to_string(below(static_cast<std::size_t>(pods_) + 1)); }

  std::map<Kind, KeptObjects> kinds = {
      {Kind::kNodes, {}}, {Kind::kPods, {}}, {Kind::kNodeTopologies, {}}};

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::string any_node() { return "n" + std::to_string(below(12)); }
  /// Returns the time by the API server's clock, which somebody sets back and forth.
  [[nodiscard]] std::string wall_time() const {
    constexpr std::time_t kStart = 1'767'225'600;  // 2026
    const auto since = std::chrono::duration_cast<std::chrono::seconds>(now_ + offset_);
    return fmt::format("{:%FT%TZ}", fmt::gmtime(kStart + static_cast<std::time_t>(since.count())));
  }

  void add_node() {
    const std::string name = any_node();
    kinds[Kind::kNodes].put(name,
                            {{"metadata", {{"name", name}, {"creationTimestamp", wall_time()}}}});
    if (below(2) == 0) publish(name);
  }
  void remove_node() {
    const std::string name = any_node();
    for (const Kind kind : {Kind::kNodes, Kind::kNodeTopologies}) {
      if (kinds[kind].objects().contains(name)) kinds[kind].remove(name);
    }
  }
  void publish(const std::string& name) {
    json topology =
        to_json(test::eight_each(name, std::to_string(below(9)), std::to_string(below(9))));
    if (below(10) == 0) {
      topology = to_json(test::zones_of(name, "restricted", "pod", {{"cpu", {"4", "4", "4"}}}));
    }
    if (below(10) == 0) topology["zones"] = "broken";
    topology["metadata"]["managedFields"] = json::array({json{{"time", wall_time()}}});
    kinds[Kind::kNodeTopologies].put(name, std::move(topology));
  }
  void add_pod() {
    const std::string uid = "u" + std::to_string(pods_++);
    json pod = to_json(test::pod(uid, {{"cpu", std::to_string(1 + below(4))}, {"memory", "1Mi"}}));
    if (below(2) == 0) pod["spec"]["nodeName"] = any_node();
    kinds[Kind::kPods].put(uid, std::move(pod));
  }
  void change_pod() {
    const auto& pods = kinds[Kind::kPods].objects();
    if (pods.empty()) return;
    auto chosen = pods.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(below(pods.size())));
    const std::string uid = chosen->first;
    json pod = chosen->second;
    constexpr std::size_t kMany = 30;
    if (pods.size() > kMany) return kinds[Kind::kPods].remove(uid);
    if (!pod["spec"].contains("nodeName")) pod["spec"]["nodeName"] = any_node();
    const std::size_t what = below(3);
    if (what == 0) return kinds[Kind::kPods].remove(uid);
    if (what == 1) pod["status"]["phase"] = "Succeeded";
    if (what == 2) {
      pod["metadata"]["annotations"][std::string(kube::kObservedAnnotation)] =
          R"([{"zone":"node-1","amount":{"cpu":"2"}}])";
    }
    kinds[Kind::kPods].put(uid, std::move(pod));
  }

  std::mt19937_64 random_;
  int pods_ = 0;
  Time now_{0};
  Time offset_{0};
};

/// How often a topology was used, and how often it seemed older than its node.
struct SeenTopologies {
  std::size_t used = 0;
  std::size_t too_old = 0;
};

void count_topologies(SoakedView& watcher, SeenTopologies& seen) {
  watcher.view.use([&](ClusterView& view) {
    std::size_t used = 0;
    for (int i = 0; i < 12; ++i) {
      if (view.number_of("n" + std::to_string(i))) ++used;
    }
    seen.used += used;
    seen.too_old += view.counts().topologies - used;
  });
}

/// Returns all that a view answers with: counts, and what is available where.
std::string picture_of(SoakedView& watcher, Time now) {
  return watcher.view.use([&](ClusterView& view) {
    Fleet& fleet = view.fleet(now);
    const ClusterView::Counts counts = view.counts();
    std::string text = fmt::format("{} nodes, {} topologies, {} unread, {} pods\n", counts.nodes,
                                   counts.topologies, counts.unread, counts.pods);
    for (int i = 0; i < 12; ++i) {
      const std::string name = "n" + std::to_string(i);
      const auto number = view.number_of(name);
      if (!number) continue;
      text += fmt::format("{}: {}\n", name, fmt::join(fleet.available(*number, 0), " "));
    }
    return text;
  });
}

/// Asks a program about a pod, as a scheduler does.
void ask_about(const std::string& uid, std::mt19937_64& random, SoakedView& watcher) {
  std::vector<std::string> names;
  scheduling::VictimsByNode victims;
  for (int i = 0; i < 13; ++i) {
    if (random() % 3 == 0) continue;
    names.push_back("n" + std::to_string(i));
    victims[names.back()] = {{PodUid(uid + "0")}, 0};
  }
  const PodSpec pod = test::watched(uid, std::to_string(1 + random() % 6)).spec;
  const auto undecided =
      random() % 2 == 0 ? scheduling::Undecided::kReport : scheduling::Undecided::kPass;
  watcher.view.use([&](ClusterView& view) {
    const scheduling::ExtenderArgs args{pod, names, {}, ""};
    (void)scheduling::filter(view, args, watcher.now, undecided);
    (void)scheduling::prioritize(view, args, ScoringStrategy::kLeastNumaNodes, watcher.now);
    if (random() % 4 == 0) (void)scheduling::preempt(view, {pod, victims}, watcher.now);
    EXPECT_LE(view.counts().in_flight, 30U);
    EXPECT_LE(view.counts().departed, 30U);
    EXPECT_LE(view.counts().bytes, 500'000U);
  });
}

/// Delivers everything to a program, without failures.
void catch_up(SoakedView& watcher, SoakedCluster& cluster) {
  for (int i = 0; i < 40; ++i) {
    watcher.now += std::chrono::seconds(31);
    for (const Kind kind : kube::kKinds) watcher.ask(kind, cluster.kinds.at(kind), 0);
  }
}

void soak(std::uint64_t seed) {
  constexpr Time kDay = std::chrono::hours(24);
  std::mt19937_64 random(seed);
  SoakedCluster cluster(seed);
  SoakedView watcher(seed);
  SeenTopologies seen;
  for (int step = 1; watcher.now < kDay; ++step) {
    const bool jumps = random() % 500 == 0;
    watcher.now += jumps ? Time(std::chrono::minutes(10)) : Time(1'000 + random() % 4'000);
    cluster.change(watcher.now);
    ask_about(cluster.any_pod(), random, watcher);
    for (const Kind kind : kube::kKinds) watcher.ask(kind, cluster.kinds.at(kind), 10);
    count_topologies(watcher, seen);
    if (step % 1'000 != 0) continue;
    catch_up(watcher, cluster);
    SoakedView fresh(seed + 1);
    catch_up(fresh, cluster);
    ASSERT_EQ(picture_of(watcher, watcher.now), picture_of(fresh, fresh.now)) << "step " << step;
  }
  EXPECT_GT(seen.used, seen.too_old / 100);
  EXPECT_GT(seen.too_old, seen.used / 100);
}

class Soak : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Soak, AfterADayTheViewIsThatOfAFreshStart) { soak(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Seeds, Soak, testing::Values(1, 2, 3));

}  // namespace
}  // namespace pinfold::cluster
