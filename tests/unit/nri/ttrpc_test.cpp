#include "pinfold/nri/ttrpc.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "pinfold/nri/messages.hpp"
#include "pinfold/nri/session.hpp"
#include "recorded.hpp"

namespace pinfold::nri::ttrpc {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kMuxHeader = 8;

std::vector<Frame> read_frames(FrameReader& reader, std::string_view input) {
  std::vector<Frame> frames;
  while (auto frame = reader.next(input)) frames.push_back(*std::move(frame));
  EXPECT_TRUE(input.empty());
  return frames;
}

std::string remultiplexed(const std::string& original, const Frame& frame) {
  std::string bytes;
  multiplex(static_cast<ConnectionId>(original[3]), encode(frame), bytes);
  return bytes;
}

TEST(NriTtrpc, RecordedFramesAreWrittenAgainToTheSameBytes) {
  for (const auto* file : {test::kContainerd17, test::kContainerd21}) {
    for (const auto& [is_from_plugin, name, bytes] : test::read_recording(file)) {
      SCOPED_TRACE(std::string(file) + ": " + name);
      FrameReader reader;
      auto frames = read_frames(reader, std::string_view(bytes).substr(kMuxHeader));
      ASSERT_EQ(frames.size(), 1U);
      Frame& frame = frames.front();
      if (frame.type == FrameType::kRequest) {
        const auto request = decode_request(frame.payload);
        ASSERT_TRUE(request) << request.error().message;
        EXPECT_FALSE(request->method.empty());
        EXPECT_GT(request->timeout_ns, 0);
        frame.payload = encode(*request);
      } else {
        ASSERT_EQ(frame.type, FrameType::kResponse);
        const auto response = decode_response(frame.payload);
        ASSERT_TRUE(response) << response.error().message;
        frame.payload = encode(*response);
      }
      EXPECT_EQ(test::hex(remultiplexed(bytes, frame)), test::hex(bytes));
    }
  }
}

/// Maps have no order in protobuf, so messages with a map can only be compared by their size.
TEST(NriTtrpc, RecordedPayloadsAreReadWhole) {
  for (const auto* file : {test::kContainerd17, test::kContainerd21}) {
    for (const auto& [is_from_plugin, name, bytes] : test::read_recording(file)) {
      FrameReader reader;
      const auto frames = read_frames(reader, std::string_view(bytes).substr(kMuxHeader));
      if (is_from_plugin || frames.at(0).type != FrameType::kRequest) continue;
      SCOPED_TRACE(std::string(file) + ": " + name);
      const auto call = decode_request(frames[0].payload).value();
      const auto request = nri::decode_request(call.method, call.payload);
      ASSERT_TRUE(request) << request.error().message;
      std::visit(
          [&](const auto& message) { EXPECT_EQ(message.ByteSizeLong(), call.payload.size()); },
          *request);
    }
  }
}

TEST(NriTtrpc, ReadsTheSameWhereverTheInputIsSplit) {
  std::string bytes;
  for (const auto& frame : test::read_recording(test::kContainerd21)) {
    bytes += frame.bytes.substr(kMuxHeader);
  }
  FrameReader whole;
  const auto expected = read_frames(whole, bytes);
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    FrameReader torn;
    auto frames = read_frames(torn, std::string_view(bytes).substr(0, at));
    for (auto& frame : read_frames(torn, std::string_view(bytes).substr(at))) {
      frames.push_back(std::move(frame));
    }
    ASSERT_EQ(frames, expected) << "split at " << at;
  }
}

TEST(NriTtrpc, SkipsAnOversizedPayload) {
  FrameReader reader;
  // 4 MiB and a byte.
  auto frames = read_frames(reader, "\0\x40\0\1\0\0\0\5\1\0"s);
  EXPECT_TRUE(frames.empty());
  frames = read_frames(reader, std::string(kMaxPayload, 'x'));
  EXPECT_TRUE(frames.empty());
  frames = read_frames(reader, "x" + encode(Frame{7, FrameType::kData, 1, "next"}));
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0], (Frame{5, FrameType::kRequest, 0, "", true}));
  EXPECT_EQ(frames[1], (Frame{7, FrameType::kData, 1, "next"}));
}

TEST(NriTtrpc, ReadsAPayloadOfTheGreatestSize) {
  const Frame frame{1, FrameType::kResponse, 0, std::string(kMaxPayload, 'x')};
  FrameReader reader;
  EXPECT_TRUE(read_frames(reader, encode(frame)) == std::vector{frame});
}

TEST(NriTtrpc, MalformedMessagesAreNamed) {
  struct Case {
    std::string bytes;
    std::string error;
  };
  const std::string too_long = "\x20" + std::string(10, '\x80');
  std::string many;
  for (int i = 0; i <= 1024; ++i) many += "\x2a\0"s;
  for (const auto& [bytes, error] : std::vector<Case>{
           {"\x0a", "ttRPC request: a number ends too early"},
           {"\x0a\5abc", "ttRPC request: a field of 5 bytes ends after 3"},
           {"\0\0"s, "ttRPC request: a field has the number 0"},
           {"\x0b", "ttRPC request: field 1 has the unknown type 3"},
           {"\x35\1\2\3", "ttRPC request: a field of 4 bytes ends after 3"},
           {"\x31\1", "ttRPC request: a field of 8 bytes ends after 1"},
           {"\x2a\1\x0a", "ttRPC request: a number ends too early"},
           {too_long, "ttRPC request: a number has more than 10 bytes"},
           {many, "ttRPC request: too many metadata"},
       }) {
    const auto request = decode_request(bytes);
    ASSERT_FALSE(request) << test::hex(bytes);
    EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(request.error().message, error) << test::hex(bytes);
  }
  EXPECT_EQ(decode_response("\x0a\1\x0a").error().message,
            "ttRPC response: a number ends too early");
}

TEST(NriTtrpc, IgnoresUnknownFields) {
  const auto request = decode_request("\x0a\1s\x38\1\x42\1x\x12\1m\x4d\1\2\3\4\x08\7");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(*request, (TtrpcRequest{"s", "m", "", 0, {}}));
}

/// Reads all calls. `answers` receives the frames that the server writes.
std::vector<TtrpcCall> read_calls(TtrpcServer& server, std::string_view input,
                                  std::vector<Frame>& answers) {
  std::string output;
  std::vector<TtrpcCall> calls;
  for (;;) {
    auto call = server.next(input, output);
    EXPECT_TRUE(call) << call.error().message;
    if (!call || !*call) break;
    calls.push_back(**std::move(call));
  }
  FrameReader reader;
  answers = read_frames(reader, output);
  return calls;
}

Frame request_frame(std::uint32_t stream) {
  return {stream, FrameType::kRequest, 0,
          encode(TtrpcRequest{"service", "method", "payload", 0, {}})};
}

Status status_of(const Frame& frame) {
  EXPECT_EQ(frame.type, FrameType::kResponse);
  return decode_response(frame.payload).value().status.value_or(Status{});
}

TEST(NriTtrpcServer, AnswersEachCallOnce) {
  TtrpcServer server;
  std::vector<Frame> answers;
  const auto calls =
      read_calls(server, encode(request_frame(1)) + encode(request_frame(9)), answers);
  EXPECT_TRUE(answers.empty());
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[1].stream, 9U);
  EXPECT_EQ(calls[1].request.method, "method");
  std::string output;
  ASSERT_TRUE(server.answer(9, {std::nullopt, "answer"}, output));
  EXPECT_EQ(test::hex(output),
            "00000008"
            "00000009"
            "0200"
            "1206616e73776572");
  EXPECT_EQ(server.answer(9, {}, output).error().message, "ttRPC: stream 9 has no open call");
  EXPECT_EQ(server.answer(3, {}, output).error().code, ErrorCode::kNotFound);
}

TEST(NriTtrpcServer, RefusesWithAStatus) {
  TtrpcServer server;
  std::vector<Frame> answers;
  const std::string oversized = "\0\x40\0\1\0\0\0\7\1\0"s + std::string(kMaxPayload + 1, 'x');
  const auto calls = read_calls(
      server,
      encode(request_frame(5)) + encode(request_frame(5)) + encode(request_frame(6)) +
          encode(request_frame(3)) + oversized +
          encode(Frame{9, FrameType::kRequest, 0, "garbage"}) + encode(request_frame(11)),
      answers);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[1].stream, 11U);
  ASSERT_EQ(answers.size(), 5U);
  EXPECT_EQ(answers[0].stream, 5U);
  EXPECT_EQ(status_of(answers[0]),
            (Status{StatusCode::kInvalidArgument, "stream 5: expected an odd number above 5"}));
  EXPECT_EQ(status_of(answers[1]),
            (Status{StatusCode::kInvalidArgument, "stream 6: expected an odd number above 5"}));
  EXPECT_EQ(status_of(answers[2]),
            (Status{StatusCode::kInvalidArgument, "stream 3: expected an odd number above 5"}));
  EXPECT_EQ(answers[3].stream, 7U);
  EXPECT_EQ(status_of(answers[3]),
            (Status{StatusCode::kResourceExhausted, "a request has at most 4194304 bytes"}));
  EXPECT_EQ(answers[4].stream, 9U);
  EXPECT_EQ(status_of(answers[4]).code, StatusCode::kInvalidArgument);
}

TEST(NriTtrpcServer, LimitsOpenCalls) {
  TtrpcServer server;
  std::vector<Frame> answers;
  std::string input;
  for (std::uint32_t i = 0; i <= kMaxOpenCalls; ++i) input += encode(request_frame(2 * i + 1));
  EXPECT_EQ(read_calls(server, input, answers).size(), kMaxOpenCalls);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(status_of(answers[0]),
            (Status{StatusCode::kResourceExhausted, "64 calls are not answered yet"}));
  std::string output;
  ASSERT_TRUE(server.answer(1, {}, output));
  EXPECT_EQ(read_calls(server, encode(request_frame(1001)), answers).size(), 1U);
}

TEST(NriTtrpcServer, AnOversizedAnswerBecomesAStatus) {
  TtrpcServer server;
  std::vector<Frame> answers;
  ASSERT_EQ(read_calls(server, encode(request_frame(1)), answers).size(), 1U);
  std::string output;
  ASSERT_TRUE(server.answer(1, {std::nullopt, std::string(kMaxPayload, 'x')}, output));
  FrameReader reader;
  const auto frames = read_frames(reader, output);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(status_of(frames[0]).message,
            "the response has 4194309 bytes, at most 4194304 are allowed");
}

TEST(NriTtrpcServer, OnlyRequestsAreAllowed) {
  for (const int type : {0, 2, 3, 255}) {
    TtrpcServer server;
    std::string output;
    const std::string bytes = encode(Frame{1, static_cast<FrameType>(type), 0, ""});
    std::string_view input = bytes;
    const auto call = server.next(input, output);
    ASSERT_FALSE(call) << type;
    EXPECT_EQ(call.error().message,
              "ttRPC: a frame of stream 1 has type " + std::to_string(type) + ", expected 1");
  }
}

std::optional<TtrpcReply> read_reply(TtrpcClient& client, std::string_view input) {
  auto reply = client.next(input);
  EXPECT_TRUE(reply) << reply.error().message;
  return reply.value_or(std::nullopt);
}

std::string response(std::uint32_t stream, const TtrpcResponse& response) {
  return encode(Frame{stream, FrameType::kResponse, 0, encode(response)});
}

TEST(NriTtrpcClient, MatchesRepliesWithCalls) {
  TtrpcClient client;
  std::string output;
  EXPECT_EQ(client.call({"service", "method", "", 0, {}}, output), 1U);
  EXPECT_EQ(client.call({"service", "method", "", 0, {}}, output), 3U);
  FrameReader reader;
  EXPECT_EQ(read_frames(reader, output).size(), 2U);
  auto reply = read_reply(client, response(3, {std::nullopt, "three"}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->stream, 3U);
  EXPECT_EQ(reply->payload, "three");
  reply = read_reply(client, response(1, {}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->payload, "");
}

TEST(NriTtrpcClient, IgnoresRepliesToNoOpenCall) {
  TtrpcClient client;
  std::string output;
  ASSERT_TRUE(client.call({"service", "method", "", 0, {}}, output));
  ASSERT_TRUE(client.call({"service", "method", "", 0, {}}, output));
  client.forget(1);
  const auto reply =
      read_reply(client, response(1, {}) + response(77, {}) + response(3, {std::nullopt, "three"}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->stream, 3U);
  EXPECT_FALSE(read_reply(client, response(3, {})));
}

TEST(NriTtrpcClient, AStatusIsAnError) {
  struct Case {
    StatusCode status;
    ErrorCode error;
    std::string message;
  };
  for (const auto& [status, error, message] : std::vector<Case>{
           {StatusCode::kUnknown, ErrorCode::kInvalidArgument, "status 2: text"},
           {StatusCode::kDeadlineExceeded, ErrorCode::kBusy, "text"},
           {StatusCode::kNotFound, ErrorCode::kNotFound, "text"},
           {StatusCode::kUnimplemented, ErrorCode::kUnsupported, "text"},
           {static_cast<StatusCode>(-7), ErrorCode::kInvalidArgument, "status -7: text"},
       }) {
    TtrpcClient client;
    std::string output;
    ASSERT_TRUE(client.call({"service", "method", "", 0, {}}, output));
    const auto reply = read_reply(client, response(1, {Status{status, "text"}, "payload"}));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->payload, (fail(error, message)));
  }
}

TEST(NriTtrpcClient, AnUnreadableReplyFailsItsCallOnly) {
  TtrpcClient client;
  std::string output;
  ASSERT_TRUE(client.call({"service", "method", "", 0, {}}, output));
  ASSERT_TRUE(client.call({"service", "method", "", 0, {}}, output));
  auto reply = read_reply(client, encode(Frame{1, FrameType::kResponse, 0, "\x0a"}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->payload.error().message, "ttRPC response: a number ends too early");
  reply = read_reply(client, "\0\x40\0\1\0\0\0\3\2\0"s + std::string(kMaxPayload + 1, 'x'));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->payload.error().message, "the response has more than 4194304 bytes");
}

TEST(NriTtrpcClient, LimitsItsCalls) {
  TtrpcClient client;
  std::string output;
  const auto too_large =
      client.call({"service", "method", std::string(kMaxPayload, 'x'), 0, {}}, output);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, ErrorCode::kInvalidArgument);
  for (std::size_t i = 0; i < kMaxOpenCalls; ++i) {
    ASSERT_TRUE(client.call({"service", "method", "", 0, {}}, output)) << i;
  }
  EXPECT_EQ(client.call({"service", "method", "", 0, {}}, output).error().code, ErrorCode::kBusy);
  client.forget(1);
  EXPECT_TRUE(client.call({"service", "method", "", 0, {}}, output));
}

TEST(NriTtrpcClient, OnlyResponsesAreAllowed) {
  TtrpcClient client;
  const std::string bytes = encode(Frame{1, FrameType::kRequest, 0, ""});
  std::string_view input = bytes;
  EXPECT_EQ(client.next(input).error().message,
            "ttRPC: a frame of stream 1 has type 1, expected 2");
}

}  // namespace
}  // namespace pinfold::nri::ttrpc
