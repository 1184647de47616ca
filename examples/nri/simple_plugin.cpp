#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "pinfold/nri/plugin.hpp"
#include "simple_pinning.hpp"

/// A complete plugin on the library service/faces/nri:
///
///     simple-plugin SOCKET INDEX ALL RESERVED      simple-plugin /var/run/nri/nri.sock 50 0-7 0-1
///
/// Gives containers exclusive CPUs of ALL, never those of RESERVED, and prints what it does.
namespace {

namespace api = pinfold::nri::api;
using pinfold::CpuSet;

class SimplePlugin : public pinfold::nri::Handler {
 public:
  explicit SimplePlugin(simple_pinning::SimplePinning pinning) : pinning_(std::move(pinning)) {}

  void registered() override {}
  void handle(api::ConfigureRequest request,
              pinfold::nri::Reply<api::ConfigureResponse> reply) override {
    say("connected to " + request.runtime_name());
    reply(api::ConfigureResponse());  // all events
  }
  void handle(api::SynchronizeRequest request,
              pinfold::nri::Reply<api::SynchronizeResponse> reply) override {
    pinning_.synchronize(request);
    say("synchronized " + std::to_string(request.containers_size()) + " containers");
    reply(api::SynchronizeResponse());
  }
  void handle(api::CreateContainerRequest request,
              pinfold::nri::Reply<api::CreateContainerResponse> reply) override {
    auto answer = pinning_.create(request);
    say(request.container().name() + ": " +
        (answer ? answer->adjust().linux().resources().cpu().cpus() : answer.error().message));
    reply(std::move(answer));
  }
  void handle(api::UpdateContainerRequest /*request*/,
              pinfold::nri::Reply<api::UpdateContainerResponse> reply) override {
    reply(api::UpdateContainerResponse());
  }
  void handle(api::StopContainerRequest request,
              pinfold::nri::Reply<api::StopContainerResponse> reply) override {
    say(request.container().name() + " has stopped");
    reply(pinning_.end(request));
  }
  void handle(api::StateChangeEvent request, pinfold::nri::Reply<api::Empty> reply) override {
    if (request.event() == api::Event::REMOVE_CONTAINER) {
      api::StopContainerRequest end;
      *end.mutable_container() = request.container();
      (void)pinning_.end(end);
    }
    reply(api::Empty());
  }
  void shut_down() override { say("the runtime is going down"); }
  void disconnected(const pinfold::Error& error, std::chrono::milliseconds /*pause*/) override {
    say(error.message);
  }

 private:
  static void say(const std::string& line) {
    std::puts(line.c_str());
    (void)std::fflush(stdout);
  }

  simple_pinning::SimplePinning pinning_;
};

int run(int argc, char** argv) {
  constexpr int kArguments = 5;
  const auto all = CpuSet::parse(argc == kArguments ? argv[3] : "");
  const auto reserved = CpuSet::parse(argc == kArguments ? argv[4] : "");
  if (!all || !reserved || all->empty()) {
    (void)std::fputs("usage: simple-plugin SOCKET INDEX ALL RESERVED\n", stderr);
    return 2;
  }
  boost::asio::io_context io;
  SimplePlugin handler(simple_pinning::SimplePinning(*all, *reserved));
  pinfold::nri::PluginOptions options;
  options.identity = {"simple", argv[2]};
  options.socket = argv[1];
  const auto plugin = pinfold::nri::Plugin::start(io, handler, std::move(options));
  if (!plugin) {
    (void)std::fprintf(stderr, "simple-plugin: %s\n", plugin.error().message.c_str());
    return 1;
  }
  io.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "simple-plugin: %s\n", error.what());
    return 1;
  }
}
