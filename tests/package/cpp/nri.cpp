#include <iostream>
#include <pinfold/nri/messages.hpp>
#include <pinfold/nri/session.hpp>

// Sends a request through a frame, and reads it back.
int main() {
  using namespace pinfold::nri;
  api::CreateContainerRequest request;
  request.mutable_container()->set_name("main");
  request.mutable_container()->mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus("1-2");
  std::string frame;
  multiplex(ConnectionId::kPlugin, request.SerializeAsString(), frame);
  std::string_view input = frame;
  const auto chunk = Demultiplexer().next(input);
  if (!chunk || !*chunk) return 1;
  const auto decoded = decode_request("CreateContainer", (*chunk)->bytes);
  if (!decoded) return 2;
  const auto& container = std::get<api::CreateContainerRequest>(*decoded).container();
  std::cout << container.name() << ": " << container.linux().resources().cpu().cpus() << '\n';
}
