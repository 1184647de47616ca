#pragma once

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/cpio.hpp"

namespace pinfold::harness {

/// A tape archive (POSIX ustar): owner root, time 0, so the same entries always give the same
/// bytes. Adds missing parent directories. Domain: directories, regular files and symbolic links;
/// paths and targets of at most 99 bytes, files below 8 GiB.
[[nodiscard]] std::string write_tar(const std::vector<CpioEntry>& entries);

/// An image of one layer for containers.
struct ContainerImage {
  std::string name;  ///< "localhost/busybox:1"
  std::vector<CpioEntry> files;
  std::vector<std::string> command;  ///< of containers that name none
};

/// The images as `docker save` writes them.
/// Errors: kNotFound, kIo: sha256sum cannot be run.
[[nodiscard]] Result<std::string> write_images(const std::vector<ContainerImage>& images);

}  // namespace pinfold::harness
