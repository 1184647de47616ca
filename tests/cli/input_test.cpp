#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "run_program.hpp"
#include "temp_dir.hpp"

/// The manifests and configurations that the commands accept.
namespace pinfold {
namespace {

using test::Outcome;
using test::run_shell;
using testing::HasSubstr;

constexpr const char* kNode = R"({"name":"n","cpus":[
  {"id":0,"core":0,"socket":0,"numa":0,"l3":0},{"id":1,"core":1,"socket":0,"numa":0,"l3":0},
  {"id":2,"core":2,"socket":0,"numa":0,"l3":0},{"id":3,"core":3,"socket":0,"numa":0,"l3":0}],
  "numaNodes":[{"id":0,"memory":4294967296,"hugepages":{}}],
  "devices":[{"resource":"example.com/nic","id":"nic-0","numaNodes":[0]}]})";

/// As `kubectl get pod -o yaml` prints a pod, with the fields that the API server and the kubelet
/// fill in.
constexpr const char* kFromKubectl = R"(
apiVersion: v1
kind: Pod
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","kind":"Pod"}
  creationTimestamp: "2026-03-01T10:00:00Z"
  generateName: web-7c5ddbdf54-
  generation: 1
  labels: {app: web, pod-template-hash: 7c5ddbdf54}
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1: {"f:metadata": {"f:labels": {}}}
    manager: kubectl
    operation: Update
    time: "2026-03-01T10:00:00Z"
  name: web-7c5ddbdf54-abcde
  namespace: shop
  ownerReferences:
  - {apiVersion: apps/v1, blockOwnerDeletion: true, controller: true, kind: ReplicaSet,
     name: web-7c5ddbdf54, uid: 5e1e7a4c-0000-4000-8000-000000000001}
  resourceVersion: "123456"
  uid: 5e1e7a4c-0000-4000-8000-000000000002
spec:
  affinity: {nodeAffinity: {}}
  automountServiceAccountToken: false
  containers:
  - args: [--port, "8080"]
    command: [/bin/web]
    env:
    - {name: MODE, value: "1"}
    - name: POD_IP
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: status.podIP}}
    envFrom: [{configMapRef: {name: web}}]
    image: registry.example.com/web:1.2
    imagePullPolicy: IfNotPresent
    lifecycle: {preStop: {exec: {command: [sleep, "5"]}}}
    livenessProbe: {failureThreshold: 3, httpGet: {path: /healthz, port: 8080, scheme: HTTP}}
    name: main
    ports: [{containerPort: 8080, name: http, protocol: TCP}]
    readinessProbe: {httpGet: {path: /ready, port: http}}
    resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]
    resources:
      limits: {cpu: "2", memory: 1Gi}
      requests: {cpu: "2", memory: 1Gi}
    securityContext: {allowPrivilegeEscalation: false}
    startupProbe: {exec: {command: ["true"]}}
    stdin: true
    stdinOnce: false
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    tty: false
    volumeMounts: [{mountPath: /data, name: data}]
    workingDir: /srv
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  hostNetwork: false
  hostUsers: false
  imagePullSecrets: [{name: registry}]
  initContainers:
  - {image: busybox, name: prepare, resources: {}}
  nodeName: worker-1
  nodeSelector: {disk: ssd}
  os: {name: linux}
  overhead: {cpu: 10m, memory: 16Mi}
  preemptionPolicy: PreemptLowerPriority
  priority: 0
  priorityClassName: default
  readinessGates: [{conditionType: example.com/ready}]
  restartPolicy: Always
  runtimeClassName: crun
  schedulerName: default-scheduler
  securityContext: {runAsNonRoot: true}
  serviceAccount: web
  serviceAccountName: web
  shareProcessNamespace: false
  subdomain: web
  terminationGracePeriodSeconds: 30
  tolerations:
  - {effect: NoExecute, key: node.kubernetes.io/not-ready, operator: Exists, tolerationSeconds: 300}
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
  volumes: [{emptyDir: {}, name: data}]
status:
  conditions: [{status: "True", type: Ready}]
  phase: Running
  qosClass: Guaranteed
)";

std::string pod(const std::string& name) {
  return fmt::format(
      "{{kind: Pod, metadata: {{name: {}}}, spec: {{containers: [{{name: main}}]}}}}", name);
}

class Input : public testing::Test {
 protected:
  void SetUp() override {
    dir_.write("node.json", kNode);
    std::filesystem::create_directory(dir_ / "state");
  }

  /// Decides about the pods in a file with this text.
  [[nodiscard]] Outcome admit(const std::string& text, const std::string& config = "{}") const {
    dir_.write("pods", text);
    dir_.write("config.yaml", config);
    return run_shell(fmt::format("cd {} && " PINFOLD_COMMAND
                                 " admit --dry-run --state-dir state --machine node.json --config "
                                 "config.yaml pods",
                                 dir_.path()));
  }

  test::TempDir dir_;
};

TEST_F(Input, TakesEveryFormInWhichPodsCome) {
  const struct {
    const char* name;
    std::string text;
    std::vector<std::string> pods;
  } cases[] = {
      {"flow style", pod("a"), {"default/a"}},
      {"documents", pod("a") + "\n---\n" + pod("b") + "\n---\n", {"default/a", "default/b"}},
      {"JSON documents",
       R"({"kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}]}})"
       "\n---\n"
       R"({"kind":"Pod","metadata":{"name":"b"},"spec":{"containers":[{"name":"c"}]}})",
       {"default/a", "default/b"}},
      {"List",
       "apiVersion: v1\nkind: List\nmetadata: {resourceVersion: ''}\nitems:\n- " + pod("a") +
           "\n- " + pod("b") + "\n",
       {"default/a", "default/b"}},
      {"PodList, whose items have no kind",
       "apiVersion: v1\nkind: PodList\nitems:\n"
       "- {metadata: {name: a}, spec: {containers: [{name: c}]}}\n",
       {"default/a"}},
      {"a list and a pod",
       "kind: List\nitems: [" + pod("a") + "]\n---\n" + pod("b"),
       {"default/a", "default/b"}},
      {"kubectl", kFromKubectl, {"shop/web-7c5ddbdf54-abcde"}},
  };
  for (const auto& c : cases) {
    const Outcome outcome = admit(c.text);
    EXPECT_EQ(outcome.status, 0) << c.name << ": " << outcome.err;
    EXPECT_EQ(outcome.err, "") << c.name;
    for (const std::string& name : c.pods) {
      EXPECT_THAT(outcome.out, HasSubstr(name + ": admitted\n")) << c.name;
    }
  }
}

TEST_F(Input, SkipsFinishedPodsAndTakesPodTemplates) {
  const Outcome outcome = admit(
      "kind: List\nitems:\n"
      "- {metadata: {name: done}, status: {phase: Succeeded}, spec: {containers: [{name: c}]}}\n"
      "- {metadata: {name: failed}, status: {phase: Failed}, spec: {containers: [{name: c}]}}\n"
      "- {kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: "
      "c}]}}}}\n");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("default/web: admitted\n"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("done")));
  EXPECT_EQ(outcome.err,
            "pinfold: warning: pod 'default/done' has finished (Succeeded): skipped\n"
            "pinfold: warning: pod 'default/failed' has finished (Failed): skipped\n"
            "pinfold: warning: Deployment 'default/web': its pod template is read as one pod\n");
}

TEST_F(Input, CountsPodsAndOverhead) {
  const Outcome outcome = admit(pod("a") + "\n---\n" + pod("b"), "maxPods: 1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("default/b: rejected, OutOfpods: Node didn't have enough "
                                     "resource: pods, requested: 1, used: 1, capacity: 1"));
}

TEST_F(Input, RefusesWhatIsNoPod) {
  const struct {
    std::string text;
    std::string error;
  } cases[] = {
      {"kind: Deployment\nmetadata: {name: a}\n",
       "pinfold: pods: Deployment 'default/a': no spec.template: expected a pod template\n"},
      {"kind: List\nitems: [" + pod("a") + ", {kind: CronJob}]",
       "pinfold: pods: items[1]: CronJob '': no spec.jobTemplate.spec.template: expected a pod "
       "template\n"},
      {"kind: Service\nmetadata: {name: a}\n",
       "pinfold: pods: Service 'default/a': expected a Pod: pass one of its pods, as 'kubectl get "
       "pod "
       "NAME -o yaml' prints it\n"},
      {pod("a") + "\n---\nkind: Job\n",
       "pinfold: pods, document 2: Job '': no spec.template: expected a pod template\n"},
      {"kind: List\nitems: {}\n", "pinfold: pods: items: an object: expected a list\n"},
      {"kind: List\nitems: []\n", "pinfold: no pod in pods: expected at least one\n"},
      {"kind: List\n", "pinfold: no pod in pods: expected at least one\n"},
      {"- 1\n", "pinfold: pods: pod: a list: expected an object\n"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = admit(c.text);
    EXPECT_EQ(outcome.status, 2) << c.text;
    EXPECT_EQ(outcome.err, c.error) << c.text;
  }
}

TEST_F(Input, RefusesUnknownFieldsOfPods) {
  const struct {
    const char* container;
    const char* error;
  } cases[] = {
      {"{name: c, resources: {limit: {cpu: 2}}}",
       "unknown field 'spec.containers[0].resources.limit', did you mean 'limits'?"},
      {"{name: c, limits: {cpu: 2}}",
       "unknown field 'spec.containers[0].limits', did you mean 'resources.limits'?"},
      {"{name: c, Image: x, xyz: 1}",
       "unknown field 'spec.containers[0].Image', did you mean 'image'?; unknown field "
       "'spec.containers[0].xyz'"},
      {"{name: c, image: 5}", "spec.containers[0].image: 5: expected a string, in quotes"},
      {"{name: c, tty: 'yes'}", "spec.containers[0].tty: 'yes': expected true or false"},
      {"{name: c, env: [{name: A, value: 1}]}",
       "spec.containers[0].env[0].value: 1: expected a string, in quotes"},
      {"{name: c, args: [1]}", "spec.containers[0].args[0]: 1: expected a string, in quotes"},
      {"{name: c, a: 1, b: 1, d: 1, e: 1, f: 1, g: 1, h: 1}", "; 2 more\n"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = admit(
        fmt::format("kind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{}]}}\n", c.container));
    EXPECT_EQ(outcome.status, 2) << c.container;
    EXPECT_THAT(outcome.err, HasSubstr(c.error));
  }
}

TEST_F(Input, WarnsOfUnknownFieldsOfConfigurations) {
  const Outcome outcome = admit(pod("a"), "kubeReservd: {cpu: '1'}");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err,
            "pinfold: warning: configuration: unknown field 'kubeReservd', did you mean "
            "'kubeReserved'?\n");
  const Outcome refused = admit(pod("a"), "reservedSystemCPUs: 0");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err,
            "pinfold: config.yaml: reservedSystemCPUs: 0: expected a string, in quotes\n");
}

TEST_F(Input, ReadsConfigurationsOfDistributions) {
  const Outcome talos =
      admit(pod("a"), "machine: {kubelet: {extraConfig: {cpuManagerPolicy: static}}}");
  EXPECT_EQ(talos.status, 0) << "Talos adds the reservation: " << talos.err;
  EXPECT_THAT(talos.err, HasSubstr("'talosctl read /etc/kubernetes/kubelet.yaml'"));
  EXPECT_THAT(talos.err, HasSubstr("systemReserved: assumed cpu 50m, "));
  const Outcome gke = admit(pod("a"), "kubeletConfig: {cpuManagerPolicy: static}");
  EXPECT_EQ(gke.status, 2) << "the policy is read";
  EXPECT_THAT(gke.err, HasSubstr("pinfold: config.yaml: start: cpumanager: "));
  EXPECT_THAT(gke.err, testing::Not(HasSubstr("write: "))) << "GKE adds the reservation";
  const Outcome unit = admit(pod("a"),
                             "[Service]\nEnvironment=\"KUBELET_EXTRA_ARGS=--feature-gates="
                             "AlertingRules=true --reserved-cpus=0\"\n");
  EXPECT_EQ(unit.status, 0) << unit.err;
  EXPECT_THAT(unit.err, HasSubstr("AlertingRules (OpenShift); no decision depends on them\n"));
  const Outcome other = admit(pod("a"), "kind: Pod");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err,
              HasSubstr("config.yaml: kind: 'Pod': expected 'KubeletConfiguration': pass the "
                        "output of: kubectl get --raw"));
}

TEST_F(Input, NamesWhatIsPrintedForPeople) {
  const Outcome pod_text =
      admit("Name:             a\nNamespace:        default\nContainers:\n  b:\n");
  EXPECT_EQ(pod_text.status, 2);
  EXPECT_EQ(pod_text.err,
            "pinfold: pods: the output of 'kubectl describe', which is for people: pass the output "
            "of 'kubectl get -o yaml'\n");
  EXPECT_THAT(admit("NAME   READY   STATUS    RESTARTS   AGE\na   1/1   Running   0   1d\n").err,
              HasSubstr("pods: a table of 'kubectl get', which is for people: pass the output of "
                        "'kubectl get -o yaml'"));
}

TEST_F(Input, TakesFlagsOfAKubelet) {
  dir_.write("pods", pod("a"));
  dir_.write("extra", "KUBELET_EXTRA_ARGS=--memory-manager-policy=Static\n");
  const auto explain = [&](const std::string& flags) {
    return run_shell(fmt::format("cd {} && " PINFOLD_COMMAND
                                 " explain --machine node.json --state-dir state "
                                 "--insecure-state-dir {} pods",
                                 dir_.path(), flags));
  };
  const Outcome memory = explain("--kubelet-flags --cpu-cfs-quota=false --kubelet-flags extra");
  EXPECT_EQ(memory.status, 2);
  EXPECT_THAT(memory.err, HasSubstr("; pass --reserved-memory=0:memory=100Mi\n"));
  const Outcome name = explain("--kubelet-flags '--cpu-manager-policy=Static --reserved-cpus=0'");
  EXPECT_THAT(name.err, HasSubstr("did you mean 'static'?"));
  // As on one command line, repeated maps are joined.
  EXPECT_EQ(explain("--kubelet-flags '--cpu-manager-policy=static --kube-reserved=cpu=500m' "
                    "--kubelet-flags --kube-reserved=memory=1Gi")
                .status,
            0);
  dir_.write("kubelet.service",
             "[Service]\nEnvironmentFile=/etc/sizing.env\n"
             "ExecStart=/usr/bin/kubelet --cpu-manager-policy=static "
             "--system-reserved=cpu=${RESERVED_CPU}\n");
  dir_.write("sizing.env", "RESERVED_CPU=1\n");
  const Outcome unit = explain("--kubelet-flags kubelet.service --kubelet-flags sizing.env");
  EXPECT_EQ(unit.status, 0) << unit.err;
  EXPECT_THAT(explain("--kubelet-flags kubelet.service").err,
              HasSubstr("'/etc/sizing.env' is not read: pass the unit and that file"));
  std::filesystem::create_directory(dir_ / "kubelet.service.d");
  dir_.write("kubelet.service.d/10.conf",
             "[Service]\nEnvironmentFile=/etc/default/%N\nExecStart=/usr/bin/kubelet $ARGS\n");
  dir_.write("kubelet", "ARGS=--cpu-manager-policy=static --reserved-cpus=0\n");
  const Outcome drop_in =
      explain("--kubelet-flags kubelet.service.d/10.conf --kubelet-flags kubelet");
  EXPECT_EQ(drop_in.status, 0) << drop_in.err;
  EXPECT_EQ(drop_in.err.find("is not read"), std::string::npos) << drop_in.err;
  EXPECT_THAT(explain("--kubelet-flags kubelet.service.d/10.conf").err,
              HasSubstr("'/etc/default/kubelet' is not read"));
  EXPECT_THAT(explain("--config kubelet.service.d/10.conf").err,
              HasSubstr("'/etc/default/kubelet' is not read"));
  EXPECT_THAT(explain("--kubelet-flags --cpu-manager-polcy=static").err,
              HasSubstr("did you mean '--cpu-manager-policy'?"));
  EXPECT_THAT(explain("--kubelet-flags --cpu-manager-policy=").err,
              HasSubstr("'': expected a name: a kubelet does not start with an empty one"));
  dir_.write("twice.env", "A='--cpu-manager-policy=static'\nA=\"${A} --reserved-cpus=0\"\n");
  EXPECT_THAT(explain("--kubelet-flags twice.env").err,
              HasSubstr("systemd replaces no variables in environment files"));
  EXPECT_THAT(explain("--kubelet-flags --config=/etc/kubelet.yaml").err,
              HasSubstr("the configuration is in '/etc/kubelet.yaml'"));
  EXPECT_THAT(explain("--kubelet-flags missing").err, HasSubstr("--kubelet-flags: read 'missing'"));
  EXPECT_THAT(explain("--config . --kubelet-flags --v=2").err,
              HasSubstr("'.': not the configuration of a kubelet"));
}

constexpr const char* kKind =
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

constexpr const char* kOneCpu = R"({kind: Pod, metadata: {name: a}, spec: {containers: [
  {name: main, resources: {limits: {cpu: 1, memory: 1Gi}}}]}})";

/// Distributions keep flags in a file that is named after the program.
TEST_F(Input, TakesFlagsOfAFileThatIsNamedKubelet) {
  dir_.write("pods", kOneCpu);
  dir_.write("default/kubelet",
             "KUBELET_EXTRA_ARGS=\"--cpu-manager-policy=static --reserved-cpus=0\"\n");
  const auto explain = [&](const std::string& flags) {
    return run_shell(fmt::format("cd {} && " PINFOLD_COMMAND
                                 " explain --machine node.json --state-dir state "
                                 "--insecure-state-dir --kubelet-flags {} pods",
                                 dir_.path(), flags));
  };
  EXPECT_THAT(explain("default/kubelet").out, HasSubstr("has exclusive CPU 1"));
  EXPECT_THAT(explain("'kubelet --cpu-manager-policy=static --reserved-cpus=0'").out,
              HasSubstr("has exclusive CPU 1"));
  for (const char* const missing : {"sysconfig/kubelet", "kubelet", "/usr/bin/kubelet"}) {
    const Outcome outcome = explain(missing);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr(fmt::format("--kubelet-flags: read '{}'", missing)));
  }
}

/// A directory that is near the root of a node is named, or its root found.
TEST_F(Input, NamesTheFileInADirectoryThatIsNotTheRootOfANode) {
  dir_.write("pods", kOneCpu);
  dir_.write("kubelet/config.yaml", kKind);
  dir_.write("drop-ins/10-a.conf", kKind);
  const auto explain = [&](const std::string& options) {
    return run_shell(fmt::format("cd {} && " PINFOLD_COMMAND
                                 " explain --state-dir state --insecure-state-dir {} pods",
                                 dir_.path(), options));
  };
  EXPECT_THAT(explain("--machine node.json --config kubelet").err,
              HasSubstr("'kubelet': it is not the root of a node, which has "
                        "'/var/lib/kubelet/config.yaml': pass the root, or the file "
                        "'kubelet/config.yaml'"));
  EXPECT_THAT(explain("--machine node.json --config drop-ins").err,
              HasSubstr("or the file 'drop-ins/10-a.conf'"));
  dir_.write("tree/sys/devices/system/cpu/online", "0\n");
  const std::string of_root = explain("--machine tree").err;
  EXPECT_THAT(of_root, HasSubstr("'tree/sys/devices/system/cpu'"));
  EXPECT_THAT(explain("--machine tree/sys").err, HasSubstr("'tree/sys/devices/system/cpu'"));
}

/// The rest of the configuration is in the file beside the directory.
TEST_F(Input, TakesADropInForAPartOfAConfiguration) {
  dir_.write("pods", kOneCpu);
  dir_.write("config.json.d/40-nodeadm.conf", std::string(kKind) + "maxPods: 20\n");
  const Outcome outcome = run_shell(
      fmt::format("cd {} && " PINFOLD_COMMAND " explain --machine node.json --state-dir state "
                  "--insecure-state-dir --config config.json.d/40-nodeadm.conf pods",
                  dir_.path()));
  EXPECT_THAT(outcome.err,
              HasSubstr("it is only a part of a kubelet's and has no cpuManagerPolicy"));
}

/// Before a kubelet runs, its unit says with which flags it will.
TEST_F(Input, TakesTheConfigurationOfANodeWhoseKubeletDoesNotRun) {
  dir_.write("pods", kOneCpu);
  std::filesystem::create_directories(dir_ / "node/proc");
  dir_.write("node/var/lib/kubelet/config.yaml", kKind);
  dir_.write("node/usr/lib/systemd/system/kubelet.service",
             "[Service]\nExecStart=/usr/bin/kubelet\n");
  dir_.write("node/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
             "[Service]\n"
             "Environment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"\n"
             "EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n"
             "EnvironmentFile=-/etc/default/kubelet\n"
             "ExecStart=\n"
             "ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS\n");
  const auto explain = [&] {
    return run_shell(fmt::format("cd {} && " PINFOLD_COMMAND
                                 " explain --machine node.json --state-dir state "
                                 "--insecure-state-dir --config node pods",
                                 dir_.path()));
  };
  EXPECT_THAT(explain().out, HasSubstr("runs in the shared pool"));
  dir_.write("node/etc/default/kubelet",
             "KUBELET_EXTRA_ARGS=--cpu-manager-policy=static --reserved-cpus=0\n");
  EXPECT_THAT(explain().out, HasSubstr("has exclusive CPU 1"));
  dir_.write("node/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
             "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --v=2\n");
  EXPECT_THAT(explain().out, HasSubstr("runs in the shared pool")) << "this drop-in replaces that";
  dir_.write("node/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
             "[Service]\nExecStart=\nExecStart=/usr/local/bin/kubenswrapper \\\n"
             "  /usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf --v=2\n");
  dir_.write("node/etc/kubernetes/kubelet.conf",
             std::string(kKind) + "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n");
  EXPECT_THAT(explain().out, HasSubstr("has exclusive CPU 1"));
  dir_.write("node/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
             "[Service]\nExecStart=\nExecStart=/opt/start-node\n");
  const Outcome hidden = explain();
  EXPECT_EQ(hidden.status, 2);
  EXPECT_THAT(hidden.err, HasSubstr("ExecStart 'start-node' is not a kubelet and hides its flags"));
}

/// Units are read by systemd's rules; flags that cannot be known are an error, never the defaults.
TEST_F(Input, ReadsTheUnitOfANodeAsSystemdDoes) {
  dir_.write("pods", kOneCpu);
  std::filesystem::create_directories(dir_ / "node/proc");
  dir_.write("node/var/lib/kubelet/config.yaml", kKind);
  const auto explain = [&](const std::string& service, const std::string& file) {
    dir_.write("node/etc/systemd/system/kubelet.service", "[Service]\n" + service + "\n");
    dir_.write("node/etc/kubelet.env", file);
    const Outcome outcome = run_shell(fmt::format("cd {} && " PINFOLD_COMMAND
                                                  " explain --machine node.json --state-dir state "
                                                  "--insecure-state-dir --config node pods",
                                                  dir_.path()));
    return outcome.out + outcome.err;
  };
  const std::string command =
      "ExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml $A ${B}";
  const char* const exclusive = "has exclusive CPU 1";
  EXPECT_THAT(explain("EnvironmentFile=-/etc/*.env\nEnvironment=B=--v=2\n" + command,
                      "A='--cpu-manager-policy static\n --reserved-cpus=0'\n"),
              HasSubstr(exclusive));
  EXPECT_THAT(explain("ExecStart=/usr/bin/kubelet --cpu-manager-policy=static \\\r\n"
                      "  --reserved-cpus=0\r",
                      ""),
              HasSubstr(exclusive));
  EXPECT_THAT(explain("Environment=A=--cpu-manager-policy=static B=--v=2\nEnvironment=\n"
                      "Environment=B=--v=2\n" +
                          command,
                      ""),
              HasSubstr("runs in the shared pool"));
  EXPECT_THAT(explain("EnvironmentFile=/etc/none\n" + command, ""),
              HasSubstr("systemd does not start the unit: EnvironmentFile '/etc/none'"));
  EXPECT_THAT(explain("ExecStart=/bin/sh -c 'exec kubelet --cpu-manager-policy=static'", ""),
              HasSubstr("ExecStart 'sh' is not a kubelet and hides its flags"));
  EXPECT_THAT(explain("Environment=B=--cpu-manager-polcy=static\n" + command, ""),
              HasSubstr("unknown flag '--cpu-manager-polcy': a kubelet does not start with it"));
  EXPECT_THAT(explain(command, ""), HasSubstr("'': expected a flag"));
}

TEST_F(Input, WarnsOfResourcesThatNothingOffers) {
  const std::string wants = R"({kind: Pod, metadata: {name: a}, spec: {containers: [{name: main,
    resources: {limits: {example.com/gpu: 1, example.com/nic: 1, example.com/none: 0, cpu: 1,
                         hugepages-2Mi: 2Mi, memory: 1Gi, ephemeral-storage: 1Gi}}}]}})";
  const Outcome outcome = admit(wants);
  EXPECT_EQ(outcome.status, 1) << "the machine has no huge pages: " << outcome.err;
  EXPECT_EQ(outcome.err,
            "pinfold: warning: default/a: no device plugin on this machine offers "
            "'example.com/gpu'; the decision ignores it\n");
  const std::string predict =
      fmt::format("cd {} && " PINFOLD_COMMAND
                  " topology --synthetic 'pack:2 core:4 pu:1' -o nrt > nodes; " PINFOLD_COMMAND
                  " predict --nodes nodes --pod pods --ignore example.com/nic",
                  dir_.path());
  const Outcome predicted = run_shell(predict);
  EXPECT_EQ(predicted.err,
            "pinfold: warning: default/a: no node reports 'example.com/gpu' by NUMA node; the "
            "prediction ignores it\n")
      << predicted.out;
}

TEST_F(Input, SaysThatYamlAllowsNoTabs) {
  EXPECT_EQ(admit("kind: Pod\nmetadata:\n\tname: a\n").err,
            "pinfold: pods: line 3, column 1: a tab in the indentation: YAML allows only spaces\n");
}

}  // namespace
}  // namespace pinfold
