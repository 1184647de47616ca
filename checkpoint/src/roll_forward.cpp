#include "roll_forward.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "pinfold/checkpoint/files.hpp"
#include "pinfold/checkpoint/go_json.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"

namespace pinfold::checkpoint {
namespace {

/// The contents of a file before a transaction, or after the last one, identified by their sum.
struct Known {
  int version;                       ///< of the journal; decides which sum it is
  std::optional<std::uint64_t> sum;  ///< nullopt: no file
};

bool matches(const std::optional<std::string>& bytes, const Known& known) {
  return bytes ? content_sum(*bytes, known.version) == known.sum : !known.sum;
}

/// How a file compares with the journal.
enum class Found { kNewest, kOlder, kTorn, kForeign };

/// Compares a file. `history`: the contents that the journal knows, newest last.
Found compare(const std::optional<std::string>& bytes, const std::vector<Known>& history) {
  const auto is_it = [&](const Known& known) { return matches(bytes, known); };
  if (is_it(history.back())) return Found::kNewest;
  if (std::any_of(history.begin(), history.end(), is_it)) return Found::kOlder;
  return bytes && json_syntax_error(*bytes) ? Found::kTorn : Found::kForeign;
}

Result<Found> inspect(Fs& fs, const std::string& name, const std::vector<Known>& history) {
  // Only the store writes these files, and they may be behind, so they are always replaced.
  if (name == kPodsFileName || name == kNodeFileName) return Found::kNewest;
  if (name != kCpuFileName && name != kMemoryFileName) return Found::kForeign;
  PINFOLD_LET(const auto bytes, fs.read(name));
  return compare(bytes, history);
}

}  // namespace

Result<RollForward> roll_forward(Fs& fs, const std::vector<Record>& journal) {
  std::map<std::string, std::vector<Known>> histories;
  RollForward out;
  for (const Record& record : journal) {
    PINFOLD_TRY(apply_record(record, out.contents));
    for (const auto& [name, change] : record.changes) {
      histories[name].push_back({record.version, change.before});
    }
  }
  std::map<std::string, Found> found;
  for (auto& [name, history] : histories) {
    const int version = history.back().version;
    history.push_back({version, content_sum(out.contents[name], version)});
    PINFOLD_LET(found[name], inspect(fs, name, history));
    out.fits = out.fits && found[name] != Found::kForeign;
  }
  // If one kubelet file is foreign, the other one is left alone unless it is torn.
  if (!out.fits) {
    std::erase_if(out.contents, [&](const auto& file) {
      const Found what = found[file.first];
      return what == Found::kForeign || what == Found::kOlder;
    });
  }
  return out;
}

}  // namespace pinfold::checkpoint
