#pragma once

// What tracefs records about tasks: the kernel's ring buffers as values. Pure: no files.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pinfold::guest {

/// What happens to a task. The meaning of the fields of TaskEvent by kind:
enum class TaskEventKind : std::uint8_t {
  kSwitch,  ///< a CPU runs `task` instead of `other`; 0: the idle task
  kFork,    ///< `other` makes `task`; `flags`: those of clone(); `text`: see is_forked_into_group
  kExec,    ///< `task`, whose number was `other`, executes the program `text`
  kExit,    ///< `task` ends
  kAttach,  ///< `task` enters the group `text` of the hierarchy `other`
  kMark,    ///< a mark by the host: `task` is its number
};
inline constexpr std::size_t kTaskEventKinds = 6;

struct TaskEvent {
  std::int64_t time = 0;  ///< in nanoseconds of CLOCK_MONOTONIC
  int cpu = 0;
  TaskEventKind kind = TaskEventKind::kSwitch;
  int task = 0;
  int other = 0;
  std::uint64_t flags = 0;
  std::string text;

  friend bool operator==(const TaskEvent&, const TaskEvent&) = default;
};

/// The layout of an event's fields, from a file events/SYSTEM/EVENT/format of tracefs.
struct TraceFormat {
  struct Field {
    std::size_t offset = 0;
    std::size_t size = 0;  ///< 0: to the end of the event
  };
  int id = -1;
  std::map<std::string, Field, std::less<>> fields;
};
/// Reads the known parts of a format; `id` is -1 if there is none.
[[nodiscard]] TraceFormat parse_trace_format(std::string_view text);

/// Returns the folder of an event below events/: "sched/sched_switch".
[[nodiscard]] std::string_view trace_event_folder(TaskEventKind kind);

/// Indexed by TaskEventKind.
using TraceFormats = std::array<TraceFormat, kTaskEventKinds>;
/// Returns the first event and field that decode_page() needs and a kernel does not provide; "":
/// none.
[[nodiscard]] std::string missing_trace_field(const TraceFormats& formats);

struct DecodedPage {
  std::vector<TaskEvent> events;  ///< of the six kinds, in order; others are skipped
  std::uint64_t lost = 0;         ///< events that the kernel has overwritten before this page
  bool is_malformed = false;      ///< the rest of the page could not be read
};
/// Decodes what one read of a CPU's trace_pipe_raw returns.
/// Domain: any bytes; formats without missing fields.
/// Source: Linux kernel/trace/ring_buffer.c, little endian and 64 bits.
[[nodiscard]] DecodedPage decode_page(const TraceFormats& formats, int cpu, std::string_view page);

}  // namespace pinfold::guest
