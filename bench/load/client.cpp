#include "client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "must.hpp"
#include "pinfold/grpc/api.hpp"
#include "pinfold/socket/client.hpp"

namespace pinfold::load {
namespace {

constexpr const char* kContainer = "main";

class SocketClient final : public Client {
 public:
  explicit SocketClient(const LoadedNode& node)
      : client_(*must(socket::Client::connect(node / "agent.sock"))) {}

  bool admit(const LoadPod& pod) override {
    const auto answer = call(verbs::Admit{{pod.spec}, false});
    return !std::get<verbs::Admissions>(answer).outcomes.front().rejection;
  }
  void start(const LoadPod& pod) override { check(call(verbs::Start{{pod.spec.uid, kContainer}})); }
  void remove(const LoadPod& pod) override { check(call(verbs::Remove{pod.spec.uid, "", {}})); }

 private:
  verbs::Answer call(verbs::Action action) {
    return must(client_.call(std::move(action), std::chrono::milliseconds(0)));
  }
  static void check(const verbs::Answer& answer) {
    const auto& change = std::get<agent::ChangeOutcome>(answer);
    if (change.not_enforced) throw Failure(change.not_enforced->message);
  }

  socket::Client client_;
};

class GrpcClient final : public Client {
 public:
  explicit GrpcClient(const LoadedNode& node) {
    const auto channel = ::grpc::CreateCustomChannel(
        "unix:" + node / "pinfold.sock", ::grpc::InsecureChannelCredentials(), arguments());
    constexpr std::chrono::seconds kMost(60);
    require(channel->WaitForConnected(std::chrono::system_clock::now() + kMost),
            "no connection to the gRPC socket");
    stub_ = v1::Pinfold::NewStub(channel);
  }

  bool admit(const LoadPod& pod) override {
    v1::AdmitRequest request;
    request.set_manifest(pod.manifest);
    v1::AdmitResponse response;
    ::grpc::ClientContext context;
    check(stub_->Admit(&context, request, &response));
    return response.admission().admitted();
  }
  void start(const LoadPod& pod) override {
    v1::StartRequest request;
    request.set_pod_uid(pod.spec.uid.value);
    request.set_container(kContainer);
    v1::StartResponse response;
    ::grpc::ClientContext context;
    check(stub_->Start(&context, request, &response));
    require(!response.has_not_enforced(), response.not_enforced().message());
  }
  void remove(const LoadPod& pod) override {
    v1::RemoveRequest request;
    request.set_pod_uid(pod.spec.uid.value);
    v1::RemoveResponse response;
    ::grpc::ClientContext context;
    check(stub_->Remove(&context, request, &response));
    require(!response.has_not_enforced(), response.not_enforced().message());
  }

 private:
  /// Gives each client its own connection instead of one for the whole program.
  static ::grpc::ChannelArguments arguments() {
    ::grpc::ChannelArguments made;
    made.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return made;
  }
  static void check(const ::grpc::Status& status) { require(status.ok(), status.error_message()); }

  std::unique_ptr<v1::Pinfold::Stub> stub_;
};

class CommandClient final : public Client {
 public:
  explicit CommandClient(LoadedNode node) : node_(std::move(node)) {}

  bool admit(const LoadPod& pod) override {
    const std::string file = node_ / "pod.json";
    std::ofstream(file) << pod.manifest;
    const int status = run("admit", {file});
    require(status == 0 || status == 1, "pinfold admit fails: " + errors());
    return status == 0;
  }
  void start(const LoadPod& pod) override {
    require(run("start", {"--pod", pod.spec.uid.value, "--container", kContainer}) == 0,
            "pinfold start fails: " + errors());
  }
  void remove(const LoadPod& pod) override {
    require(run("remove", {"--pod", pod.spec.uid.value}) == 0, "pinfold remove fails: " + errors());
  }

 private:
  /// Runs a command and returns its exit status.
  [[nodiscard]] int run(const std::string& command, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {node_.program(), command, "--socket", node_ / "agent.sock"};
    for (std::string& option : node_.options()) words.push_back(std::move(option));
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t streams;
    ::posix_spawn_file_actions_init(&streams);
    ::posix_spawn_file_actions_addopen(&streams, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&streams, STDERR_FILENO, (node_ / "errors").c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR);
    pid_t child = -1;
    const int failed =
        ::posix_spawn(&child, arguments.front(), &streams, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&streams);
    require(failed == 0, fmt::format("'{}' cannot be run", arguments.front()));
    int status = 0;
    (void)::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string errors() const {
    std::ifstream in(node_ / "errors");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  LoadedNode node_;
};

}  // namespace

LoadPod make_pod(std::uint64_t number, int cpus) {
  constexpr int kMibForCpu = 16;
  PodSpec pod{PodUid(fmt::format("7a90481b-0000-4000-8000-{:012}", number)),
              fmt::format("load-{}", number),
              "default",
              {},
              {}};
  Container container{kContainer, ContainerKind::kApp, {}};
  if (cpus > 0) {
    container.resources.limits = {
        {"cpu", Quantity::parse(std::to_string(cpus)).value()},
        {"memory", Quantity::parse(fmt::format("{}Mi", cpus * kMibForCpu)).value()}};
  }
  pod.containers.push_back(std::move(container));
  apply_defaults(pod);
  std::string manifest = to_json(pod).dump();
  return {std::move(pod), std::move(manifest)};
}

std::unique_ptr<Client> make_socket_client(const LoadedNode& node) {
  return std::make_unique<SocketClient>(node);
}
std::unique_ptr<Client> make_grpc_client(const LoadedNode& node) {
  return std::make_unique<GrpcClient>(node);
}
std::unique_ptr<Client> make_command_client(const LoadedNode& node) {
  return std::make_unique<CommandClient>(node);
}

}  // namespace pinfold::load
