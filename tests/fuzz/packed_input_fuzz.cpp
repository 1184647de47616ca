#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "input.hpp"

/// A file that begins like gzip. Unpacked it is no larger than a file may be, or it is an error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pinfold;  // NOLINT(google-build-using-namespace)
  const int file = ::memfd_create("packed", MFD_CLOEXEC);
  if (file < 0) return 0;
  const std::string text = "\x1f\x8b" + std::string(reinterpret_cast<const char*>(data), size);
  const bool is_written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const auto read = tools::read_input("/proc/self/fd/" + std::to_string(file));
  (void)::close(file);
  if (is_written && read && read->size() > kMaxFileBytes) std::abort();
  return 0;
}
