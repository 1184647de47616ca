#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pinfold::harness {

/// One entry of an archive. Paths are relative ("bin/sh"); a directory precedes its contents.
struct CpioEntry {
  std::string path;
  std::uint32_t mode = 0;  ///< type and permissions, as in stat(2)
  std::string content;     ///< of a regular file; the target of a symbolic link
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;

  [[nodiscard]] static CpioEntry folder(std::string path);
  [[nodiscard]] static CpioEntry file(std::string path, std::string content, bool executable);
  [[nodiscard]] static CpioEntry link(std::string path, std::string target);
  [[nodiscard]] static CpioEntry character_device(std::string path, std::uint32_t major,
                                                  std::uint32_t minor);
};

/// Returns an archive in the "newc" format that Linux accepts as an initramfs: owner root, time 0,
/// so the same entries always give the same bytes. Adds missing parent directories. Source: Linux
/// Documentation/driver-api/early-userspace/buffer-format.rst.
[[nodiscard]] std::string write_cpio(const std::vector<CpioEntry>& entries);

}  // namespace pinfold::harness
