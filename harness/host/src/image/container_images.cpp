#include "pinfold/harness/container_images.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "pinfold/harness/json.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/temporary_folder.hpp"

namespace pinfold::harness {
namespace {

constexpr std::size_t kBlock = 512;

/// A header with fields at fixed offsets. Source: POSIX.1-2017, pax, ustar interchange format.
class TarHeader {
 public:
  void put(std::size_t at, const std::string& text) { block_.replace(at, text.size(), text); }
  /// Writes an octal number of `digits` digits and a NUL.
  void put_number(std::size_t at, std::uint64_t value, int digits) {
    put(at, fmt::format("{:0{}o}", value, digits));
  }
  /// Adds the sum of all bytes, in which the sum field itself counts as spaces.
  [[nodiscard]] std::string finished() {
    constexpr std::size_t kSum = 148;
    put(kSum, std::string(8, ' '));
    const auto sum = std::accumulate(
        block_.begin(), block_.end(), std::uint64_t{0},
        [](std::uint64_t total, char c) { return total + static_cast<unsigned char>(c); });
    put_number(kSum, sum, 6);
    block_[kSum + 6] = '\0';
    return block_;
  }

 private:
  std::string block_ = std::string(kBlock, '\0');
};

void append_entry(std::string& archive, const CpioEntry& entry) {
  const bool is_link = S_ISLNK(entry.mode);
  const std::string content = is_link ? "" : entry.content;
  TarHeader header;
  header.put(0, entry.path);
  header.put_number(100, entry.mode & 07777U, 7);
  header.put_number(108, 0, 7);  // owner and group: root
  header.put_number(116, 0, 7);
  header.put_number(124, content.size(), 11);
  header.put_number(136, 0, 11);  // time
  header.put(156, S_ISDIR(entry.mode) ? "5" : is_link ? "2" : "0");
  if (is_link) header.put(157, entry.content);
  header.put(257, std::string("ustar\00000", 8));
  archive += header.finished();
  archive += content;
  archive.resize((archive.size() + kBlock - 1) / kBlock * kBlock, '\0');
}

Result<std::string> sha256(const TemporaryFolder& folder, std::string_view bytes) {
  const auto file = folder.path() / "bytes";
  PINFOLD_TRY(write_file(file, bytes));
  PINFOLD_LET(const auto summed,
              run_program({"sha256sum", file.string()}, std::chrono::minutes(1)));
  constexpr std::size_t kDigits = 64;
  if (summed.exit_status != 0 || summed.output.size() < kDigits) {
    return fail(ErrorCode::kIo, fmt::format("sha256sum: {}", summed.output));
  }
  return summed.output.substr(0, kDigits);
}

}  // namespace

std::string write_tar(const std::vector<CpioEntry>& entries) {
  std::string archive;
  std::set<std::string, std::less<>> folders;
  for (const CpioEntry& entry : entries) {
    for (std::size_t at = entry.path.find('/'); at != std::string::npos;
         at = entry.path.find('/', at + 1)) {
      const std::string parent = entry.path.substr(0, at);
      if (folders.insert(parent).second) append_entry(archive, CpioEntry::folder(parent));
    }
    if (S_ISDIR(entry.mode) && !folders.insert(entry.path).second) continue;
    append_entry(archive, entry);
  }
  archive.resize(archive.size() + 2 * kBlock, '\0');  // the end marker
  return archive;
}

Result<std::string> write_images(const std::vector<ContainerImage>& images) {
  PINFOLD_LET(const auto folder, TemporaryFolder::make());
  std::vector<CpioEntry> entries;
  Json manifest = Json::array();
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::string layer_file = fmt::format("{}.tar", i);
    const std::string config_file = fmt::format("{}.json", i);
    std::string layer = write_tar(images[i].files);
    PINFOLD_LET(const auto sum, sha256(folder, layer));
    const Json config = {{"architecture", "amd64"},
                         {"os", "linux"},
                         {"config", {{"Cmd", images[i].command}}},
                         {"rootfs", {{"type", "layers"}, {"diff_ids", {"sha256:" + sum}}}}};
    entries.push_back(CpioEntry::file(layer_file, std::move(layer), false));
    entries.push_back(CpioEntry::file(config_file, config.dump(), false));
    manifest.push_back(
        {{"Config", config_file}, {"RepoTags", {images[i].name}}, {"Layers", {layer_file}}});
  }
  entries.push_back(CpioEntry::file("manifest.json", manifest.dump(), false));
  return write_tar(entries);
}

}  // namespace pinfold::harness
