#include "pinfold/harness/initramfs.hpp"

#include <fmt/format.h>

#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/process.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// The limit of the cache of initramfs, in bytes.
constexpr std::uintmax_t kMaxInitramfs = std::uintmax_t{2} << 30U;

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
    PINFOLD_LET(auto content, read_program(library.host_path));
    entries.push_back(CpioEntry::file(library.guest_path.substr(1), std::move(content), true));
  }
  return {};
}

}  // namespace

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

}  // namespace pinfold::harness
