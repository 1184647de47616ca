#include "pinfold/harness/saved_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace pinfold::harness {
namespace {

using testing::HasSubstr;

std::string number(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = size; i > 0; --i) bytes += static_cast<char>(value >> (8 * (i - 1)));
  return bytes;
}

std::string named(const std::string& name) { return number(name.size(), 1) + name; }

const std::string kBefore = "QEVM" + number(3, 4) + "\x07" + number(10, 4) + "pc-q35-7.2";
const std::string kNumber = number(2, 4);
const std::string kEnded = number(0x10, 8);
const std::string kFooter = "\x7e" + kNumber;
const std::string kAfter = "the devices";

std::string page_of(char c) { return std::string(kPageBytes, c); }

/// Returns a stream with the sizes of the memory blocks, and their pages in two parts.
std::string stream_of(const std::vector<std::pair<std::string, std::uint64_t>>& sizes,
                      const std::string& part, const std::string& end,
                      const std::string& command = "") {
  std::uint64_t total = 0;
  std::string list;
  for (const auto& [name, bytes] : sizes) {
    total += bytes;
    list += named(name) + number(bytes, 8);
  }
  return kBefore + "\x01" + kNumber + named("ram") + number(0, 4) + number(4, 4) +
         number(total | 0x04U, 8) + list + kEnded + kFooter + "\x02" + kNumber + part + kEnded +
         kFooter + command + "\x03" + kNumber + end + kEnded + kFooter + kAfter;
}

struct Split {
  Result<SavedState> state;
  std::map<std::string, std::string> pages;  ///< "m0 4096": the first byte, or "zero"
};

Split split(const std::string& stream) {
  std::map<std::string, std::string> pages;
  auto state = split_saved_state(stream, [&](const SavedPage& page) -> Result<void> {
    pages[std::string(page.memory) + " " + std::to_string(page.offset)] =
        page.bytes.empty() ? "zero" : std::string(page.bytes.substr(0, 1));
    return {};
  });
  return {std::move(state), std::move(pages)};
}

const std::vector<std::pair<std::string, std::uint64_t>> kSizes = {
    {"m0", 3 * kPageBytes},
    {"m1", kPageBytes},
    {"pc.rom", 2 * kPageBytes},
    {"0000:00:02.0/load", kPageBytes}};

TEST(SavedState, GivesTheMemoryOfNodesAndKeepsTheRest) {
  const std::string part = number(0 | 0x08U, 8) + named("m0") + page_of('a') +
                           number(kPageBytes | 0x28U, 8) + page_of('b') +
                           number(2 * kPageBytes | 0x22U, 8) + '\0' + number(0 | 0x08U, 8) +
                           named("pc.rom") + page_of('r');
  const std::string end = number(0 | 0x02U, 8) + named("m1") + '\0' +
                          number(kPageBytes | 0x02U, 8) + named("pc.rom") + '\0' +
                          number(0 | 0x02U, 8) + named("0000:00:02.0/load") + '\0';
  const std::string command = "\x08" + number(11, 2) + number(3, 2) + "abc";
  const auto [state, pages] = split(stream_of(kSizes, part, end, command));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(pages, (std::map<std::string, std::string>{
                       {"m0 0", "a"}, {"m0 4096", "b"}, {"m0 8192", "zero"}, {"m1 0", "zero"}}));
  ASSERT_EQ(state->memory.size(), 2U);
  EXPECT_EQ(state->memory[0].name, "m0");
  EXPECT_EQ(state->memory[0].bytes, 3 * kPageBytes);
  EXPECT_EQ(state->memory[1].name, "m1");
  // The rest of the stream omits those pages; each remaining page names its memory.
  const std::string left = number(0 | 0x08U, 8) + named("pc.rom") + page_of('r');
  const std::string left_at_end = number(kPageBytes | 0x02U, 8) + named("pc.rom") + '\0';
  EXPECT_EQ(state->stream, stream_of(kSizes, left, left_at_end, command));
}

TEST(SavedState, NamesWhatIsNotAsExpected) {
  const std::string page = number(0 | 0x08U, 8) + named("m0") + page_of('a');
  const std::string good = stream_of(kSizes, page, "");
  ASSERT_TRUE(split(good).state);
  const struct {
    std::string stream;
    const char* expected;
  } cases[] = {
      {"", "expected 'QEVM', 0 bytes before its end"},
      {"QEVM" + std::string(100, 'x'), "the section 'ram'"},
      {stream_of({{"m0", 0}, {"m1", kPageBytes}}, "", ""), "the size of memory"},
      {stream_of(kSizes, number(0x40, 8) + named("m0") + page_of('a'), ""),
       "a page, or a mark that it is zero"},
      {stream_of(kSizes, number(kPageBytes | 0x08U, 8) + named("m1") + page_of('a'), ""),
       "a page within the memory"},
      {stream_of(kSizes, number(0 | 0x08U, 8) + named("m7") + page_of('a'), ""),
       "a page within the memory"},
  };
  for (const auto& c : cases) {
    const auto state = split(c.stream).state;
    ASSERT_FALSE(state) << c.expected;
    EXPECT_EQ(state.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(state.error().message, HasSubstr(c.expected));
  }
  // Cut anywhere before the devices.
  for (std::size_t size = 0; size + kAfter.size() < good.size(); size += 7) {
    EXPECT_FALSE(split(good.substr(0, size)).state) << size;
  }
}

TEST(SavedState, FailsAsThePagesDo) {
  const std::string page = number(0 | 0x08U, 8) + named("m0") + page_of('a');
  const auto state = split_saved_state(stream_of(kSizes, page, ""), [](const SavedPage&) {
    return Result<void>(fail(ErrorCode::kIo, "the disk is full"));
  });
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().message, "the disk is full");
}

TEST(SavedState, CommandMapsTheFiles) {
  const std::vector<std::string> command = {
      "qemu", "-object", "memory-backend-ram,id=m12,size=64M", "-object",
      "memory-backend-file,id=load,mem-path=/proc/self/fd/4,size=1M,share=on"};
  const auto mapped = with_saved_memory(command, "/a,b/key.vm");
  EXPECT_EQ(mapped[2], "memory-backend-file,id=m12,size=64M,mem-path=/a,,b/key.m12,share=off");
  EXPECT_EQ(mapped[4], command[4]);
}

}  // namespace
}  // namespace pinfold::harness
