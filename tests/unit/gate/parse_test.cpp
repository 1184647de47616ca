#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "pinfold/gate/container.hpp"
#include "pinfold/gate/cpus.hpp"
#include "pinfold/gate/json.hpp"
#include "pinfold/gate/kernel_text.hpp"
#include "pinfold/gate/options.hpp"

namespace pinfold::gate {
namespace {

std::string printed(const CpuBits& cpus) {
  std::array<char, 256> buffer{};
  return std::string(cpus.print(buffer));
}

TEST(GateCpus, ParseAndPrintAgree) {
  for (const char* const list : {"", "0", "0-3,8", "7,9-10,8191"}) {
    const auto cpus = CpuBits::parse(list);
    ASSERT_TRUE(cpus) << list;
    EXPECT_EQ(printed(*cpus), list);
  }
  EXPECT_EQ(printed(*CpuBits::parse("3,1-2,2")), "1-3");
}

TEST(GateCpus, RejectsWhatIsNoList) {
  for (const char* const list :
       {" ", ",", "1,", "3-1", "-1", "1-", "8192", "0-8192", "1 2", "a", "99999999999999999999"}) {
    EXPECT_FALSE(CpuBits::parse(list)) << list;
  }
}

TEST(GateCpus, PrintLeavesOutWhatDoesNotFit) {
  std::array<char, 3> buffer{};
  EXPECT_EQ(CpuBits::parse("10-11,20")->print(buffer), "10-");
}

TEST(GateCpus, SetsAreCompared) {
  const CpuBits some = *CpuBits::parse("2-5");
  EXPECT_TRUE(some.contains_all(*CpuBits::parse("3-4")));
  EXPECT_FALSE(some.contains_all(*CpuBits::parse("3-6")));
  EXPECT_TRUE(some.intersects(*CpuBits::parse("5,9")));
  EXPECT_FALSE(some.intersects(*CpuBits::parse("0,64")));
  EXPECT_EQ(printed(some - *CpuBits::parse("3")), "2,4-5");
}

TEST(GateJson, WalksAndSkips) {
  JsonCursor json(R"({"a":[{"b":"]}"},1,[]],"c":-7 , "d":"x\"y","e":{}} )");
  json.enter();
  EXPECT_EQ(json.next(), "a");
  json.skip();
  EXPECT_EQ(json.next(), "c");
  EXPECT_EQ(json.integer(), -7);
  EXPECT_EQ(json.next(), "d");
  EXPECT_EQ(json.text(), R"(x\"y)");
  EXPECT_EQ(json.next(), "e");
  json.enter();
  EXPECT_EQ(json.next(), std::nullopt);
  EXPECT_EQ(json.next(), std::nullopt);
  EXPECT_TRUE(json.at_end());
}

TEST(GateJson, AnErrorEndsTheWalk) {
  for (const char* const text : {"", "[", R"({"a")", R"({"a":"x)", R"({"a":1 "b":2})", R"({,})",
                                 R"({"a":[1)", R"({"a":"\)", R"({"a":1}x)", R"({"a":})"}) {
    JsonCursor json(text);
    json.enter();
    while (json.next()) json.skip();
    EXPECT_FALSE(json.at_end()) << text;
  }
}

TEST(GateJson, UnescapesInPlace) {
  std::string text = R"(a\"b\\\u003cc\u00e9\n)";
  EXPECT_EQ(unescape(text), "a\"b\\<c?\n");
  for (std::string bad : {R"(\)", R"(\x)", R"(\u12)", R"(\u12g4)"}) {
    EXPECT_FALSE(unescape(bad)) << bad;
  }
}

TEST(GateContainer, OfContainerd) {
  const auto container = parse_state(R"({"ociVersion":"1.0.2","id":"c1","status":"creating",
    "pid":42,"bundle":"/b","annotations":{"io.kubernetes.cri.container-type":"container",
    "io.kubernetes.cri.sandbox-uid":"u1","io.kubernetes.cri.sandbox-namespace":"default",
    "io.kubernetes.cri.sandbox-name":"web","io.kubernetes.cri.container-name":"main",
    "pinfold.io/unplaced":"confine"}})");
  ASSERT_TRUE(container);
  EXPECT_EQ(container->pid, 42);
  EXPECT_EQ(container->uid, "u1");
  EXPECT_EQ(container->name_space, "default");
  EXPECT_EQ(container->pod, "web");
  EXPECT_EQ(container->name, "main");
  EXPECT_EQ(container->unplaced, Unplaced::kConfine);
  EXPECT_FALSE(container->is_sandbox());
  EXPECT_FALSE(container->is_contradictory);
  EXPECT_FALSE(container->is_hooked);
}

TEST(GateContainer, ASandboxOfEitherRuntime) {
  for (const char* const key :
       {"io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType"}) {
    const std::string state =
        std::string(R"({"pid":1,"annotations":{")") + key + R"(":"sandbox"}})";
    const auto container = parse_state(state);
    ASSERT_TRUE(container) << state;
    EXPECT_TRUE(container->is_sandbox()) << state;
  }
}

/// CRI-O passes on the annotations of a pod's author, including those of containerd.
TEST(GateContainer, AnnotationsOfTwoRuntimesMayNotContradict) {
  const auto is_contradictory = [](const std::string& annotations) {
    const auto container = parse_state(R"({"pid":1,"annotations":{)" + annotations + "}}");
    return container && container->is_contradictory;
  };
  for (
      const char* const faked :
      {R"("io.kubernetes.cri-o.ContainerType":"container","io.kubernetes.cri.container-type":"sandbox")",
       R"("io.kubernetes.cri.container-type":"sandbox","io.kubernetes.cri-o.ContainerType":"container")",
       R"("io.kubernetes.cri.sandbox-uid":"u","io.kubernetes.pod.uid":"v")",
       R"("io.kubernetes.cri.sandbox-namespace":"kube-system","io.kubernetes.pod.namespace":"x")"}) {
    EXPECT_TRUE(is_contradictory(faked)) << faked;
  }
  for (const char* const sound :
       {R"("io.kubernetes.cri.sandbox-uid":"u","io.kubernetes.pod.uid":"u")",
        R"("io.kubernetes.container.name":"a","io.pinfold.container":"b")"}) {
    EXPECT_FALSE(is_contradictory(sound)) << sound;
  }
}

TEST(GateContainer, AnUnknownWordIsTheStrictest) {
  EXPECT_EQ(parse_state(R"({"pid":1,"annotations":{"pinfold.io/unplaced":"alow"}})")->unplaced,
            Unplaced::kRefuse);
}

TEST(GateContainer, RejectsWhatIsNoState) {
  for (const char* const state : {"", "{}", "[]", R"({"pid":0})", R"({"pid":"7"})",
                                  R"({"pid":1,"annotations":[]})", R"({"pid":1}{)"}) {
    EXPECT_FALSE(parse_state(state)) << state;
  }
}

TEST(GateContainer, AsksForExclusiveCpusByAnnotation) {
  const auto asks = [](const char* cpu, const char* memory) {
    HookedContainer container;
    container.cpu = cpu;
    container.memory = memory;
    return asks_exclusive(container);
  };
  EXPECT_TRUE(asks("2", "1Gi"));
  EXPECT_TRUE(asks("2000m", "1Gi"));
  EXPECT_FALSE(asks("2", ""));
  EXPECT_FALSE(asks("1500m", "1Gi"));
  EXPECT_FALSE(asks("0.5", "1Gi"));
  EXPECT_FALSE(asks("", "1Gi"));
}

TEST(GateKernelText, FindsTheGroupsOfEachVersion) {
  const auto v2 = parse_process_groups("0::/kubepods/pod1/c\n");
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->cpuset.path, "/kubepods/pod1/c");
  EXPECT_FALSE(v2->cpuset.is_v1);
  const auto hybrid = parse_process_groups("4:cpu,cpuacct:/a\n3:cpuset:/b\n0::/c\n");
  ASSERT_TRUE(hybrid);
  EXPECT_EQ(hybrid->cpuset.path, "/b");
  EXPECT_TRUE(hybrid->cpuset.is_v1);
  EXPECT_EQ(hybrid->cpu.path, "/a");
}

TEST(GateKernelText, RejectsGroupsThatItCannotSee) {
  for (const char* const text : {"", "0::", "0::/../x\n", "3:cpuset:/b\n", "nonsense"}) {
    EXPECT_FALSE(parse_process_groups(text)) << text;
  }
}

TEST(GateKernelText, KnowsGuaranteedPods) {
  EXPECT_TRUE(is_guaranteed("/kubepods/podu/c"));
  EXPECT_TRUE(is_guaranteed("/kubepods.slice/kubepods-podu.slice/cri-containerd-c.scope"));
  EXPECT_FALSE(is_guaranteed("/kubepods/burstable/podu/c"));
  EXPECT_FALSE(is_guaranteed("/kubepods.slice/kubepods-besteffort.slice/x"));
  EXPECT_FALSE(is_guaranteed("/system.slice/x"));
}

TEST(GateKernelText, KnowsWholeCpus) {
  EXPECT_TRUE(is_whole_cpus("200000", "100000"));
  EXPECT_FALSE(is_whole_cpus("150000", "100000"));
  EXPECT_FALSE(is_whole_cpus("max", "100000"));
  EXPECT_FALSE(is_whole_cpus("-1", "100000"));
  EXPECT_FALSE(is_whole_cpus("0", "100000"));
  EXPECT_FALSE(is_whole_cpus("100000", "0"));
  EXPECT_FALSE(is_whole_cpus("100000", ""));
}

TEST(GateKernelText, KnowsAnswersThatAreErrors) {
  EXPECT_FALSE(is_error_answer(R"({"changed":{"ok":true}})"));
  EXPECT_FALSE(is_error_answer(R"({"changed":{"notEnforced":null}})"));
  for (const char* const line : {"", "{}", "x", R"({"error":{"code":2}})",
                                 R"({"changed":{"ok":1,"notEnforced":{"code":4,"message":")"}) {
    EXPECT_TRUE(is_error_answer(line)) << line;
  }
}

std::optional<Options> options_of(const std::vector<const char*>& arguments) {
  std::string_view wrong;
  return parse_options(arguments, wrong);
}

TEST(GateOptions, RejectsWhatIsUnknownOrWrong) {
  for (const auto& arguments : std::vector<std::vector<const char*>>{
           {"--stat-dir", "/x"},
           {"--state-dir"},
           {"--time-limit-ms", "0"},
           {"--time-limit-ms", "60001"},
           {"--time-limit-ms", "1s"},
           {"--unplaced", "deny"},
           {"--unplaced-in", "x"},
           {"--unplaced-in", "=allow"},
           {"--unplaced-in", "x=allow", "--unplaced-in", "x=refuse"},
           {"--exempt", ""}}) {
    EXPECT_FALSE(options_of(arguments)) << arguments.front();
  }
}

TEST(GateOptions, ExemptsNamedPods) {
  const auto options =
      options_of({"--exempt", "kube-system", "--exempt", "infra/dns", "--exempt", "infra/proxy-*"});
  ASSERT_TRUE(options);
  const auto concerns = [&](const char* name_space, const char* pod) {
    HookedContainer container;
    container.uid = "u";
    container.name_space = name_space;
    container.pod = pod;
    return concerns_gate(*options, container);
  };
  EXPECT_FALSE(concerns("kube-system", "etcd-a"));
  EXPECT_FALSE(concerns("infra", "dns"));
  EXPECT_FALSE(concerns("infra", "proxy-b"));
  EXPECT_TRUE(concerns("infra", "dns2"));
  EXPECT_TRUE(concerns("default", "web"));
}

TEST(GateOptions, OthersAndSandboxesPass) {
  HookedContainer other;
  EXPECT_FALSE(concerns_gate({}, other));
  HookedContainer sandbox;
  sandbox.uid = "u";
  sandbox.type = "sandbox";
  EXPECT_FALSE(concerns_gate({}, sandbox));
  HookedContainer with_file;
  with_file.is_hooked = true;
  with_file.has_pod_file = true;
  EXPECT_FALSE(concerns_gate({}, with_file));
}

TEST(GateOptions, AnAnnotationIsOnlyStricter) {
  const auto options = options_of({"--unplaced", "confine", "--unplaced-in", "batch=allow"});
  ASSERT_TRUE(options);
  const auto outcome = [&](const char* name_space, std::optional<Unplaced> annotation) {
    HookedContainer container;
    container.name_space = name_space;
    container.unplaced = annotation;
    return unplaced_of(*options, container);
  };
  EXPECT_EQ(outcome("default", std::nullopt), Unplaced::kConfine);
  EXPECT_EQ(outcome("default", Unplaced::kAllow), Unplaced::kConfine);
  EXPECT_EQ(outcome("default", Unplaced::kRefuse), Unplaced::kRefuse);
  EXPECT_EQ(outcome("batch", std::nullopt), Unplaced::kAllow);
  EXPECT_EQ(outcome("batch", Unplaced::kConfine), Unplaced::kConfine);
}

}  // namespace
}  // namespace pinfold::gate
