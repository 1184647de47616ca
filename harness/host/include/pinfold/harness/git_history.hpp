#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/temporary_folder.hpp"

/// Searches the history of a git repository for the commit with which a failure begins. The
/// repository is only read; the program `git` reads it.
namespace pinfold::harness {

/// The commits in the history of `bad` but not of `good`.
struct CommitRange {
  std::filesystem::path repository;
  std::string good;  ///< a full hash
  std::string bad;   ///< a full hash
};

/// Returns true for a text of the form "REPOSITORY:GOOD..BAD".
[[nodiscard]] bool is_commit_range(std::string_view text);

/// Finds the commits of such a text. Errors: kInvalidArgument if the folder is not a git
/// repository, has no such commit, or if `good` is not an ancestor of `bad`; kNotFound without git.
[[nodiscard]] Result<CommitRange> find_commit_range(std::string_view text);

/// A commit to try.
struct Commit {
  std::string hash;
  std::string subject;   ///< the first line of its message
  std::size_t left = 0;  ///< commits that may be the first bad one, including this one

  /// Returns "1a2b3c4d5e6f (its subject)", escaped for a terminal.
  [[nodiscard]] std::string to_string() const;
};

enum class CommitKind {
  kGood,
  kBad,
  kUntestable,
};

struct FirstBadCommit {
  Commit commit;
  std::vector<std::string> untestable;  ///< hashes of those that may be the first one instead
};

/// Finds the first bad commit of a range whose ends are known. Repeatedly judges the commit that
/// best halves the range, until one is left, or only untestable ones. Errors: of `judge`, of git.
[[nodiscard]] Result<FirstBadCommit> first_bad_commit(
    const CommitRange& range, const std::function<Result<CommitKind>(const Commit&)>& judge);

/// The files of one commit, in a temporary folder.
class Checkout {
 public:
  [[nodiscard]] static Result<Checkout> make(const std::filesystem::path& repository);

  [[nodiscard]] std::filesystem::path folder() const { return folder_.path() / "tree"; }
  /// Changes to another commit. Files that git does not track stay.
  [[nodiscard]] Result<void> change_to(const std::string& hash) const;

 private:
  explicit Checkout(TemporaryFolder folder) : folder_(std::move(folder)) {}

  TemporaryFolder folder_;
};

}  // namespace pinfold::harness
