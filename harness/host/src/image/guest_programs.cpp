#include "pinfold/harness/guest_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>

#include "pinfold/api/pod.hpp"
#include "pinfold/base/read_file.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/fingerprint.hpp"
#include "pinfold/harness/process.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// The limit of the cache of stripped programs, in bytes.
constexpr std::uintmax_t kMaxStripped = std::uintmax_t{1} << 30U;

/// Returns the architecture of a program from its ELF header; nullopt for a script and the like.
std::optional<std::string> arch_of(const fs::path& program) {
  std::array<char, 20> header{};
  std::ifstream in(program, std::ios::binary);
  if (!in.read(header.data(), header.size()) || std::string_view(header.data(), 4) !=
                                                    "\x7f"
                                                    "ELF") {
    return std::nullopt;
  }
  switch (static_cast<unsigned char>(header[18])) {  // e_machine
    case 62:
      return std::string(to_string(Arch::kAmd64));
    case 183:
      return std::string(to_string(Arch::kArm64));
    default:
      return "another architecture";
  }
}

/// Returns a number of an ELF header in its place; 0 if it ends beyond `bytes`.
std::uint64_t elf_number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0 && at + size <= bytes.size();) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

/// Returns the bytes that a file of 64 bits has by its headers: to the end of its last segment or
/// table of sections, as far as the file shows them.
std::uint64_t bytes_by_headers(const fs::path& program) {
  constexpr std::size_t kHeader = 64;
  constexpr std::size_t kMaxHeaders = std::size_t{1} << 20U;
  std::string bytes(kHeader, '\0');
  std::ifstream in(program, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (in.gcount() != static_cast<std::streamsize>(kHeader)) return kHeader;
  if (bytes[4] != 2) return kHeader;  // ELFCLASS64
  const std::uint64_t segments = elf_number(bytes, 32, 8);
  const std::uint64_t segment_bytes = elf_number(bytes, 54, 2);
  const std::uint64_t segments_end = segments + segment_bytes * elf_number(bytes, 56, 2);
  const std::uint64_t sections_end =
      elf_number(bytes, 40, 8) + elf_number(bytes, 58, 2) * elf_number(bytes, 60, 2);
  std::uint64_t end = std::max({std::uint64_t{kHeader}, segments_end, sections_end});
  if (segments_end > kMaxHeaders || segment_bytes == 0) return end;
  std::string headers(segments_end, '\0');
  in.clear();
  in.seekg(0);
  in.read(headers.data(), static_cast<std::streamsize>(headers.size()));
  headers.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  for (std::uint64_t at = segments; at + segment_bytes <= headers.size(); at += segment_bytes) {
    end = std::max(end, elf_number(headers, at + 8, 8) + elf_number(headers, at + 32, 8));
  }
  return end;
}

/// Errors: kInvalidArgument for a program that ends early, as after a copy that failed.
Result<void> check_whole(const fs::path& program) {
  std::error_code failed;
  const std::uint64_t has = fs::file_size(program, failed);
  const std::uint64_t expected = bytes_by_headers(program);
  if (failed || has >= expected) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("program '{}': {} bytes, expected {} or more by its ELF header; copy it "
                          "again",
                          program.string(), has, expected));
}

/// Returns the libraries that a program notes as those that it loads itself: the names in the JSON
/// of its ELF notes (base/loaded_library.hpp). None for a file that cannot be read. A program that
/// looks for such notes, like this one, contains their first bytes without a name.
std::vector<std::string> loaded_by(const fs::path& program) {
  constexpr std::string_view kBefore = R"([{"soname":[")";
  std::vector<std::string> names;
  const auto bytes = read_file(program, kMaxProgram);
  std::size_t at = bytes ? bytes->find(kBefore) : std::string::npos;
  while (at != std::string::npos) {
    at += kBefore.size();
    const std::string name = bytes->substr(at, bytes->find('"', at) - at);
    if (is_safe_name(name)) names.push_back(name);
    at = bytes->find(kBefore, at);
  }
  return names;
}

/// Returns the file with this name in the first of the folders that has it.
std::optional<fs::path> find_in(std::initializer_list<fs::path> folders, const std::string& name) {
  std::error_code failed;
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name, failed)) return folder / name;
  }
  return std::nullopt;
}

/// Returns the libraries that a program or library is linked with.
Result<std::vector<GuestProgram>> linked_on_host(const fs::path& program) {
  // For a static program ldd exits with 1; that answer should be cached too.
  PINFOLD_LET(auto listed, ask_program({"sh", "-c", "ldd \"$0\" || true", program.string()},
                                       Milliseconds(10000)));
  std::vector<GuestProgram> libraries;
  std::istringstream lines(listed.output);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t end = line.find(" => not found"); end != std::string::npos) {
      const std::size_t name = line.find_first_not_of(" \t");
      return fail(ErrorCode::kNotFound,
                  fmt::format("program '{}': its library '{}' is not found on this host; install "
                              "it, or give a static program",
                              program.string(), line.substr(name, end - name)));
    }
    const std::size_t begin = line.find('/');
    const std::size_t end = line.find(" (0x");
    if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
    const std::string path = line.substr(begin, end - begin);
    libraries.push_back({path, path});
  }
  return libraries;
}

Result<std::vector<GuestProgram>> libraries_of_host(const fs::path& program) {
  PINFOLD_LET(auto libraries, linked_on_host(program));
  for (const std::string& name : loaded_by(program)) {
    const auto found = find_in({"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"}, name);
    if (!found) continue;  // the program reports what it cannot do without it
    libraries.push_back({*found, found->string()});
    PINFOLD_LET(const auto more, linked_on_host(*found));
    libraries.insert(libraries.end(), more.begin(), more.end());
  }
  return libraries;
}

/// Returns what a program or library needs directly: names of libraries, and the path of the
/// dynamic linker.
Result<std::vector<std::string>> asked_by(const fs::path& file) {
  PINFOLD_LET(const auto printed, ask_program({"env", "LC_ALL=C", "readelf", "-dlW", file.string()},
                                              Milliseconds(10000)));
  if (printed.exit_status == 127) {
    return fail(ErrorCode::kNotFound, "readelf: not found, install it (package binutils)");
  }
  std::vector<std::string> names;
  std::istringstream lines(printed.output);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view before : {"Shared library: [", "program interpreter: "}) {
      const std::size_t at = line.find(before);
      const std::size_t end = line.rfind(']');
      if (at == std::string::npos || end == std::string::npos) continue;
      names.push_back(line.substr(at + before.size(), end - at - before.size()));
    }
  }
  return names;
}

/// Finds a library for arm64 among those that vm-images/build has downloaded, Debian's own, and
/// those of its cross-compiler.
std::optional<fs::path> find_arm64_library(const std::string& name) {
  const fs::path downloaded = cache_folder() / "images/libraries-arm64";
  return find_in(
      {downloaded / "usr/lib/aarch64-linux-gnu", downloaded / "lib/aarch64-linux-gnu",
       "/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/aarch64-linux-gnu/lib"},
      name);
}

Result<std::vector<GuestProgram>> libraries_of_arm64(const fs::path& program) {
  std::vector<GuestProgram> libraries;
  PINFOLD_LET(auto wanted, asked_by(program));
  const auto loaded = loaded_by(program);
  wanted.insert(wanted.end(), loaded.begin(), loaded.end());
  for (std::size_t i = 0; i < wanted.size(); ++i) {  // the list grows
    const fs::path name = wanted[i];
    const auto found = find_arm64_library(name.filename());
    if (!found) {
      return fail(
          ErrorCode::kNotFound,
          fmt::format("'{}': library '{}' for arm64 not found; get those of Pinfold with "
                      "`pinfold-harness fetch --arch arm64`, or install it from Debian's arm64",
                      program.string(), name.filename().string()));
    }
    const fs::path place = name.is_absolute() ? name : "/usr/lib/aarch64-linux-gnu" / name;
    libraries.push_back({*found, place.string()});
    PINFOLD_LET(const auto more, asked_by(*found));
    for (const std::string& one : more) {
      if (std::find(wanted.begin(), wanted.end(), one) == wanted.end()) wanted.push_back(one);
    }
  }
  return libraries;
}

}  // namespace

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

bool is_elf(const fs::path& file) { return arch_of(file).has_value(); }

Result<std::vector<GuestProgram>> libraries_of(const fs::path& program, Arch arch) {
  const auto its_arch = arch_of(program);
  if (!its_arch) return std::vector<GuestProgram>{};
  if (*its_arch != to_string(arch)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("program '{}': of {}, expected one of {}", program.string(), *its_arch,
                            to_string(arch)));
  }
  PINFOLD_TRY(check_whole(program));
  return arch == Arch::kArm64 ? libraries_of_arm64(program) : libraries_of_host(program);
}

}  // namespace pinfold::harness
