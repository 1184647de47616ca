#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "pinfold/kube/backoff.hpp"
#include "pinfold/kube/kind.hpp"
#include "pinfold/kube/watch_events.hpp"

namespace pinfold::kube {

/// A time on a monotonic clock with any origin.
using Time = std::chrono::milliseconds;

/// Receives the objects of one kind.
class ObjectSink {
 public:
  ObjectSink() = default;
  ObjectSink(const ObjectSink&) = delete;
  ObjectSink& operator=(const ObjectSink&) = delete;
  virtual ~ObjectSink() = default;

  /// A list begins: objects that are not set before end_list() no longer exist. A list that breaks
  /// off is followed by another begin_list().
  virtual void begin_list() = 0;
  virtual void end_list() = 0;
  virtual void set(const nlohmann::json& object) = 0;
  virtual void remove(const nlohmann::json& object) = 0;
};

struct ListWatchOptions {
  int page = 500;                          ///< objects per answer to a list
  std::chrono::milliseconds least{500};    ///< the wait after the first failure; then it doubles
  std::chrono::milliseconds most{30'000};  ///< the longest wait
  std::chrono::seconds watch_time{300};    ///< after which the API server ends a watch; up to twice
};

/// Keeps a copy of all objects of one kind up to date: lists them in pages, then watches them. Does
/// no input or output and knows no clock: the caller sends the request that next() returns when it
/// is due, and passes what comes back to answered(), received() and ended().
///
/// How it works. The watch starts from the resource version of the list; each event, bookmarks
/// included, moves it forward. A watch that ends is resumed from there. 410 (Gone), as status or as
/// event, means that the API server no longer has that version: then the list starts again, at
/// once. All other failures are followed by a wait that doubles, with jitter from `seed`, so that
/// many clients do not return at the same time. Only a watch that brings something, or that ends in
/// time, ends a series of failures: a server that lists but cannot watch is not asked for lists in
/// a loop.
class ListWatch {
 public:
  ListWatch(Kind kind, const ListWatchOptions& options, std::uint64_t seed);

  struct ApiRequest {
    std::string target;  ///< path and query
    bool is_watch = false;
  };
  [[nodiscard]] ApiRequest next() const;
  /// Returns when to send it.
  [[nodiscard]] Time due() const { return due_; }

  /// Takes the whole answer to a list request, or an answer to a watch request with a status other
  /// than 200. Errors: why it is useless; next() is then due after a wait.
  Result<void> answered(int status, std::string_view body, Time now, ObjectSink& sink);
  /// Takes the next bytes of an answer to a watch request, of status 200.
  /// Errors: likewise; the caller must then close the connection, and not call ended().
  Result<void> received(std::string_view bytes, Time now, ObjectSink& sink);
  /// Handles the end of the request's connection; `failed`: there was none.
  void ended(Time now, bool failed);

  /// Returns whether all objects were listed at least once.
  [[nodiscard]] bool is_synced() const { return is_synced_; }
  /// Returns when the API server last answered with objects; the start if it never did.
  [[nodiscard]] Time last_contact() const { return last_contact_; }
  /// Return how many lists have begun, and how many requests have failed since a watch last
  /// succeeded.
  [[nodiscard]] std::uint64_t lists() const { return lists_; }
  [[nodiscard]] int failures() const { return backoff_.failures(); }

 private:
  Result<void> read_page(std::string_view body, Time now, ObjectSink& sink);
  Result<void> apply(const ObjectEvent& event, Time now, ObjectSink& sink);
  Result<void> lost(const ObjectEvent& event, Time now);
  void start_watching(std::string version);
  void list_again(Time now);
  void wait(Time now);

  Kind kind_;
  ListWatchOptions options_;
  Backoff backoff_;
  bool is_watching_ = false;
  bool is_between_pages_ = false;
  std::string continue_;  ///< of the next page
  std::string version_;   ///< of the last event
  EventReader events_;
  std::chrono::seconds watch_time_{0};
  bool is_synced_ = false;
  Time due_{0};
  Time last_contact_{0};
  std::uint64_t lists_ = 0;
};

}  // namespace pinfold::kube
