#include "parts.hpp"

#include <initializer_list>

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// Returns the first file that exists; "" if none does.
fs::path first_of(std::initializer_list<fs::path> files) {
  std::error_code failed;
  for (const fs::path& file : files) {
    if (fs::exists(file, failed)) return file;
  }
  return {};
}

}  // namespace

Result<Parts> find_parts() {
  std::error_code failed;
  const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return fail_errno(failed.value(), "/proc/self/exe");
  const fs::path libexec = (here / ".." / PINFOLD_LIBEXEC / "pinfold-harness").lexically_normal();
  return Parts{
      .amd64 = {libexec / "pinfold-guest", first_of({libexec / "pinfold", here / "pinfold"})},
      .arm64 = {libexec / "arm64/pinfold-guest", first_of({libexec / "arm64/pinfold"})},
      .image_script = libexec / "build-image",
      .cri_client = first_of({libexec / "pinfold-cri"}),
      .share = (here / ".." / PINFOLD_SHARE / "pinfold-harness").lexically_normal()};
}

}  // namespace pinfold::harness
