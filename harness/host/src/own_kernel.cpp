#include "pinfold/harness/own_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "pinfold/harness/process.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeaderBytes = 0x1000;
constexpr std::size_t kMaxConfig = std::size_t{4} << 20U;
constexpr std::string_view kExpected =
    "expected a bzImage of x86-64, a build tree with one, or a Debian package with a kernel";

bool has_at(std::string_view bytes, std::size_t at, std::string_view wanted) {
  return bytes.size() >= at + wanted.size() && bytes.substr(at, wanted.size()) == wanted;
}

/// Linux's boot protocol, Documentation/arch/x86/boot.rst.
bool is_bzimage(std::string_view bytes) {
  return has_at(bytes, 0x1fe, "\x55\xaa") && has_at(bytes, 0x202, "HdrS");
}

/// What else people give as a kernel; "" if unknown.
std::string_view other_kind(std::string_view bytes) {
  if (has_at(bytes, 0x38, "ARM\x64")) return "an arm64 Image, ";
  if (has_at(bytes, 0,
             "\x7f"
             "ELF")) {
    return "an ELF file (vmlinux? its bzImage is arch/x86/boot/bzImage), ";
  }
  if (has_at(bytes, 0, "\x1f\x8b")) return "a gzip file, ";
  return "";
}

Result<std::string> read_header(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(kHeaderBytes, '\0');
  if (!in.read(bytes.data(), kHeaderBytes) && !in.eof()) {
    return fail(ErrorCode::kNotFound,
                fmt::format("kernel '{}': cannot be read, {}", path.string(), kExpected));
  }
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

std::string_view word_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::kImage:
      return "image";
    case KernelKind::kBuildTree:
      return "tree";
    case KernelKind::kDebianPackage:
      return "package";
  }
  return "";
}

}  // namespace

Result<KernelKind> recognise_kernel(const fs::path& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    if (fs::exists(path / "arch/x86/boot/bzImage", failed)) return KernelKind::kBuildTree;
    return fail(ErrorCode::kNotFound,
                fmt::format("kernel '{}': a folder without arch/x86/boot/bzImage, {}; build one "
                            "with `make bzImage modules`",
                            path.string(), kExpected));
  }
  PINFOLD_LET(const auto bytes, read_header(path));
  if (is_bzimage(bytes)) return KernelKind::kImage;
  if (has_at(bytes, 0, "!<arch>\n") && has_at(bytes, 8, "debian-binary")) {
    return KernelKind::kDebianPackage;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("kernel '{}': {}{}", path.string(), other_kind(bytes), kExpected));
}

std::string version_of_image(std::string_view bytes) {
  constexpr std::size_t kPointer = 0x20e;
  if (!is_bzimage(bytes) || bytes.size() < kPointer + 2) return "";
  const auto byte = [&](std::size_t at) {
    return std::size_t{static_cast<unsigned char>(bytes[at])};
  };
  const std::size_t at = (byte(kPointer) | byte(kPointer + 1) << 8U) + 0x200;
  if (at == 0x200 || at >= bytes.size()) return "";
  // "6.1.0-56-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP ..."
  const std::string_view text = bytes.substr(at, 80);
  return std::string(text.substr(0, text.find_first_of(std::string_view(" \0", 2))));
}

Result<Image> prepare_own_kernel(const fs::path& script, const fs::path& path,
                                 const VmMachine& machine, GuestWork work) {
  PINFOLD_LET(const auto kind, recognise_kernel(path));
  PINFOLD_LET(const auto folder,
              run_image_script({script.string(), "--own", std::string(word_of(kind)),
                                fs::absolute(path).lexically_normal().string()}));
  if (const auto text = read_file(folder / "config", kMaxConfig)) {
    const auto missing = missing_options(parse_kernel_config(*text), machine, work);
    if (!missing.empty()) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("kernel '{}': expected {} in its configuration; build it with them",
                              path.string(), fmt::join(missing, ", ")));
    }
  }
  PINFOLD_LET(const auto bytes, read_file(folder / "vmlinuz", std::size_t{1} << 28U));
  std::string version = version_of_image(bytes);
  if (version.empty()) version = path.filename().string();
  return Image{folder / "vmlinuz", folder / "busybox", folder / "modules", std::move(version)};
}

}  // namespace pinfold::harness
