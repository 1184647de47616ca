#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "pinfold/nri/session.hpp"
#include "recorded.hpp"

namespace pinfold::nri {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
using Streams = std::map<std::uint32_t, std::string>;

/// Adds the bytes of each connection to `streams`. Returns the error, or "".
std::string demultiplex(Demultiplexer& demultiplexer, std::string_view input, Streams& streams) {
  for (;;) {
    const auto chunk = demultiplexer.next(input);
    if (!chunk) return chunk.error().message;
    if (!*chunk) {
      EXPECT_TRUE(input.empty());
      return "";
    }
    EXPECT_FALSE((*chunk)->bytes.empty());
    streams[(*chunk)->connection] += (*chunk)->bytes;
  }
}

TEST(NriMux, SeparatesConnections) {
  std::string bytes;
  multiplex(ConnectionId::kPlugin, "one", bytes);
  multiplex(ConnectionId::kRuntime, "two", bytes);
  multiplex(ConnectionId::kPlugin, " more", bytes);
  EXPECT_EQ(test::hex(bytes.substr(0, 11)), "00000001000000036f6e65");
  Demultiplexer demultiplexer;
  Streams streams;
  EXPECT_EQ(demultiplex(demultiplexer, bytes, streams), "");
  EXPECT_EQ(streams, (Streams{{1, "one more"}, {2, "two"}}));
}

TEST(NriMux, ReadsTheSameWhereverTheInputIsSplit) {
  for (const auto* file : {test::kContainerd17, test::kContainerd21}) {
    std::string bytes;
    for (const auto& frame : test::read_recording(file)) bytes += frame.bytes;
    Demultiplexer whole;
    Streams expected;
    ASSERT_EQ(demultiplex(whole, bytes, expected), "");
    ASSERT_EQ(expected.size(), 2U);
    for (std::size_t at = 0; at <= bytes.size(); ++at) {
      Demultiplexer torn;
      Streams streams;
      ASSERT_EQ(demultiplex(torn, std::string_view(bytes).substr(0, at), streams), "");
      ASSERT_EQ(demultiplex(torn, std::string_view(bytes).substr(at), streams), "");
      ASSERT_EQ(streams, expected) << file << " split at " << at;
    }
    Demultiplexer single;
    Streams streams;
    for (const char byte : bytes) ASSERT_EQ(demultiplex(single, {&byte, 1}, streams), "");
    EXPECT_EQ(streams, expected) << file;
  }
}

TEST(NriMux, SkipsEmptyFrames) {
  Demultiplexer demultiplexer;
  Streams streams;
  EXPECT_EQ(demultiplex(demultiplexer, "\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\1x"s, streams), "");
  EXPECT_EQ(streams, (Streams{{2, "x"}}));
}

TEST(NriMux, SplitsWhatIsAboveTheLimit) {
  const std::string message(2 * kMaxMuxPayload + 1, 'x');
  std::string bytes;
  multiplex(ConnectionId::kRuntime, message, bytes);
  EXPECT_EQ(bytes.size(), message.size() + std::size_t{3} * 8);
  Demultiplexer demultiplexer;
  Streams streams;
  EXPECT_EQ(demultiplex(demultiplexer, bytes, streams), "");
  EXPECT_TRUE(streams[2] == message);
}

TEST(NriMux, RefusesAFrameAboveTheLimit) {
  Demultiplexer demultiplexer;
  Streams streams;
  EXPECT_EQ(demultiplex(demultiplexer, "\0\0\0\7\0\x40\0\x0b"s, streams),
            "multiplexer: a frame of connection 7 has 4194315 bytes, at most 4194314 are allowed");
  Demultiplexer other;
  EXPECT_EQ(demultiplex(other, "\0\0\0\7\0\x40\0\x0a"s, streams), "");
}

}  // namespace
}  // namespace pinfold::nri
