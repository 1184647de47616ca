// Calls the Container Runtime Interface in the guest, using the definition that a package publishes
// instead of generated code, so nothing here depends on a version of it.
//   pinfold-cri serve DESCRIPTORS RUNTIME SOCKET
//       answers requests on the Unix socket SOCKET, one for each connection, until it is killed
//   pinfold-cri call DESCRIPTORS RUNTIME METHOD REQUEST TIME_LIMIT_MS
//       makes one call
// DESCRIPTORS is the definition of CRI as written by protoc, RUNTIME the Unix socket of the
// runtime. A request to SOCKET is {"method": "RunPodSandbox", "request": {...}, "timeLimitMs":
// 30000}, the answer {"reply": {...}} or {"error": "the runtime's error"}. Fields are named as in
// the definition.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::guest {
namespace {

using Json = nlohmann::json;
namespace protobuf = google::protobuf;

constexpr int kMaxMessageBytes = 16 << 20;
constexpr std::size_t kMaxRequestBytes = 1 << 20;

Json error_of(std::string text) { return {{"error", std::move(text)}}; }

/// CRI, as defined by a descriptor set.
class Definition {
 public:
  /// Throws std::runtime_error if the file does not define CRI.
  explicit Definition(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    protobuf::FileDescriptorSet set;
    if (!in || !set.ParseFromIstream(&in)) {
      throw std::runtime_error("'" + file + "' is not a descriptor set");
    }
    for (const protobuf::FileDescriptorProto& one : set.file()) {
      const protobuf::FileDescriptor* built = pool_.BuildFile(one);
      for (int i = 0; built != nullptr && i < built->service_count(); ++i) {
        services_.push_back(built->service(i));
      }
    }
    if (services_.empty()) throw std::runtime_error("'" + file + "' does not define CRI");
  }

  /// Returns nullptr if no service has such a method. Method names are unique among services.
  [[nodiscard]] const protobuf::MethodDescriptor* method(const std::string& name) const {
    for (const protobuf::ServiceDescriptor* service : services_) {
      if (const auto* found = service->FindMethodByName(name)) return found;
    }
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<protobuf::Message> message(const protobuf::Descriptor* type) {
    return std::unique_ptr<protobuf::Message>(factory_.GetPrototype(type)->New());
  }

 private:
  protobuf::DescriptorPool pool_;
  protobuf::DynamicMessageFactory factory_;
  std::vector<const protobuf::ServiceDescriptor*> services_;
};

grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

/// The runtime behind a Unix socket.
class Runtime {
 public:
  Runtime(Definition& definition, std::string socket)
      : definition_(definition), socket_(std::move(socket)) {}

  Json call(const std::string& name, const Json& fields, std::chrono::milliseconds limit) {
    const protobuf::MethodDescriptor* method = definition_.method(name);
    if (method == nullptr) return error_of("'" + name + "': CRI has no such method");
    const auto request = definition_.message(method->input_type());
    if (const auto read = protobuf::util::JsonStringToMessage(fields.dump(), request.get());
        !read.ok()) {
      return error_of(name + ": the request: " + read.ToString());
    }
    grpc::ByteBuffer answer;
    const std::string path = "/" + method->service()->full_name() + "/" + name;
    const grpc::Status status = send(path, buffer_of(request->SerializeAsString()), limit, answer);
    if (!status.ok()) {
      return error_of(name + ": " + status.error_message() + " (gRPC status " +
                      std::to_string(static_cast<int>(status.error_code())) + ")");
    }
    const auto reply = definition_.message(method->output_type());
    protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    options.always_print_primitive_fields = true;
    std::string text;
    if (!reply->ParseFromString(bytes_of(answer)) ||
        !protobuf::util::MessageToJsonString(*reply, &text, options).ok()) {
      return error_of(name + ": the answer is not a valid " + method->output_type()->full_name());
    }
    return {{"reply", Json::parse(text, nullptr, false)}};
  }

 private:
  /// Uses a new connection: the runtime may have restarted since the last call.
  grpc::Status send(const std::string& path, const grpc::ByteBuffer& request,
                    std::chrono::milliseconds limit, grpc::ByteBuffer& answer) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    grpc::GenericStub stub(grpc::CreateCustomChannel(
        "unix:" + socket_, grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareUnaryCall(&context, path, request, &queue);
    call->StartCall();
    grpc::Status status;
    void* tag = nullptr;
    bool ok = false;
    call->Finish(&answer, &status, &tag);
    if (!queue.Next(&tag, &ok) || !ok) return {grpc::StatusCode::INTERNAL, "the call was lost"};
    return status;
  }

  Definition& definition_;
  std::string socket_;
};

std::string answer_to(Runtime& runtime, const std::string& text) {
  const Json request = Json::parse(text, nullptr, false);
  Json answer;
  try {
    answer = runtime.call(request.at("method"), request.at("request"),
                          std::chrono::milliseconds(request.at("timeLimitMs").get<int>()));
  } catch (const Json::exception& wrong) {
    answer = error_of(wrong.what());
  }
  return answer.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Reads one request to the end of the stream and answers it.
void serve_one(Runtime& runtime, int client) {
  std::string text;
  char chunk[4096];
  ssize_t got = 0;
  while (text.size() < kMaxRequestBytes && (got = read(client, chunk, sizeof chunk)) != 0) {
    if (got < 0 && errno != EINTR) return;
    if (got > 0) text.append(chunk, static_cast<std::size_t>(got));
  }
  const std::string answer = answer_to(runtime, text);
  for (std::string_view rest = answer; !rest.empty();) {
    const ssize_t sent = send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

int fail_with(const std::string& what) {
  (void)std::fprintf(stderr, "pinfold-cri: %s\n", what.c_str());
  return 1;
}

int serve(Runtime& runtime, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return fail_with("'" + path + "': too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener ||
      bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.get(), 8) != 0) {
    return fail_with("'" + path + "': " + strerrorname_np(errno));
  }
  while (true) {
    const UniqueFd client(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) serve_one(runtime, client.get());
  }
}

int run(const std::vector<std::string>& arguments) {
  const bool serves = arguments.size() == 4 && arguments[0] == "serve";
  const bool calls = arguments.size() == 6 && arguments[0] == "call";
  if (!serves && !calls) {
    (void)std::fprintf(
        stderr,
        "usage: pinfold-cri serve DESCRIPTORS RUNTIME SOCKET\n"
        "       pinfold-cri call DESCRIPTORS RUNTIME METHOD REQUEST TIME_LIMIT_MS\n");
    return 2;
  }
  Definition definition(arguments[1]);
  Runtime runtime(definition, arguments[2]);
  if (serves) return serve(runtime, arguments[3]);
  const Json request = {{"method", arguments[3]},
                        {"request", Json::parse(arguments[4], nullptr, false)},
                        {"timeLimitMs", std::stoi(arguments[5])}};
  const std::string answer = answer_to(runtime, request.dump());
  (void)std::printf("%s\n", answer.c_str());
  return answer.starts_with("{\"reply\"") ? 0 : 1;
}

}  // namespace
}  // namespace pinfold::guest

int main(int argc, char** argv) {
  try {
    return pinfold::guest::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "pinfold-cri: %s\n", error.what());
    return 1;
  }
}
