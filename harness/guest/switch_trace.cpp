#include "switch_trace.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

namespace pinfold::guest {
namespace {

struct NeededEvent {
  std::string_view folder;
  std::array<std::string_view, 3> fields;  ///< "": none
};
// Indexed by TaskEventKind.
constexpr NeededEvent kNeededEvents[kTaskEventKinds] = {
    {"sched/sched_switch", {"common_pid", "prev_pid", "next_pid"}},
    {"task/task_newtask", {"common_pid", "pid", "clone_flags"}},
    {"sched/sched_process_exec", {"pid", "old_pid", "filename"}},
    {"sched/sched_process_exit", {"pid"}},
    {"cgroup/cgroup_attach_task", {"dst_root", "pid", "dst_path"}},
    {"ftrace/print", {"buf"}},
};

constexpr std::size_t kPageHeader = 16;  // the time of the first event, and the length of the rest
constexpr std::uint64_t kPageLength = (1U << 27U) - 1;
constexpr std::uint64_t kEventsMissed = 1U << 31U;
constexpr std::uint64_t kMissedCountStored = 1U << 30U;

// Types in the five lowest bits of an event's header. Any other value is the length of the data in
// words; 0: the next word has the length.
constexpr std::uint32_t kTypePadding = 29;
constexpr std::uint32_t kTypeTimeExtend = 30;
constexpr std::uint32_t kTypeTimeStamp = 31;
constexpr unsigned kTypeBits = 5;
constexpr unsigned kDeltaBits = 27;

/// Returns a number of `size` bytes at an offset; nullopt beyond the end.
std::optional<std::uint64_t> number_at(std::string_view bytes, std::size_t offset,
                                       std::size_t size) {
  std::uint64_t value = 0;
  if (size > sizeof value || offset > bytes.size() || bytes.size() - offset < size) return {};
  std::memcpy(&value, bytes.data() + offset, size);
  return value;
}

std::optional<std::uint64_t> number_of(const TraceFormat& format, std::string_view name,
                                       std::string_view data) {
  const auto field = format.fields.find(name);
  if (field == format.fields.end()) return {};
  return number_at(data, field->second.offset, field->second.size);
}

int integer_of(const TraceFormat& format, std::string_view name, std::string_view data) {
  return static_cast<int>(number_of(format, name, data).value_or(0));
}

/// Returns a text field: the text that it points to (__data_loc) or, without a size, the rest.
std::string text_of(const TraceFormat& format, std::string_view name, std::string_view data) {
  const auto field = format.fields.find(name);
  if (field == format.fields.end()) return {};
  std::size_t offset = field->second.offset;
  std::size_t size = data.size();
  if (field->second.size != 0) {
    const auto place = number_of(format, name, data).value_or(0);
    offset = place & 0xffffU;
    size = place >> 16U & 0xffffU;
  }
  const std::string_view text = data.substr(std::min(offset, data.size()), size);
  return std::string(text.substr(0, std::min(text.find('\0'), text.size())));
}

/// Fills in the fields of an event from its data.
void fill_in(TaskEvent& event, const TraceFormat& format, std::string_view data) {
  switch (event.kind) {
    case TaskEventKind::kSwitch:
      event.task = integer_of(format, "next_pid", data);
      event.other = integer_of(format, "prev_pid", data);
      break;
    case TaskEventKind::kFork:
      event.task = integer_of(format, "pid", data);
      event.other = integer_of(format, "common_pid", data);
      event.flags = number_of(format, "clone_flags", data).value_or(0);
      break;
    case TaskEventKind::kExec:
      event.task = integer_of(format, "pid", data);
      event.other = integer_of(format, "old_pid", data);
      event.text = text_of(format, "filename", data);
      break;
    case TaskEventKind::kExit:
      event.task = integer_of(format, "pid", data);
      break;
    case TaskEventKind::kAttach:
      event.task = integer_of(format, "pid", data);
      event.other = integer_of(format, "dst_root", data);
      event.text = text_of(format, "dst_path", data);
      break;
    case TaskEventKind::kMark: {
      const std::string text = text_of(format, "buf", data);
      event.task = -1;  // remains if the mark is not the host's
      (void)std::from_chars(text.data(), text.data() + text.size(), event.task);
      break;
    }
  }
}

/// Reads a page event by event.
class PageReader {
 public:
  PageReader(const TraceFormats& formats, int cpu, std::string_view page)
      : formats_(formats), cpu_(cpu), page_(page) {}

  DecodedPage read() {
    const auto time = number_at(page_, 0, sizeof time_);
    const auto commit = number_at(page_, sizeof time_, sizeof(std::uint64_t));
    const std::size_t length = commit.value_or(0) & kPageLength;
    if (!time || !commit || length > page_.size() - kPageHeader) return {{}, 0, true};
    time_ = *time;
    if ((*commit & kEventsMissed) != 0) {
      const bool is_stored = (*commit & kMissedCountStored) != 0;
      const auto count = number_at(page_, kPageHeader + length, sizeof(std::uint64_t));
      decoded_.lost = is_stored && count ? *count : 1;  // 1: the kernel has not counted them
    }
    rest_ = page_.substr(kPageHeader, length);
    while (!rest_.empty() && read_event()) {
    }
    return std::move(decoded_);
  }

 private:
  std::optional<std::uint32_t> next_word() {
    const auto word = number_at(rest_, 0, sizeof(std::uint32_t));
    if (!word) return {};
    rest_.remove_prefix(sizeof(std::uint32_t));
    return static_cast<std::uint32_t>(*word);
  }

  bool malformed() {
    decoded_.is_malformed = true;
    return false;
  }

  /// Returns false at the end of the page.
  bool read_event() {
    const auto header = next_word();
    if (!header) return malformed();
    const std::uint32_t type = *header & ((1U << kTypeBits) - 1);
    const std::uint32_t delta = *header >> kTypeBits;
    if (type == kTypePadding && delta == 0) return false;
    const bool has_word = type == 0 || type >= kTypePadding;
    const auto word = has_word ? next_word() : std::optional<std::uint32_t>(0);
    if (!word) return malformed();
    const std::uint64_t extended = (std::uint64_t{*word} << kDeltaBits) + delta;
    if (type == kTypeTimeExtend) {
      time_ += extended;
      return true;
    }
    if (type == kTypeTimeStamp) {  // without the highest bits: keep those of the time before
      constexpr unsigned kBits = 59;
      time_ = (time_ >> kBits << kBits) | extended;
      return true;
    }
    if (type == kTypePadding && delta == 1) return skip(*word, 0);  // a discarded event: 1 means 0
    time_ += delta;
    if (type == kTypePadding) return skip(*word, 0);
    return type == 0 ? skip(*word, *word) : skip(type * 4 + 4, type * 4 + 4);
  }

  /// Skips the data of an event and notes the part that is used. Both lengths include the word
  /// before the data, as in the kernel.
  bool skip(std::size_t length, std::size_t used) {
    constexpr std::size_t kWord = 4;
    const std::size_t whole = (std::max(length, kWord) - kWord + kWord - 1) / kWord * kWord;
    if (whole > rest_.size()) return malformed();
    if (used > kWord) note(rest_.substr(0, used - kWord));
    rest_.remove_prefix(whole);
    return true;
  }

  void note(std::string_view data) {
    const auto id = number_at(data, 0, sizeof(std::uint16_t));
    const auto found = std::find_if(
        formats_.begin(), formats_.end(),
        [&id](const TraceFormat& one) { return id && one.id == static_cast<int>(*id); });
    if (found == formats_.end()) return;
    TaskEvent event;
    event.time = static_cast<std::int64_t>(time_);
    event.cpu = cpu_;
    event.kind = static_cast<TaskEventKind>(found - formats_.begin());
    fill_in(event, *found, data);
    decoded_.events.push_back(std::move(event));
  }

  const TraceFormats& formats_;
  int cpu_;
  std::string_view page_;
  std::string_view rest_;
  std::uint64_t time_ = 0;
  DecodedPage decoded_;
};

/// Returns the number after a word such as "offset:"; nullopt if there is none.
std::optional<std::size_t> number_after(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  if (at == std::string_view::npos) return {};
  const std::string_view text = line.substr(at + word.size());
  std::size_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc()) return {};
  return value;
}

/// Reads a line "field:TYPE NAME;	offset:8;	size:4;	signed:1;".
void read_field(TraceFormat& format, std::string_view line) {
  const std::size_t end = line.find(';');
  const auto offset = number_after(line, "offset:");
  const auto size = number_after(line, "size:");
  if (end == std::string_view::npos || !offset || !size) return;
  std::string_view name = line.substr(0, end);
  name.remove_prefix(name.rfind(' ') + 1);
  name = name.substr(0, std::min(name.find('['), name.size()));
  format.fields[std::string(name)] = {*offset, *size};
}

}  // namespace

TraceFormat parse_trace_format(std::string_view text) {
  TraceFormat format;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("ID:")) {
      if (const auto id = number_after(line, "ID: ")) format.id = static_cast<int>(*id);
    } else if (const std::size_t field = line.find("field:"); field != std::string_view::npos) {
      read_field(format, line.substr(field + 6));
    }
  }
  return format;
}

std::string_view trace_event_folder(TaskEventKind kind) {
  return kNeededEvents[static_cast<std::size_t>(kind)].folder;
}

std::string missing_trace_field(const TraceFormats& formats) {
  for (std::size_t i = 0; i < formats.size(); ++i) {
    std::string folder(kNeededEvents[i].folder);
    if (formats[i].id < 0) return folder;
    for (const std::string_view field : kNeededEvents[i].fields) {
      if (!field.empty() && !formats[i].fields.contains(field))
        return folder + ": " + std::string(field);
    }
  }
  return "";
}

DecodedPage decode_page(const TraceFormats& formats, int cpu, std::string_view page) {
  return PageReader(formats, cpu, page).read();
}

}  // namespace pinfold::guest
