#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/kube/backoff.hpp"
#include "pinfold/kube/list_watch.hpp"
#include "pinfold/publish/documents.hpp"

namespace pinfold::publish {

struct OutboxOptions {
  std::chrono::milliseconds gap{100};      ///< from an answer to the next request
  std::chrono::milliseconds least{500};    ///< the wait after the first failure; then it doubles
  std::chrono::milliseconds most{30'000};  ///< the longest wait
};

/// Counters since the outbox was made, and the current state.
struct PublishCounters {
  std::uint64_t topologies = 0;  ///< written
  std::uint64_t placements = 0;  ///< written
  std::uint64_t failures = 0;    ///< requests that the API server did not answer, or could not now
  std::uint64_t rejections = 0;  ///< documents that it has rejected
  std::uint64_t pending = 0;     ///< documents that it does not have yet
  bool is_foreign = false;       ///< another exporter writes the topology of this node

  friend bool operator==(const PublishCounters&, const PublishCounters&) = default;
};

/// The documents that the API server does not have yet. Does no input or output and knows no clock:
/// the caller sends what next() returns when it is due, and passes the outcome to answered() or
/// failed().
///
/// How it works. set() replaces what is desired; only what differs from what was written becomes
/// pending, the topology first. A failure that concerns all documents (no answer, 401, 429, 5xx, a
/// concurrent change) is followed by a wait of Backoff, in which a newer desired document takes the
/// place of the older one. What the API server rejects is not sent again before it changes or
/// retry() is called, and stops no other document. This includes another exporter's topology, which
/// is never overwritten, and the placement of a pod that the API server does not have with that
/// UID, which is not a failure: static pods are like that.
class Outbox {
 public:
  Outbox(const OutboxOptions& options, std::uint64_t seed);

  /// Sets what the API server should have. Domain: each target occurs once.
  void set(const std::vector<Document>& documents);
  /// Makes the topology and what was rejected pending again.
  void retry();

  /// Returns the next document to send; nullptr if none is pending. Valid until the next change.
  [[nodiscard]] const Document* next() const;
  /// Returns when to send it.
  [[nodiscard]] kube::Time due() const { return due_; }

  /// Takes the answer to `document`, which is next(). Returns why it is not written: "" if it is,
  /// or if its pod does not exist.
  std::string answered(const Document& document, int status, std::string_view body, kube::Time now);
  /// Handles a missing answer.
  void failed(kube::Time now);

  [[nodiscard]] PublishCounters counters() const;

 private:
  enum class Progress : std::uint8_t { kPending, kWritten, kRejected };
  struct Entry {
    Document document;
    Progress progress = Progress::kPending;
  };

  [[nodiscard]] Entry& entry_of(const Document& document);
  void written(Entry& entry);
  std::string rejected(Entry& entry, int status, std::string_view body);

  OutboxOptions options_;
  kube::Backoff backoff_;
  std::vector<Entry> entries_;
  kube::Time due_{0};
  PublishCounters counters_;
};

}  // namespace pinfold::publish
