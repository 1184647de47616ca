#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold {

/// Counts the instructions of this thread, without those of the kernel.
class Instructions {
 public:
  Instructions() {
    perf_event_attr attributes = {};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    fd_ = UniqueFd(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  }

  /// Returns the count since construction; nullopt if the machine does not count.
  [[nodiscard]] std::optional<std::uint64_t> read() const {
    std::uint64_t count = 0;
    const bool is_read = fd_ && ::read(fd_.get(), &count, sizeof(count)) == ssize_t{sizeof(count)};
    return is_read ? std::optional(count) : std::nullopt;
  }

 private:
  UniqueFd fd_;
};

}  // namespace pinfold
