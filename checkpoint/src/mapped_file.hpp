#pragma once

#include <boost/interprocess/mapped_region.hpp>

#include "pinfold/base/unique_fd.hpp"

namespace pinfold::checkpoint {

/// A file for mapped_region, like bip::file_mapping but with our own descriptor: Boost opens files
/// without O_CLOEXEC (docs/adr/0029).
class MappedFile {
 public:
  using Mode = boost::interprocess::mode_t;

  /// Domain: `fd` is open and allows `mode`.
  MappedFile(const UniqueFd& fd, Mode mode) : handle_{fd.get(), false}, mode_(mode) {}
  // The names are from Boost's MemoryMappable concept.
  [[nodiscard]] boost::interprocess::mapping_handle_t get_mapping_handle() const { return handle_; }
  [[nodiscard]] Mode get_mode() const { return mode_; }

 private:
  boost::interprocess::mapping_handle_t handle_;
  Mode mode_;
};

}  // namespace pinfold::checkpoint
