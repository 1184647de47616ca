#include "pinfold/cluster/sinks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pinfold/predict/node_topology.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::cluster {

using kube::Kind;
using nlohmann::json;

namespace {

std::string text_in(const json& object, std::string_view key) {
  const json* const value = object.is_object() ? member(object, key) : nullptr;
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

/// Returns when an object was last written; "" if it does not say so.
std::string written_at(const json& object) {
  const json* const fields = member(object["metadata"], "managedFields");
  std::string last;
  if (fields == nullptr || !fields->is_array()) return last;
  for (const json& field : *fields) last = std::max(last, text_in(field, "time"));
  return last;
}

}  // namespace

ViewSink::ViewSink(Kind kind, SharedView& view, Clock clock, Warn warn)
    : kind_(kind), view_(&view), clock_(std::move(clock)), warn_(std::move(warn)) {}

void ViewSink::begin_list() {
  unseen_ = known_;
  if (kind_ == Kind::kPods) view_->use([](ClusterView& view) { view.begin_pods(); });
}

void ViewSink::end_list() {
  for (const std::string& key : std::exchange(unseen_, {})) remove_key(key);
  if (kind_ == Kind::kPods) view_->use([](ClusterView& view) { view.end_pods(); });
}

void ViewSink::set(const json& object) {
  take(object);
  for (const auto& text : view_->use([](ClusterView& view) { return view.take_warnings(); })) {
    warn_(text);
  }
}

void ViewSink::take(const json& object) {
  const auto key = kube::key_of(kind_, object);
  if (!key) return warn_(fmt::format("{}: {}", to_string(kind_), key.error().message));
  known_.insert(*key);
  unseen_.erase(*key);
  switch (kind_) {
    case Kind::kNodes:
      return view_->use([&](ClusterView& view) {
        view.set_node(*key, text_in(object["metadata"], "creationTimestamp"));
      });
    case Kind::kPods:
      return set_pod(object);
    case Kind::kNodeTopologies:
      return set_topology(*key, object);
  }
}

void ViewSink::set_pod(const json& object) {
  auto pod = kube::watched_pod_from_json(object);
  if (!pod) {
    return warn_(fmt::format("pod '{}/{}' does not count: {}",
                             text_in(object["metadata"], "namespace"),
                             text_in(object["metadata"], "name"), pod.error().message));
  }
  view_->use([&](ClusterView& view) { view.set_pod(*std::move(pod), clock_()); });
}

void ViewSink::set_topology(const std::string& name, const json& object) {
  // Items of a list have neither kind nor version.
  json whole = object;
  whole["kind"] = "NodeResourceTopology";
  whole["apiVersion"] = "topology.node.k8s.io/v1alpha2";
  auto topology = node_topology_from_json(whole);
  view_->use([&](ClusterView& view) {
    if (!topology) return view.set_unread({name, topology.error().message});
    view.set_topology(*std::move(topology), written_at(object));
  });
}

void ViewSink::remove(const json& object) {
  const auto key = kube::key_of(kind_, object);
  if (!key) return warn_(fmt::format("{}: {}", to_string(kind_), key.error().message));
  remove_key(*key);
}

void ViewSink::remove_key(const std::string& key) {
  known_.erase(key);
  view_->use([&](ClusterView& view) {
    switch (kind_) {
      case Kind::kNodes:
        return view.remove_node(key);
      case Kind::kPods:
        return view.remove_pod(PodUid(key));
      case Kind::kNodeTopologies:
        return view.remove_topology(key);
    }
  });
}

}  // namespace pinfold::cluster
