// Answers of an API server to what the service publishes: the first byte is the object, the second
// one the status.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "pinfold/publish/outbox.hpp"

namespace {

using namespace pinfold::publish;
using pinfold::kube::Time;

/// After any answer the next request comes neither immediately nor never.
void check(Outbox& box) {
  if (box.due() <= Time(0) || box.due() > Time(30'000)) std::abort();
  const PublishCounters counters = box.counters();
  const auto outcomes =
      counters.topologies + counters.placements + counters.failures + counters.rejections;
  if (outcomes > 1 || (counters.failures == 1 && counters.pending != 1)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr int kFirstStatus = 199;  // to 454, and 503
  constexpr int kUnavailable = 503;
  const int status = data[1] == 0 ? kUnavailable : kFirstStatus + data[1];
  const bool is_topology = data[0] % 2 == 0;
  Outbox box(OutboxOptions{}, 1);
  box.set(
      {{is_topology ? PublishedKind::kTopology : PublishedKind::kPlacement,
        is_topology ? "/apis/g/v/noderesourcetopologies/n" : "/api/v1/namespaces/n/pods/p", "{}"}});
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  (void)box.answered(*box.next(), status, body, Time(0));
  check(box);
  return 0;
}
