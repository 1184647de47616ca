#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "pinfold/enforce/cgroup_fs.hpp"
#include "pinfold/enforce/layout.hpp"
#include "temp_dir.hpp"

/// Tries to escape from the root with names of a pod and a container: through the check of names,
/// and without it through CgroupFs.
namespace {

/// A directory that contains only the root of the groups.
struct Cage {
  Cage() {
    std::filesystem::create_directory(directory / "root");
    fs = pinfold::enforce::open_cgroup_fs(directory / "root").value();
  }

  pinfold::test::TempDir directory;
  std::unique_ptr<pinfold::enforce::CgroupFs> fs;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Cage cage;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = text.find('\n');
  const pinfold::enforce::GroupName name{pinfold::PodUid(text.substr(0, end)),
                                         end == std::string::npos ? "" : text.substr(end + 1)};
  if (const auto path = pinfold::enforce::relative_path(name)) {
    const bool has_container = path->find('/') != std::string::npos;
    if (has_container == name.is_pod() || !path->starts_with("pod") || path->starts_with("pod.") ||
        path->find("/.") != std::string::npos || path->find('\0') != std::string::npos ||
        path->find('/') != path->rfind('/')) {
      std::abort();
    }
  }
  // Unchecked on purpose: CgroupFs alone must prevent an escape.
  (void)cage.fs->make_group(text);
  (void)cage.fs->write(text, "cpuset.cpus", "0");
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cage.directory.path())) {
    entries += entry.path().filename() == "root" ? 1 : 2;
  }
  if (entries != 1) std::abort();
  (void)cage.fs->remove_group(text);
  if (!std::filesystem::is_directory(cage.directory / "root")) std::abort();
  return 0;
}
