// How it works. The snapshot is a header and two slots of equal capacity; the lowest bit of the
// header's generation says which slot is current. The writer fills the other slot and then
// increments the generation, so a reader that starts afterwards uses the new slot, and one that is
// in the middle of a copy still finds the old slot intact.
//
// Each slot is a seqlock: the writer makes its sequence odd before it changes the slot and even
// afterwards. A reader (snapshot_reader.cpp) copies the payload and accepts it only if the sequence
// was even and is unchanged; otherwise it tries again. All shared words are accessed as atomics,
// and a checksum covers the payload.
//
// A commit only appends its record of the journal to the log behind the current payload, and then
// increases the size of the log. When the log has no more room, the next state goes into the other
// slot as a whole.
//
// Invariants: there is one writer, which holds the store's lock; of the current slot, only what is
// behind its log is written; a writer that is killed leaves an odd sequence only in the slot that
// is not current. A writer continues the file of an earlier one, with the slot that is not current.
// A state that does not fit gets a new file that replaces the old one by rename; readers of the old
// file keep their mapping. The boot id makes a snapshot invalid after a reboot, because it is never
// synced.
//
// Cost: a commit is linear in the size of its record, publishing a whole state and reading in that
// of the state. Neither makes a system call unless the file has to grow. Readers never wait for the
// writer and never delay it.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <cstdio>

#include "crc64.hpp"
#include "mapped_file.hpp"
#include "pinfold/base/boot_id.hpp"
#include "pinfold/base/unique_fd.hpp"
#include "pinfold/checkpoint/journal.hpp"
#include "pinfold/checkpoint/snapshot.hpp"
#include "snapshot_layout.hpp"

namespace pinfold::checkpoint {
namespace {

namespace bip = boost::interprocess;
using snapshot::Header;
using snapshot::Word;

/// Enough for the state of about two hundred pods.
constexpr std::size_t kSmallest = std::size_t{64} << 10U;

/// The least room for records, in bytes.
constexpr std::size_t kLeastLog = std::size_t{16} << 10U;

void append_word(std::string& out, Word word) {
  out.append(reinterpret_cast<const char*>(&word), sizeof(Word));
}

std::string payload_of(const Files& files) {
  std::string out;
  for (const auto* const file : {&files.cpu, &files.memory, &files.pods, &files.node}) {
    append_word(out, *file ? (*file)->size() + 1 : 0);
    if (*file) out += **file;
  }
  return out;
}

void store(Word& word, Word value) {
  std::atomic_ref<Word>(word).store(value, std::memory_order_release);
}

/// Copies a text to shared memory.
void store_text(std::byte* to, std::string_view text) {
  for (std::size_t done = 0; done < text.size(); done += sizeof(Word)) {
    Word word = 0;
    std::copy_n(text.data() + done, std::min(sizeof(Word), text.size() - done),
                reinterpret_cast<char*>(&word));
    store(*reinterpret_cast<Word*>(to + done), word);
  }
}

Header new_header(std::size_t least) {
  Header header = {};
  header.magic = snapshot::kMagic;
  header.version = snapshot::kVersion;
  header.capacity = std::max(kSmallest, snapshot::whole_words(2 * least));
  boot_id().copy(header.boot_id.data(), header.boot_id.size());
  return header;
}

/// Opens the file of an earlier writer; no descriptor if this one cannot continue it: it is another
/// version's or another boot's, has less room than `least` in a slot, or another name (a hard
/// link). All its blocks must be allocated: on a full disk, writing to mapped memory without a
/// block would kill the process.
UniqueFd open_earlier(const std::string& path, const Header& own, std::size_t least) {
  constexpr off_t kBlock = 512;  // of st_blocks
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  Header found = {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (::pread(fd.get(), &found, sizeof(found), 0) != ssize_t{sizeof(found)}) return {};
  const bool is_of_this_boot = found.magic == own.magic && found.version == own.version &&
                               found.boot_id == own.boot_id && own.boot_id.front() != '\0';
  const Word room = static_cast<Word>(status.st_size) - sizeof(Header);
  const bool has_room = found.capacity >= least && found.capacity % sizeof(Word) == 0 &&
                        room % 2 == 0 && found.capacity == room / 2;
  const bool is_allocated = status.st_blocks * kBlock >= status.st_size;
  if (!is_of_this_boot || !has_room || !is_allocated || status.st_nlink != 1) return {};
  return fd;
}

/// Creates a file with all its blocks, in place of what a killed writer has left.
Result<UniqueFd> create_file(const std::string& path, const Header& header) {
  (void)::unlink(path.c_str());
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto failed = [&](int code) { return fail_errno(code, fmt::format("create '{}'", path)); };
  if (!fd) return failed(errno);
  const auto size = static_cast<off_t>(sizeof(Header) + 2 * header.capacity);
  if (const int code = ::posix_fallocate(fd.get(), 0, size); code != 0) return failed(code);
  const ssize_t written = ::pwrite(fd.get(), &header, sizeof(header), 0);
  if (written != ssize_t{sizeof(header)}) return failed(written < 0 ? errno : EIO);
  return fd;
}

}  // namespace

struct SnapshotWriter::Mapped {
  bip::mapped_region region;

  [[nodiscard]] std::byte* bytes() const { return static_cast<std::byte*>(region.get_address()); }
  [[nodiscard]] Header& header() const { return *reinterpret_cast<Header*>(bytes()); }
  [[nodiscard]] std::byte* payload(Word slot) const {
    return bytes() + sizeof(Header) + slot * header().capacity;
  }
};

SnapshotWriter::SnapshotWriter(const std::string& directory)
    : path_(fmt::format("{}/{}", directory, kSnapshotFileName)),
      temp_path_(fmt::format("{}/{}snapshot", directory, kTempPrefix)) {}
SnapshotWriter::~SnapshotWriter() = default;

Result<void> SnapshotWriter::try_publish(const std::string& payload) {
  const std::size_t least = payload.size() + kLeastLog;
  bool is_new = false;
  if (mapped_ == nullptr || mapped_->header().capacity < least) {
    const Header own = new_header(least);
    UniqueFd fd = open_earlier(path_, own, least);
    is_new = !fd;
    if (is_new) {
      PINFOLD_LET(fd, create_file(temp_path_, own));
    }
    const MappedFile file(fd, bip::read_write);
    mapped_ = std::make_unique<Mapped>(Mapped{bip::mapped_region(file, bip::read_write)});
  }
  Header& header = mapped_->header();
  const Word next = header.generation + 1;
  snapshot::Slot& slot = header.slots[next & 1U];
  // A writer killed here leaves an odd number. Readers do not use this slot.
  const Word sequence = slot.sequence | 1U;
  store(slot.sequence, sequence);
  std::atomic_thread_fence(std::memory_order_release);
  store_text(mapped_->payload(next & 1U), payload);
  store(slot.log, 0);
  store(slot.size, payload.size());
  store(slot.hash, crc64(payload));
  store(slot.sequence, sequence + 1);
  store(header.generation, next);
  // A new file replaces the old one; readers of the old one keep their mapping.
  if (is_new && ::rename(temp_path_.c_str(), path_.c_str()) != 0) {
    return fail_errno(errno, fmt::format("rename to '{}'", path_));
  }
  return {};
}

bool SnapshotWriter::append(std::string_view record) {
  if (mapped_ == nullptr) return false;
  Header& header = mapped_->header();
  const Word current = header.generation & 1U;
  snapshot::Slot& slot = header.slots[current];
  std::string entry;
  append_word(entry, without_padding(record).size());
  entry += without_padding(record);
  const Word end = snapshot::whole_words(slot.size) + slot.log;
  if (snapshot::whole_words(entry.size()) > header.capacity - end) return false;
  store_text(mapped_->payload(current) + end, entry);
  store(slot.log, slot.log + snapshot::whole_words(entry.size()));
  return true;
}

void SnapshotWriter::publish(const Files& files) {
  Result<void> done;
  try {
    done = try_publish(payload_of(files));
  } catch (const bip::interprocess_exception& error) {
    done = fail_errno(error.get_native_error(), "map the snapshot");
  }
  if (!done) remove();
}

void SnapshotWriter::remove() {
  mapped_.reset();
  (void)::unlink(temp_path_.c_str());
  (void)::unlink(path_.c_str());
}

}  // namespace pinfold::checkpoint
