#include "pinfold/base/boot_id.hpp"

#include "pinfold/base/read_file.hpp"

namespace pinfold {

const std::string& boot_id() {
  static const std::string kId = [] {
    std::string id = read_file("/proc/sys/kernel/random/boot_id").value_or("");
    if (id.ends_with('\n')) id.pop_back();
    return id;
  }();
  return kId;
}

}  // namespace pinfold
