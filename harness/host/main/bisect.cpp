#include "bisect.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "pinfold/base/read_file.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/reduce.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kMaxLog = std::size_t{1} << 30U;
/// The part of a build's log that an error shows.
constexpr std::size_t kEndOfLog = 600;

/// Returns the case on another kernel, given by name or as a file.
GauntletCase moved_to_kernel(GauntletCase one, const std::string& kernel) {
  const bool has_name = check_kernel(kernel).has_value();
  one.platform.kernel = has_name ? kernel : std::string(kOwnKernel);
  if (!has_name) one.document["kernel"] = fs::absolute(kernel).string();
  one.document["on"] = Json::array({to_string(one.platform)});
  return one;
}

/// Checks that each kernel has a name, or is a file or the folder of a build.
Result<void> check_kernels(const std::vector<std::string>& named) {
  for (const std::string& kernel : named) {
    const auto known = check_kernel(kernel);
    std::error_code failed;
    if (known || fs::exists(kernel, failed)) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--bisect: no such file: {}", known.error().message));
  }
  return {};
}

std::string make_command(Arch arch) {
  return arch == Arch::kArm64 ? "make -j$(nproc) ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- "
                                "olddefconfig Image"
                              : "make -j$(nproc) olddefconfig bzImage";
}

std::string end_of(const std::string& log) {
  const std::size_t from = log.size() > kEndOfLog ? log.find('\n', log.size() - kEndOfLog) : 0;
  return from == std::string::npos ? log.substr(log.size() - kEndOfLog) : log.substr(from);
}

/// Builds kernels of commits in one checkout, so that each build continues from the last one.
class KernelBuilder {
 public:
  static Result<KernelBuilder> make(const fs::path& repository, std::string command,
                                    int interrupt_fd) {
    PINFOLD_LET(auto checkout, Checkout::make(repository));
    return KernelBuilder(std::move(checkout), fs::absolute(repository) / ".config",
                         std::move(command), interrupt_fd);
  }

  /// Returns the folder of the build. Errors: kInvalidArgument if the command fails, with the end
  /// of what it printed; kBusy if the user interrupts.
  [[nodiscard]] Result<fs::path> build(const Commit& commit) const {
    const fs::path tree = checkout_.folder();
    PINFOLD_TRY(checkout_.change_to(commit.hash));
    std::error_code none;
    fs::copy_file(config_, tree / ".config", fs::copy_options::overwrite_existing, none);
    const fs::path log = tree.string() + ".log";
    const UniqueFd output(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    PINFOLD_LET(auto child, ChildProcess::start({{"sh", "-c", command_}, tree, output.get()}));
    while (!child.wait_status()) {
      pollfd watched[] = {{child.ended_fd(), POLLIN, 0}, {interrupt_fd_, POLLIN, 0}};
      (void)poll(watched, 2, -1);
      if (watched[1].revents != 0) return fail(ErrorCode::kBusy, "interrupted");
    }
    if (child.wait_status() == 0) return tree;
    const std::string printed = read_file(log.string(), kMaxLog).value_or("");
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: '{}' failed:\n{}", commit.to_string(), command_, end_of(printed)));
  }

 private:
  KernelBuilder(Checkout checkout, fs::path config, std::string command, int interrupt_fd)
      : checkout_(std::move(checkout)),
        config_(std::move(config)),
        command_(std::move(command)),
        interrupt_fd_(interrupt_fd) {}

  Checkout checkout_;
  fs::path config_;  ///< need not exist: the command may make one
  std::string command_;
  int interrupt_fd_;
};

Result<Trial> try_commit(const KernelBuilder& builder, const Commit& commit, Reducer& reducer,
                         const GauntletCase& one) {
  fmt::print("  --bisect: building {}\n", commit.to_string());
  (void)std::fflush(stdout);
  PINFOLD_LET(const auto tree, builder.build(commit));
  const GauntletCase moved = moved_to_kernel(one, tree.string());
  PINFOLD_TRY_WRAP(load_case(moved, reducer.file()), commit.to_string());
  const Trial trial = reducer.attempt(moved);
  if (reducer.is_interrupted()) return fail(ErrorCode::kBusy, "interrupted");
  return trial;
}

/// Builds and tries one end of the range; the trial must have the expected result.
Result<void> check_end(const KernelBuilder& builder, const Commit& commit, Trial expected,
                       Reducer& reducer, const GauntletCase& one) {
  PINFOLD_LET(const auto trial, try_commit(builder, commit, reducer, one));
  if (trial == expected) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: expected the scenario to {} on it", commit.to_string(),
                          expected == Trial::kFails ? "fail in the same way" : "pass"));
}

}  // namespace

Result<Bisection> Bisection::plan(const std::vector<std::string>& named, std::string build,
                                  int interrupt_fd) {
  Bisection bisection;
  bisection.interrupt_fd_ = interrupt_fd;
  const bool has_commits = std::any_of(named.begin(), named.end(), is_commit_range);
  if (!has_commits) bisection.kernels_ = named;
  if (has_commits && named.size() > 1) {
    return fail(ErrorCode::kInvalidArgument,
                "--bisect: expected kernels, or one range of commits (REPOSITORY:GOOD..BAD)");
  }
  if (!has_commits && !build.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "--build: expected --bisect with a range of commits (REPOSITORY:GOOD..BAD)");
  }
  if (!has_commits) {
    PINFOLD_TRY(check_kernels(named));
    return Result<Bisection>(std::move(bisection));
  }
  PINFOLD_LET_WRAP(bisection.commits_, find_commit_range(named.front()), "--bisect");
  const fs::path config = bisection.commits_->repository / ".config";
  std::error_code none;
  if (build.empty() && !fs::exists(config, none)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--bisect: expected '{}', the configuration to build with, or a "
                            "command in --build that makes one",
                            config.string()));
  }
  bisection.build_ = std::move(build);
  return Result<Bisection>(std::move(bisection));
}

Json Bisection::run(Reducer& reducer, const GauntletCase& one) const {
  if (!commits_) return first_kernel(reducer, one);
  const auto first = first_commit(reducer, one);
  if (!first) {
    fmt::print("  --bisect: {}\n", first.error().message);
    return Json::object();
  }
  fmt::print("  --bisect: the first commit that fails is {}\n", first->commit.to_string());
  Json found{{"firstCommit", first->commit.hash}};
  if (!first->untestable.empty()) {
    fmt::print("    or one of these, which could not be tested: {}\n",
               fmt::join(first->untestable, ", "));
    found["untestableCommits"] = first->untestable;
  }
  return found;
}

Json Bisection::first_kernel(Reducer& reducer, const GauntletCase& one) const {
  if (kernels_.empty()) return Json::object();
  for (const std::string& kernel : kernels_) {
    const auto loaded = load_case(moved_to_kernel(one, kernel), reducer.file());
    if (loaded) continue;
    fmt::print("  --bisect: {}: {}\n", kernel, loaded.error().message);
    return Json::object();
  }
  const auto first = first_failing(kernels_.size(), [&](std::size_t i) {
    return reducer.attempt(moved_to_kernel(one, kernels_[i])) == Trial::kFails;
  });
  if (!first) {
    fmt::print("  --bisect: it does not fail on {}, the last kernel\n", kernels_.back());
    return Json::object();
  }
  fmt::print("  --bisect: the first kernel that fails is {}{}\n", kernels_[*first],
             *first == 0 ? ", the first of all" : "");
  return {{"firstKernel", kernels_[*first]}};
}

Result<FirstBadCommit> Bisection::first_commit(Reducer& reducer, const GauntletCase& one) const {
  const std::string command = build_.empty() ? make_command(one.platform.arch) : build_;
  PINFOLD_LET(const auto builder,
              KernelBuilder::make(commits_->repository, command, interrupt_fd_));
  PINFOLD_TRY(check_end(builder, {commits_->bad, "the BAD end"}, Trial::kFails, reducer, one));
  PINFOLD_TRY(check_end(builder, {commits_->good, "the GOOD end"}, Trial::kPasses, reducer, one));
  return first_bad_commit(*commits_, [&](const Commit& commit) -> Result<CommitKind> {
    fmt::print("  --bisect: {} commits left\n", commit.left);
    const auto trial = try_commit(builder, commit, reducer, one);
    if (!trial && trial.error().code == ErrorCode::kBusy) return fail(trial.error());
    if (!trial) fmt::print("    cannot be tested: {}\n", trial.error().message);
    if (!trial || *trial == Trial::kDiffers) return CommitKind::kUntestable;
    return *trial == Trial::kFails ? CommitKind::kBad : CommitKind::kGood;
  });
}

}  // namespace pinfold::harness
