#pragma once

#include <grpcpp/support/server_callback.h>
#include <pinfold/v1/pinfold.pb.h>

#include <memory>
#include <mutex>

#include "pinfold/worker/worker.hpp"

namespace pinfold::grpc {

/// One call of Watch: writes the changes of its subscription, one message at a time. A client that
/// does not read delays only its own messages; its subscription then says that it lagged.
class Watcher final : public ::grpc::ServerWriteReactor<v1::WatchResponse> {
 public:
  /// The object deletes itself when the call has ended.
  static Watcher* start(worker::Worker& worker);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  /// The worker's way to the watcher, which may end at any time.
  struct Link {
    std::mutex mutex;
    Watcher* watcher = nullptr;  ///< nullptr once it has ended
  };
  enum class State { kIdle, kWriting, kEnded };

  Watcher() = default;
  void write_next();
  void write(const worker::Subscription::Taken& taken);
  void end();

  std::shared_ptr<Link> link_ = std::make_shared<Link>();
  std::shared_ptr<worker::Subscription> subscription_;
  // The mutex of the link protects the members below.
  State state_ = State::kIdle;
  bool is_cancelled_ = false;
  v1::WatchResponse message_;
};

}  // namespace pinfold::grpc
