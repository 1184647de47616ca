#include "pinfold/publish/outbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/kube/api_status.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::publish {
namespace {

using kube::Time;
using nlohmann::json;

/// Whether a conflict is one of field managers: another one owns a field, with another value.
bool is_owned_by_another(std::string_view body) {
  const json status = json::parse(body, nullptr, false);
  const json* const details = status.is_object() ? member(status, "details") : nullptr;
  const json* const causes =
      details != nullptr && details->is_object() ? member(*details, "causes") : nullptr;
  if (causes == nullptr || !causes->is_array()) return false;
  return std::any_of(causes->begin(), causes->end(), [](const json& cause) {
    return cause.is_object() && cause.value("reason", json()) == "FieldManagerConflict";
  });
}

/// Whether the same request may succeed a moment later.
bool is_temporary(const Document& document, int status, std::string_view body) {
  const bool is_conflict = status == kube::kConflict && document.kind == PublishedKind::kTopology;
  return status == kube::kUnauthorized || status == kube::kTooManyRequests ||
         status >= kube::kServerErrors || (is_conflict && !is_owned_by_another(body));
}

/// A patch with another UID than the pod's is invalid: a UID never changes.
bool is_absent_pod(const Document& document, int status) {
  return document.kind == PublishedKind::kPlacement &&
         (status == kube::kNotFound || status == kube::kConflict || status == kube::kInvalid);
}

std::string describe_failure(const Document& document, int status, std::string_view body) {
  return fmt::format("{}: {}", name_of(document),
                     kube::describe_status(status, body, "'create' and 'patch' of them"));
}

std::string describe_foreign(const Document& document, std::string_view body) {
  return fmt::format(
      "{}: another exporter owns it, and Pinfold leaves it alone ({}); expected one exporter: stop "
      "the other "
      "one and delete the object, or remove 'publish' from the settings",
      name_of(document), kube::status_text(body));
}

}  // namespace

Outbox::Outbox(const OutboxOptions& options, std::uint64_t seed)
    : options_(options), backoff_(options.least, options.most, seed) {}

void Outbox::set(const std::vector<Document>& documents) {
  std::map<std::string, Entry> before;
  for (Entry& entry : entries_) {
    std::string target = entry.document.target;
    before.emplace(std::move(target), std::move(entry));
  }
  entries_.clear();
  for (const Document& document : documents) {
    const auto known = before.find(document.target);
    const bool is_same = known != before.end() && known->second.document == document;
    entries_.push_back({document, is_same ? known->second.progress : Progress::kPending});
  }
}

void Outbox::retry() {
  for (Entry& entry : entries_) {
    const bool is_topology = entry.document.kind == PublishedKind::kTopology;
    if (is_topology || entry.progress == Progress::kRejected) entry.progress = Progress::kPending;
  }
}

const Document* Outbox::next() const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return entry.progress == Progress::kPending;
  });
  return found == entries_.end() ? nullptr : &found->document;
}

Outbox::Entry& Outbox::entry_of(const Document& document) {
  return *std::find_if(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return &entry.document == &document; });
}

std::string Outbox::answered(const Document& document, int status, std::string_view body,
                             Time now) {
  if (is_temporary(document, status, body)) {
    failed(now);
    return describe_failure(document, status, body);
  }
  backoff_.reset();
  due_ = now + options_.gap;
  Entry& entry = entry_of(document);
  if (status != kube::kOk && status != kube::kCreated) return rejected(entry, status, body);
  written(entry);
  return "";
}

void Outbox::failed(Time now) {
  ++counters_.failures;
  due_ = now + backoff_.next();
}

void Outbox::written(Entry& entry) {
  entry.progress = Progress::kWritten;
  if (entry.document.kind == PublishedKind::kPlacement) {
    ++counters_.placements;
    return;
  }
  ++counters_.topologies;
  counters_.is_foreign = false;
}

std::string Outbox::rejected(Entry& entry, int status, std::string_view body) {
  entry.progress = Progress::kRejected;
  if (is_absent_pod(entry.document, status)) return "";
  ++counters_.rejections;
  if (status != kube::kConflict) return describe_failure(entry.document, status, body);
  counters_.is_foreign = true;
  return describe_foreign(entry.document, body);
}

PublishCounters Outbox::counters() const {
  PublishCounters counters = counters_;
  counters.pending = static_cast<std::uint64_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [](const Entry& entry) { return entry.progress == Progress::kPending; }));
  return counters;
}

}  // namespace pinfold::publish
