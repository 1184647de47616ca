#include "block_log.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

namespace pinfold::guest {
namespace {

bool can_be_lost(const LogEntry& entry) { return !entry.flush && !entry.forced; }

/// Writes a random subset of an entry's sectors.
void write_torn(Pages& disk, const LogEntry& entry, std::size_t sector, std::minstd_rand& random) {
  const std::string_view bytes = entry.bytes;
  for (std::size_t at = 0; at < bytes.size(); at += sector) {
    if (random() % 2 == 0) disk.write(entry.offset + at, bytes.substr(at, sector));
  }
}

}  // namespace

const Pages::Page* Pages::find(std::uint64_t number) const {
  const auto found = pages_.find(number);
  if (found != pages_.end()) return found->second.get();
  return below_ == nullptr ? nullptr : below_->find(number);
}

std::uint64_t Pages::sum_of(std::uint64_t number, const Page& page) {
  static constexpr Page kZeros{};
  if (page == kZeros) return 0;
  const std::string_view bytes(page.data(), page.size());
  return (std::hash<std::string_view>()(bytes) ^ number) * 0x9e3779b97f4a7c15U;
}

void Pages::read(std::uint64_t offset, char* into, std::size_t size) const {
  while (size > 0) {
    const std::size_t within = offset % kBytes;
    const std::size_t count = std::min(size, kBytes - within);
    if (const Page* page = find(offset / kBytes)) {
      std::memcpy(into, page->data() + within, count);
    } else {
      std::memset(into, 0, count);
    }
    offset += count;
    into += count;
    size -= count;
  }
}

void Pages::write(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t within = offset % kBytes;
    const std::string_view part = bytes.substr(0, kBytes - within);
    auto& page = pages_[offset / kBytes];
    if (!page) {
      page = std::make_unique<Page>();  // zeros
      const Page* old = below_ == nullptr ? nullptr : below_->find(offset / kBytes);
      if (old != nullptr) *page = *old;
    }
    sum_ -= sum_of(offset / kBytes, *page);
    std::memcpy(page->data() + within, part.data(), part.size());
    sum_ += sum_of(offset / kBytes, *page);
    offset += part.size();
    bytes.remove_prefix(part.size());
  }
}

Pages Pages::copy() const {
  Pages twin(below_);
  twin.sum_ = sum_;
  for (const auto& [number, page] : pages_) twin.pages_[number] = std::make_unique<Page>(*page);
  return twin;
}

std::vector<Cut> list_cuts(const BlockLog& log, const std::vector<std::size_t>& marks,
                           const std::vector<WriteLoss>& losses) {
  std::vector<Cut> cuts;
  std::size_t to_lose = 0;  // writes that may still be lost
  for (std::size_t position = 0; position <= log.size(); ++position) {
    const LogEntry* before = position == 0 ? nullptr : &log[position - 1];
    if (before != nullptr) to_lose = before->flush ? 0 : to_lose + (can_be_lost(*before) ? 1 : 0);
    const bool mark = std::find(marks.begin(), marks.end(), position) != marks.end();
    const bool written = before != nullptr && !before->flush;
    const bool forced = written && before->forced;
    const bool before_flush = position < log.size() && log[position].flush;
    for (const WriteLoss loss : losses) {
      bool wanted = mark || written;
      if (loss != WriteLoss::kNone) {
        wanted = (mark || before_flush || forced) && to_lose > 0;
        if (loss == WriteLoss::kTorn && forced && !mark) wanted = true;
      }
      if (wanted) cuts.push_back({position, loss});
    }
  }
  return cuts;
}

Pages Replay::after(const Cut& cut, bool acknowledged) {
  std::size_t flushed = cut.position;  // the position after the last flush before the cut
  while (flushed > begin_ && !log_[flushed - 1].flush) --flushed;
  for (; begin_ < flushed; ++begin_) durable_.write(log_[begin_].offset, log_[begin_].bytes);

  std::minstd_rand random(static_cast<std::uint32_t>(cut.position) + 1);
  random.discard(3);  // similar seeds start with similar values
  std::size_t torn = log_.size();
  if (cut.loss == WriteLoss::kTorn) {
    std::vector<std::size_t> candidates;
    for (std::size_t i = begin_; i < cut.position; ++i) {
      const bool in_flight = i + 1 == cut.position && !acknowledged;
      if (can_be_lost(log_[i]) || (in_flight && !log_[i].flush)) candidates.push_back(i);
    }
    if (!candidates.empty()) torn = candidates[random() % candidates.size()];
  }
  Pages disk(&durable_);
  for (std::size_t i = begin_; i < cut.position; ++i) {
    const LogEntry& entry = log_[i];
    bool kept = cut.loss == WriteLoss::kNone || !can_be_lost(entry);
    if (!kept && cut.loss != WriteLoss::kAll) kept = random() % 2 == 0;
    if (i == torn) {
      write_torn(disk, entry, sector_, random);
    } else if (kept) {
      disk.write(entry.offset, entry.bytes);
    }
  }
  return disk;
}

}  // namespace pinfold::guest
