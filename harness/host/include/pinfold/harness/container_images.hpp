#pragma once

#include <string>
#include <vector>

#include "pinfold/base/result.hpp"
#include "pinfold/harness/cpio.hpp"

namespace pinfold::harness {

/// Returns a tape archive (POSIX ustar): owner root, time 0, so the same entries always give the
/// same bytes. Adds missing parent directories. Domain: directories, regular files and symbolic
/// links; paths and targets of at most 99 bytes, files below 8 GiB.
[[nodiscard]] std::string write_tar(const std::vector<CpioEntry>& entries);

/// A container image with a single layer.
struct ContainerImage {
  std::string name;  ///< "localhost/busybox:1"
  std::vector<CpioEntry> files;
  std::vector<std::string> command;  ///< for containers that do not name one
};

/// Returns the images in the format of `docker save`.
/// Errors: kNotFound, kIo: sha256sum cannot be run.
[[nodiscard]] Result<std::string> write_images(const std::vector<ContainerImage>& images);

}  // namespace pinfold::harness
