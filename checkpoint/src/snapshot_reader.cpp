#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "crc64.hpp"
#include "mapped_file.hpp"
#include "pinfold/base/boot_id.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/checkpoint/fs.hpp"
#include "pinfold/checkpoint/journal.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "snapshot_layout.hpp"
#include "state_directory.hpp"

namespace pinfold::checkpoint {
namespace {

using snapshot::Header;
using snapshot::Word;

constexpr int kAttempts = 1000;

tl::unexpected<Error> bad_snapshot(std::string_view what) {
  return fail(ErrorCode::kCorrupt, fmt::format("snapshot: {}", what));
}

/// Words that another process may be writing.
class Words {
 public:
  explicit Words(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] Word at(std::size_t offset) const {
    // The word is only loaded, but atomic_ref requires a mutable object.
    auto* const word = const_cast<std::byte*>(bytes_.data() + offset);  // NOLINT
    return std::atomic_ref<Word>(*reinterpret_cast<Word*>(word)).load(std::memory_order_acquire);
  }

  [[nodiscard]] std::string copy(std::size_t offset, std::size_t size) const {
    std::string out(size, '\0');
    for (std::size_t done = 0; done < size; done += sizeof(Word)) {
      const Word word = at(offset + done);
      const auto* const raw = reinterpret_cast<const char*>(&word);
      std::copy_n(raw, std::min(sizeof(Word), size - done), out.data() + done);
    }
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
};

std::optional<Word> take_word(std::string_view& payload) {
  if (payload.size() < sizeof(Word)) return std::nullopt;
  Word word = 0;
  std::copy_n(payload.data(), sizeof(Word), reinterpret_cast<char*>(&word));
  payload.remove_prefix(sizeof(Word));
  return word;
}

/// Parses the payload. For each file: its size plus one, then its bytes; 0 if it does not exist.
Result<Files> parse_payload(std::string_view payload) {
  Files files;
  for (auto* const file : {&files.cpu, &files.memory, &files.pods, &files.node}) {
    const auto size = take_word(payload);
    if (!size || (*size > 0 && *size - 1 > payload.size()))
      return bad_snapshot("is truncated inside a file");
    if (*size == 0) continue;
    *file = std::string(payload.substr(0, *size - 1));
    payload.remove_prefix(*size - 1);
  }
  if (!payload.empty()) return bad_snapshot("has bytes after the last file");
  return files;
}

/// The current slot: a state, and the records of the transactions since.
struct Copied {
  std::string payload;
  std::string log;
};

/// Copies the current slot; nullopt if the writer changed its payload meanwhile.
Result<std::optional<Copied>> try_copy(const Words& words, Word capacity) {
  const Word slot = words.at(offsetof(Header, generation)) & 1U;
  const std::size_t at = offsetof(Header, slots) + slot * sizeof(snapshot::Slot);
  const Word before = words.at(at);
  const Word size = words.at(at + offsetof(snapshot::Slot, size));
  const Word hash = words.at(at + offsetof(snapshot::Slot, hash));
  const Word log = words.at(at + offsetof(snapshot::Slot, log));
  if (before % 2 == 1) return std::optional<Copied>();
  const bool fits = size <= capacity && log <= capacity - snapshot::whole_words(size);
  if (!fits) {
    if (words.at(at) != before) return std::optional<Copied>();
    return bad_snapshot("has a payload larger than its slot");
  }
  const std::size_t begin = sizeof(Header) + slot * capacity;
  Copied copied{words.copy(begin, size), words.copy(begin + snapshot::whole_words(size), log)};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (words.at(at) != before) return std::optional<Copied>();
  if (crc64(copied.payload) != hash) return bad_snapshot("has a wrong checksum");
  return std::optional(std::move(copied));
}

constexpr std::pair<std::string_view, std::optional<std::string> Files::*> kMembers[] = {
    {kCpuFileName, &Files::cpu},
    {kMemoryFileName, &Files::memory},
    {kPodsFileName, &Files::pods},
    {kNodeFileName, &Files::node}};

/// Applies the record at the front of a log, and removes it.
Result<void> apply_front(std::string_view& log, Contents& contents) {
  const auto size = take_word(log);
  if (!size || *size > log.size()) return bad_snapshot("is truncated inside a record");
  PINFOLD_LET(const auto records, decode_journal(log.substr(0, *size)));
  if (records.size() != 1) return bad_snapshot("has a damaged record");
  log.remove_prefix(std::min<std::size_t>(log.size(), snapshot::whole_words(*size)));
  return apply_record(records.front(), contents);
}

Result<Files> with_log(Files files, std::string_view log) {
  Contents contents;
  for (const auto& [name, member] : kMembers) {
    if (files.*member) contents[std::string(name)] = *(files.*member);
  }
  while (!log.empty()) PINFOLD_TRY(apply_front(log, contents));
  for (const auto& [name, member] : kMembers) {
    const auto found = contents.find(std::string(name));
    if (found != contents.end()) files.*member = found->second;
  }
  return files;
}

}  // namespace

Result<Files> decode_snapshot(std::span<const std::byte> bytes, std::string_view boot_id) {
  const Words words(bytes);
  if (bytes.size() < sizeof(Header) || words.at(0) != snapshot::kMagic) {
    return bad_snapshot("has no snapshot header");
  }
  const Word version = words.at(offsetof(Header, version));
  if (version < snapshot::kVersion) {
    return fail(ErrorCode::kNotFound, "snapshot: was written by an earlier version of Pinfold");
  }
  if (version > snapshot::kVersion) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("snapshot: version {}, expected {}", version, snapshot::kVersion));
  }
  std::string written_in = words.copy(offsetof(Header, boot_id), sizeof(Header::boot_id));
  written_in.resize(std::min(written_in.size(), written_in.find('\0')));
  if (written_in != boot_id) {
    return fail(ErrorCode::kNotFound, "snapshot: was written before the machine booted");
  }
  const Word capacity = words.at(offsetof(Header, capacity));
  if (capacity % sizeof(Word) != 0 || capacity > (bytes.size() - sizeof(Header)) / 2) {
    return bad_snapshot("is truncated");
  }
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PINFOLD_LET(const auto copied, try_copy(words, capacity));
    if (!copied) continue;
    PINFOLD_LET(auto files, parse_payload(copied->payload));
    return with_log(std::move(files), copied->log);
  }
  return fail(ErrorCode::kBusy, "snapshot: kept changing while it was read");
}

Result<Files> read_snapshot(const std::string& directory) {
  namespace bip = boost::interprocess;
  const std::string path = fmt::format("{}/{}", directory, kSnapshotFileName);
  struct stat status = {};
  if (::lstat(path.c_str(), &status) == 0) PINFOLD_TRY(check_is_regular(status.st_mode, path));
  const auto failed = [&](int code) {
    return fail_errno(code, fmt::format("open snapshot '{}'", path));
  };
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return failed(errno);
  try {
    const MappedFile file(fd, bip::read_only);
    const bip::mapped_region region(file, bip::read_only);
    const std::span bytes(static_cast<const std::byte*>(region.get_address()), region.get_size());
    PINFOLD_LET_WRAP(auto files, decode_snapshot(bytes, boot_id()), path);
    return files;
  } catch (const bip::interprocess_exception& error) {
    return failed(error.get_native_error());
  }
}

}  // namespace pinfold::checkpoint
