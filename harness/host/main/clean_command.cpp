#include <fmt/format.h>

#include "command.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/guest_session.hpp"
#include "pinfold/harness/image.hpp"

namespace pinfold::harness {

namespace fs = std::filesystem;

int clean_cache(bool all) {
  std::error_code failed;
  const fs::path cache = cache_folder();
  std::uintmax_t removed = 0;
  for (const char* folder : {"snapshots", "initramfs", "stripped", "kept"}) {
    removed += fs::remove_all(cache / folder, failed);
  }
  for (const char* folder : {"images", "debs", "apt"}) {
    if (all) removed += fs::remove_all(cache / folder, failed);
  }
  const int swept = sweep_temporary_folders();
  fmt::print("removed {} entries of '{}' and {} folders of killed runs\n", removed, cache.string(),
             swept);
  return kOk;
}

}  // namespace pinfold::harness
