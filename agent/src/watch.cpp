#include "pinfold/agent/watch.hpp"

#include <sys/inotify.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

namespace pinfold::agent {

std::chrono::milliseconds next_pause(bool ok, std::chrono::milliseconds last,
                                     const WatchTimes& times) {
  return ok ? times.interval : std::min(last * 2, std::max(times.longest, times.interval));
}

bool watch(const std::function<bool()>& round,
           const std::function<bool(std::chrono::milliseconds)>& wait, const WatchTimes& times) {
  auto pause = times.interval;
  while (true) {
    const bool ok = round();
    pause = next_pause(ok, pause, times);
    if (!wait(pause)) return ok;
  }
}

UniqueFd watch_tree(const std::string& root) {
  namespace fs = std::filesystem;
  constexpr std::uint32_t kEvents = IN_MODIFY | IN_CREATE | IN_DELETE;
  UniqueFd changes(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!changes) return changes;
  (void)::inotify_add_watch(changes.get(), root.c_str(), kEvents);
  std::error_code failed;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(root, kOptions, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (it->is_directory(failed)) {
      (void)::inotify_add_watch(changes.get(), it->path().c_str(), kEvents);
    }
  }
  return changes;
}

}  // namespace pinfold::agent
