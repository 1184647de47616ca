#include "pinfold/harness/cache.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets variables
  return value == nullptr ? "" : value;
}

}  // namespace

fs::path cache_folder() {
  if (const std::string own = environment("PINFOLD_CACHE"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return fs::path(xdg) / "pinfold";
  }
  const std::string home = environment("HOME");
  return fs::path(home.empty() ? "/tmp" : home) / ".cache" / "pinfold";
}

void prune_cache(const fs::path& folder, std::uintmax_t max_bytes) {
  struct Item {
    fs::file_time_type time = fs::file_time_type::min();
    std::uintmax_t bytes = 0;
    std::vector<fs::path> files;
  };
  std::map<std::string, Item> items;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    struct stat facts {};
    std::error_code gone;  // other runs prune the cache too
    const auto time = it->last_write_time(gone);
    if (gone || ::stat(it->path().c_str(), &facts) != 0) continue;
    const std::string name = it->path().filename();
    Item& item = items[name.substr(0, name.find('.'))];
    item.time = std::max(item.time, time);
    item.bytes += static_cast<std::uintmax_t>(facts.st_blocks) * 512;
    item.files.push_back(it->path());
  }
  std::vector<const Item*> newest_first;
  newest_first.reserve(items.size());
  for (const auto& [name, item] : items) newest_first.push_back(&item);
  std::sort(newest_first.begin(), newest_first.end(),
            [](const Item* a, const Item* b) { return a->time > b->time; });
  // Another run may be about to open a recent file.
  const auto old = fs::file_time_type::clock::now() - std::chrono::minutes(10);
  std::uintmax_t bytes = 0;
  for (const Item* item : newest_first) {
    bytes += item->bytes;
    if (bytes <= max_bytes || item->time >= old) continue;
    // A run may hold a lock, or wait for it: another one would lock a new file at the same time.
    for (const fs::path& file : item->files) {
      if (file.extension() != ".lock") fs::remove(file, failed);
    }
  }
}

}  // namespace pinfold::harness
