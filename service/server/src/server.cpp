#include "pinfold/server/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <exception>
#include <set>
#include <string>
#include <utility>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::service {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using Clock = asio::steady_timer::clock_type;
using Protocol = asio::local::stream_protocol;

std::string encode_error(Error error) { return encode(Result<Answer>(fail(std::move(error)))); }

/// asio accepts without SOCK_CLOEXEC: a program that another thread starts would get the
/// connection.
error_code accept_into(Protocol::acceptor& acceptor, Protocol::socket& socket) {
  UniqueFd connection(::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return {errno, asio::error::get_system_category()};
  error_code failed;
  if (!socket.assign(Protocol(), connection.get(), failed)) (void)connection.release();
  return failed;
}

}  // namespace

/// What the sessions use; it lives as long as any of them.
struct Server::Shared {
  asio::io_context& io;
  Protocol::acceptor acceptor;
  asio::steady_timer retry;  ///< after accepting has failed
  std::string hello;
  Submit submit;
  ServerOptions options;
  std::set<std::shared_ptr<Session>> sessions;
};

/// One connection: reads a line, answers it, reads the next one.
class Server::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Protocol::socket socket, const std::shared_ptr<Shared>& shared)
      : socket_(std::move(socket)), timer_(shared->io), shared_(shared) {}

  void start() {
    if (shared_->sessions.size() > shared_->options.max_connections) {
      return end_with({ErrorCode::kBusy, 0, "too many connections: try again later"});
    }
    if (auto allowed = shared_->options.check(socket_.native_handle()); !allowed) {
      return end_with(std::move(allowed).error());
    }
    next_line();
  }
  /// Ends after the answer that is due, and says that nothing else is done.
  void finish() {
    is_stopping_ = true;
    if (state_ == State::kReading) end_with(stopping_error());
  }

  void close() {
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
    shared_->sessions.erase(shared_from_this());
  }

 private:
  enum class State { kReading, kWorking, kWriting };

  void limit_time(milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](error_code cancelled) {
      // One that is over already can have been set anew since.
      if (!cancelled && self->timer_.expiry() <= Clock::now()) self->close();
    });
  }

  void next_line() {
    state_ = State::kReading;
    limit_time(shared_->options.request_time);
    read_on(0);
  }
  /// `searched`: so much of the input has no line break.
  void read_on(std::size_t searched) {
    const std::size_t end = input_.find('\n', searched);
    if (end <= kMaxMessage) {  // npos is more
      timer_.expires_at(Clock::time_point::max());
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      return handle(line);
    }
    if (input_.size() > kMaxMessage) {
      return end_with({ErrorCode::kInvalidArgument, 0,
                       fmt::format("message: longer than {} bytes", kMaxMessage)});
    }
    socket_.async_read_some(asio::buffer(chunk_),
                            [self = shared_from_this()](error_code failed, std::size_t size) {
                              if (failed) return self->close();
                              if (self->state_ != State::kReading) return;  // it stops
                              const std::size_t before = self->input_.size();
                              self->input_.append(self->chunk_.data(), size);
                              self->read_on(before);
                            });
  }

  void handle(const std::string& line) {
    if (!is_greeted_) {
      if (auto hello = decode_hello_request(line); !hello) {
        return end_with(std::move(hello).error());
      }
      is_greeted_ = true;
      return write(shared_->hello);
    }
    auto call = decode_call(line);
    if (!call) return write(encode_error(std::move(call).error()));
    state_ = State::kWorking;
    Request request{std::move(call->action),
                    [self = shared_from_this(), &io = shared_->io](Result<Answer> answer) {
                      asio::post(
                          io, [self, answer = std::move(answer)] { self->write(encode(answer)); });
                    }};
    if (call->timeout > milliseconds::zero()) {
      request.deadline = Clock::now() + call->timeout;
    }
    if (auto taken = shared_->submit(std::move(request)); !taken) {
      write(encode_error(std::move(taken).error()));
    }
  }

  void write(std::string message) {
    if (!socket_.is_open()) return;
    state_ = State::kWriting;
    output_ = std::move(message) + '\n';
    limit_time(shared_->options.answer_time);
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this()](error_code failed, std::size_t /*size*/) {
                        if (failed || self->is_last_) return self->close();
                        if (self->is_stopping_) return self->end_with(stopping_error());
                        self->next_line();
                      });
  }
  void end_with(Error error) {
    is_last_ = true;
    write(encode_error(std::move(error)));
  }

  Protocol::socket socket_;
  asio::steady_timer timer_;
  std::shared_ptr<Shared> shared_;
  State state_ = State::kReading;
  bool is_greeted_ = false;
  bool is_last_ = false;  ///< ends after the next answer
  bool is_stopping_ = false;
  std::string input_;
  std::string output_;
  std::array<char, 65536> chunk_{};
};

Server::Server(asio::io_context& io, const Listener& listener, const Hello& hello, Submit submit,
               ServerOptions options)
    : shared_(new Shared{io,
                         Protocol::acceptor(io),
                         asio::steady_timer(io),
                         encode(hello),
                         std::move(submit),
                         std::move(options),
                         {}}) {
  if (!shared_->options.check) {
    shared_->options.check = [group = listener.group()](int connection) {
      return check_client(connection, group);
    };
  }
  const int own = ::fcntl(listener.fd(), F_DUPFD_CLOEXEC, 0);
  shared_->acceptor.assign(Protocol(), own);
  accept(shared_);
}

Server::~Server() {
  try {
    stop();
    const auto sessions = shared_->sessions;
    for (const auto& session : sessions) session->close();
  } catch (const std::exception&) {
    // Out of memory: connections stay open until their time limit.
    return;
  }
}

void Server::accept(const std::shared_ptr<Shared>& shared) {
  shared->acceptor.async_wait(Protocol::acceptor::wait_read, [shared](error_code failed) {
    if (!shared->acceptor.is_open()) return;
    Protocol::socket socket(shared->io);
    if (!failed) failed = accept_into(shared->acceptor, socket);
    if (failed == asio::error::would_block) return accept(shared);  // it has gone away
    if (!failed) {
      const auto session = std::make_shared<Session>(std::move(socket), shared);
      shared->sessions.insert(session);
      session->start();
      return accept(shared);
    }
    // Too many open files: others will be closed.
    constexpr milliseconds kPause(100);
    shared->retry.expires_after(kPause);
    shared->retry.async_wait([shared](error_code /*cancelled*/) {
      if (shared->acceptor.is_open()) accept(shared);
    });
  });
}

void Server::stop() {
  error_code ignored;
  shared_->acceptor.close(ignored);
  shared_->retry.cancel();
  const auto sessions = shared_->sessions;
  for (const auto& session : sessions) session->finish();
}

std::size_t Server::connections() const { return shared_->sessions.size(); }

}  // namespace pinfold::service
