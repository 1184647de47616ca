#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "pinfold/cluster/sinks.hpp"
#include "pinfold/kube/list_watch.hpp"

namespace {

using namespace pinfold;

constexpr std::string_view kEmptyList = R"({"metadata":{"resourceVersion":"1"},"items":[]})";

void check(const kube::ListWatch& watch, kube::Time now) {
  if (watch.due() < now) std::abort();
  if (watch.next().target.find('\n') != std::string::npos) std::abort();
}

}  // namespace

/// The body of a list (first byte even) or of a watch, cut in two at the second byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto kind = kube::kKinds[(data[0] / 2U) % kube::kKinds.size()];
  const kube::Time now(1'000);
  cluster::SharedView view{cluster::ClusterOptions{}};
  cluster::ViewSink sink(
      kind, view, [&] { return now; }, [](const std::string&) {});
  kube::ListWatch watch(kind, {}, 1);
  if (data[0] % 2 == 0) {
    (void)watch.answered(200, body, now, sink);
  } else if (watch.answered(200, kEmptyList, now, sink)) {
    const std::size_t cut = std::min<std::size_t>(data[1], body.size());
    if (watch.received(body.substr(0, cut), now, sink)) {
      (void)watch.received(body.substr(cut), now, sink);
    }
  }
  check(watch, now);
  view.use([&](cluster::ClusterView& of) { (void)of.fleet(now + std::chrono::hours(1)); });
  return 0;
}
