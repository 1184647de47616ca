#include "pinfold/kube/list_watch.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/kube/api_status.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::kube {
namespace {

using nlohmann::json;

/// Encodes a value of a query; the API server's tokens are base64.
std::string escaped_value(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  std::string out;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

/// Returns a member of the metadata; "" if it is absent.
std::string metadata_text(const json& object, std::string_view key) {
  const json* const metadata = object.is_object() ? member(object, "metadata") : nullptr;
  const json* const value =
      metadata == nullptr || !metadata->is_object() ? nullptr : member(*metadata, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

}  // namespace

ListWatch::ListWatch(Kind kind, const ListWatchOptions& options, std::uint64_t seed)
    : kind_(kind), options_(options), backoff_(options.least, options.most, seed) {}

ListWatch::ApiRequest ListWatch::next() const {
  std::string target = fmt::format("{}?", path_of(kind_));
  if (is_watching_) {
    target += fmt::format("watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                          escaped_value(version_), watch_time_.count());
    return {std::move(target), true};
  }
  target += fmt::format("limit={}", options_.page);
  if (!continue_.empty()) target += "&continue=" + escaped_value(continue_);
  return {std::move(target), false};
}

Result<void> ListWatch::answered(int status, std::string_view body, Time now, ObjectSink& sink) {
  if (status == kGone) {
    list_again(now);
    return {};
  }
  if (status == kOk && !is_watching_) {
    auto read = read_page(body, now, sink);
    if (!read) wait(now);
    return read;
  }
  wait(now);
  return fail(ErrorCode::kIo,
              fmt::format("{}: {}", to_string(kind_),
                          describe_status(status, body, "'list' and 'watch' of them")));
}

Result<void> ListWatch::read_page(std::string_view body, Time now, ObjectSink& sink) {
  PINFOLD_LET_WRAP(const auto list, parse_json(body, "list"), to_string(kind_));
  const json* const items = list.is_object() ? member(list, "items") : nullptr;
  const std::string version = metadata_text(list, "resourceVersion");
  if (items == nullptr || !items->is_array() || version.empty()) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: list: expected 'items' and 'metadata.resourceVersion'", to_string(kind_)));
  }
  if (!is_between_pages_) {
    ++lists_;
    sink.begin_list();
  }
  for (const json& item : *items) sink.set(item);
  last_contact_ = now;
  due_ = now;
  continue_ = metadata_text(list, "continue");
  is_between_pages_ = !continue_.empty();
  if (is_between_pages_) return {};
  sink.end_list();
  is_synced_ = true;
  start_watching(version);
  return {};
}

void ListWatch::start_watching(std::string version) {
  version_ = std::move(version);
  is_watching_ = true;
  events_ = {};
  const auto spread = static_cast<std::uint64_t>(options_.watch_time.count()) + 1;
  watch_time_ = options_.watch_time +
                std::chrono::seconds(static_cast<std::int64_t>(backoff_.random() % spread));
}

Result<void> ListWatch::received(std::string_view bytes, Time now, ObjectSink& sink) {
  auto events = events_.feed(bytes);
  if (!events) {
    ended(now, true);
    return fail(std::move(events).error().wrap(to_string(kind_)));
  }
  for (const ObjectEvent& event : *events) PINFOLD_TRY(apply(event, now, sink));
  return {};
}

Result<void> ListWatch::apply(const ObjectEvent& event, Time now, ObjectSink& sink) {
  if (event.type == EventType::kError) return lost(event, now);
  if (auto version = metadata_text(event.object, "resourceVersion"); !version.empty()) {
    version_ = std::move(version);
  }
  last_contact_ = now;
  backoff_.reset();
  if (event.type == EventType::kDeleted) sink.remove(event.object);
  if (event.type == EventType::kAdded || event.type == EventType::kModified) {
    sink.set(event.object);
  }
  return {};
}

/// Handles a watch that the API server has ended with an error.
Result<void> ListWatch::lost(const ObjectEvent& event, Time now) {
  const json* const code = member(event.object, "code");
  const std::string text = event.object.dump(-1, ' ', true, json::error_handler_t::replace);
  if (code != nullptr && *code == kGone) {
    list_again(now);
  } else {
    ended(now, true);
  }
  return fail(ErrorCode::kIo,
              fmt::format("{}: the watch has ended: {}", to_string(kind_), status_text(text)));
}

void ListWatch::ended(Time now, bool failed) {
  events_ = {};
  if (failed) return wait(now);
  backoff_.reset();
  due_ = now + options_.least;  // watches that end at once must not become a loop
}

void ListWatch::list_again(Time now) {
  const bool is_first = is_watching_ && backoff_.failures() == 0;
  is_watching_ = false;
  is_between_pages_ = false;
  continue_.clear();
  events_ = {};
  wait(now);
  if (is_first) due_ = now;
}

void ListWatch::wait(Time now) { due_ = now + backoff_.next(); }

}  // namespace pinfold::kube
