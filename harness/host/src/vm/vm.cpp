#include "pinfold/harness/vm.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

namespace pinfold::harness {
namespace {

constexpr std::size_t kMaxConsole = 4U << 20;
constexpr std::size_t kMaxAgentLine = 4U << 20;
constexpr Milliseconds kConnectLimit(20000);
/// The rest of a panic's output arrives within this time.
constexpr Milliseconds kAfterPanic(2000);

tl::unexpected<VmFailure> failed(Trouble trouble, std::string message) {
  return tl::unexpected(VmFailure{trouble, std::move(message)});
}

UniqueFd listen_at(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, text.data(), text.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.get(), 1) != 0) {
    return {};
  }
  return socket;
}

/// Returns QEMU's own output, without warnings about CPU features that TCG does not have.
std::string complaints_of(const UniqueFd& output) {
  std::string text(16384, '\0');
  const ssize_t got = pread(output.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::istringstream lines(text);
  std::string complaints;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("warning: TCG doesn't support") == std::string::npos) complaints += line + "\n";
  }
  return end_of_console(complaints, 5);
}

/// Appends everything that can be read now. Closes the port at end of file.
void read_port(UniqueFd& port, std::string& into) {
  char chunk[16384];
  while (port) {
    const ssize_t got = recv(port.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (got > 0) {
      into.append(chunk, static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      port = UniqueFd();
    } else {
      return;
    }
  }
}

void take_lines(std::string& buffer, std::deque<std::string>& lines) {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = buffer.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    lines.push_back(buffer.substr(begin, end - begin));
    while (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
  }
  buffer.erase(0, begin);
}

bool send_all(const UniqueFd& port, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty() && port) {
    const ssize_t sent = send(port.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return false;
    if (Clock::now() >= deadline) return false;
    pollfd watched = {port.get(), POLLOUT, 0};
    (void)poll(&watched, 1, 100);
  }
  return bytes.empty();
}

/// Returns a source for `-incoming`. QEMU reads a file from its descriptor until version 10, and
/// from its path since 8.2, but always from a pipe.
std::string read_by_cat(const std::filesystem::path& file) {
  std::string command = "exec:exec cat '";
  for (const char c : file.string()) {
    if (c == '\'') command += "'\\'";
    command += c;
  }
  return command + "'";
}

std::string describe_exit(int status) {
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("status {}", WEXITSTATUS(status));
}

}  // namespace

VmResult<Vm> Vm::start(const VmSetup& setup) {
  UniqueFd output(memfd_create("qemu", MFD_CLOEXEC));
  UniqueFd listeners[] = {listen_at(setup.folder / kConsoleSocket),
                          listen_at(setup.folder / kAgentSocket),
                          listen_at(setup.folder / kMonitorSocket)};
  if (!output || !listeners[0] || !listeners[1] || !listeners[2]) {
    return failed(Trouble::kHost, fmt::format("no sockets in '{}': {}", setup.folder.string(),
                                              std::strerror(errno)));  // NOLINT
  }
  ChildOptions options{setup.command, setup.folder, output.get(), {-1, setup.load_fd}};
  if (!setup.snapshot.empty()) {
    options.argv.insert(options.argv.end(), {"-incoming", read_by_cat(setup.snapshot)});
  }
  auto qemu = ChildProcess::start(options);
  if (!qemu) return failed(Trouble::kHost, std::move(qemu).error().message);
  Vm vm(std::move(*qemu));
  vm.output_ = std::move(output);
  vm.interrupt_fd_ = setup.interrupt_fd;
  UniqueFd* ports[] = {&vm.console_port_, &vm.agent_port_, &vm.monitor_port_};
  const Clock::time_point deadline = Clock::now() + kConnectLimit;
  for (std::size_t i = 0; i < 3; ++i) {
    while (!*ports[i]) {
      pollfd watched[] = {{listeners[i].get(), POLLIN, 0},
                          {vm.qemu_.ended_fd(), POLLIN, 0},
                          {setup.interrupt_fd, POLLIN, 0}};
      (void)poll(watched, 3, 200);
      if ((watched[2].revents & POLLIN) != 0) return failed(Trouble::kInterrupted, "interrupted");
      if ((watched[0].revents & POLLIN) != 0) {
        *ports[i] = UniqueFd(accept4(listeners[i].get(), nullptr, nullptr, SOCK_CLOEXEC));
      } else if ((watched[1].revents & POLLIN) != 0 || Clock::now() > deadline) {
        return failed(Trouble::kHost,
                      fmt::format("QEMU does not start: {}", complaints_of(vm.output_)));
      }
    }
  }
  return vm;
}

void Vm::read_ports() {
  read_port(console_port_, console_);
  read_port(agent_port_, agent_buffer_);
  read_port(monitor_port_, monitor_buffer_);
  take_lines(agent_buffer_, agent_lines_);
  take_lines(monitor_buffer_, monitor_lines_);
  if (console_.size() > kMaxConsole) {
    console_.erase(0, console_.size() - kMaxConsole / 2);
    panic_searched_ = 0;
  }
}

VmResult<void> Vm::pump(Clock::time_point deadline, const std::function<bool()>& done) {
  bool panicked = false;
  while (true) {
    read_ports();
    if (done()) return {};
    if (agent_buffer_.size() > kMaxAgentLine) {
      return failed(Trouble::kGarbage, "the results port sends a line that does not end");
    }
    if (!panicked && shows_panic(std::string_view(console_).substr(panic_searched_))) {
      panicked = true;
      deadline = std::min(deadline, Clock::now() + kAfterPanic);
    }
    panic_searched_ = console_.size() > 64 ? console_.size() - 64 : 0;
    if (const auto status = qemu_.wait_status()) {
      read_ports();
      if (done()) return {};
      const std::string complaints = complaints_of(output_);
      return failed(Trouble::kEnded,
                    fmt::format("the machine ended with {}{}{}", describe_exit(*status),
                                complaints.empty() ? "" : ": ", complaints));
    }
    const auto left = std::chrono::ceil<Milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return failed(Trouble::kTimeout, "the time limit has expired");
    pollfd watched[] = {{interrupt_fd_, POLLIN, 0},
                        {qemu_.ended_fd(), POLLIN, 0},
                        {console_port_.get(), POLLIN, 0},
                        {agent_port_.get(), POLLIN, 0},
                        {monitor_port_.get(), POLLIN, 0}};
    (void)poll(watched, 5, static_cast<int>(std::min<std::int64_t>(left, 60000)));
    if ((watched[0].revents & POLLIN) != 0) return failed(Trouble::kInterrupted, "interrupted");
  }
}

VmResult<Json> Vm::next_line(std::deque<std::string>& lines, Clock::time_point deadline) {
  PINFOLD_TRY(pump(deadline, [&] { return !lines.empty(); }));
  Json message = Json::parse(lines.front(), nullptr, false);
  if (!message.is_object()) {
    return failed(Trouble::kGarbage, fmt::format("not a result: '{}'",
                                                 end_of_console(lines.front().substr(0, 200), 1)));
  }
  lines.pop_front();
  return message;
}

VmResult<Json> Vm::wait_for_agent(Milliseconds limit) {
  PINFOLD_LET(auto message, next_line(agent_lines_, Clock::now() + limit));
  if (message.value("event", "") != "hello" || message.value("protocol", 0) != 1) {
    return failed(Trouble::kGarbage,
                  fmt::format("expected the agent's hello, got {}", message.dump()));
  }
  return message;
}

VmResult<Json> Vm::request(Json request, Milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  const std::int64_t id = next_id_++;
  request["id"] = id;
  if (!agent_lines_.empty()) {
    return failed(Trouble::kGarbage,
                  fmt::format("unexpected result '{}'",
                              end_of_console(agent_lines_.front().substr(0, 200), 1)));
  }
  const std::string line = request.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  if (!send_all(agent_port_, line, deadline)) {
    read_ports();
    return failed(
        qemu_.wait_until(Clock::now() + Milliseconds(200)) ? Trouble::kEnded : Trouble::kTimeout,
        "the agent accepts no request");
  }
  auto reply = next_line(agent_lines_, deadline);
  if (reply && reply->value("id", Json()) != id) {
    return failed(Trouble::kGarbage, fmt::format("expected reply {}, got {}", id, reply->dump()));
  }
  return reply;
}

VmResult<void> Vm::quit(int code, int exit_status, Milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  PINFOLD_TRY(request({{"op", "quit"}, {"code", code}}, limit));
  PINFOLD_TRY(pump(deadline, [this] { return qemu_.wait_status().has_value(); }));
  const int status = *qemu_.wait_status();
  if (!agent_lines_.empty() || !agent_buffer_.empty()) {
    return failed(Trouble::kGarbage, "the agent sent more after its last result");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != exit_status) {
    return failed(Trouble::kEnded, fmt::format("the machine ended with {}, expected status {}",
                                               describe_exit(status), exit_status));
  }
  return {};
}

VmResult<Json> Vm::monitor(const std::string& command, Json arguments, Milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  if (!monitor_ready_) {  // reads the greeting, then enables commands
    monitor_ready_ = true;
    PINFOLD_TRY(next_line(monitor_lines_, deadline));
    PINFOLD_TRY(monitor("qmp_capabilities", Json::object(), limit));
  }
  Json request = {{"execute", command}};
  if (!arguments.empty()) request["arguments"] = std::move(arguments);
  if (!send_all(monitor_port_, request.dump() + "\n", deadline)) {
    return failed(Trouble::kEnded, "QEMU accepts no command");
  }
  while (true) {
    PINFOLD_LET(auto message, next_line(monitor_lines_, deadline));
    if (message.contains("error")) {
      return failed(Trouble::kHost,
                    fmt::format("QEMU: {}: {}", command, message.at("error").dump()));
    }
    if (message.contains("return")) return message.at("return");
  }
}

void Vm::clear_console() {
  console_.clear();
  panic_searched_ = 0;
}

void Vm::relay_console(int input, const std::function<void(std::string_view)>& seen) {
  console_.clear();
  while (console_port_ && !qemu_.wait_status()) {
    pollfd watched[] = {{input, POLLIN, 0},
                        {console_port_.get(), POLLIN, 0},
                        {qemu_.ended_fd(), POLLIN, 0},
                        {interrupt_fd_, POLLIN, 0}};
    (void)poll(watched, 4, -1);
    if ((watched[3].revents & POLLIN) != 0) return;
    char chunk[4096];
    if ((watched[0].revents & (POLLIN | POLLHUP)) != 0) {
      const ssize_t got = read(input, chunk, sizeof chunk);
      if (got <= 0) return;
      const std::string_view typed(chunk, static_cast<std::size_t>(got));
      if (!send_all(console_port_, typed, Clock::now() + Milliseconds(5000))) return;
    }
    read_port(console_port_, console_);
    seen(console_);
    console_.clear();
  }
}

}  // namespace pinfold::harness
