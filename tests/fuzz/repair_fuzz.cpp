// For any content of a state file, with and without running containers: the repaired file can be
// read, converted, and repaired again without a change.

#include <cstdlib>
#include <string>

#include "node_samples.hpp"
#include "pinfold/checkpoint/convert.hpp"
#include "pinfold/checkpoint/repair.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;
  static const Node kNode = test::static_node();
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto repaired = checkpoint::repair(kNode, {bytes, bytes}, {}, {});
  if (!checkpoint::would_start(kNode, repaired.files, {})) std::abort();
  const auto again = checkpoint::repair(kNode, repaired.files, {}, {});
  if (again.changed() || again.files != repaired.files) std::abort();
  for (const checkpoint::Formats to : {checkpoint::Formats{2, 1}, checkpoint::Formats{4, 3}}) {
    if (!checkpoint::convert(repaired.files, to, {})) std::abort();
  }
  (void)checkpoint::convert({bytes, bytes}, {2, 1}, {});
  const checkpoint::OtherFiles others{.running = {{.id = {PodUid("a"), "c"},
                                                   .group = "/a",
                                                   .is_known = true,
                                                   .cpus = CpuSet{2, 3},
                                                   .mems = CpuSet{0}}}};
  const auto running = checkpoint::repair(kNode, {bytes, bytes}, {}, others);
  if (!checkpoint::would_start(kNode, running.files, {})) std::abort();
  if (checkpoint::repair(kNode, running.files, {}, others).changed()) std::abort();
  return 0;
}
