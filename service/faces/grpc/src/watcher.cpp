#include "watcher.hpp"

#include "pinfold/grpc/messages.hpp"

namespace pinfold::grpc {

/// gRPC never calls a reactor from within StartWrite and Finish, so both may be called under the
/// mutex.
Watcher* Watcher::start(worker::Worker& worker) {
  constexpr std::size_t kMostChanges = 1024;
  auto* const watcher = new Watcher;  // NOLINT(cppcoreguidelines-owning-memory): see OnDone
  const auto link = watcher->link_;
  const std::lock_guard lock(link->mutex);
  link->watcher = watcher;
  watcher->subscription_ = worker.subscribe(kMostChanges, [link] {
    const std::lock_guard lock_link(link->mutex);
    if (link->watcher != nullptr) link->watcher->write_next();
  });
  watcher->write({{}, true});
  return watcher;
}

void Watcher::write_next() {
  if (state_ != State::kIdle) return;
  const auto taken = subscription_->take();
  if (!taken.changes.empty() || taken.has_lagged) write(taken);
}

void Watcher::write(const worker::Subscription::Taken& taken) {
  state_ = State::kWriting;
  message_.Clear();
  fill(taken, message_);
  StartWrite(&message_);
}

void Watcher::end() {
  state_ = State::kEnded;
  Finish(::grpc::Status::CANCELLED);
}

void Watcher::OnWriteDone(bool ok) {
  const std::lock_guard lock(link_->mutex);
  state_ = State::kIdle;
  if (!ok || is_cancelled_) return end();
  write_next();
}

void Watcher::OnCancel() {
  const std::lock_guard lock(link_->mutex);
  is_cancelled_ = true;
  if (state_ == State::kIdle) end();
}

void Watcher::OnDone() {
  {
    const std::lock_guard lock(link_->mutex);
    link_->watcher = nullptr;
  }
  delete this;  // gRPC no longer uses it
}

}  // namespace pinfold::grpc
