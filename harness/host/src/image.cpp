#include "pinfold/harness/image.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "guest_libraries.hpp"
#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/process.hpp"
#include "pinfold/harness/verdict.hpp"

namespace pinfold::harness {
namespace {

/// The limit for programs, libraries and modules of the guest; with debug information they are
/// large.
constexpr std::size_t kMaxProgram = std::size_t{1} << 30U;
/// The limits of the cache, in bytes.
constexpr std::uintmax_t kMaxStripped = std::uintmax_t{1} << 30U;
constexpr std::uintmax_t kMaxInitramfs = std::uintmax_t{2} << 30U;

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets variables
  return value == nullptr ? "" : value;
}

std::vector<CpioEntry> skeleton() {
  std::vector<CpioEntry> entries;
  for (const char* folder : {"dev", "proc", "sys", "run", "tmp", "root", "etc", "mnt", "var/lib"}) {
    entries.push_back(CpioEntry::folder(folder));
  }
  entries.push_back(CpioEntry::character_device("dev/console", 5, 1));
  entries.push_back(CpioEntry::character_device("dev/null", 1, 3));
  entries.push_back(CpioEntry::file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", false));
  entries.push_back(CpioEntry::file("etc/group", "root:x:0:\n", false));
  return entries;
}

Result<void> add_busybox(std::vector<CpioEntry>& entries, const Image& image) {
  PINFOLD_LET(auto bytes, read_file(image.busybox, kMaxProgram));
  std::vector<CpioEntry> links;  // in a guest of another architecture busybox makes them itself
  if (image.arch == Arch::kAmd64) {
    PINFOLD_LET(links, busybox_links(image.busybox));
  }
  entries.push_back(CpioEntry::file("bin/busybox", std::move(bytes), true));
  std::move(links.begin(), links.end(), std::back_inserter(entries));
  return {};
}

Result<void> add_program(std::vector<CpioEntry>& entries, std::set<std::string>& libraries,
                         const GuestProgram& program, Arch arch) {
  PINFOLD_LET(auto needed, libraries_of(program.host_path, arch));
  PINFOLD_LET(auto bytes, read_program(program.host_path));
  entries.push_back(CpioEntry::file(program.guest_path.substr(1), std::move(bytes), true));
  for (const GuestProgram& library : needed) {
    if (!libraries.insert(library.guest_path).second) continue;
    PINFOLD_LET(auto content, read_file(library.host_path, kMaxProgram));
    entries.push_back(CpioEntry::file(library.guest_path.substr(1), std::move(content), true));
  }
  return {};
}

std::string last_line(const std::string& text) { return end_of_console(text, 1); }

}  // namespace

fs::path cache_folder() {
  if (const std::string own = environment("PINFOLD_CACHE"); !own.empty()) return own;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return fs::path(xdg) / "pinfold";
  }
  const std::string home = environment("HOME");
  return fs::path(home.empty() ? "/tmp" : home) / ".cache" / "pinfold";
}

Result<fs::path> run_image_script(const std::vector<std::string>& command) {
  const std::string intent = fmt::format("prepare the image '{}'", command.back());
  PINFOLD_LET_WRAP(const auto built, ask_program(command, std::chrono::minutes(15)), intent);
  const std::string last = last_line(built.output);
  if (built.exit_status == 0) return last;
  // The script's own errors are one sentence; other programs may need more lines.
  constexpr std::string_view kOwn = "vm-images: ";
  return fail(ErrorCode::kIo,
              fmt::format("{}: {}", intent,
                          last.starts_with(kOwn) ? last.substr(kOwn.size())
                                                 : end_of_console(built.output, 3)));
}

Result<Image> prepare_image(const fs::path& script, const std::string& kernel, Arch arch) {
  PINFOLD_LET(const auto folder,
              run_image_script(
                  {script.string(), "--arch", std::string(to_string(arch)), "--kernel", kernel}));
  PINFOLD_LET(auto version, read_file(folder / "version"));
  return Image{
      folder / "vmlinuz", folder / "busybox", folder / "modules", last_line(version), arch, false};
}

Result<fs::path> prepare_qemu(const fs::path& script) {
  PINFOLD_LET(auto folder, run_image_script({script.string(), "--qemu"}));
  return folder / "qemu-system-x86_64";
}

Result<fs::path> prepare_runtime_image(const fs::path& script, const std::string& runtime) {
  return run_image_script({script.string(), "--runtime", runtime});
}

Result<std::string> read_program(const fs::path& program) {
  std::error_code failed;
  const auto size = fs::file_size(program, failed);
  const auto time = fs::last_write_time(program, failed).time_since_epoch().count();
  if (failed) return fail_errno(failed.value(), fmt::format("read '{}'", program.string()));
  const fs::path folder = cache_folder() / "stripped";
  const fs::path kept =
      folder / Fingerprint().add(fmt::format("{} {} {}", program.string(), size, time)).to_string();
  if (!fs::exists(kept, failed)) {
    fs::create_directories(folder, failed);
    const fs::path draft =
        fmt::format("{}.{}.tmp", kept.string(), Clock::now().time_since_epoch().count());
    const auto stripped =
        run_program({"strip", "-o", draft.string(), program.string()}, Milliseconds(30000));
    if (!stripped || stripped->exit_status != 0) return read_file(program, kMaxProgram);
    fs::rename(draft, kept, failed);
    prune_cache(folder, kMaxStripped);
  }
  return read_file(kept, kMaxProgram);
}

Result<std::vector<CpioEntry>> busybox_links(const fs::path& busybox) {
  PINFOLD_LET(const auto applets,
              ask_program({busybox.string(), "--list-full"}, Milliseconds(10000)));
  std::vector<CpioEntry> links;
  std::istringstream lines(applets.output);
  for (std::string line; std::getline(lines, line);) {
    if (line != "bin/busybox") links.push_back(CpioEntry::link(line, "/bin/busybox"));
  }
  return links;
}

Result<fs::path> build_initramfs(const Image& image, const fs::path& agent,
                                 const std::vector<GuestProgram>& programs,
                                 const std::vector<CpioEntry>& files) {
  std::vector<CpioEntry> entries = skeleton();
  std::set<std::string> libraries;
  PINFOLD_TRY(add_busybox(entries, image));
  PINFOLD_TRY(add_program(entries, libraries, {agent, "/init"}, image.arch));
  for (const GuestProgram& program : programs) {
    PINFOLD_TRY_WRAP(add_program(entries, libraries, program, image.arch), "build the initramfs");
  }
  entries.insert(entries.end(), files.begin(), files.end());
  const std::string archive = write_cpio(entries);
  const fs::path folder = cache_folder() / "initramfs";
  const fs::path file = folder / (Fingerprint().add(archive).to_string() + ".cpio");
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (fs::file_size(file, failed) == archive.size() && !failed) {
    fs::last_write_time(file, fs::file_time_type::clock::now(), failed);
    return file;
  }
  PINFOLD_TRY(write_file(file, archive));
  prune_cache(folder, kMaxInitramfs);
  return file;
}

Result<GuestLoad> load_of(const std::vector<GuestProgram>& programs, std::vector<CpioEntry> files,
                          Arch arch) {
  std::set<std::string> libraries;
  for (const GuestProgram& program : programs) {
    PINFOLD_TRY_WRAP(add_program(files, libraries, program, arch), "load a program");
  }
  GuestLoad load;
  std::size_t bytes = 0;
  for (const CpioEntry& entry : files) bytes += entry.content.size();
  load.bytes.reserve(bytes);
  for (const CpioEntry& entry : files) {
    load.files.push_back({"/" + entry.path, load.bytes.size(), entry.content.size()});
    load.bytes += entry.content;
  }
  return load;
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
    for (const fs::path& file : item->files) fs::remove(file, failed);
  }
}

}  // namespace pinfold::harness
