#include "pinfold/nri/session.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "recorded.hpp"

namespace pinfold::nri {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::hex;
using test::kContainerd17;
using test::kContainerd21;
using test::recorded;

constexpr TimePoint kStart = TimePoint() + seconds(1000);
const Identity kPin{"pin", "10"};

Session new_session() { return {kPin, kStart, kStart + seconds(5)}; }

/// A frame that the runtime sends.
std::string runtime_frame(ConnectionId connection, const ttrpc::Frame& frame) {
  std::string bytes;
  multiplex(connection, ttrpc::encode(frame), bytes);
  return bytes;
}
std::string runtime_request(std::uint32_t stream, const std::string& method,
                            const std::string& payload, std::int64_t timeout_ns = 0,
                            const std::string& service = "nri.pkg.api.v1alpha1.Plugin") {
  return runtime_frame(
      ConnectionId::kPlugin,
      {stream, ttrpc::FrameType::kRequest, 0,
       ttrpc::encode(ttrpc::TtrpcRequest{service, method, payload, timeout_ns, {}})});
}
std::string runtime_response(std::uint32_t stream, const ttrpc::TtrpcResponse& response) {
  return runtime_frame(ConnectionId::kRuntime,
                       {stream, ttrpc::FrameType::kResponse, 0, ttrpc::encode(response)});
}

/// The status that the session answered with.
ttrpc::Status answered_status(Session& session) {
  const std::string output = session.take_output();
  EXPECT_GT(output.size(), 8U);
  std::string_view input = std::string_view(output).substr(std::min<std::size_t>(8, output.size()));
  ttrpc::FrameReader reader;
  const auto frame = reader.next(input);
  if (!frame) return {};
  return ttrpc::decode_response(frame->payload).value().status.value_or(ttrpc::Status{});
}

std::vector<SessionEvent> receive(Session& session, std::string_view bytes) {
  auto events = session.receive(bytes);
  EXPECT_TRUE(events) << events.error().message;
  return std::move(events).value_or(std::vector<SessionEvent>());
}

/// Returns the only event in these bytes. Throws if it has another type.
template <class T>
T receive_one(Session& session, std::string_view bytes) {
  auto events = receive(session, bytes);
  EXPECT_EQ(events.size(), 1U);
  return std::get<T>(events.at(0));
}

api::ContainerUpdate cpus_update(const std::string& id, const std::string& cpus) {
  api::ContainerUpdate update;
  update.set_container_id(id);
  update.mutable_linux()->mutable_resources()->mutable_cpu()->set_cpus(cpus);
  return update;
}

api::CreateContainerResponse adjustment(const std::string& cpus, const std::string& mems) {
  api::CreateContainerResponse response;
  auto& cpu = *response.mutable_adjust()->mutable_linux()->mutable_resources()->mutable_cpu();
  cpu.set_cpus(cpus);
  cpu.set_mems(mems);
  return response;
}

api::ConfigureResponse all_events() {
  api::ConfigureResponse response;
  response.set_events(kAllEvents);
  return response;
}

/// Answers, and compares the bytes with the recorded ones.
void answer(Session& session, const Asked& asked, const Result<PluginAnswer>& answer,
            const std::string& expected) {
  ASSERT_TRUE(session.answer(asked.call, answer));
  EXPECT_EQ(hex(session.take_output()), hex(expected));
}

TEST(NriSession, PlaysWhatContainerd17Sent) {
  Session session = new_session();
  EXPECT_EQ(hex(session.take_output()), hex(recorded(kContainerd17, "register")));
  EXPECT_EQ(session.next_deadline(), kStart + seconds(5));
  receive_one<Registered>(session, recorded(kContainerd17, "register-answer"));
  EXPECT_EQ(session.next_deadline(), std::nullopt);

  auto asked = receive_one<Asked>(session, recorded(kContainerd17, "configure"));
  const auto configure = std::get<api::ConfigureRequest>(asked.request);
  EXPECT_EQ(configure.runtime_name(), "containerd");
  EXPECT_EQ(configure.runtime_version(), "1.7.24~ds1");
  EXPECT_EQ(session.request_timeout(), milliseconds(0));
  answer(session, asked, all_events(), recorded(kContainerd17, "configure-answer"));

  asked = receive_one<Asked>(session, recorded(kContainerd17, "synchronize-empty"));
  EXPECT_EQ(std::get<api::SynchronizeRequest>(asked.request).pods_size(), 0);
  EXPECT_GT(asked.time_limit, milliseconds(1900));
  EXPECT_LT(asked.time_limit, milliseconds(2000));
  answer(session, asked, api::SynchronizeResponse(), recorded(kContainerd17, "synchronize-answer"));

  asked = receive_one<Asked>(session, recorded(kContainerd17, "run-pod-sandbox"));
  const auto run = std::get<api::StateChangeEvent>(asked.request);
  EXPECT_EQ(run.event(), api::Event::RUN_POD_SANDBOX);
  EXPECT_EQ(run.pod().name(), "p1");
  EXPECT_EQ(run.pod().linux().cgroup_parent(), "/kubepods/podp1");
  answer(session, asked, api::Empty(), recorded(kContainerd17, "run-pod-sandbox-answer"));

  asked = receive_one<Asked>(session, recorded(kContainerd17, "create-container"));
  const auto create = std::get<api::CreateContainerRequest>(asked.request);
  EXPECT_EQ(create.container().name(), "c1");
  EXPECT_EQ(create.container().linux().resources().cpu().shares().value(), 2048U);
  EXPECT_EQ(create.container().linux().resources().memory().limit().value(), 134217728);
  answer(session, asked, adjustment("2-3", "1"),
         recorded(kContainerd17, "create-container-answer"));

  for (const std::string name : {"stop-pod-sandbox", "remove-pod-sandbox"}) {
    asked = receive_one<Asked>(session, recorded(kContainerd17, name));
    EXPECT_EQ(std::get<api::StateChangeEvent>(asked.request).pod().uid(), "uid-p1");
    ASSERT_TRUE(session.answer(asked.call, PluginAnswer(api::Empty())));
  }
}

TEST(NriSession, SendsTheRecordedUpdate) {
  Session session = new_session();
  receive_one<Registered>(session, recorded(kContainerd17, "register-answer"));
  (void)session.take_output();
  const std::string expected = recorded(kContainerd17, "update-containers");
  ttrpc::FrameReader reader;
  std::string_view input = std::string_view(expected).substr(8);
  const auto call = ttrpc::decode_request(reader.next(input).value().payload).value();
  api::UpdateContainersRequest request;
  ASSERT_TRUE(request.ParseFromString(call.payload));
  EXPECT_EQ(request.update(0).linux().resources().cpu().cpus(), "0-1");
  const auto id = session.update_containers(request, kStart, kStart + seconds(5));
  EXPECT_EQ(id, 3U);
  EXPECT_EQ(hex(session.take_output()), hex(expected));
  const auto done =
      receive_one<Updated>(session, recorded(kContainerd17, "update-containers-answer"));
  EXPECT_EQ(done.call, 3U);
  ASSERT_TRUE(done.outcome) << done.outcome.error().message;
  EXPECT_EQ(done.outcome->failed_size(), 0);
}

TEST(NriSession, PlaysWhatContainerd21Sent) {
  Session session = new_session();
  EXPECT_EQ(hex(session.take_output()), hex(recorded(kContainerd21, "register")));
  receive_one<Registered>(session, recorded(kContainerd21, "register-answer"));
  auto asked = receive_one<Asked>(session, recorded(kContainerd21, "configure"));
  EXPECT_EQ(session.request_timeout(), milliseconds(20'000));
  answer(session, asked, all_events(), recorded(kContainerd21, "configure-answer"));

  asked = receive_one<Asked>(session, recorded(kContainerd21, "synchronize-one-pod-one-container"));
  const auto all = std::get<api::SynchronizeRequest>(asked.request);
  ASSERT_EQ(all.pods_size(), 1);
  ASSERT_EQ(all.containers_size(), 1);
  EXPECT_EQ(all.pods(0).linux().pod_resources().cpu().shares().value(), 512U);
  api::SynchronizeResponse moved;
  *moved.add_update() = cpus_update(all.containers(0).id(), "3");
  answer(session, asked, moved, recorded(kContainerd21, "synchronize-answer-with-update"));

  asked = receive_one<Asked>(session, recorded(kContainerd21, "run-pod-sandbox"));
  ASSERT_TRUE(session.answer(asked.call, PluginAnswer(api::Empty())));
  (void)session.take_output();
  asked = receive_one<Asked>(session, recorded(kContainerd21, "create-container"));
  answer(session, asked, adjustment("2-3", "1"),
         recorded(kContainerd21, "create-container-answer"));
}

TEST(NriSession, AnswersAnErrorAsRecorded) {
  Session session = new_session();
  (void)session.take_output();
  const auto asked = receive_one<Asked>(session, runtime_request(0x31, "CreateContainer", ""));
  answer(session, asked, fail(ErrorCode::kBusy, "no cpus"),
         recorded(kContainerd21, "create-container-answer-error"));
}

TEST(NriSession, ARefusedUpdateIsAnError) {
  Session session = new_session();
  ASSERT_EQ(session.update_containers({}, kStart, kStart + seconds(5)), 3U);
  ASSERT_EQ(session.update_containers({}, kStart, kStart + seconds(5)), 5U);
  const auto done =
      receive_one<Updated>(session, recorded(kContainerd21, "update-containers-refused-answer"));
  EXPECT_EQ(done.call, 5U);
  ASSERT_FALSE(done.outcome);
  EXPECT_EQ(done.outcome.error().message, "status 2: NRI update of some containers failed");
}

/// What containerd 1.7.24 sent in one connection.
std::string recorded_input() {
  std::string bytes;
  for (const auto& frame : test::read_recording(kContainerd17)) {
    // The test does not make the call of that answer.
    if (!frame.is_from_plugin && frame.name != "update-containers-answer") bytes += frame.bytes;
  }
  return bytes;
}

std::vector<std::string> describe(const std::vector<SessionEvent>& events) {
  std::vector<std::string> lines;
  for (const SessionEvent& event : events) {
    std::string line = std::to_string(event.index());
    if (const auto* asked = std::get_if<Asked>(&event)) {
      line += " " + std::to_string(asked->call) + " " + std::to_string(asked->time_limit.count());
      std::visit([&](const auto& request) { line += " " + std::to_string(request.ByteSizeLong()); },
                 asked->request);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

TEST(NriSession, ReadsTheSameWhereverTheInputIsSplit) {
  const std::string bytes = recorded_input();
  Session whole = new_session();
  const auto expected = receive(whole, bytes);
  ASSERT_EQ(expected.size(), 7U);
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    Session torn = new_session();
    auto events = receive(torn, std::string_view(bytes).substr(0, at));
    for (auto& event : receive(torn, std::string_view(bytes).substr(at))) {
      events.push_back(std::move(event));
    }
    ASSERT_EQ(describe(events), describe(expected)) << "split at " << at;
  }
  Session single = new_session();
  std::vector<SessionEvent> events;
  for (const char byte : bytes) {
    for (auto& event : receive(single, {&byte, 1})) events.push_back(std::move(event));
  }
  EXPECT_EQ(describe(events), describe(expected));
}

TEST(NriSession, AMessageCanBeSplitOverFrames) {
  const std::string frame = recorded(kContainerd17, "create-container");
  std::string bytes;
  for (const char byte : frame.substr(8)) {
    multiplex(ConnectionId::kPlugin, {&byte, 1}, bytes);
    multiplex(static_cast<ConnectionId>(9), "noise", bytes);  // a connection that was never opened
  }
  Session session = new_session();
  const auto asked = receive_one<Asked>(session, bytes);
  EXPECT_EQ(std::get<api::CreateContainerRequest>(asked.request).container().name(), "c1");
}

TEST(NriSession, JoinsTheChunksOfSynchronize) {
  Session session = new_session();
  (void)session.take_output();
  for (std::uint32_t i = 0; i < 3; ++i) {
    api::SynchronizeRequest part;
    part.add_pods()->set_id("pod" + std::to_string(i));
    part.add_containers()->set_id("container" + std::to_string(i));
    part.set_more(true);
    EXPECT_TRUE(
        receive(session, runtime_request(2 * i + 1, "Synchronize", part.SerializeAsString()))
            .empty());
    // more: true, as bytes.
    EXPECT_EQ(hex(session.take_output()),
              "00000001"
              "0000000e"
              "00000004"
              "0000000" +
                  std::to_string(2 * i + 1) +
                  "0200"
                  "12021001");
  }
  api::SynchronizeRequest last;
  last.add_containers()->set_id("container3");
  const auto asked =
      receive_one<Asked>(session, runtime_request(7, "Synchronize", last.SerializeAsString()));
  const auto all = std::get<api::SynchronizeRequest>(asked.request);
  ASSERT_EQ(all.pods_size(), 3);
  ASSERT_EQ(all.containers_size(), 4);
  EXPECT_EQ(all.pods(2).id(), "pod2");
  EXPECT_EQ(all.containers(0).id(), "container0");
  EXPECT_EQ(all.containers(3).id(), "container3");
  EXPECT_FALSE(all.more());
  // The next one starts from the beginning.
  const auto again = receive_one<Asked>(session, runtime_request(9, "Synchronize", ""));
  EXPECT_EQ(std::get<api::SynchronizeRequest>(again.request).containers_size(), 0);
}

TEST(NriSession, LimitsTheChunksOfSynchronize) {
  Session session = new_session();
  (void)session.take_output();
  api::SynchronizeRequest part;
  part.add_pods()->set_id(std::string(ttrpc::kMaxPayload - 1000, 'x'));
  part.set_more(true);
  const std::string payload = part.SerializeAsString();
  std::uint32_t stream = 1;
  for (std::size_t size = payload.size(); size <= kMaxSynchronize; size += payload.size()) {
    EXPECT_TRUE(receive(session, runtime_request(stream, "Synchronize", payload)).empty());
    EXPECT_EQ(answered_status(session).code, ttrpc::StatusCode::kOk) << size;
    stream += 2;
  }
  EXPECT_TRUE(receive(session, runtime_request(stream, "Synchronize", payload)).empty());
  EXPECT_EQ(answered_status(session),
            (ttrpc::Status{ttrpc::StatusCode::kResourceExhausted,
                           "pods and containers have more than 67108864 bytes"}));
}

TEST(NriSession, RefusesWhatItDoesNotKnow) {
  Session session = new_session();
  (void)session.take_output();
  EXPECT_TRUE(receive(session, runtime_request(1, "RunPodSandbox", "")).empty());
  // NRI 0.12 then sends StateChange.
  EXPECT_EQ(answered_status(session),
            (ttrpc::Status{ttrpc::StatusCode::kUnimplemented, "unknown method 'RunPodSandbox'"}));
  EXPECT_TRUE(receive(session, runtime_request(3, "Configure", "", 0, "other")).empty());
  EXPECT_EQ(answered_status(session),
            (ttrpc::Status{ttrpc::StatusCode::kUnimplemented, "unknown service 'other'"}));
  EXPECT_TRUE(receive(session, runtime_request(5, "Configure", "\x0a")).empty());
  EXPECT_EQ(
      answered_status(session),
      (ttrpc::Status{
          ttrpc::StatusCode::kInvalidArgument,
          "the payload of 'Configure' is not a valid nri.pkg.api.v1alpha1.ConfigureRequest"}));
}

TEST(NriSession, AnswersShutdownItself) {
  Session session = new_session();
  (void)session.take_output();
  receive_one<ShutDown>(session, runtime_request(1, "Shutdown", ""));
  EXPECT_EQ(hex(session.take_output()),
            "00000001"
            "0000000c"
            "00000002"
            "00000001"
            "0200"
            "1200");
}

TEST(NriSession, AnAnswerMustFitItsCall) {
  Session session = new_session();
  const auto asked = receive_one<Asked>(session, runtime_request(1, "CreateContainer", ""));
  EXPECT_EQ(session.answer(3, PluginAnswer(api::Empty())).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(session.answer(asked.call, PluginAnswer(api::Empty())).error().message,
            "NRI: the answer to call 1 has another type than its request");
  EXPECT_TRUE(session.answer(asked.call, PluginAnswer(api::CreateContainerResponse())));
  EXPECT_EQ(
      session.answer(asked.call, PluginAnswer(api::CreateContainerResponse())).error().message,
      "NRI: call 1 is not open");
}

TEST(NriSession, TimeLimitsComeFromTheRequestOrFromConfigure) {
  Session session = new_session();
  EXPECT_EQ(receive_one<Asked>(session, runtime_request(1, "StopContainer", "")).time_limit,
            seconds(0));
  api::ConfigureRequest configure;
  configure.set_request_timeout(2000);
  receive_one<Asked>(session, runtime_request(3, "Configure", configure.SerializeAsString()));
  EXPECT_EQ(session.request_timeout(), milliseconds(2000));
  EXPECT_EQ(receive_one<Asked>(session, runtime_request(5, "StopContainer", "")).time_limit,
            seconds(2));
  EXPECT_EQ(receive_one<Asked>(session, runtime_request(7, "StopContainer", "", 5)).time_limit,
            std::chrono::nanoseconds(5));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(receive_one<Asked>(session, runtime_request(9, "StopContainer", "", kMost)).time_limit,
            std::chrono::hours(24));
  configure.set_request_timeout(kMost);
  receive_one<Asked>(session, runtime_request(11, "Configure", configure.SerializeAsString()));
  EXPECT_EQ(session.request_timeout(), std::chrono::hours(24));
}

TEST(NriSession, ARefusedRegistrationEndsTheConnection) {
  Session session = new_session();
  const auto events = session.receive(runtime_response(
      1, {ttrpc::Status{ttrpc::StatusCode::kUnknown, "invalid plugin index"}, std::nullopt}));
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().message, "NRI: registration: status 2: invalid plugin index");
}

TEST(NriSession, CallsEndAtTheirDeadline) {
  Session session = new_session();
  receive_one<Registered>(session, runtime_response(1, {}));
  ASSERT_EQ(session.update_containers({}, kStart, kStart + seconds(7)), 3U);
  ASSERT_EQ(session.update_containers({}, kStart, kStart + seconds(2)), 5U);
  EXPECT_EQ(session.next_deadline(), kStart + seconds(2));
  EXPECT_TRUE(session.expire(kStart + milliseconds(1999)).value().empty());
  const auto events = session.expire(kStart + seconds(2)).value();
  ASSERT_EQ(events.size(), 1U);
  const auto& updated = std::get<Updated>(events[0]);
  EXPECT_EQ(updated.call, 5U);
  EXPECT_EQ(updated.outcome,
            fail(ErrorCode::kBusy, "NRI: update: the runtime did not answer in time"));
  EXPECT_EQ(session.next_deadline(), kStart + seconds(7));
  // Late, but harmless.
  EXPECT_TRUE(receive(session, runtime_response(5, {})).empty());
}

TEST(NriSession, TheRegistrationHasADeadline) {
  Session session = new_session();
  const auto events = session.expire(kStart + seconds(5));
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().message, "NRI: registration: the runtime did not answer in time");
}

TEST(NriSession, GarbageIsNamed) {
  struct Case {
    std::string bytes;
    std::string error;
  };
  for (const auto& [bytes, error] : std::vector<Case>{
           {"HTTP/1.1 400 Bad Request\r\n",
            "multiplexer: a frame of connection 1213486160 has 791752241 bytes, at most 4194314 "
            "are allowed"},
           {runtime_frame(ConnectionId::kPlugin, {1, ttrpc::FrameType::kData, 0, ""}),
            "ttRPC: a frame of stream 1 has type 3, expected 1"},
           {runtime_frame(ConnectionId::kRuntime, {1, ttrpc::FrameType::kRequest, 0, ""}),
            "ttRPC: a frame of stream 1 has type 1, expected 2"},
       }) {
    Session session = new_session();
    const auto events = session.receive(bytes);
    ASSERT_FALSE(events) << hex(bytes);
    EXPECT_EQ(events.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(events.error().message, error);
  }
}

TEST(NriSession, InvalidTextIsRefusedSilently) {
  Session session = new_session();
  (void)session.take_output();
  testing::internal::CaptureStderr();
  // Field 2, the name of the runtime, is not UTF-8.
  EXPECT_TRUE(receive(session, runtime_request(1, "Configure", "\x12\1\xff")).empty());
  api::UpdateContainersRequest update;
  update.add_update()->set_container_id("\xff");
  EXPECT_FALSE(encode(update).empty());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(answered_status(session).code, ttrpc::StatusCode::kInvalidArgument);
}

TEST(NriIdentity, IsChecked) {
  EXPECT_TRUE(check({"pin", "00"}));
  for (const auto* index : {"", "7", "100", "1x", "-1"}) {
    EXPECT_EQ(check({"pin", index}).error().message,
              "NRI: index '" + std::string(index) + "': expected two digits");
  }
  EXPECT_EQ(check({"", "10"}).error().message,
            "NRI: the name of a plugin has 1 to 255 bytes, not 0");
  EXPECT_FALSE(check({std::string(256, 'x'), "10"}));
}

TEST(NriEvents, HaveTheBitsOfTheRuntimes) {
  EXPECT_EQ(kAllEvents, 0x7ff);
  EXPECT_EQ(event_bit(api::Event::START_CONTAINER), 0x20);
}

}  // namespace
}  // namespace pinfold::nri
