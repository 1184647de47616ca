#include "pinfold/harness/kept_guest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "guest/launch.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/json.hpp"
#include "pinfold/harness/snapshot.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDescription = "guest.json";
constexpr const char* kState = "state";
constexpr std::size_t kMaxDescription = std::size_t{1} << 20U;
constexpr Milliseconds kResumeLimit(120000);

fs::path kept_folder() { return cache_folder() / "kept"; }

/// QEMU options that name files in the cache, which may be removed later.
constexpr std::string_view kFileOptions[] = {"-kernel", "-initrd"};

/// Links the files of a command into a directory and makes the command use the links.
Result<std::vector<std::string>> link_files(std::vector<std::string> command,
                                            const fs::path& folder) {
  for (std::size_t i = 0; i + 1 < command.size(); ++i) {
    if (std::find(std::begin(kFileOptions), std::end(kFileOptions), command[i]) ==
        std::end(kFileOptions)) {
      continue;
    }
    const fs::path link = folder / command[i].substr(1);
    std::error_code failed;
    fs::create_hard_link(command[i + 1], link, failed);
    if (failed) fs::copy_file(command[i + 1], link, failed);  // a kernel on another file system
    if (failed) return fail_errno(failed.value(), fmt::format("link '{}'", command[i + 1]));
    command[i + 1] = link.string();
  }
  return command;
}

Result<void> save_into(const fs::path& folder, GuestSession& session,
                       const ScenarioResult& result) {
  PINFOLD_LET(const auto command, link_files(session.launch.command, folder));
  const auto saved = SnapshotStore(folder).save(kState, session.vm);
  if (!saved) return fail(ErrorCode::kIo, saved.error().message);
  const Json description = {{"name", full_name(result.name, to_string(result.machine.platform))},
                            {"message", result.message},
                            {"command", command}};
  return write_file(folder / kDescription,
                    description.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
}

}  // namespace

Result<void> keep_guest(GuestSession& session, const ScenarioResult& result) {
  const fs::path folder = kept_folder() / folder_name(result.name, result.machine.platform);
  std::error_code failed;
  fs::remove_all(folder, failed);
  fs::create_directories(folder, failed);
  if (failed) return fail_errno(failed.value(), fmt::format("make '{}'", folder.string()));
  auto saved = save_into(folder, session, result);
  if (!saved) fs::remove_all(folder, failed);
  return saved;
}

Result<KeptGuest> parse_kept_guest(std::string_view text) {
  const auto refuse = [](const char* message) {
    return fail(ErrorCode::kInvalidArgument, message);
  };
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return refuse("expected a JSON object");
  KeptGuest guest;
  for (const auto& [name, target] :
       {std::pair("name", &guest.name), std::pair("message", &guest.message)}) {
    const auto found = json.find(name);
    if (found == json.end() || !found->is_string()) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: expected a string", name));
    }
    *target = found->get<std::string>();
  }
  const auto command = json.find("command");
  if (command == json.end() || !command->is_array() || command->empty() ||
      !std::all_of(command->begin(), command->end(),
                   [](const Json& word) { return word.is_string(); })) {
    return refuse("command: expected a list of strings");
  }
  guest.command = command->get<std::vector<std::string>>();
  return guest;
}

std::vector<KeptGuest> kept_guests() {
  std::vector<KeptGuest> guests;
  std::error_code failed;
  for (fs::directory_iterator it(kept_folder(), failed), end; !failed && it != end;
       it.increment(failed)) {
    const auto text = read_file(it->path() / kDescription, kMaxDescription);
    auto guest = text ? parse_kept_guest(*text) : fail(Error(text.error()));
    if (!guest) continue;
    guest->folder = it->path();
    guests.push_back(std::move(*guest));
  }
  std::sort(guests.begin(), guests.end(),
            [](const KeptGuest& a, const KeptGuest& b) { return a.name < b.name; });
  return guests;
}

Result<GuestSession> open_kept_guest(const KeptGuest& guest, int interrupt_fd) {
  const auto state = SnapshotStore(guest.folder).find(kState);
  if (!state) {
    return fail(ErrorCode::kCorrupt, fmt::format("'{}': its saved state is damaged: the checksum "
                                                 "differs",
                                                 guest.folder.string()));
  }
  auto session = restore_machine({guest.command, "", nullptr}, *state, interrupt_fd, kResumeLimit);
  if (!session) return fail(ErrorCode::kIo, session.error().message);
  return std::move(*session);
}

}  // namespace pinfold::harness
