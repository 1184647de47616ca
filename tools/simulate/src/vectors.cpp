#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>

#include "pinfold/simulate/simulate.hpp"

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

// Reads up to the next newline; false at the end of the file.
Result<bool> read_line(gzFile_s* file, std::string& line) {
  line.clear();
  std::array<char, 1 << 16> buffer{};
  while (gzgets(file, buffer.data(), static_cast<int>(buffer.size())) != nullptr) {
    line += buffer.data();
    if (line.ends_with('\n')) return true;
    if (line.size() > kMaxLine) return fail(ErrorCode::kInvalidArgument, "line is too long");
  }
  int code = Z_OK;
  const char* const message = gzerror(file, &code);
  if (code != Z_OK && code != Z_STREAM_END) return fail(ErrorCode::kCorrupt, message);
  return !line.empty();
}

}  // namespace

Result<void> for_each_vector(const std::string& path,
                             const std::function<Result<void>(const nlohmann::json&)>& visit) {
  PINFOLD_LET(auto file, open_lines(path));
  std::string line;
  for (int number = 1;; ++number) {
    const std::string where = fmt::format("{}:{}", path, number);
    PINFOLD_LET_WRAP(auto more, read_line(file.get(), line), where);
    if (!more) return {};
    if (line.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    const auto vector = nlohmann::json::parse(line, nullptr, false);
    if (vector.is_discarded()) {
      return fail(ErrorCode::kInvalidArgument, where + ": expected one JSON object a line");
    }
    PINFOLD_TRY_WRAP(visit(vector), where);
  }
}

}  // namespace pinfold::simulate
