#include "pinfold/api/pod_documents.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "pinfold/api/amounts.hpp"
#include "pinfold/api/config.hpp"
#include "pinfold/api/quiet_note.hpp"

namespace pinfold {
namespace {

std::string pod_text(const std::string& name) {
  return fmt::format(
      R"({{"metadata": {{"name": "{}"}}, "spec": {{"containers": [{{"name": "c"}}]}}}})", name);
}

/// The names of the pods, or the error.
std::string read(const std::string& text) {
  const auto pods = read_pods(text, "pods.yaml");
  if (!pods) return pods.error().message;
  std::string names;
  for (const PodSpec& pod : pods->pods) names += pod.name + ' ';
  for (const std::string& note : pods->notes) names += '[' + note + ']';
  return names;
}

TEST(PodDocuments, ArePodsAndLists) {
  const std::string a = pod_text("a");
  const std::string b = pod_text("b");
  const std::string list = fmt::format(R"("items": [{}, {}])", a, b);
  EXPECT_EQ(read(a), "a ");
  EXPECT_EQ(read(a + "\n---\n" + b), "a b ");
  EXPECT_EQ(read(fmt::format(R"({{"kind": "List", {}}})", list)), "a b ");
  EXPECT_EQ(read(fmt::format(R"({{"kind": "PodList", {}}})", list)), "a b ");
  EXPECT_EQ(read(R"({"kind": "List"})"), "");
  EXPECT_EQ(read(""), "");
}

TEST(PodDocuments, NameTheDocumentAndTheItemThatIsWrong) {
  const std::string a = pod_text("a");
  const std::string unnamed = R"({"spec": {"containers": [{"name": "c"}]}})";
  constexpr const char* kNoName = "metadata.name: missing: expected the pod's name";
  EXPECT_EQ(read(unnamed), std::string("pods.yaml: ") + kNoName);
  EXPECT_EQ(read(a + "\n---\n" + unnamed), std::string("pods.yaml, document 2: ") + kNoName);
  EXPECT_EQ(read(fmt::format(R"({{"kind": "List", "items": [{}, {}]}})", a, unnamed)),
            std::string("pods.yaml: items[1]: ") + kNoName);
  EXPECT_EQ(read(R"({"kind": "List", "items": 1})"), "pods.yaml: items: 1: expected a list");
  EXPECT_EQ(read("[1]").substr(0, 15), "pods.yaml: pod:");
  EXPECT_EQ(read("error: You must be logged in to the server"),
            "pods.yaml: does not look like a manifest: expected kind, metadata and spec: pass the "
            "output of 'kubectl get pod NAME -o yaml'");
}

TEST(PodDocuments, ThatAreAnErrorOfTheApiServerSaySo) {
  EXPECT_EQ(read(R"({"kind": "Status", "apiVersion": "v1", "message": "Unauthorized"})"),
            "pods.yaml: an error of the API server: Unauthorized");
}

TEST(PodDocuments, AreThePodTemplatesOfWorkloads) {
  const std::string pod_template =
      R"({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c"}]}})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"PodTemplate", R"("template": )" + pod_template},
      {"CronJob", R"("spec": {"jobTemplate": {"spec": {"template": )" + pod_template + "}}}"},
      {"Deployment", R"("spec": {"replicas": 3, "template": )" + pod_template + "}"},
      {"DaemonSet", R"("spec": {"template": )" + pod_template + "}"},
      {"StatefulSet", R"("spec": {"template": )" + pod_template + "}"},
      {"ReplicaSet", R"("spec": {"template": )" + pod_template + "}"},
      {"ReplicationController", R"("spec": {"template": )" + pod_template + "}"},
      {"Job", R"("spec": {"template": )" + pod_template + "}"},
  };
  std::string items;
  for (const auto& [kind, rest] : cases) {
    const std::string text = fmt::format(
        R"({{"kind": "{}", "metadata": {{"name": "w", "namespace": "n"}}, {}}})", kind, rest);
    const std::string of_all = kind == "Deployment" ? " (of 3 replicas)" : "";
    EXPECT_EQ(read(text),
              "w [" + kind + " 'n/w': its pod template is read as one pod" + of_all + "]");
    items += (items.empty() ? "" : ", ") + text;
    const auto without = read_pod(
        {{"kind", kind}, {"metadata", {{"name", "w"}}}, {"spec", nlohmann::json::object()}});
    ASSERT_FALSE(without) << kind;
    EXPECT_EQ(without.error().message.find(kind + " 'default/w': no "), 0U)
        << without.error().message;
  }
  EXPECT_EQ(read(R"({"kind": "List", "items": [)" + items + "]}").substr(0, 17),
            "w w w w w w w w [");
  EXPECT_EQ(
      read_pod({{"kind", "Node"}}).error().message,
      "Node '': expected a Pod: pass one of its pods, as 'kubectl get pod NAME -o yaml' prints "
      "it");
}

TEST(PodDocuments, OfOtherProjectsHaveTheTemplateOfADeployment) {
  const std::string rollout =
      R"({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "w"},
          "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}}})";
  EXPECT_EQ(read(rollout),
            "w [Rollout 'default/w': its pod template is read as one pod (of 2 replicas)]");
  const auto two = read_pod({{"kind", "LeaderWorkerSet"},
                             {"spec", {{"leaderWorkerTemplate", {{"workerTemplate", {}}}}}}});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message.find("LeaderWorkerSet '': expected a Pod"), 0U);
}

TEST(PodDocuments, AreFoundInListsOfEveryKind) {
  const std::string deployment =
      R"({"metadata": {"name": "w"}, "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}})";
  const std::string list = R"({"kind": "DeploymentList", "items": [)" + deployment + "]}";
  EXPECT_EQ(read(list), "w [Deployment 'default/w': its pod template is read as one pod]");
  EXPECT_EQ(read(R"({"kind": "List", "items": [)" + list + "]}").substr(0, 2), "w ");
  EXPECT_EQ(read(pod_text("a") + "\n" + pod_text("b") + "\n"), "a b ");
}

/// For callers that admit pods without NRI, where the annotation would be ignored silently.
TEST(PodDocuments, HaveANoteForEachAnnotationThatOnlyNriReads) {
  const auto metadata = [](const std::string& name, const std::string& annotation) {
    return R"({"name": ")" + name + R"(", "annotations": {")" + annotation + R"(": "system"}})";
  };
  const std::string spec = R"("spec": {"containers": [{"name": "c"}]}})";
  const std::string pod =
      R"({"kind": "Pod", "metadata": )" + metadata("a", "pinfold.io/quiet") + ", " + spec;
  const std::string other =
      R"({"kind": "Pod", "metadata": )" + metadata("b", "x.io/quiet") + ", " + spec;
  const std::string workload =
      R"({"kind": "Deployment", "metadata": {"name": "w"}, "spec": {"template": {"metadata": )" +
      metadata("t", "pinfold.io/quiet") + ", " + spec + "}}";
  const std::string note =
      "its annotation pinfold.io/quiet has no effect: only the service's NRI plugin reads it; the "
      "setting 'quiet' of the service applies";
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(quiet_notes_in(pod + "\n---\n" + other + "\n---\n" + workload),
              ElementsAre("pod 'default/a': " + note, "pod 'default/w': " + note));
  EXPECT_THAT(quiet_notes_in(R"({"kind": "List", "items": [)" + other + ", " + pod + "]}"),
              ElementsAre("pod 'default/a': " + note));
  for (const std::string& text :
       {other, std::string("pinfold.io/quiet"), std::string("{pinfold.io/quiet"),
        std::string(R"({"metadata": {"annotations": "pinfold.io/quiet"}})"),
        std::string(R"({"kind": "List", "items": "pinfold.io/quiet"})")}) {
    EXPECT_THAT(quiet_notes_in(text), IsEmpty()) << text;
  }
}

TEST(PodDocuments, LeaveOutWhatHasNoPods) {
  const std::string service = R"({"kind": "Service", "metadata": {"name": "s"}})";
  EXPECT_EQ(read(service + "\n---\n" + pod_text("a")),
            "a [Service 'default/s' is neither a pod nor a known workload: skipped]");
  const std::string advice =
      "expected a Pod: pass one of its pods, as 'kubectl get pod NAME -o yaml' prints it";
  EXPECT_THAT(read(service), testing::AllOf(testing::HasSubstr("pods.yaml: Service "),
                                            testing::HasSubstr(advice)));
  EXPECT_THAT(read(R"({"kind": "List", "items": [)" + service + "]}"),
              testing::AllOf(testing::HasSubstr("pods.yaml: items[0]: Service "),
                             testing::HasSubstr(advice)));
  const std::string misspelt =
      R"({"kind": "pod", "metadata": {"name": "b"}, "spec": {"containers": [{"name": "c"}]}})";
  EXPECT_EQ(read(pod_text("a") + "\n---\n" + misspelt),
            "pods.yaml, document 2: kind: 'pod': expected 'Pod'");
  const std::string done =
      R"({"kind": "Workflow", "metadata": {"name": "w"}, "status": {"phase": "Succeeded"}})";
  EXPECT_EQ(read(done + "\n---\n" + pod_text("a")),
            "a [Workflow 'default/w' is neither a pod nor a known workload: skipped]");
}

TEST(PodDocuments, NameTheKindOfAnotherObjectAndWhatToPass) {
  const std::string spark =
      R"({"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
          "metadata": {"name": "r"}, "spec": {"driver": {"cores": 1}}})";
  const std::string error =
      "SparkApplication 'default/r' (sparkoperator.k8s.io/v1beta2): expected a Pod: pass one of "
      "its pods, as 'kubectl get pod NAME -o yaml' prints it";
  EXPECT_EQ(read(spark), "pods.yaml: " + error);
  EXPECT_EQ(parse_pod(spark).error().message, error);
}

/// An object as printed by kubectl. `owner`: "KIND NAME", or "" without an owner.
std::string object_of(const std::string& kind, const std::string& name, const std::string& owner) {
  const auto space = owner.find(' ');
  const std::string owners =
      owner.empty() ? ""
                    : fmt::format(R"(, "ownerReferences": [{{"kind": "{}", "name": "{}"}}])",
                                  owner.substr(0, space), owner.substr(space + 1));
  const std::string spec = R"({"containers": [{"name": "c"}]})";
  return fmt::format(R"({{"kind": "{}", "metadata": {{"name": "{}"{}}}, "spec": {}}})", kind, name,
                     owners, kind == "Pod" ? spec : R"({"template": {"spec": )" + spec + "}}");
}

TEST(PodDocuments, OfOneWorkloadAreReadOnce) {
  const std::string deployment = object_of("Deployment", "web", "");
  const std::string replicas = object_of("ReplicaSet", "web-1", "Deployment web");
  const std::string pod = object_of("Pod", "web-1-x", "ReplicaSet web-1");
  EXPECT_EQ(read(pod + "\n---\n" + deployment + "\n---\n" + replicas),
            "web-1-x [Deployment default/web: its pods are in the input: skipped]"
            "[ReplicaSet default/web-1: its pods are in the input: skipped]");
  EXPECT_EQ(read(deployment + "\n---\n" + replicas),
            "web [Deployment 'default/web': its pod template is read as one pod]"
            "[ReplicaSet default/web-1: its owner is in the input: skipped]");
  EXPECT_EQ(read(pod), "web-1-x ");
}

TEST(PodDocuments, OfSeveralNodesAreNamed) {
  const auto on = [](const std::string& node) {
    return fmt::format(
        R"({{"metadata": {{"name": "{0}"}}, "spec": {{"nodeName": "{0}", "containers": [{{"name": "c"}}]}}}})",
        node);
  };
  EXPECT_EQ(read(on("n1") + "\n---\n" + on("n2")),
            "n1 n2 [the pods are of 2 nodes (n1, n2): all are read]");
}

TEST(PodDocuments, LeaveOutPodsThatHaveFinished) {
  const auto with_phase = [](const std::string& phase) {
    return fmt::format(R"({{"metadata": {{"name": "a", "namespace": "b"}}, "status": {{"phase":
        "{}"}}, "spec": {{"containers": [{{"name": "c"}}]}}}})",
                       phase);
  };
  for (const std::string phase : {"Pending", "Running", "Unknown", ""}) {
    EXPECT_EQ(read(with_phase(phase)), "a ") << phase;
  }
  for (const std::string phase : {"Succeeded", "Failed"}) {
    EXPECT_EQ(read(with_phase(phase)), "[pod 'b/a' has finished (" + phase + "): skipped]");
    EXPECT_EQ(read(fmt::format(R"({{"kind": "PodList", "items": [{}, {}]}})", with_phase(phase),
                               pod_text("now"))),
              "now [pod 'b/a' has finished (" + phase + "): skipped]");
    EXPECT_EQ(read_pod(nlohmann::json::parse(with_phase(phase))).error().message,
              "pod 'b/a' has finished (" + phase + "): expected a running or pending pod");
  }
}

/// As kubectl prints it. Source: kubelet v1.36, rejectPod.
std::string rejected_pod(const std::string& reason, const std::string& more = "") {
  return fmt::format(R"({{"metadata": {{"name": "a"}}, "spec": {{"containers": [{{"name": "c"}}]}},
      "status": {{"phase": "Failed", "reason": "{}", "message": "Pod was rejected: x"{}}}}})",
                     reason, more);
}

TEST(PodDocuments, DecideARejectedPodAnewIfAskedAboutIt) {
  const auto names = [](const std::string& text, RejectedPods rejected) {
    PodCollector collector(UnknownFields::kRefuse, rejected);
    EXPECT_TRUE(collector.add_text(text, "pods"));
    const auto read = std::move(collector).finish();
    std::string all;
    for (const PodSpec& pod : read.value().pods) all += pod.name + " ";
    return fmt::format("{}[{}]", all, fmt::join(read.value().notes, "; "));
  };
  const std::string web = rejected_pod("TopologyAffinityError");
  EXPECT_EQ(names(web, RejectedPods::kDecide),
            "a [pod 'default/a' was rejected (TopologyAffinityError): it is decided again]");
  const std::string skipped = "[pod 'default/a' has finished (Failed): skipped]";
  EXPECT_EQ(names(web, RejectedPods::kSkip), skipped);
  EXPECT_EQ(names(fmt::format(R"({{"kind": "List", "items": [{}]}})", web), RejectedPods::kDecide),
            skipped)
      << "what a node has";
  EXPECT_EQ(names(rejected_pod("Evicted"), RejectedPods::kDecide), skipped);
  EXPECT_EQ(names(rejected_pod("Error", R"(, "containerStatuses": [{"name": "c"}])"),
                  RejectedPods::kDecide),
            skipped)
      << "it ran";
}

/// A finished pod gets no resources, whichever function reads it.
TEST(PodDocuments, NoReaderOfOnePodReturnsAFinishedOne) {
  const std::string done = R"({"metadata": {"name": "a"}, "status": {"phase": "Failed"},
      "spec": {"containers": [{"name": "c"}]}})";
  const std::string error =
      "pod 'default/a' has finished (Failed): expected a running or pending pod";
  const auto document = nlohmann::json::parse(done);
  EXPECT_EQ(pod_from_json(document).error().message, error);
  EXPECT_EQ(parse_pod(done).error().message, error);
  EXPECT_EQ(read_pod(document, UnknownFields::kIgnore).error().message, error);
  EXPECT_EQ(pod_of_any_phase(document).value().name, "a");
}

TEST(PodDocuments, UnknownFieldsOfAProgramsPodAreIgnored) {
  const auto document = nlohmann::json::parse(
      R"({"metadata": {"name": "a"}, "spec": {"later": 1, "containers": [{"name": "c"}]}})");
  EXPECT_TRUE(read_pod(document, UnknownFields::kIgnore));
  EXPECT_FALSE(read_pod(document, UnknownFields::kRefuse));
}

TEST(PodDocuments, HaveNotMoreContainersThanAnObjectHolds) {
  auto pod = nlohmann::json::parse(pod_text("a"));
  auto& containers = pod["spec"]["containers"];
  for (int i = 0; i < 10'000; ++i) containers.push_back({{"name", fmt::format("c{}", i)}});
  const auto read = read_pod(pod);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "spec.containers: 10001 containers, expected at most 10000");
}

TEST(PodDocuments, CarryTheOverhead) {
  auto pod = nlohmann::json::parse(pod_text("a"));
  pod["spec"]["overhead"] = {{"cpu", "250m"}};
  const auto read = read_pod(pod);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(amount_of(read->overhead, "cpu").to_string(), "250m");
  EXPECT_EQ(pod_from_json(to_json(*read)).value(), *read);
}

TEST(PodDocuments, NameTheFirstOfManyUnknownFields) {
  auto pod = nlohmann::json::parse(pod_text("a"));
  EXPECT_TRUE(read_pod(pod));
  for (const int count : {1, 5, 6, 8}) {
    for (int i = 0; i < count; ++i) pod["spec"][fmt::format("field{}", i)] = 1;
    const auto read = read_pod(pod);
    ASSERT_FALSE(read) << count;
    // The sixth field is named if it is the last one: "1 more" would say less.
    const int named = count > 6 ? 5 : count;
    for (int i = 0; i < count; ++i) {
      const auto at = read.error().message.find(fmt::format("field{}", i));
      EXPECT_EQ(at != std::string::npos, i < named) << read.error().message;
    }
    const auto more = read.error().message.find(fmt::format("; {} more", count - 5));
    EXPECT_EQ(more != std::string::npos, count > named) << read.error().message;
  }
}

TEST(PodDocuments, HaveFieldsOfTheirTypes) {
  const struct {
    const char* pointer;
    nlohmann::json value;
    const char* expected;  // "": the value is valid
  } cases[] = {
      {"/spec/priority", -2147483648LL, ""},
      {"/spec/priority", 2147483647, ""},
      {"/spec/priority", -2147483649LL, "spec.priority: -2147483649: expected a 32-bit integer"},
      {"/spec/priority", 2147483648LL, "spec.priority: 2147483648: expected a 32-bit integer"},
      {"/spec/priority", 1.5, "spec.priority: 1.5: expected a 32-bit integer"},
      {"/spec/activeDeadlineSeconds", 9223372036854775807LL, ""},
      {"/spec/activeDeadlineSeconds", 9223372036854775808ULL,
       "spec.activeDeadlineSeconds: 9223372036854775808: expected a 64-bit integer"},
      {"/spec/hostNetwork", true, ""},
      {"/spec/hostNetwork", "true", "spec.hostNetwork: 'true': expected true or false"},
      {"/spec/nodeName", 7, "spec.nodeName: 7: expected a string, in quotes"},
      {"/spec/nodeName", nlohmann::json::array(), "spec.nodeName: a list: expected a string"},
      {"/spec/nodeName", nullptr, ""},
      {"/spec/nodeSelector", {{"a", "b"}}, ""},
      {"/spec/nodeSelector", {{"a", 1}}, "spec.nodeSelector.a: 1: expected a string, in quotes"},
      {"/spec/nodeSelector", "a", "spec.nodeSelector: 'a': expected an object"},
      {"/spec/containers/0/env", {nullptr, 1}, "spec.containers[0].env[1]: 1: expected an object"},
      {"/spec/containers/0/command",
       {"a", 1},
       "spec.containers[0].command[1]: 1: expected a string, in quotes"},
      {"/spec/tolerations", 1, "spec.tolerations: 1: expected a list"},
  };
  const auto pod = nlohmann::json::parse(pod_text("a"));
  for (const auto& c : cases) {
    auto changed = pod;
    changed[nlohmann::json::json_pointer(c.pointer)] = c.value;
    const auto read = read_pod(changed);
    EXPECT_EQ(read ? "" : read.error().message, c.expected) << c.pointer;
  }
}

TEST(PodDocuments, AreValidatedTogether) {
  const auto read = read_pods(pod_text("a"), "a");
  ASSERT_TRUE(read);
  EXPECT_TRUE(validate_all(read->pods));
  EXPECT_TRUE(validate_all({}));
  PodSpec bad = read->pods.front();
  bad.containers[0].resources.requests["cpu"] = Quantity::of(2, Quantity::Format::kDecimalSi);
  bad.containers[0].resources.limits["cpu"] = Quantity::of(1, Quantity::Format::kDecimalSi);
  const auto one = validate_all({read->pods.front(), bad});
  ASSERT_FALSE(one);
  const auto two = validate_all({bad, bad});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message, one.error().message + "; " + one.error().message);
}

TEST(Amounts, SayWhatIsNeededAndWhereItIs) {
  const auto amount = [](std::int64_t n) { return Quantity::of(n, Quantity::Format::kDecimalSi); };
  Amounts amounts{.resource = "cpu", .needed = amount(4), .places = {}};
  EXPECT_EQ(describe(amounts), "needs 4 CPUs");
  amounts.places = {
      {.numa_nodes = {0, 2}, .free = amount(1), .held = amount(2), .reserved = amount(3)},
      {.numa_nodes = {}, .free = amount(5), .held = {}, .reserved = {}}};
  EXPECT_EQ(describe(amounts),
            "needs 4 CPUs; NUMA 0,2: 1 free, 2 held, 3 reserved; no NUMA node: "
            "5 free, 0 held, 0 reserved");
  amounts.resource = "hugepages-1Gi";
  amounts.places.resize(1);
  EXPECT_EQ(describe(amounts), "needs 4 of hugepages-1Gi; NUMA 0,2: 1 free, 2 held, 3 reserved");
  amounts.resource = "example.com/gpu";
  EXPECT_EQ(describe(amounts), "needs 4 example.com/gpu; NUMA 0,2: 1 free, 2 held");
}

/// Searching the nearest name for each of 40,000 fields would take seconds.
TEST(PodDocuments, OnlyTheFirstUnknownFieldsGetASuggestion) {
  std::string text = "kind: KubeletConfiguration\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("cpuManagerPolicx{}: 1\n", i);
  const auto parsed = parse_config(text);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  ASSERT_EQ(parsed->warnings.size(), 60U);
  int suggestions = 0;
  for (const std::string& warning : parsed->warnings) {
    if (warning.find("did you mean 'cpuManagerPolicy'?") != std::string::npos) ++suggestions;
  }
  EXPECT_EQ(suggestions, 50);
}

}  // namespace
}  // namespace pinfold
