#include "pinfold/extender/schedule_calls.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "pinfold/scheduling/answers.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::extender {
namespace {

using cluster::ClusterView;
using scheduling::ExtenderArgs;
using scheduling::FilterResult;
using web::HttpAnswer;
using web::HttpCall;

constexpr int kBadRequest = 400;
constexpr int kUnavailable = 503;

std::string text_of(const nlohmann::json& document) {
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

HttpAnswer text_answer(int status, const std::string& text) {
  return {status, text + "\n", "text/plain"};
}

/// Filters; while only pods in flight decide, waits a moment until most of them are bound.
FilterResult filter_patiently(const CallContext& context, const ExtenderArgs& args) {
  constexpr std::chrono::milliseconds kPause(10);
  const kube::Time start = context.clock();
  const kube::Time end = context.patience->end(start);
  while (true) {
    const kube::Time now = context.clock();
    auto result =
        context.view->use([&](ClusterView& view) { return scheduling::filter(view, args, now); });
    if (!result.is_undecided) return result;
    if (now >= end) break;
    std::this_thread::sleep_for(kPause);
  }
  const kube::Time now = context.clock();
  if (end > start) context.patience->note_vain(now);
  return context.view->use([&](ClusterView& view) {
    return scheduling::filter(view, args, now, scheduling::Undecided::kPass);
  });
}

/// Adds to the messages how old the answer is, if the API server is away.
void add_age(std::chrono::seconds silence, FilterResult& result) {
  if (silence.count() == 0) return;
  for (auto& [node, why] : result.failed) {
    why += fmt::format("; last news of the API server {} s ago", silence.count());
  }
}

HttpAnswer answer_filter(const CallContext& context, const std::string& body) {
  if (const std::string why = context.not_ready(); !why.empty()) {
    return {200, text_of(scheduling::filter_error("pinfold-extender is not ready: " + why))};
  }
  const auto args = scheduling::parse_extender_args(body);
  if (!args) {
    return {200, text_of(scheduling::filter_error("pinfold-extender: " + args.error().message))};
  }
  FilterResult result = filter_patiently(context, *args);
  add_age(context.silence(), result);
  context.metrics->count_nodes(result.passed.size(), result.failed.size());
  return {200, text_of(to_json(result, *args))};
}

HttpAnswer answer_prioritize(const CallContext& context, const std::string& body) {
  const auto args = scheduling::parse_extender_args(body);
  if (!args) return text_answer(kBadRequest, args.error().message);
  const kube::Time now = context.clock();
  const auto priorities = context.view->use(
      [&](ClusterView& view) { return scheduling::prioritize(view, *args, context.scoring, now); });
  return {200, text_of(to_json(priorities))};
}

HttpAnswer answer_preempt(const CallContext& context, const std::string& body) {
  if (const std::string why = context.not_ready(); !why.empty()) {
    return text_answer(kUnavailable, "not ready: " + why);
  }
  const auto args = scheduling::parse_preemption_args(body);
  if (!args) return text_answer(kBadRequest, args.error().message);
  const kube::Time now = context.clock();
  const auto victims =
      context.view->use([&](ClusterView& view) { return scheduling::preempt(view, *args, now); });
  return {200, text_of(to_json(victims))};
}

using Answer = HttpAnswer (*)(const CallContext&, const std::string&);
struct CallPath {
  std::string_view path;
  Answer answer;
};
constexpr std::array kCallPaths = {CallPath{"/filter", answer_filter},
                                   CallPath{"/prioritize", answer_prioritize},
                                   CallPath{"/preempt", answer_preempt}};

}  // namespace

HttpAnswer answer_call(const CallContext& context, const HttpCall& call) {
  constexpr int kNotFound = 404;
  constexpr int kNotAllowed = 405;
  for (const auto& [path, answer] : kCallPaths) {
    if (path != call.path) continue;
    if (call.method != "POST") {
      return text_answer(kNotAllowed, fmt::format("'{}': expected POST", printable(call.method)));
    }
    const auto start = std::chrono::steady_clock::now();
    HttpAnswer done = answer(context, call.body);
    context.metrics->count_call(path.substr(1), done.status,
                                std::chrono::steady_clock::now() - start);
    return done;
  }
  return text_answer(kNotFound, fmt::format("'{}': expected /filter, /prioritize or /preempt",
                                            printable(call.path)));
}

}  // namespace pinfold::extender
