#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "pinfold/simulate/simulate.hpp"
#include "pinfold/text/field.hpp"

namespace pinfold::simulate {
namespace {

constexpr std::size_t kMaxLine = std::size_t{64} << 20U;

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

// zlib reads plain text unchanged, so one reader is enough.
Result<std::unique_ptr<gzFile_s, GzClose>> open_lines(const std::string& path) {
  const int fd = path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                             : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, fmt::format("read '{}'", path));
  std::unique_ptr<gzFile_s, GzClose> file(gzdopen(fd, "rb"));
  if (file == nullptr) {
    close(fd);
    return fail(ErrorCode::kIo, fmt::format("read '{}': out of memory", path));
  }
  return file;
}

enum class Line { kWhole, kTooLong, kEnd };

// Reads up to the next newline. Of a line that is too long it keeps only the beginning.
Result<Line> read_line(gzFile_s* file, std::string& line) {
  line.clear();
  bool is_too_long = false;
  std::array<char, 1 << 16> buffer{};
  while (gzgets(file, buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
    const std::string_view piece = buffer.data();
    if (line.size() + piece.size() > kMaxLine) is_too_long = true;
    if (!is_too_long) line += piece;
    if (piece.ends_with('\n')) return is_too_long ? Line::kTooLong : Line::kWhole;
  }
  int code = Z_OK;
  const char* const message = gzerror(file, &code);
  if (code != Z_OK && code != Z_STREAM_END) return fail(ErrorCode::kCorrupt, message);
  if (is_too_long) return Line::kTooLong;
  return line.empty() ? Line::kEnd : Line::kWhole;
}

Result<nlohmann::json> parse_line(Line kind, const std::string& line) {
  if (kind == Line::kTooLong) {
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
  PINFOLD_LET(auto file, open_lines(path));
  std::string line;
  for (int number = 1;; ++number) {
    const std::string where = fmt::format("{}:{}", path, number);
    PINFOLD_LET_WRAP(const auto kind, read_line(file.get(), line), where);
    if (kind == Line::kEnd) return {};
    if (line.find_first_not_of(" \t\r\n") == std::string::npos && kind == Line::kWhole) continue;
    auto done = parse_line(kind, line).and_then(visit);
    if (!done) report(std::move(done).error().wrap(where));
  }
}

}  // namespace pinfold::simulate
