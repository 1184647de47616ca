#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pinfold/checkpoint/file_text.hpp"
#include "pinfold/checkpoint/go_dump.hpp"
#include "pinfold/types/container_id.hpp"

namespace pinfold::checkpoint {

/// A pod's entry in a file and in the dump that is summed, each with the separator before it.
struct EncodedEntry {
  SummedText json;
  std::string dump;
};

/// The entries of a file by pod, encoded and joined in groups. After a change only its group is
/// joined again, so the cost does not depend on the number of pods.
class EncodedEntries {
 public:
  /// Entries that follow each other, as one text. The first group has no separator at its front.
  struct Group {
    std::map<PodUid, EncodedEntry> entries;  ///< not empty
    FileText::Part json;                     ///< null: has to be joined again
    std::shared_ptr<const DumpPart> dump;
  };

  [[nodiscard]] bool empty() const { return groups_.empty(); }
  void put(const PodUid& uid, EncodedEntry entry);
  void erase(const PodUid& uid);
  /// Returns the groups in the order of their pods. Joins those that have changed.
  [[nodiscard]] const std::vector<Group>& joined();

 private:
  /// Returns the group that has a pod or would have it. Domain: there is one.
  [[nodiscard]] std::vector<Group>::iterator group_of(const PodUid& uid);

  std::vector<Group> groups_;
};

}  // namespace pinfold::checkpoint
