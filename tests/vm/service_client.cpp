#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// A client of the service that knows only what is published: the numbers of the fields of the
/// kubelet's PodResources API and of pinfold.v1, the lines of docs/service.md, and names of calls.
///   service-client pods SOCKET    prints what List answers, one line for each container
///   service-client watch GRPC_SOCKET   prints "watches", then a line for each change: the number
///                                      of its kind, pod, container
///   service-client hang SOCKET GRPC_SOCKET   clients that hang in each way, until it is killed
namespace {

/// The fields of a message, by their numbers.
struct Message {
  std::multimap<std::uint64_t, std::string_view> parts;
  std::map<std::uint64_t, std::uint64_t> numbers;
};

std::uint64_t take_varint(std::string_view& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80U) return value;
  }
  throw std::runtime_error("a number has no end");
}

Message parse(std::string_view in) {
  Message message;
  while (!in.empty()) {
    const std::uint64_t key = take_varint(in);
    const std::uint64_t value = take_varint(in);
    if ((key & 7U) == 0) {
      message.numbers[key >> 3U] = value;
    } else if ((key & 7U) == 2 && value <= in.size()) {
      message.parts.emplace(key >> 3U, in.substr(0, value));
      in.remove_prefix(value);
    } else {
      throw std::runtime_error("a field of another type");
    }
  }
  return message;
}

std::string_view part(const Message& message, std::uint64_t number) {
  const auto found = message.parts.find(number);
  return found == message.parts.end() ? std::string_view() : found->second;
}

/// " memory 64Mi@1": a size and its NUMA nodes.
std::string memory_text(const Message& memory) {
  std::string text = " " + std::string(part(memory, 1)) + " ";
  const auto size = memory.numbers.find(2);
  text += std::to_string(size == memory.numbers.end() ? 0 : size->second >> 20U) + "Mi@";
  const Message topology = parse(part(memory, 3));
  for (auto [node, end] = topology.parts.equal_range(1); node != end; ++node) {
    const Message parsed = parse(node->second);
    const auto id = parsed.numbers.find(1);
    text += std::to_string(id == parsed.numbers.end() ? 0 : id->second);
  }
  return text;
}

::grpc::ByteBuffer empty_message() {
  const ::grpc::Slice nothing("");
  return {&nothing, 1};
}

std::string bytes_of(const ::grpc::ByteBuffer& message) {
  std::vector<::grpc::Slice> slices;
  (void)message.Dump(&slices);
  std::string bytes;
  for (const ::grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  return bytes;
}

void print_pods(const std::string& socket) {
  const auto channel =
      ::grpc::CreateChannel("unix:" + socket, ::grpc::InsecureChannelCredentials());
  ::grpc::GenericStub stub(channel);
  ::grpc::ClientContext context;
  ::grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/v1.PodResourcesLister/List", empty_message(), &queue);
  call->StartCall();
  ::grpc::ByteBuffer answer;
  ::grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool is_ok = false;
  (void)queue.Next(&tag, &is_ok);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  const std::string bytes = bytes_of(answer);
  const Message list = parse(bytes);
  for (auto [found, end] = list.parts.equal_range(1); found != end; ++found) {
    const Message pod = parse(found->second);
    for (auto [each, last] = pod.parts.equal_range(3); each != last; ++each) {
      const Message container = parse(each->second);
      std::string line =
          std::string(part(pod, 1)) + "/" + std::string(part(container, 1)) + " cpus";
      std::string_view cpus = part(container, 3);
      while (!cpus.empty()) line += " " + std::to_string(take_varint(cpus));
      for (auto [memory, stop] = container.parts.equal_range(4); memory != stop; ++memory) {
        line += memory_text(parse(memory->second));
      }
      std::puts(line.c_str());
    }
  }
  std::puts("that is all");
}

/// A call of Watch whose request has been sent.
struct Watch {
  ::grpc::ClientContext context;
  std::unique_ptr<::grpc::GenericClientAsyncReaderWriter> stream;

  Watch(::grpc::GenericStub& stub, ::grpc::CompletionQueue& queue)
      : stream(stub.PrepareCall(&context, "/pinfold.v1.Pinfold/Watch", &queue)) {
    stream->StartCall(nullptr);
    (void)wait(queue);
    stream->WriteLast(empty_message(), ::grpc::WriteOptions(), nullptr);
    if (!wait(queue)) throw std::runtime_error("Watch: the stream has ended");
  }
  /// Waits for the next event; returns false if it failed.
  static bool wait(::grpc::CompletionQueue& queue) {
    void* tag = nullptr;
    bool is_ok = false;
    return queue.Next(&tag, &is_ok) && is_ok;
  }
};

/// Prints until the stream ends. The service's first answer says that earlier changes are missing.
void print_changes(const std::string& socket) {
  ::grpc::GenericStub stub(
      ::grpc::CreateChannel("unix:" + socket, ::grpc::InsecureChannelCredentials()));
  ::grpc::CompletionQueue queue;
  Watch watch(stub, queue);
  ::grpc::ByteBuffer message;
  const auto read = [&] {
    watch.stream->Read(&message, nullptr);
    return Watch::wait(queue);
  };
  while (read()) {
    const std::string bytes = bytes_of(message);
    const Message response = parse(bytes);
    if (response.numbers.contains(2)) std::puts("watches");
    for (auto [found, end] = response.parts.equal_range(1); found != end; ++found) {
      const Message change = parse(found->second);
      const auto kind = change.numbers.find(1);
      std::printf("%d %s %s\n", kind == change.numbers.end() ? 0 : static_cast<int>(kind->second),
                  std::string(part(change, 2)).c_str(), std::string(part(change, 3)).c_str());
    }
    (void)std::fflush(stdout);
  }
}

int connect_to(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (void)path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("connect to " + path + ": " + std::strerror(errno));
  }
  return fd;
}

/// Sends as much as fits.
void fill(int fd, std::string_view text) {
  while (::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
  }
}

[[noreturn]] void hang(const std::string& socket, const std::string& grpc_socket) {
  constexpr int kEach = 4;
  const std::string_view hello = "{\"hello\":{\"version\":2}}\n";
  for (int i = 0; i < kEach; ++i) {
    (void)connect_to(socket);  // silent
    (void)::send(connect_to(socket), hello.data(), hello.size() / 2, MSG_NOSIGNAL);
    const int unread = connect_to(socket);
    (void)::send(unread, hello.data(), hello.size(), MSG_NOSIGNAL);
    fill(unread, "{\"settle\":{}}\n");
    (void)connect_to(grpc_socket);
  }
  // Streams of changes that are never read.
  const auto channel =
      ::grpc::CreateChannel("unix:" + grpc_socket, ::grpc::InsecureChannelCredentials());
  ::grpc::GenericStub stub(channel);
  ::grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < kEach; ++i) watches.push_back(std::make_unique<Watch>(stub, queue));
  std::puts("hangs");
  (void)std::fflush(stdout);
  while (true) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "pods") {
      print_pods(arguments[1]);
      return 0;
    }
    if (arguments.size() == 2 && arguments[0] == "watch") {
      print_changes(arguments[1]);
      return 0;
    }
    if (arguments.size() == 3 && arguments[0] == "hang") hang(arguments[1], arguments[2]);
    throw std::runtime_error(
        "usage: service-client pods SOCKET | watch GRPC_SOCKET | hang SOCKET GRPC_SOCKET");
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "service-client: %s\n", error.what());
    return 1;
  }
}
