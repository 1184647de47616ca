#include "pinfold/harness/git_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <sstream>

#include "pinfold/harness/process.hpp"
#include "pinfold/text/message.hpp"
#include "pinfold/text/words.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// Reading the history of Linux takes seconds; a checkout on a slow disk takes minutes.
constexpr std::chrono::minutes kGitLimit(30);
constexpr std::size_t kShortHash = 12;
constexpr std::string_view kForm = "REPOSITORY:GOOD..BAD";

/// Runs git in a folder and returns what it prints.
Result<std::string> git(const fs::path& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv{"git", "-C", folder.string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  PINFOLD_LET(const auto finished, run_program(argv, kGitLimit));
  if (finished.exit_status != 0) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("git {}: {}", arguments.front(), trimmed(finished.output)));
  }
  return finished.output;
}

/// Returns the hash of the commit that a branch, a tag or a hash names.
Result<std::string> hash_of(const fs::path& repository, const std::string& name) {
  const auto hash =
      git(repository, {"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
  if (hash) return std::string(trimmed(*hash));
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected a commit of '{}'", name, repository.string()));
}

/// Returns the commits that may be the first bad one, those that best halve the range first.
Result<std::vector<std::string>> suspects(const fs::path& repository,
                                          const std::vector<std::string>& good,
                                          const std::string& bad) {
  std::vector<std::string> arguments{"rev-list", "--bisect-all", bad, "--not"};
  arguments.insert(arguments.end(), good.begin(), good.end());
  PINFOLD_LET(const auto listed, git(repository, arguments));
  std::vector<std::string> hashes;
  std::istringstream lines(listed);
  for (std::string line; std::getline(lines, line);) {  // "HASH (dist=N)"
    hashes.push_back(line.substr(0, line.find(' ')));
  }
  return hashes;
}

Result<Commit> commit_of(const fs::path& repository, const std::string& hash, std::size_t left) {
  PINFOLD_LET(const auto subject, git(repository, {"show", "--no-patch", "--format=%s", hash}));
  return Commit{hash, std::string(trimmed(subject)), left};
}

}  // namespace

bool is_commit_range(std::string_view text) {
  const auto colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 &&
         text.find("..", colon) != std::string_view::npos;
}

Result<CommitRange> find_commit_range(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto dots = text.find("..", colon);
  CommitRange range{fs::path(text.substr(0, colon)), "", ""};
  const std::string good(text.substr(colon + 1, dots - colon - 1));
  const std::string bad(text.substr(dots + 2));
  if (good.empty() || bad.empty() || bad.front() == '.') {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}': expected {}", text, kForm));
  }
  if (auto repository = git(range.repository, {"rev-parse", "--git-dir"}); !repository) {
    return fail(
        std::move(repository.error())
            .wrap(fmt::format("'{}': expected a git repository", range.repository.string())));
  }
  PINFOLD_LET(range.good, hash_of(range.repository, good));
  PINFOLD_LET(range.bad, hash_of(range.repository, bad));
  const auto is_ancestor =
      git(range.repository, {"merge-base", "--is-ancestor", range.good, range.bad});
  if (range.good == range.bad || !is_ancestor) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}': expected '{}' to be an earlier commit of the history of '{}'",
                            text, good, bad));
  }
  return Result<CommitRange>(std::move(range));
}

std::string Commit::to_string() const {
  return fmt::format("{} ({})", hash.substr(0, kShortHash), escaped(subject));
}

Result<FirstBadCommit> first_bad_commit(
    const CommitRange& range, const std::function<Result<CommitKind>(const Commit&)>& judge) {
  std::vector<std::string> good{range.good};
  std::string bad = range.bad;
  std::set<std::string> untestable;
  for (;;) {
    PINFOLD_LET(const auto hashes, suspects(range.repository, good, bad));
    const auto next = std::find_if(hashes.begin(), hashes.end(), [&](const std::string& hash) {
      return hash != bad && !untestable.contains(hash);
    });
    if (next == hashes.end()) {
      FirstBadCommit first;
      PINFOLD_LET(first.commit, commit_of(range.repository, bad, hashes.size()));
      std::copy_if(hashes.begin(), hashes.end(), std::back_inserter(first.untestable),
                   [&](const std::string& hash) { return hash != bad; });
      return Result<FirstBadCommit>(std::move(first));
    }
    PINFOLD_LET(const auto commit, commit_of(range.repository, *next, hashes.size()));
    PINFOLD_LET(const auto kind, judge(commit));
    if (kind == CommitKind::kGood) good.push_back(*next);
    if (kind == CommitKind::kBad) bad = *next;
    if (kind == CommitKind::kUntestable) untestable.insert(*next);
  }
}

Result<Checkout> Checkout::make(const fs::path& repository) {
  PINFOLD_LET(auto folder, TemporaryFolder::make());
  Checkout checkout(std::move(folder));
  // The clone uses the repository's objects and leaves the repository unchanged.
  PINFOLD_TRY(git(repository, {"clone", "--quiet", "--shared", "--no-checkout", ".",
                               checkout.folder().string()}));
  return Result<Checkout>(std::move(checkout));
}

Result<void> Checkout::change_to(const std::string& hash) const {
  PINFOLD_TRY(git(folder(), {"checkout", "--quiet", "--force", "--detach", hash}));
  return {};
}

}  // namespace pinfold::harness
