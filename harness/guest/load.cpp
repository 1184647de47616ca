#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "agent.hpp"

// The host loads programs into a booted guest through the memory of a PCI device, QEMU's "ivshmem".
// So machines that differ only in their programs can share a snapshot.

namespace pinfold::guest {
namespace {

constexpr const char* kVendor = "0x1af4";
constexpr const char* kDevice = "0x1110";

/// The device's memory, mapped.
class SharedMemory {
 public:
  SharedMemory(const void* bytes, std::size_t size) : bytes_(bytes), size_(size) {}
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() { (void)munmap(const_cast<void*>(bytes_), size_); }

  /// Returns part of the memory; nullopt if it is out of bounds.
  [[nodiscard]] std::optional<std::string_view> part(std::uint64_t offset,
                                                     std::uint64_t bytes) const {
    if (offset > size_ || bytes > size_ - offset) return std::nullopt;
    return std::string_view(static_cast<const char*>(bytes_) + offset, bytes);
  }

 private:
  const void* bytes_;
  std::size_t size_;
};

std::string find_device() {
  std::error_code failed;
  int unread = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/pci/devices", failed)) {
    std::string device = entry.path();
    if (read_text(device + "/vendor", unread) == kVendor &&
        read_text(device + "/device", unread) == kDevice) {
      return device;
    }
  }
  return {};
}

/// Returns nullptr on failure and sets errno.
std::unique_ptr<SharedMemory> map_memory(const std::string& device) {
  // The device is off: no driver and, on arm64, no firmware has enabled it.
  errno = write_text(device + "/enable", "1", O_WRONLY);
  if (errno != 0) return nullptr;
  const UniqueFd fd(open((device + "/resource2").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!fd || fstat(fd.get(), &facts) != 0) return nullptr;
  const auto size = static_cast<std::size_t>(facts.st_size);
  void* const bytes = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  return bytes == MAP_FAILED ? nullptr : std::make_unique<SharedMemory>(bytes, size);
}

/// Replaces a file that may be in use. Returns 0 or the errno.
int replace_program(const std::string& path, std::string_view content) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string draft = path + ".loaded";
  int failed = write_text(draft, content, O_WRONLY | O_CREAT | O_TRUNC);
  if (failed == 0 && chmod(draft.c_str(), 0755) != 0) failed = errno;
  if (failed == 0 && std::rename(draft.c_str(), path.c_str()) != 0) failed = errno;
  return failed;
}

}  // namespace

Json load_files(const Json& request) {
  const std::string device = find_device();
  if (device.empty()) return refuse("no PCI device has the memory that the host shares");
  const auto memory = map_memory(device);
  if (memory == nullptr) return refuse(describe_errno(device, errno));
  for (const Json& file : request.at("files")) {
    const std::string path = file.at("path");
    const auto content =
        memory->part(file.at("offset").get<std::uint64_t>(), file.at("bytes").get<std::uint64_t>());
    if (!content) return refuse("'" + path + "': not in the memory that the host shares");
    const int failed = replace_program(path, *content);
    if (failed != 0) return refuse(describe_errno(path, failed));
  }
  return {{"ok", true}};
}

}  // namespace pinfold::guest
