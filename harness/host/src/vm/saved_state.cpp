#include "pinfold/harness/saved_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::harness {
namespace {

constexpr std::string_view kMagic = "QEVM";
/// A section with kStart begins with its kind, number and name; the other kinds have no name.
constexpr char kStart = 0x01;
constexpr char kPart = 0x02;
constexpr char kEnd = 0x03;
constexpr char kCommand = 0x08;
constexpr char kFooter = 0x7e;
constexpr std::string_view kRam("\x03ram", 4);

/// Flags in the low bits of a page's offset. Source: QEMU's migration/ram.c, RAM_SAVE_FLAG_*.
constexpr std::uint64_t kZero = 0x02;
constexpr std::uint64_t kMemorySizes = 0x04;
constexpr std::uint64_t kPage = 0x08;
constexpr std::uint64_t kEnded = 0x10;
constexpr std::uint64_t kContinued = 0x20;

/// The end of the name of the memory that host and guest share, after the address of its device.
constexpr std::string_view kSharedMemory = "/load";

bool is_node_memory(std::string_view name) {
  return name.size() > 1 && name[0] == 'm' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string big_endian(std::uint64_t value) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * (7 - i)));
  return bytes;
}

class Splitter {
 public:
  Splitter(std::string_view stream, const std::function<Result<void>(const SavedPage&)>& on_page)
      : rest_(stream), on_page_(on_page) {}

  Result<SavedState> split() {
    PINFOLD_TRY(read_start());
    PINFOLD_TRY(read_sizes());
    for (char kind = kStart; kind != kEnd;) {
      kind = take_kind();
      if (kind != kPart && kind != kEnd) return corrupt("a part of the section 'ram'");
      PINFOLD_TRY(read_pages());
    }
    state_.stream += rest_;
    return std::move(state_);
  }

 private:
  /// Returns the next bytes; fewer than asked for at the end of the stream, which makes everything
  /// after it invalid.
  std::string_view take(std::size_t count) {
    if (count > rest_.size()) is_short_ = true;
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

  std::uint64_t take_number(std::size_t size) {
    std::uint64_t value = 0;
    for (const char c : take(size)) value = value << 8U | static_cast<unsigned char>(c);
    return value;
  }

  std::string_view take_name() { return take(static_cast<std::size_t>(take_number(1))); }

  /// Returns the kind of the next section; '\0' if its number is not that of the memory. Copies the
  /// commands that precede it.
  char take_kind() {
    while (rest_.starts_with(kCommand)) {
      const std::string_view begin = rest_;
      (void)take(3);
      (void)take(static_cast<std::size_t>(take_number(2)));
      state_.stream += begin.substr(0, begin.size() - rest_.size());
    }
    const std::string_view head = take(5);
    if (is_short_ || head.substr(1) != number_) return '\0';
    state_.stream += head;
    return head[0];
  }

  [[nodiscard]] tl::unexpected<Error> corrupt(const std::string& expected) const {
    return fail(ErrorCode::kCorrupt,
                fmt::format("what QEMU saved: expected {}, {} bytes before its "
                            "end",
                            expected, rest_.size()));
  }

  /// Copies everything before the memory: the version and the machine's name.
  Result<void> read_start() {
    if (!rest_.starts_with(kMagic)) return corrupt("'QEVM'");
    constexpr std::size_t kHead = 4096;
    const std::size_t name = rest_.substr(0, kHead).find(kRam);
    if (name == std::string_view::npos || name < 5 + kMagic.size() || rest_[name - 5] != kStart) {
      return corrupt("the section 'ram'");
    }
    number_ = rest_.substr(name - 4, 4);
    state_.stream += take(name + kRam.size() + 8);  // its instance and version
    return is_short_ ? corrupt("the section 'ram'") : Result<void>();
  }

  /// Reads the names and sizes of all memory.
  Result<void> read_sizes() {
    const std::string_view begin = rest_;
    const std::uint64_t total = take_number(8);
    if ((total & (kPageBytes - 1)) != kMemorySizes) return corrupt("the sizes of memory");
    for (std::uint64_t left = total - kMemorySizes; left > 0;) {
      const std::string_view name = take_name();
      const std::uint64_t bytes = take_number(8);
      if (is_short_ || bytes == 0 || bytes > left) return corrupt("the size of memory");
      left -= bytes;
      if (is_node_memory(name)) state_.memory.push_back({std::string(name), bytes});
    }
    if (take_number(8) != kEnded) return corrupt("the end of the sizes");
    PINFOLD_TRY(read_footer());
    state_.stream += begin.substr(0, begin.size() - rest_.size());
    return {};
  }

  /// Checks the footer, which the caller copies.
  Result<void> read_footer() {
    const std::string_view footer = take(5);
    if (is_short_ || footer[0] != kFooter || footer.substr(1) != number_) {
      return corrupt("the end of a section");
    }
    return {};
  }

  Result<void> read_pages() {
    while (true) {
      const std::uint64_t word = take_number(8);
      const std::uint64_t flags = word & (kPageBytes - 1);
      if (is_short_) return corrupt("a page");
      if (flags == kEnded) break;
      if ((flags & kContinued) == 0) name_ = take_name();
      const std::uint64_t kind = flags & ~kContinued;
      if (kind != kZero && kind != kPage) return corrupt("a page, or a mark that it is zero");
      const std::string_view content = take(kind == kZero ? 1 : kPageBytes);
      if (is_short_) return corrupt("the content of a page");
      if (kind == kZero && content[0] != '\0') return corrupt("a page of zeros");
      PINFOLD_TRY(take_page(word - flags, kind, content));
    }
    state_.stream += big_endian(kEnded);
    PINFOLD_TRY(read_footer());
    state_.stream += kFooter;
    state_.stream += number_;
    return {};
  }

  Result<void> take_page(std::uint64_t offset, std::uint64_t kind, std::string_view content) {
    if (is_node_memory(name_)) {
      const auto memory = std::find_if(state_.memory.begin(), state_.memory.end(),
                                       [&](const SavedMemory& each) { return each.name == name_; });
      if (memory == state_.memory.end() || offset >= memory->bytes) {
        return corrupt("a page within the memory");
      }
      return on_page_({name_, offset, kind == kZero ? std::string_view() : content});
    }
    // Memory shared by the harness is always zero. All other pages repeat the name of their memory,
    // because the page before may have been removed.
    if (kind == kZero && name_.ends_with(kSharedMemory)) return {};
    state_.stream += big_endian(offset | kind);
    state_.stream += static_cast<char>(name_.size());
    state_.stream += name_;
    state_.stream += content;
    return {};
  }

  std::string_view rest_;
  const std::function<Result<void>(const SavedPage&)>& on_page_;
  SavedState state_;
  std::string_view number_;  ///< of the section, 4 bytes
  std::string_view name_;    ///< of the current page's memory
  bool is_short_ = false;
};

}  // namespace

std::string node_memory_name(std::size_t node) { return fmt::format("m{}", node); }

Result<SavedState> split_saved_state(std::string_view stream,
                                     const std::function<Result<void>(const SavedPage&)>& on_page) {
  return Splitter(stream, on_page).split();
}

std::vector<std::string> with_saved_memory(std::vector<std::string> command,
                                           const std::filesystem::path& snapshot) {
  constexpr std::string_view kAnonymous = "memory-backend-ram,id=";
  for (std::string& word : command) {
    if (!word.starts_with(kAnonymous)) continue;
    const std::string rest = word.substr(kAnonymous.size());
    const std::string name = rest.substr(0, rest.find(','));
    if (!is_node_memory(name)) continue;
    std::string path = std::filesystem::path(snapshot).replace_extension(name).string();
    for (std::size_t at = path.find(','); at != std::string::npos; at = path.find(',', at + 2)) {
      path.insert(at, 1, ',');
    }
    word = fmt::format("memory-backend-file,id={},mem-path={},share=off", rest, path);
  }
  return command;
}

}  // namespace pinfold::harness
