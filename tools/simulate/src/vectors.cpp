#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/base/read_file.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/simulate/simulate.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::simulate {
namespace {

constexpr std::size_t kMaxLine = kMaxFileBytes;

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

/// The lines of a file, or of standard input for "-"; decompresses gzip.
class Lines {
 public:
  // zlib reads plain text unchanged, so one reader is enough.
  static Result<Lines> open(const std::string& path) {
    UniqueFd fd(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                            : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    if (!fd || ::fstat(fd.get(), &facts) != 0) {
      return fail_errno(errno, fmt::format("read '{}'", path));
    }
    if (S_ISDIR(facts.st_mode)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("read '{}': a directory, expected a file", path));
    }
    Lines lines;
    lines.file_.reset(gzdopen(fd.get(), "rb"));
    if (lines.file_ == nullptr) {
      return fail(ErrorCode::kIo, fmt::format("read '{}': out of memory", path));
    }
    (void)fd.release();  // gzclose closes it
    return lines;
  }

  enum class Line { kWhole, kTooLong, kEnd };

  /// Reads up to the next newline. Keeps only the beginning of a line that is too long. A line that
  /// does not end within the limit is an error.
  Result<Line> next(std::string& line) {
    constexpr std::size_t kMostSkipped = std::size_t{256} << 20U;
    line.clear();
    std::size_t size = 0;
    while (true) {
      const std::string_view rest = std::string_view(block_).substr(used_);
      const auto end = rest.find('\n');
      const std::string_view piece = rest.substr(0, end);
      size += piece.size();
      if (size <= kMaxLine) line += piece;
      if (size > kMostSkipped) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("a line of more than {} MiB", kMostSkipped >> 20U));
      }
      used_ = end == std::string_view::npos ? block_.size() : used_ + end + 1;
      const Line kind = size > kMaxLine ? Line::kTooLong : Line::kWhole;
      if (end != std::string_view::npos) return kind;
      PINFOLD_LET(const bool more, read_block());
      if (!more) return size == 0 ? Line::kEnd : kind;
    }
  }

 private:
  /// Returns false at the end of the file.
  Result<bool> read_block() {
    constexpr std::size_t kBlock = std::size_t{64} << 10U;
    block_.resize(kBlock);
    used_ = 0;
    const int got = gzread(file_.get(), block_.data(), kBlock);
    block_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    int code = Z_OK;
    const char* const message = gzerror(file_.get(), &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
      return fail(ErrorCode::kCorrupt, message);
    }
    return got > 0;
  }

  std::unique_ptr<gzFile_s, GzClose> file_;
  std::string block_;
  std::size_t used_ = 0;  ///< consumed bytes of block_
};

Result<nlohmann::json> parse_line(Lines::Line kind, const std::string& line) {
  if (kind == Lines::Line::kTooLong) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a line of more than {} MiB: expected a shorter one", kMaxLine >> 20U));
  }
  auto vector = nlohmann::json::parse(line, nullptr, false);
  if (vector.is_object()) return vector;
  constexpr std::size_t kShown = 60;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}': expected one JSON object a line",
                          printable(line.substr(0, line.find_last_not_of("\r\n") + 1), kShown)));
}

}  // namespace

Result<void> for_each_vector(const std::string& path,
                             const std::function<Result<void>(const nlohmann::json&)>& visit,
                             const std::function<void(const Error&)>& report) {
  PINFOLD_LET(auto lines, Lines::open(path));
  std::string line;
  for (int number = 1;; ++number) {
    const std::string where = fmt::format("{}:{}", path, number);
    PINFOLD_LET_WRAP(const auto kind, lines.next(line), where);
    if (kind == Lines::Line::kEnd) return {};
    if (line.find_first_not_of(" \t\r\n") == std::string::npos && kind == Lines::Line::kWhole)
      continue;
    auto done = parse_line(kind, line).and_then(visit);
    if (!done) report(std::move(done).error().wrap(where));
  }
}

}  // namespace pinfold::simulate
