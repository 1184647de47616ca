#include "pinfold/nri/plugin.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "pinfold/base/unique_fd.hpp"
#include "pinfold/nri/session.hpp"

namespace pinfold::nri {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Protocol = asio::local::stream_protocol;

/// Limit for unsent answers. A runtime that does not read is not read from either.
constexpr std::size_t kMaxUnsent = 1U << 20U;
/// The longest time limit; keeps time points from overflowing.
constexpr milliseconds kLongestTime = std::chrono::hours(24);

Error io_error(const error_code& code, const std::string& what) {
  return fail_errno(code.value(), what).value();
}

Result<void> check_options(const PluginOptions& options) {
  PINFOLD_TRY(check(options.identity));
  constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
  if (options.socket.empty() || options.socket.size() > kMaxPath) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("NRI: socket '{}': expected a path of 1 to {} bytes", options.socket,
                            kMaxPath));
  }
  for (const milliseconds time :
       {options.registration_timeout, options.least_pause, options.greatest_pause}) {
    if (time < milliseconds(1) || time > kLongestTime) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("NRI: time limit {} ms: expected 1 ms to a day", time.count()));
    }
  }
  return {};
}

}  // namespace

/// State shared by the operations of a connection; lives as long as any of them.
struct Plugin::Shared {
  asio::io_context& io;
  Handler* handler;  ///< null: the plugin has ended
  PluginOptions options;
  asio::steady_timer retry_timer;
  milliseconds pause;
  std::shared_ptr<Connection> connection;
};

class Plugin::Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(const std::shared_ptr<Shared>& shared)
      : shared_(shared), socket_(shared->io), timer_(shared->io) {}

  void start() {
    const std::string& path = shared_->options.socket;
    // asio opens sockets without SOCK_CLOEXEC, so a program started by another thread would inherit
    // them. If this fails, connecting opens a socket again and reports the reason.
    UniqueFd own(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    error_code failed_to_assign;
    if (own && !socket_.assign(Protocol(), own.get(), failed_to_assign)) (void)own.release();
    socket_.async_connect(Protocol::endpoint(path), [self = shared_from_this()](error_code failed) {
      if (failed) {
        return self->end(
            io_error(failed, fmt::format("NRI: connect to '{}'", self->shared_->options.socket)));
      }
      if (self->is_over_) return;
      const auto now = Clock::now();
      const PluginOptions& options = self->shared_->options;
      self->session_.emplace(options.identity, now, now + options.registration_timeout);
      self->go_on();
      self->read();
    });
  }

  void update(const api::UpdateContainersRequest& request, milliseconds time_limit, Done done) {
    if (!session_) return done(fail(ErrorCode::kNotFound, "NRI: no runtime is connected"));
    const auto now = Clock::now();
    const auto call = session_->update_containers(
        request, now, now + std::clamp(time_limit, milliseconds(0), kLongestTime));
    if (!call) return done(fail(call.error()));
    updates_.emplace(*call, std::move(done));
    go_on();
  }

  [[nodiscard]] std::optional<pid_t> peer() {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 ||
        credentials.pid <= 0) {
      return std::nullopt;
    }
    return credentials.pid;
  }

  /// Ends the connection. Its last call may destroy this object.
  void end(const Error& error) {
    if (is_over_) return;
    is_over_ = true;
    const auto self = shared_from_this();
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
    const auto updates = std::exchange(updates_, {});
    for (const auto& [call, done] : updates) done(fail(ErrorCode::kIo, error.message));
    shared_->connection.reset();
    retry(shared_, error);
  }

 private:
  void read() {
    socket_.async_read_some(
        asio::buffer(input_), [self = shared_from_this()](error_code failed, std::size_t size) {
          if (self->is_over_) return;
          if (failed == asio::error::eof) {
            return self->end({ErrorCode::kIo, 0, "NRI: the runtime closed the connection"});
          }
          if (failed) return self->end(io_error(failed, "NRI: read"));
          self->handle(self->session_->receive({self->input_.data(), size}));
          if (self->is_over_) return;
          self->is_reading_ = self->session_->unsent() <= kMaxUnsent;
          if (self->is_reading_) self->read();
        });
  }

  void handle(Result<std::vector<SessionEvent>> events) {
    if (!events) return end(events.error());
    for (SessionEvent& event : *events) {
      if (is_over_) return;
      std::visit([this](auto& one) { on(one); }, event);
    }
    if (!is_over_) go_on();
  }

  void on(const Registered& /*event*/) { shared_->handler->registered(); }
  void on(const ShutDown& /*event*/) { shared_->handler->shut_down(); }
  void on(Updated& event) {
    const auto found = updates_.find(event.call);
    if (found == updates_.end()) return;
    const Done done = std::move(found->second);
    updates_.erase(found);
    done(std::move(event.outcome));
  }
  void on(Asked& event) {
    std::optional<TimePoint> deadline;
    if (event.time_limit > Clock::duration::zero()) deadline = Clock::now() + event.time_limit;
    Reply<PluginAnswer>::Send send = [weak = weak_from_this(), call = event.call,
                                      &io = shared_->io](Result<PluginAnswer> answer) {
      asio::post(io, [weak, call, answer = std::move(answer)] {
        if (const auto self = weak.lock()) self->answer(call, answer);
      });
    };
    if (std::holds_alternative<api::SynchronizeRequest>(event.request)) {
      shared_->pause = shared_->options.least_pause;  // the runtime has accepted the events
    }
    std::visit(
        [&](auto& request) {
          using Expected = AnswerTo<std::decay_t<decltype(request)>>;
          shared_->handler->handle(std::move(request), Reply<Expected>(std::move(send), deadline));
        },
        event.request);
  }

  void answer(std::uint32_t call, const Result<PluginAnswer>& answer) {
    if (is_over_) return;
    // A second answer finds no open call.
    if (session_->answer(call, answer)) go_on();
  }

  /// Sends the session's output and waits for its next deadline.
  void go_on() {
    write();
    timer_.expires_at(session_->next_deadline().value_or(TimePoint::max()));
    timer_.async_wait([self = shared_from_this()](error_code cancelled) {
      if (!cancelled && !self->is_over_) self->handle(self->session_->expire(Clock::now()));
    });
  }

  void write() {
    if (is_writing_) return;
    output_ = session_->take_output();
    if (output_.empty()) return;
    is_writing_ = true;
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this()](error_code failed, std::size_t /*size*/) {
                        if (self->is_over_) return;
                        if (failed) return self->end(io_error(failed, "NRI: write"));
                        self->is_writing_ = false;
                        self->write();
                        if (!std::exchange(self->is_reading_, true)) self->read();
                      });
  }

  std::shared_ptr<Shared> shared_;
  Protocol::socket socket_;
  asio::steady_timer timer_;
  std::optional<Session> session_;  ///< once connected
  std::map<std::uint32_t, Done> updates_;
  std::string output_;
  bool is_writing_ = false;
  bool is_reading_ = true;
  bool is_over_ = false;
  std::array<char, 65536> input_{};
};

Result<Plugin> Plugin::start(asio::io_context& io, Handler& handler, PluginOptions options) {
  PINFOLD_TRY(check_options(options));
  const milliseconds pause = options.least_pause;
  const std::shared_ptr<Shared> shared(
      new Shared{io, &handler, std::move(options), asio::steady_timer(io), pause, nullptr});
  connect(shared);
  return Plugin(shared);
}

Plugin::~Plugin() {
  if (shared_ == nullptr) return;  // moved from
  try {
    shared_->handler = nullptr;
    shared_->retry_timer.cancel();
    if (const auto connection = shared_->connection) {
      connection->end({ErrorCode::kIo, 0, "NRI: the plugin has ended"});
    }
  } catch (const std::exception&) {
    // Out of memory: the socket stays open until the io_context ends.
    return;
  }
}

void Plugin::connect(const std::shared_ptr<Shared>& shared) {
  shared->connection = std::make_shared<Connection>(shared);
  shared->connection->start();
}

void Plugin::retry(const std::shared_ptr<Shared>& shared, const Error& error) {
  if (shared->handler == nullptr) return;
  const milliseconds pause = shared->pause;
  shared->pause = std::min(2 * pause, shared->options.greatest_pause);
  shared->handler->disconnected(error, pause);
  if (shared->handler == nullptr) return;  // the handler has ended the plugin
  shared->retry_timer.expires_after(pause);
  shared->retry_timer.async_wait([shared](error_code cancelled) {
    if (!cancelled && shared->handler != nullptr) connect(shared);
  });
}

std::optional<pid_t> Plugin::runtime_process() const {
  return shared_->connection == nullptr ? std::nullopt : shared_->connection->peer();
}

void Plugin::update_containers(api::UpdateContainersRequest request, milliseconds time_limit,
                               Done done) {
  asio::post(shared_->io, [shared = shared_, request = std::move(request), time_limit,
                           done = std::move(done)]() mutable {
    if (shared->connection == nullptr) {
      return done(fail(ErrorCode::kNotFound, "NRI: no runtime is connected"));
    }
    shared->connection->update(request, time_limit, std::move(done));
  });
}

}  // namespace pinfold::nri
