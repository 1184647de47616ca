#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "pinfold/harness/judge.hpp"
#include "pinfold/harness/witness.hpp"

/// Exclusive CPUs, a line "-", then the record of a guest's witness. The same CPUs are exclusive
/// after each mark, and throughout.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold::harness;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find("-\n");
  const auto exclusive = parse_exclusive(text.substr(0, end));
  const auto record = parse_witness(end == std::string::npos ? "" : text.substr(end + 2));
  if (!record) {
    if (record.error().message.empty()) std::abort();
    return 0;
  }
  if (!exclusive) return 0;
  const WitnessFindings nothing = judge_witness(*record, {}, {});
  if (!nothing.intruders.empty() || !nothing.misplaced.empty() || nothing.owners != 0) std::abort();
  const std::vector<ExclusiveCpus> owned(record->marks.size(), *exclusive);
  const WitnessFindings found = judge_witness(*record, owned, *exclusive);
  if (found.owners > exclusive->size()) std::abort();
  if (found.owners == 0 && !found.intruders.empty()) std::abort();
  return 0;
}
