#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "node_fixture.hpp"
#include "pinfold/agent/pods_file.hpp"
#include "pinfold/grpc/messages.hpp"
#include "pinfold/podresources/pod_resources.hpp"

namespace {

using namespace pinfold;  // NOLINT(google-build-using-namespace)

/// A client can read what the service writes.
template <class Message>
void check(const Message& message) {
  Message read;
  const std::string bytes = message.SerializeAsString();
  if (!read.ParseFromString(bytes) || read.SerializeAsString() != bytes) std::abort();
}

}  // namespace

/// Every state that a side file can contain can be answered.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Node kNode = Node::make(test::machine_of({}), test::aligning_config("none")).value();
  worker::Snapshot snapshot;
  snapshot.state.node = empty_state(kNode);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!agent::decode_pods(text, snapshot.state)) return 0;
  snapshot.reconciled.emplace(fail(ErrorCode::kIo, std::string(text)));
  pinfold::v1::StatusResponse status;
  pinfold::grpc::fill(kNode, {}, snapshot, status);
  if (static_cast<std::size_t>(status.pods_size()) != snapshot.state.node.pods.size()) {
    std::abort();
  }
  check(status);
  check(podresources::list(kNode.machine(), snapshot.state.node));
  check(podresources::list_v1alpha1(kNode.machine(), snapshot.state.node));
  for (const ActivePod& pod : snapshot.state.node.pods) {
    const auto found = podresources::get(kNode.machine(), snapshot.state.node, pod.spec.name,
                                         pod.spec.namespace_name);
    if (!found) std::abort();
    check(*found);
  }
  return 0;
}
