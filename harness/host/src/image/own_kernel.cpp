#include "pinfold/harness/own_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "image/embedded_config.hpp"
#include "pinfold/harness/process.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeaderBytes = 0x1000;
constexpr std::size_t kMaxConfig = std::size_t{4} << 20U;
constexpr std::size_t kMaxImage = std::size_t{1} << 28U;

/// Returns the name of the kernel image that an architecture boots.
std::string_view image_name(Arch arch) {
  return arch == Arch::kArm64 ? "an uncompressed Image of arm64" : "a bzImage of x86-64";
}
const char* image_in_tree(Arch arch) {
  return arch == Arch::kArm64 ? "arch/arm64/boot/Image" : "arch/x86/boot/bzImage";
}
std::string expected_kernel(Arch arch) {
  return fmt::format("expected {}, a build tree with one, or a Debian package with a kernel",
                     image_name(arch));
}

bool has_at(std::string_view bytes, std::size_t at, std::string_view wanted) {
  return bytes.size() >= at + wanted.size() && bytes.substr(at, wanted.size()) == wanted;
}

/// Source: Linux's boot protocol, Documentation/arch/x86/boot.rst.
bool is_bzimage(std::string_view bytes) {
  return has_at(bytes, 0x1fe, "\x55\xaa") && has_at(bytes, 0x202, "HdrS");
}

/// Source: Documentation/arch/arm64/booting.rst.
bool is_arm64_image(std::string_view bytes) { return has_at(bytes, 0x38, "ARM\x64"); }

bool is_image(std::string_view bytes, Arch arch) {
  return arch == Arch::kArm64 ? is_arm64_image(bytes) : is_bzimage(bytes);
}

/// Names other kinds of files that users give as a kernel; "" if unknown.
std::string_view other_kind(std::string_view bytes) {
  if (is_arm64_image(bytes)) return "an arm64 Image, ";
  if (is_bzimage(bytes)) return "a bzImage of x86-64, ";
  if (has_at(bytes, 0,
             "\x7f"
             "ELF")) {
    return "an ELF file (vmlinux? its bzImage is arch/x86/boot/bzImage), ";
  }
  if (has_at(bytes, 0, "\x1f\x8b")) return "a gzip file, ";
  return "";
}

Result<std::string> read_header(const fs::path& path, Arch arch) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(kHeaderBytes, '\0');
  if (!in.read(bytes.data(), kHeaderBytes) && !in.eof()) {
    return fail(ErrorCode::kNotFound, fmt::format("kernel '{}': cannot be read, {}", path.string(),
                                                  expected_kernel(arch)));
  }
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

/// Returns the configuration of a kernel in the cache, "" if unknown. Stores what it reads from the
/// image.
Result<std::string> config_of(const fs::path& folder, std::string_view image) {
  const fs::path file = folder / "config";
  std::error_code failed;
  if (fs::exists(file, failed)) return read_file(file, kMaxConfig);
  std::string config = embedded_config(image);
  PINFOLD_TRY(write_file(file, config));
  return config;
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

Result<KernelKind> recognise_kernel(const fs::path& path, Arch arch) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    if (fs::exists(path / image_in_tree(arch), failed)) return KernelKind::kBuildTree;
    return fail(
        ErrorCode::kNotFound,
        fmt::format("kernel '{}': a folder without {}, {}; build one with `make {} modules`",
                    path.string(), image_in_tree(arch), expected_kernel(arch),
                    fs::path(image_in_tree(arch)).filename().string()));
  }
  PINFOLD_LET(const auto bytes, read_header(path, arch));
  if (is_image(bytes, arch)) return KernelKind::kImage;
  if (has_at(bytes, 0, "!<arch>\n") && has_at(bytes, 8, "debian-binary")) {
    return KernelKind::kDebianPackage;
  }
  return fail(ErrorCode::kInvalidArgument, fmt::format("kernel '{}': {}{}", path.string(),
                                                       other_kind(bytes), expected_kernel(arch)));
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
  const Arch arch = machine.platform.arch;
  PINFOLD_LET(const auto kind, recognise_kernel(path, arch));
  PINFOLD_LET(const auto folder,
              run_image_script({script.string(), "--arch", std::string(to_string(arch)), "--own",
                                std::string(word_of(kind)),
                                fs::absolute(path).lexically_normal().string()}));
  PINFOLD_LET(const auto bytes, read_file(folder / "vmlinuz", kMaxImage));
  PINFOLD_LET(const auto config, config_of(folder, bytes));
  if (!config.empty()) {
    const auto missing = missing_options(parse_kernel_config(config), machine, work);
    if (!missing.empty()) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("kernel '{}': expected {} in its configuration; build it with {}",
                              path.string(), fmt::join(missing, ", "),
                              missing.size() == 1 ? "this option" : "these options"));
    }
  }
  std::string version = version_of_image(bytes);
  if (version.empty()) version = path.filename().string();
  return Image{folder / "vmlinuz", folder / "busybox", folder / "modules", std::move(version), arch,
               config.empty()};
}

}  // namespace pinfold::harness
