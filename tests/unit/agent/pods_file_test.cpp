#include "pinfold/agent/pods_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node_samples.hpp"

namespace pinfold::agent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(PodsFile, RoundTrips) {
  AgentState state;
  state.node.pods = {
      {test::pod("a", {test::guaranteed("c1", 2), test::best_effort("c2")}), {"c1", "c2"}},
      {test::pod("b", {test::best_effort("c")}), {}}};
  state.removed.insert({PodUid("a"), "c2"});
  state.node.devices.assignments[{PodUid("a"), "c1"}] = {{"example.com/gpu", {"gpu0", "gpu1"}}};
  state.node.providers["seats"] = "a/c1;";
  state.notes[PodUid("a")] = {QosClass::kGuaranteed, "it may have pod-level resources"};
  state.notes[PodUid("b")] = {std::nullopt, ""};
  AgentState read;
  const auto done = decode_pods(encode_pods(state), read);
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_TRUE(read == state) << encode_pods(read);
}

/// After each change of the state, the bytes equal those of a new encoder.
TEST(PodsEncoder, WritesWhatOneWithoutAPastWrites) {
  PodsEncoder encoder;
  AgentState state;
  const auto expect_same = [&](const char* what) {
    EXPECT_EQ(encoder.encode(state).text(), encode_pods(state)) << what;
  };
  expect_same("no pod");
  const auto a_pod = [](const char* uid) {
    return ActivePod{test::pod(uid, {test::guaranteed("c1", 2), test::best_effort("c2")}), {}};
  };
  for (const char* const uid : {"d", "b", "a", "c"}) {
    state.node.pods.push_back(a_pod(uid));
    expect_same(uid);
  }
  const ContainerId container{PodUid("b"), "c1"};
  state.removed.insert(container);
  expect_same("removed");
  state.adopted[container] = "/kubepods/b";
  expect_same("adopted");
  state.adopted[container] = "/kubepods/other";
  expect_same("adopted elsewhere");
  state.end_with_group.insert(container);
  expect_same("ending with its group");
  state.unread.insert(container);
  expect_same("not read");
  state.ending.insert(container.pod);
  expect_same("ending");
  state.creators[container.pod] = {7, 1ULL << 60U};
  expect_same("being created");
  state.notes[container.pod] = {QosClass::kBurstable, ""};
  expect_same("a note");
  state.notes[container.pod].why_shared = "it is Burstable, not Guaranteed";
  state.notes[container.pod].quiet = quiet::QuietLevel::kSystem;
  expect_same("another note");
  state.node.devices.assignments[container] = {{"example.com/gpu", {"gpu0"}}};
  expect_same("devices");
  state.node.cpu.assignments[{PodUid("gone"), "c"}] = CpuSet{1};
  state.node.providers["pods"] = "\"pods\":[]";
  state.kubelet_profile = Profile::kKubelet137;
  expect_same("what is beside the pods");
  state.node.pods.erase(state.node.pods.begin() + 1);
  expect_same("a pod gone");
  state.node.pods.erase(state.node.pods.begin());
  state.node.pods.push_back(a_pod("d"));
  expect_same("a pod that comes back");
  state.removed.clear();
  state.adopted.clear();
  expect_same("nothing beside the pod");
}

/// One changed byte never changes the meaning.
TEST(PodsFile, DetectsEveryDamagedByte) {
  AgentState state;
  state.node.pods = {{test::pod("x", {test::guaranteed("a", 2)}), {"a"}}};
  const std::string sound = encode_pods(state);
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (const char flip : {char{1}, char{16}, char{64}}) {
      std::string damaged = sound;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      AgentState read;
      EXPECT_FALSE(decode_pods(damaged, read)) << "byte " << at;
    }
    AgentState read;
    EXPECT_FALSE(decode_pods(sound.substr(0, at), read)) << "cut at " << at;
  }
}

/// A file in the old format, without a checksum.
TEST(PodsFile, ReadsAFileWithoutAChecksum) {
  AgentState state;
  state.node.pods = {{test::pod("x", {test::guaranteed("a", 2)}), {"a"}}};
  const std::string sound = encode_pods(state);
  AgentState read;
  ASSERT_TRUE(decode_pods(sound.substr(sound.find('{')), read));
  EXPECT_EQ(read, state);
}

TEST(PodsFile, ReportsErrorsWithTheirPlace) {
  const std::string pod =
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"d","uid":"u"},)"
      R"("spec":{"containers":[{"name":"c"}]}})";
  const auto file = [&](const std::string& entry) {
    return R"({"version":1,"pods":[)" + entry + "]}";
  };
  const struct {
    const char* name;
    std::string text;
    std::string says;
  } cases[] = {
      {"empty", "", ""},
      {"no object", "[]", "expected a first line '#pinfold_pods crc64 CHECKSUM'"},
      {"no version", "{}", "version: 'null': expected 1"},
      {"pods missing", R"({"version":1})", "pods: 'null': expected a list"},
      {"entry", file("7"), "pods[0]: '7': expected an object"},
      {"pod missing", file("{}"), "pods[0].pod."},
      {"uid with a slash",
       file(
           R"({"pod":{"metadata":{"name":"p","uid":"../x"},"spec":{"containers":[{"name":"c"}]}}})"),
       "pods[0].pod.metadata.uid: "},
      {"started", file(R"({"pod":)" + pod + R"(,"started":["x"]})"),
       "pods[0].started[0]: '\"x\"': expected the name of a container of this pod"},
      {"started type", file(R"({"pod":)" + pod + R"(,"started":{}})"), "pods[0].started: "},
      {"devices", file(R"({"pod":)" + pod + R"(,"devices":{"c":{"r":[1]}}})"),
       "pods[0].devices.c.'r': '1': expected a device id"},
      {"providers", R"({"version":1,"pods":[],"providers":[]})",
       "providers: '[]': expected an object"},
      {"provider", R"({"version":1,"pods":[],"providers":{"seats":1}})",
       "providers.seats: '1': expected a string"},
      {"twice", file(R"({"pod":)" + pod + R"(},{"pod":)" + pod + "}"), "pods[1].pod.metadata.uid"},
  };
  for (const auto& c : cases) {
    AgentState state;
    const auto done = decode_pods(c.text, state);
    ASSERT_FALSE(done.has_value()) << c.name;
    EXPECT_EQ(done.error().code, ErrorCode::kCorrupt) << c.name;
    EXPECT_THAT(done.error().message, StartsWith(c.says)) << c.name;
  }
}

}  // namespace
}  // namespace pinfold::agent
