#include "image/embedded_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "pinfold/harness/process.hpp"
#include "pinfold/harness/temporary_folder.hpp"

/// Extracts the configuration that CONFIG_IKCONFIG=y puts into a kernel image.
namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kUnpackLimit{60000};
constexpr std::string_view kGzip = "\x1f\x8b";
/// Markers before and after the gzip-compressed configuration.
constexpr std::string_view kBegin = "IKCFG_ST";
constexpr std::string_view kEnd = "IKCFG_ED";

/// A compression format of a bzImage: the first bytes, and the program that unpacks it.
struct Packing {
  std::string_view magic;
  const char* program;
};
constexpr std::array<Packing, 6> kPackings = {{{kGzip, "gzip"},
                                               {"\xfd\x37zXZ", "xz"},
                                               {"\x28\xb5\x2f\xfd", "zstd"},
                                               {"\x02\x21\x4c\x18", "lz4"},
                                               {"BZh", "bzip2"},
                                               {"\x5d", "lzma"}}};

/// Reads a little-endian number; nullopt beyond the end.
std::optional<std::size_t> number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  if (bytes.size() < at + size) return std::nullopt;
  std::size_t number = 0;
  for (std::size_t i = size; i-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

/// Returns the compressed kernel in a bzImage: Documentation/arch/x86/boot.rst, payload_offset.
std::string_view payload_of(std::string_view image) {
  constexpr std::size_t kSector = 512;
  const auto sectors = number_at(image, 0x1f1, 1);
  const auto offset = number_at(image, 0x248, 4);
  const auto length = number_at(image, 0x24c, 4);
  if (!sectors || !offset || !length) return {};
  const std::size_t begin = ((*sectors == 0 ? 4 : *sectors) + 1) * kSector + *offset;
  return begin < image.size() ? image.substr(begin, *length) : std::string_view();
}

/// Returns the program's output for the bytes. Its exit status is ignored, because programs
/// complain about what follows the compressed part.
std::string unpack(const char* program, std::string_view bytes) {
  const auto folder = TemporaryFolder::make();
  if (!folder) return "";
  const fs::path file = folder->path() / "packed";
  if (!write_file(file, bytes)) return "";
  auto unpacked = run_program({program, "-dcqf", file.string()}, kUnpackLimit);
  return unpacked ? std::move(unpacked->output) : "";
}

std::string config_in(std::string_view kernel) {
  const std::size_t begin = kernel.find(fmt::format("{}{}", kBegin, kGzip));
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = kernel.substr(begin + kBegin.size());
  return unpack("gzip", rest.substr(0, rest.find(kEnd)));
}

}  // namespace

std::string embedded_config(std::string_view image) {
  if (std::string config = config_in(image); !config.empty()) return config;
  const std::string_view payload = payload_of(image);
  const auto packing = std::find_if(kPackings.begin(), kPackings.end(), [&](const Packing& one) {
    return payload.starts_with(one.magic);
  });
  return packing == kPackings.end() ? "" : config_in(unpack(packing->program, payload));
}

}  // namespace pinfold::harness
