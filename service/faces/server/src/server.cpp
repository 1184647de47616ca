#include "pinfold/server/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "pinfold/agent/outcome.hpp"
#include "pinfold/base/unique_fd.hpp"

namespace pinfold::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using Clock = asio::steady_timer::clock_type;
using Protocol = asio::local::stream_protocol;

std::string encode_error(Error error) {
  return socket::encode(Result<verbs::Answer>(fail(std::move(error))));
}

/// asio accepts without SOCK_CLOEXEC, so a program started by another thread would inherit the
/// connection.
error_code accept_into(Protocol::acceptor& acceptor, Protocol::socket& socket) {
  UniqueFd connection(::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return {errno, asio::error::get_system_category()};
  error_code failed;
  if (!socket.assign(Protocol(), connection.get(), failed)) (void)connection.release();
  return failed;
}

}  // namespace

/// State shared by the sessions; lives as long as any of them.
struct Server::Shared {
  asio::io_context& io;
  Protocol::acceptor acceptor;
  asio::steady_timer retry;  ///< after a failed accept
  std::string hello;
  Submit submit;
  ServerOptions options;
  std::map<std::uint64_t, std::shared_ptr<Session>> sessions{};  ///< in order of arrival
  std::uint64_t next_session = 0;
  std::size_t others = 0;           ///< sessions that are not the owner's
  std::size_t unfinished = 0;       ///< bytes of requests that count against the limit
  std::size_t unread = 0;           ///< bytes of unread answers
  std::array<char, 65536> chunk{};  ///< buffer for reading, shared by all sessions

  [[nodiscard]] bool make_room();
  void close_slowest(const Session& newest);
};

/// One connection: reads a line, answers it, reads the next one.
class Server::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Protocol::socket socket, const std::shared_ptr<Shared>& shared, std::uint64_t number)
      : socket_(std::move(socket)),
        timer_(shared->io),
        shared_(shared),
        number_(number),
        is_owners_(shared->options.is_owner(socket_.native_handle())),
        unfinished_(shared->unfinished),
        unread_(shared->unread) {
    if (!is_owners_) ++shared_->others;
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (!is_owners_) --shared_->others;
  }

  [[nodiscard]] bool is_owners() const { return is_owners_; }
  /// Returns whether the client has never sent anything.
  [[nodiscard]] bool is_silent() const {
    return state_ == State::kReading && !is_greeted_ && input_.empty();
  }
  /// Returns whether a client has not read its answer and may be disconnected.
  [[nodiscard]] bool is_slow() const { return state_ == State::kWriting && !is_owners_; }

  void start() {
    if (!shared_->make_room()) {
      return end_with({ErrorCode::kBusy, 0, "too many connections: try again later"});
    }
    if (auto allowed = shared_->options.check(socket_.native_handle()); !allowed) {
      return end_with(std::move(allowed).error());
    }
    next_line();
  }
  /// Ends after the pending answer, and says that no further requests are handled.
  void finish() {
    is_stopping_ = true;
    if (state_ == State::kReading) end_with(agent::stopping_error());
  }

  void close() {
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
    unfinished_.set(0);
    unread_.set(0);
    const auto self = shared_from_this();
    shared_->sessions.erase(number_);
  }

 private:
  enum class State { kReading, kWorking, kWriting };
  /// Bytes that a session holds of memory shared by all.
  class Share {
   public:
    explicit Share(std::size_t& all) : all_(all) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { set(0); }
    void set(std::size_t bytes) {
      all_ += bytes - own_;
      own_ = bytes;
    }

   private:
    std::size_t& all_;
    std::size_t own_ = 0;
  };

  void limit_time(milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](error_code cancelled) {
      // A timer that has already expired may have been set anew since.
      if (!cancelled && self->timer_.expiry() <= Clock::now()) self->close();
    });
  }

  void next_line() {
    state_ = State::kReading;
    const ServerOptions& options = shared_->options;
    limit_time(is_greeted_ ? options.request_time
                           : std::min(options.request_time, options.hello_time));
    read_on(0);
  }
  /// The first `searched` bytes of the input contain no line break.
  void read_on(std::size_t searched) {
    const std::size_t most = is_greeted_ ? socket::kMaxRequest : socket::kMaxHelloRequest;
    const std::size_t end = input_.find('\n', searched);
    if (end <= most) {  // npos is larger
      timer_.expires_at(Clock::time_point::max());
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      if (input_.empty()) input_.shrink_to_fit();
      unfinished_.set(0);
      return handle(line);
    }
    if (input_.size() > most || end != std::string::npos) {
      return end_with(
          {ErrorCode::kInvalidArgument, 0, fmt::format("message: longer than {} bytes", most)});
    }
    if (!is_owners_ && input_.size() > kSmallRequest) unfinished_.set(input_.size());
    if (shared_->unfinished > shared_->options.unfinished_memory && !is_owners_ &&
        input_.size() > kSmallRequest) {
      return end_with({ErrorCode::kBusy, 0, "too many unfinished requests: try again later"});
    }
    socket_.async_wait(Protocol::socket::wait_read,
                       [self = shared_from_this()](error_code failed) { self->read_some(failed); });
  }
  void read_some(error_code failed) {
    std::size_t size = 0;
    if (!failed) size = socket_.read_some(asio::buffer(shared_->chunk), failed);
    const bool is_over = failed && failed != asio::error::would_block;
    if (is_over) return close();
    if (state_ != State::kReading) return;  // the session is stopping
    const std::size_t before = input_.size();
    input_.append(shared_->chunk.data(), size);
    read_on(before);
  }

  void handle(const std::string& line) {
    if (!is_greeted_) {
      if (auto hello = socket::decode_hello_request(line); !hello) {
        return end_with(std::move(hello).error());
      }
      is_greeted_ = true;
      return write(shared_->hello);
    }
    auto call = socket::decode_call(line);
    if (!call) return write(encode_error(std::move(call).error()));
    state_ = State::kWorking;
    worker::Request request{
        std::move(call->action),
        [self = shared_from_this(), &io = shared_->io](Result<verbs::Answer> answer) {
          asio::post(io,
                     [self, answer = std::move(answer)] { self->write(socket::encode(answer)); });
        }};
    request.origin = is_owners_ ? worker::Origin::kOwner : worker::Origin::kOther;
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
    unread_.set(output_.size());
    shared_->close_slowest(*this);
    limit_time(shared_->options.answer_time);
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this()](error_code failed, std::size_t /*size*/) {
                        self->output_ = {};
                        self->unread_.set(0);
                        if (failed || self->is_last_) return self->close();
                        if (self->is_stopping_) return self->end_with(agent::stopping_error());
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
  std::uint64_t number_;
  bool is_owners_;
  Share unfinished_;
  Share unread_;
  State state_ = State::kReading;
  bool is_greeted_ = false;
  bool is_last_ = false;  ///< end after the next answer
  bool is_stopping_ = false;
  std::string input_;
  std::string output_;
};

/// Returns whether the newest session can stay.
bool Server::Shared::make_room() {
  const auto newest = sessions.rbegin()->second;
  if (newest->is_owners()) return sessions.size() <= options.max_connections;
  const std::size_t reserved = std::min(options.reserved_connections, options.max_connections);
  if (others <= options.max_connections - reserved) return true;
  for (const auto& [number, session] : sessions) {
    if (session == newest || session->is_owners() || !session->is_silent()) continue;
    const auto silent = session;
    silent->close();
    return true;
  }
  return false;
}

/// Closes sessions that have not read their answers, oldest first, until memory suffices.
void Server::Shared::close_slowest(const Session& newest) {
  while (unread > options.unread_memory) {
    const auto slowest = std::find_if(sessions.begin(), sessions.end(), [&](const auto& entry) {
      return entry.second.get() != &newest && entry.second->is_slow();
    });
    if (slowest == sessions.end()) return;
    const auto session = slowest->second;
    session->close();
  }
}

Server::Server(asio::io_context& io, const socket::Listener& listener, const socket::Hello& hello,
               Submit submit, ServerOptions options)
    : shared_(new Shared{io, Protocol::acceptor(io), asio::steady_timer(io), socket::encode(hello),
                         std::move(submit), std::move(options)}) {
  if (!shared_->options.check) {
    shared_->options.check = [group = listener.group()](int connection) {
      return socket::check_client(connection, group);
    };
  }
  if (!shared_->options.is_owner) shared_->options.is_owner = socket::is_owner;
  const int own = ::fcntl(listener.fd(), F_DUPFD_CLOEXEC, 0);
  shared_->acceptor.assign(Protocol(), own);
  accept(shared_);
}

Server::~Server() {
  try {
    stop();
    const auto sessions = shared_->sessions;
    for (const auto& [number, session] : sessions) session->close();
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
    if (failed == asio::error::would_block) return accept(shared);  // the client has gone away
    if (!failed) {
      const std::uint64_t number = shared->next_session++;
      const auto session = std::make_shared<Session>(std::move(socket), shared, number);
      shared->sessions.emplace(number, session);
      session->start();
      return accept(shared);
    }
    // Too many open files: wait until others are closed.
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
  for (const auto& [number, session] : sessions) session->finish();
}

std::size_t Server::connections() const { return shared_->sessions.size(); }

}  // namespace pinfold::server
