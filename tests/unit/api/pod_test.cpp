#include "pinfold/api/pod.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/api/config.hpp"

namespace pinfold {
namespace {

using nlohmann::json;

PodSpec pod_of(const std::string& yaml) {
  auto pod = parse_pod(yaml);
  EXPECT_TRUE(pod) << yaml << '\n' << (pod ? "" : pod.error().message);
  return pod.value_or(PodSpec{});
}

constexpr const char* kFullPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, uid: 0b5e, labels: {a: b}}
spec:
  restartPolicy: Never
  resources: {limits: {cpu: 4}}
  initContainers:
  - name: prepare
    image: busybox
  - name: proxy
    restartPolicy: Always
    resources: {requests: {cpu: 0.5}}
  containers:
  - name: main
    resources:
      requests: {cpu: "1", memory: 1Gi, example.com/gpu: 2}
      limits: {cpu: 1500m, hugepages-2Mi: 4Mi}
)";

TEST(PodParse, ReadsContainersInStartOrder) {
  const PodSpec pod = pod_of(kFullPod);
  EXPECT_EQ(pod.uid, PodUid("0b5e"));
  EXPECT_EQ(pod.name, "web");
  EXPECT_EQ(pod.namespace_name, "shop");
  ASSERT_EQ(pod.containers.size(), 3U);
  EXPECT_EQ(pod.containers[0].kind, ContainerKind::kInit);
  EXPECT_EQ(pod.containers[1].kind, ContainerKind::kSidecar);
  EXPECT_EQ(pod.containers[1].resources.requests.at("cpu").milli_value(), 500);
  EXPECT_EQ(pod.containers[2].kind, ContainerKind::kApp);
  EXPECT_EQ(pod.containers[2].resources.requests.at("example.com/gpu").value(), 2);
  EXPECT_EQ(pod.containers[2].resources.limits.at("hugepages-2Mi").value(), 4 << 20);
  ASSERT_TRUE(pod.resources);
  EXPECT_EQ(pod.resources->limits.at("cpu").value(), 4);
  EXPECT_EQ(pod.find("proxy"), &pod.containers[1]);
  EXPECT_EQ(pod.find("other"), nullptr);
}

TEST(PodParse, ReadsBackWhatItPrints) {
  const PodSpec pod = pod_of(kFullPod);
  EXPECT_EQ(pod_from_json(to_json(pod)).value(), pod);
  PodSpec plain = pod;
  plain.resources.reset();
  EXPECT_EQ(pod_from_json(to_json(plain)).value(), plain);
  plain.resources.emplace();
  EXPECT_EQ(pod_from_json(to_json(plain)).value(), plain);
}

TEST(PodParse, GivesAMirrorPodTheUidOfItsStaticPod) {
  const auto uid_of = [](const std::string& annotations) {
    return pod_of("metadata: {name: p, uid: api, annotations: {" + annotations +
                  "}}\nspec: {containers: [{name: a}]}")
        .uid.value;
  };
  EXPECT_EQ(uid_of("kubernetes.io/config.hash: ab12, kubernetes.io/config.mirror: ab12"), "ab12");
  EXPECT_EQ(uid_of("kubernetes.io/config.hash: ab12"), "api");
  EXPECT_EQ(uid_of("kubernetes.io/config.mirror: ab12"), "api");
}

TEST(PodParse, ReadsOverheadAndWhatMakesAPodCritical) {
  const struct {
    const char* annotations;
    const char* spec;
    bool is_static;
    bool is_critical;
  } cases[] = {
      {"{}", "", false, false},
      {"{}", ", priorityClassName: system-node-critical", false, false},
      {"{}", ", priorityClassName: system-node-critical, priority: 2000001000", false, true},
      {"{}", ", priorityClassName: system-node-critical, priority: 1999999999", false, false},
      {"{}", ", priorityClassName: system-cluster-critical, priority: 2000000000", false, false},
      {"{kubernetes.io/config.source: file}", "", true, false},
      {"{kubernetes.io/config.source: http}", ", priorityClassName: system-node-critical", true,
       true},
      {"{kubernetes.io/config.source: api}", ", priorityClassName: system-node-critical", false,
       false},
      {"{kubernetes.io/config.mirror: 1f}", ", priorityClassName: system-node-critical", false,
       true},
  };
  for (const auto& c : cases) {
    const PodSpec pod = pod_of(fmt::format(
        "metadata: {{name: p, annotations: {}}}\nspec: {{containers: [{{name: a}}], overhead: "
        "{{cpu: 250m, memory: 120Mi}}{}}}",
        c.annotations, c.spec));
    EXPECT_EQ(pod.is_static, c.is_static) << c.annotations << c.spec;
    EXPECT_EQ(pod.is_node_critical, c.is_critical) << c.annotations << c.spec;
    EXPECT_EQ(pod.overhead.at("cpu").milli_value(), 250);
    EXPECT_EQ(pod_from_json(to_json(pod)).value(), pod) << c.annotations << c.spec;
  }
}

TEST(PodParse, ReadsThePriority) {
  const std::pair<const char*, int> cases[] = {
      {"", 0},
      {", priority: -5", -5},
      {", priorityClassName: gold, priority: 1000", 1000},
      {", priorityClassName: gold", 0},  // only the API server knows it
      {", priorityClassName: system-cluster-critical", 2000000000},
      {", priorityClassName: system-node-critical", 2000001000},
  };
  for (const auto& [spec, priority] : cases) {
    const PodSpec pod =
        pod_of(fmt::format("metadata: {{name: p}}\nspec: {{containers: [{{name: a}}]{}}}", spec));
    EXPECT_EQ(pod.priority.value, priority) << spec;
    EXPECT_EQ(pod_from_json(to_json(pod)).value().priority.value, priority) << spec;
  }
}

TEST(PodParse, FillsInDefaults) {
  const PodSpec pod = pod_of("metadata: {name: web}\nspec: {containers: [{name: a}]}");
  EXPECT_EQ(pod.namespace_name, "default");
  EXPECT_EQ(pod.uid, PodUid("default_web"));
  EXPECT_FALSE(pod.resources);
}

TEST(PodParse, NamesTheInvalidField) {
  constexpr const char* kName =
      "expected 1 to 253 letters, digits, '.', '_', '-' and '+', the first a letter or digit";
  constexpr const char* kLabel =
      "expected 1 to 63 lower-case letters, digits and '-', the first and last not '-'";
  const std::string long_name(64, 'a');
  const struct {
    std::string path;  // JSON pointer into a valid pod
    json value;
    std::string message;
  } cases[] = {
      {"/kind", "Deployment", "kind: 'Deployment': expected 'Pod'"},
      {"/apiVersion", "v2", "apiVersion: 'v2': expected 'v1'"},
      {"/metadata", 1, "metadata: 1: expected an object"},
      {"/metadata/name", nullptr, "metadata.name: missing: expected the pod's name"},
      {"/metadata/name", 12, "metadata.name: 12: expected a string in quotes"},
      {"/metadata/name", "", std::string("metadata.name: '': ") + kName},
      {"/metadata/name", "a/b", std::string("metadata.name: 'a/b': ") + kName},
      {"/metadata/uid", "../../etc", std::string("metadata.uid: '../../etc': ") + kName},
      {"/metadata/uid", "..", std::string("metadata.uid: '..': ") + kName},
      {"/metadata/uid", "a:b", std::string("metadata.uid: 'a:b': ") + kName},
      {"/metadata/uid", "a\nb", std::string("metadata.uid: 'a?b': ") + kName},
      {"/metadata/namespace", "a_b", std::string("metadata.namespace: 'a_b': ") + kLabel},
      {"/spec/priority", 2147483648LL, "spec.priority: 2147483648: expected a 32-bit integer"},
      {"/spec", nullptr, "spec.containers: missing: expected at least one container"},
      {"/spec/containers", json::array(),
       "spec.containers: missing: expected at least one container"},
      {"/spec/containers", 3, "spec.containers: 3: expected a list"},
      {"/spec/containers/0", "x", "spec.containers[0]: 'x': expected an object"},
      {"/spec/containers/0/name", "A", std::string("spec.containers[0].name: 'A': ") + kLabel},
      {"/spec/containers/0/name", long_name,
       "spec.containers[0].name: '" + long_name + "': " + kLabel},
      {"/spec/containers/0/name", nullptr, std::string("spec.containers[0].name: null: ") + kLabel},
      {"/spec/containers/1/name", "main",
       "spec.containers[1].name: 'main': expected a unique name"},
      {"/spec/initContainers/0/name", "main",
       "spec.containers[0].name: 'main': expected a unique name"},
      {"/spec/initContainers/0/restartPolicy", 1,
       "spec.initContainers[0].restartPolicy: 1: expected a string"},
      {"/spec/containers/0/resources", json::array(),
       "spec.containers[0].resources: a list: expected an object"},
      {"/spec/containers/0/resources/limits/cpu", "x",
       "spec.containers[0].resources.limits.cpu: 'x': expected CPUs such as 2 or 500m"},
      {"/spec/containers/0/resources/limits/memory", "1GB",
       "spec.containers[0].resources.limits.memory: '1GB': expected an amount with a unit Ki Mi Gi "
       "Ti or k M G T; did you mean 1G or 1Gi?"},
      {"/spec/containers/0/resources/limits/memory", "1 gi",
       "spec.containers[0].resources.limits.memory: '1 gi': expected an amount with a unit Ki Mi "
       "Gi "
       "Ti or k M G T; did you mean 1Gi?"},
      {"/spec/containers/0/resources/limits/cpu", "-1",
       "spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be "
       "greater than or equal to 0"},
      {"/spec/containers/0/resources/limits/cpu", true,
       "spec.containers[0].resources.limits.cpu: true: expected a quantity"},
      {"/spec/containers/0/resources/limits/hugepages-x", "1",
       "spec.containers[0].resources.limits.hugepages-x: '1': expected a resource name"},
      {"/spec/resources/requests", "1", "spec.resources.requests: '1': expected an object"},
  };
  const json valid = to_json(pod_of(R"(
metadata: {name: web}
spec:
  initContainers: [{name: prepare}]
  containers: [{name: main, resources: {limits: {cpu: 1}}}, {name: other}]
  resources: {requests: {cpu: 1}}
)"));
  ASSERT_TRUE(pod_from_json(valid));
  for (const auto& c : cases) {
    json document = valid;
    document[json::json_pointer(c.path)] = c.value;
    const auto pod = pod_from_json(document);
    ASSERT_FALSE(pod) << c.message;
    EXPECT_EQ(pod.error().code, ErrorCode::kInvalidArgument) << c.message;
    EXPECT_EQ(pod.error().message, c.message);
  }
}

TEST(PodParse, TakesQuantitiesWithSpaceAroundThem) {
  for (const char* text : {"2", " 2", "2 ", "\t2\r\n"}) {
    const json document = {
        {"metadata", {{"name", "web"}}},
        {"spec",
         {{"containers", {{{"name", "a"}, {"resources", {{"requests", {{"cpu", text}}}}}}}}}}};
    const auto pod = pod_from_json(document);
    ASSERT_TRUE(pod) << "'" << text << "': " << pod.error().message;
    EXPECT_EQ(pod->containers[0].resources.requests.at("cpu").value(), 2);
  }
}

TEST(PodParse, RejectsInvalidResourceNames) {
  for (const char* name :
       {"", "/", "a/", "/a", "a/b/c", "../a", "a b", "a-", "b/a+b", "hugepages-", "hugepages-0",
        "hugepages-+2Mi", "hugepages-1m", "hugepages--1", "hugepages-2Mi/x"}) {
    const json document = {
        {"metadata", {{"name", "web"}}},
        {"spec",
         {{"containers", {{{"name", "a"}, {"resources", {{"requests", {{name, "1"}}}}}}}}}}};
    EXPECT_FALSE(pod_from_json(document)) << "'" << name << "'";
  }
}

FeatureGates gates_of(Profile profile) {
  Config config;
  config.profile = profile;
  return config.gates();
}

TEST(PodQos, FollowsTheKubelet) {
  const struct {
    const char* name;
    const char* spec;
    QosClass qos;
    QosClass gate_off;
  } cases[] = {
      {"nothing", "{containers: [{name: a}]}", QosClass::kBestEffort, QosClass::kBestEffort},
      {"equal cpu and memory",
       "{containers: [{name: a, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1000m, "
       "memory: 1}}}]}",
       QosClass::kGuaranteed, QosClass::kGuaranteed},
      {"cpu only", "{containers: [{name: a, resources: {requests: {cpu: 1}, limits: {cpu: 1}}}]}",
       QosClass::kBurstable, QosClass::kBurstable},
      {"limit above request",
       "{containers: [{name: a, resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 2, "
       "memory: 1}}}]}",
       QosClass::kBurstable, QosClass::kBurstable},
      {"zero amounts",
       "{containers: [{name: a, resources: {requests: {cpu: 0}, limits: {memory: 0}}}]}",
       QosClass::kBestEffort, QosClass::kBestEffort},
      {"other resources do not count",
       "{containers: [{name: a, resources: {requests: {hugepages-2Mi: 2Mi}, limits: {x.y/z: 1}}}]}",
       QosClass::kBestEffort, QosClass::kBestEffort},
      {"init container without resources",
       "{initContainers: [{name: i}], containers: [{name: a, resources: {requests: {cpu: 1, "
       "memory: 1}, limits: {cpu: 1, memory: 1}}}]}",
       QosClass::kBurstable, QosClass::kBurstable},
      {"pod level decides",
       "{resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1, memory: 1}}, containers: "
       "[{name: a}]}",
       QosClass::kGuaranteed, QosClass::kBestEffort},
      {"empty pod level decides too",
       "{resources: {}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}",
       QosClass::kBestEffort, QosClass::kBurstable},
      {"pod level cpu only", "{resources: {limits: {cpu: 1}}, containers: [{name: a}]}",
       QosClass::kBurstable, QosClass::kBestEffort},
  };
  const FeatureGates gates = gates_of(Profile::kKubelet136);
  FeatureGates off = gates;
  off.pod_level_resources = false;
  for (const auto& c : cases) {
    const PodSpec pod = pod_of(std::string("metadata: {name: p}\nspec: ") + c.spec);
    EXPECT_EQ(to_string(qos_class(pod, gates)), to_string(c.qos)) << c.name;
    EXPECT_EQ(to_string(qos_class(pod, off)), to_string(c.gate_off)) << c.name;
  }
}

TEST(PodQos, EmptyPodResourcesSetQosClass) {
  const char* const amounts = "containers: [{name: a, resources: {limits: {cpu: 1, memory: 1}}}]";
  for (const char* const empty : {"{}", "{requests: {}}", "{requests: {}, limits: {}}"}) {
    PodSpec pod =
        pod_of(fmt::format("metadata: {{name: p}}\nspec: {{resources: {}, {}}}", empty, amounts));
    apply_defaults(pod);
    for (const Profile profile : kProfiles) {
      EXPECT_EQ(to_string(qos_class(pod, gates_of(profile))),
                profile == Profile::kKubelet136 ? "BestEffort" : "Guaranteed")
          << empty << ' ' << to_string(profile);
    }
  }
}

TEST(PodQos, PodResourcesThatNameAnyAmountSetTheClass) {
  const PodSpec pod = pod_of(
      "metadata: {name: p}\nspec: {resources: {requests: {cpu: 0}}, containers: [{name: a, "
      "resources: {requests: {cpu: 1, memory: 1}, limits: {cpu: 1, memory: 1}}}]}");
  EXPECT_EQ(qos_class(pod, gates_of(Profile::kFixed)), QosClass::kBestEffort);
}

TEST(PodLevelResources, CountOnlyWhenSupported) {
  const struct {
    const char* resources;
    bool has;
  } cases[] = {
      {"{}", false},
      {"{requests: {x.y/z: 1}}", false},
      {"{requests: {cpu: 0}}", true},
      {"{limits: {memory: 1}}", true},
      {"{limits: {hugepages-1Gi: 1Gi}}", true},
  };
  for (const auto& c : cases) {
    const PodSpec pod =
        pod_of(std::string("metadata: {name: p}\nspec: {containers: [{name: a}], resources: ") +
               c.resources + "}");
    EXPECT_EQ(pod.has_pod_level_resources(), c.has) << c.resources;
  }
}

TEST(PodDefaults, RequestsFollowLimits) {
  PodSpec pod = pod_of(R"(
metadata: {name: p}
spec:
  containers:
  - name: a
    resources: {requests: {memory: 1}, limits: {cpu: 2, memory: 4, hugepages-2Mi: 2Mi}}
)");
  apply_defaults(pod);
  const ResourceList& requests = pod.containers[0].resources.requests;
  EXPECT_EQ(requests.at("cpu").value(), 2);
  EXPECT_EQ(requests.at("memory").value(), 1);
  EXPECT_EQ(requests.at("hugepages-2Mi").value(), 2 << 20);
  EXPECT_FALSE(pod.resources);
}

TEST(PodDefaults, AmountsOfAPodFromTheApiServerAreCanonical) {
  for (const bool is_static : {false, true}) {
    PodSpec pod = pod_of(
        "metadata: {name: p}\nspec: {containers: [{name: a, resources: {limits: {memory: "
        "1.5Gi}}}]}");
    pod.is_static = is_static;
    apply_defaults(pod);
    EXPECT_EQ(pod.containers[0].resources.requests.at("memory").as_int64_succeeds(), !is_static);
  }
}

TEST(PodDefaults, PodLevelRequestsFollowContainersThenLimits) {
  PodSpec pod = pod_of(R"(
metadata: {name: p}
spec:
  resources: {limits: {cpu: 8, memory: 64, hugepages-2Mi: 2Mi}}
  initContainers:
  - {name: i, resources: {requests: {cpu: 4}}}
  - {name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}
  containers:
  - {name: a, resources: {requests: {cpu: 2}}}
)");
  EXPECT_EQ(container_total(pod, &Resources::requests).at("cpu").value(), 4);
  apply_defaults(pod);
  EXPECT_EQ(pod.resources->requests.at("cpu").value(), 4);
  EXPECT_EQ(pod.resources->requests.at("memory").value(), 64);
  EXPECT_EQ(pod.resources->requests.at("hugepages-2Mi").value(), 2 << 20);
}

TEST(PodRequests, AddSidecarsToLaterInitContainers) {
  const PodSpec pod = pod_of(R"(
metadata: {name: p}
spec:
  initContainers:
  - {name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}
  - {name: i, resources: {requests: {cpu: 4, memory: 1}}}
  containers:
  - {name: a, resources: {requests: {cpu: 3}}}
)");
  EXPECT_EQ(container_total(pod, &Resources::requests).at("cpu").value(), 5);
  EXPECT_EQ(container_total(pod, &Resources::requests).at("memory").value(), 1);
}

TEST(PodView, HasTheQosClassOfThePod) {
  const char* const specs[] = {
      "{containers: [{name: c}]}",
      "{containers: [{name: c, resources: {limits: {cpu: 1, memory: 1Gi}}}]}",
      "{resources: {limits: {cpu: 1, memory: 1Gi}}, containers: [{name: c}]}",
      "{resources: {}, containers: [{name: c, resources: {limits: {cpu: 1, memory: 1Gi}}}]}",
  };
  for (const char* const spec : specs) {
    PodSpec pod = pod_of(std::string("metadata: {name: p}\nspec: ") + spec);
    apply_defaults(pod);
    for (const bool gate : {false, true}) {
      for (const Profile profile : {Profile::kKubelet136, Profile::kFixed}) {
        FeatureGates gates = gates_of(profile);
        gates.pod_level_resources = gate;
        EXPECT_EQ(qos_class(PodView(pod), gates), qos_class(pod, gates)) << spec << ' ' << gate;
      }
    }
  }
}

TEST(SafeName, NeverLeavesItsFolder) {
  for (const char* name :
       {"a", "0b5e-11", "kube-system_web", "a.b", "A_b", "a..b", "a.", "a_", "a-", "a+b"}) {
    EXPECT_TRUE(is_safe_name(name)) << name;
  }
  EXPECT_TRUE(is_safe_name(std::string(253, 'a')));
  for (const char* name :
       {"", ".", "..", "a/b", "/a", ".a", "-a", "_a", "+a", "a b", "a:b", "a\n", "\xc3\xa9"}) {
    EXPECT_FALSE(is_safe_name(name)) << name;
  }
  EXPECT_FALSE(is_safe_name(std::string(254, 'a')));
  EXPECT_FALSE(is_safe_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace pinfold
