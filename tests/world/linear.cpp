#include "linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

namespace pinfold::world {
namespace {

using agent::AgentState;

/// The result of a request in a state.
struct Done {
  AgentState next;
  LoggedAnswer answer;
};

void forget_inactive(AgentState& state) {
  std::erase_if(state.removed,
                [&](const ContainerId& id) { return state.node.find(id.pod) == nullptr; });
}

struct Do {
  const Node& node;
  const AgentState& state;
  const LoggedPlaces& places;

  Done operator()(const verbs::Admit& request) const {
    Done done{state, {}};
    auto& rejections = done.answer.rejections.emplace();
    for (const PodSpec& pod : request.pods) {
      const auto place = places.find(pod.uid);
      Decision decision = decide_keeping(node, std::move(done.next.node), pod,
                                         place == places.end() ? Places() : place->second, nullptr,
                                         nullptr, AdmissionChecks::kManagersAndRequests);
      if (auto* const rejected = std::get_if<Rejected>(&decision)) {
        rejections.push_back(rejected->why.reason + ": " + rejected->why.message);
        done.next.node = std::move(rejected->next);
      } else {
        rejections.emplace_back();
        done.next.node = std::move(std::get<Admitted>(decision).next);
        std::erase_if(done.next.removed, [&](const auto& id) { return id.pod == pod.uid; });
      }
      forget_inactive(done.next);
    }
    return done;
  }
  Done operator()(const verbs::Start& request) const {
    auto started = start_container(node, state.node, request.container);
    if (!started) return {state, {started.error().message, {}, {}}};
    Done done{state, {}};
    done.next.node = *std::move(started);
    done.next.removed.erase(request.container);
    return done;
  }
  Done operator()(const verbs::Remove& request) const {
    Done done{state, {}};
    if (!request.container.empty()) {
      const ContainerId id{request.pod, request.container};
      if (const auto found = container_resources(node, state.node, id); !found) {
        return {state, {found.error().message, {}, {}}};
      }
      done.next.node = remove_container(node, state.node, id);
      done.next.removed.insert(id);
      return done;
    }
    if (state.node.find(request.pod) == nullptr && !state.node.held.contains(request.pod)) {
      return {state, {"there is no such pod", {}, {}}};
    }
    done.next.node = remove_pod(node, state.node, request.pod);
    forget_inactive(done.next);
    return done;
  }
  Done operator()(const verbs::Resize& request) const {
    if (state.removed.contains(request.request.container))
      return {state, {"it was removed", {}, {}}};
    auto decision =
        resize(node, state.node, request.request, nullptr, AdmissionChecks::kManagersAndRequests);
    if (!decision) return {state, {decision.error().message, {}, {}}};
    Done done{state, {}};
    auto& answers = done.answer.rejections.emplace();
    if (const auto* const refused = std::get_if<NotResized>(&*decision)) {
      answers.push_back(refusal_text(*refused));
    } else {
      answers.emplace_back();
      done.next.node = std::get<Resized>(*std::move(decision)).next;
    }
    return done;
  }
  Done operator()(const Restarted& /*request*/) const {
    Done done{state, {}};
    done.next.node.affinity.clear();
    done.next.node.cpu = CpuState{state.node.cpu.checkpoint()};
    done.next.node.memory = MemoryState{state.node.memory.checkpoint()};
    done.next.kubelet_profile.reset();
    return done;
  }
  Done operator()(const Read& /*request*/) const { return {state, {"", {}, state}}; }
  Done operator()(const Ended& request) const {
    Done done{state, {}};
    for (const auto& [pod, name] : request.containers) {
      done.next = Do{node, done.next, places}(verbs::Remove{pod, name, {}}).next;
    }
    return done;
  }
};

/// Returns true if a client cannot tell the two states apart.
bool looks_like(const AgentState& a, const AgentState& b) {
  return a.node.cpu.checkpoint() == b.node.cpu.checkpoint() &&
         a.node.memory.checkpoint() == b.node.memory.checkpoint() && a.node.pods == b.node.pods &&
         a.node.held == b.node.held && a.removed == b.removed;
}

/// Returns true if the calls before an answer explain it. An error means that nothing has happened;
/// the reason does not matter here.
bool fits(const LoggedAnswer& got, const LoggedAnswer& expected) {
  if (!expected.error.empty()) return false;
  if (got.rejections && got.rejections != expected.rejections) return false;
  if (got.state.has_value() != expected.state.has_value()) return false;
  return !got.state || looks_like(*got.state, *expected.state);
}

/// A set of calls that were done, and the state after them.
struct Reached {
  std::size_t first = 0;       ///< all calls before it are done
  std::set<std::size_t> more;  ///< further calls that are done
  AgentState state;

  [[nodiscard]] bool has(std::size_t call) const { return call < first || more.contains(call); }
  void add(std::size_t call) {
    more.insert(call);
    while (more.erase(first) > 0) ++first;
  }
  friend bool operator==(const Reached&, const Reached&) = default;
};

class Search {
 public:
  Search(const Node& node, const std::vector<LoggedCall>& log) : node_(node) {
    for (const LoggedCall& call : log) calls_.push_back(&call);
    std::sort(calls_.begin(), calls_.end(),
              [](const auto* a, const auto* b) { return a->invoked < b->invoked; });
  }

  std::string run(const AgentState& first) {
    std::vector<Reached> now = {{0, {}, first}};
    for (std::size_t count = 0; count < calls_.size(); ++count) {
      std::vector<Reached> next;
      for (const Reached& one : now) go_on(one, next);
      if (next.empty()) return contradiction(now.front());
      now = std::move(next);
    }
    return "";
  }

 private:
  /// Adds everything that can be done next: calls invoked before the first return of a call that is
  /// not done yet.
  void go_on(const Reached& from, std::vector<Reached>& next) const {
    auto last = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = from.first; i < calls_.size() && calls_[i]->invoked <= last; ++i) {
      if (from.has(i)) continue;
      const LoggedCall& call = *calls_[i];
      last = std::min(last, call.returned.value_or(last));
      const bool is_nothing = call.answer && !call.answer->error.empty();
      if (!call.answer || is_nothing) add(from, i, from.state, next);
      if (is_nothing) continue;
      Done done = std::visit(Do{node_, from.state, call.places}, call.request);
      const bool has_happened = call.answer ? fits(*call.answer, done.answer) : true;
      if (has_happened) add(from, i, std::move(done.next), next);
    }
  }

  static void add(const Reached& from, std::size_t call, AgentState state,
                  std::vector<Reached>& next) {
    Reached reached{from.first, from.more, std::move(state)};
    reached.add(call);
    if (std::find(next.begin(), next.end(), reached) == next.end()) {
      next.push_back(std::move(reached));
    }
  }

  [[nodiscard]] std::string contradiction(const Reached& reached) const {
    const LoggedCall& call = *calls_[reached.first];
    constexpr std::array kNames = {"admit",   "start", "remove", "resize",
                                   "restart", "read",  "ended"};
    static_assert(kNames.size() == std::variant_size_v<LoggedRequest>);
    return fmt::format(
        "no order of the calls explains the answer to '{}' of client {}, invoked at {}",
        kNames.at(call.request.index()), call.client, call.invoked);
  }

  const Node& node_;
  std::vector<const LoggedCall*> calls_;
};

}  // namespace

std::string find_contradiction(const Node& node, const AgentState& first,
                               const std::vector<LoggedCall>& log) {
  return Search(node, log).run(first);
}

std::string refusal_text(const NotResized& refused) {
  return fmt::format("{}: {}", to_string(refused.reason), refused.why.message);
}

}  // namespace pinfold::world
