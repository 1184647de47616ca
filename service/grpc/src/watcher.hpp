#pragma once

#include <grpcpp/support/server_callback.h>
#include <pinfold/v1/pinfold.pb.h>

#include <memory>
#include <mutex>

#include "pinfold/service/worker.hpp"

namespace pinfold::service {

/// One call of Watch: writes what its subscription has, one message at a time. A client that does
/// not read delays nothing but its own messages: its subscription then says that it lagged.
class Watcher final : public ::grpc::ServerWriteReactor<v1::WatchResponse> {
 public:
  /// Deletes itself when the call has ended.
  static Watcher* start(Worker& worker);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  /// How the worker reaches the watcher, which may end meanwhile.
  struct Link {
    std::mutex mutex;
    Watcher* watcher = nullptr;  ///< nullptr: it has ended
  };
  enum class State { kIdle, kWriting, kEnded };

  Watcher() = default;
  void write_next();
  void write(const Subscription::Taken& taken);
  void end();

  std::shared_ptr<Link> link_ = std::make_shared<Link>();
  std::shared_ptr<Subscription> subscription_;
  // The mutex of the link protects what follows.
  State state_ = State::kIdle;
  bool is_cancelled_ = false;
  v1::WatchResponse message_;
};

}  // namespace pinfold::service
