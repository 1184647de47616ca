#pragma once

#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>

#include "pinfold/cluster/cluster_view.hpp"
#include "pinfold/kube/kind.hpp"
#include "pinfold/kube/list_watch.hpp"

namespace pinfold::cluster {

/// A view that several threads use, one at a time.
class SharedView {
 public:
  explicit SharedView(ClusterOptions options) : view_(std::move(options)) {}

  template <class Use>
  auto use(Use&& with) {
    const std::lock_guard lock(mutex_);
    return with(view_);
  }

 private:
  std::mutex mutex_;
  ClusterView view_;
};

/// Takes the objects of one kind into a view. An object that cannot be read is left out, and a
/// node's topology counts as unread; the others are not affected. Warnings, those of the view
/// included, are passed on at once.
class ViewSink final : public kube::ObjectSink {
 public:
  using Clock = std::function<kube::Time()>;
  using Warn = std::function<void(const std::string&)>;
  /// Borrows the view, which must outlive it.
  ViewSink(kube::Kind kind, SharedView& view, Clock clock, Warn warn);

  void begin_list() override;
  void end_list() override;
  void set(const nlohmann::json& object) override;
  void remove(const nlohmann::json& object) override;

 private:
  void take(const nlohmann::json& object);
  void remove_key(const std::string& key);
  void set_pod(const nlohmann::json& object);
  void set_topology(const std::string& name, const nlohmann::json& object);

  kube::Kind kind_;
  SharedView* view_;
  Clock clock_;
  Warn warn_;
  std::set<std::string> known_;   ///< keys of all objects
  std::set<std::string> unseen_;  ///< those that the current list has not shown yet
};

}  // namespace pinfold::cluster
