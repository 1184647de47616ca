#include "pinfold/api/kubelet_flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(KubeletFlags, AreReadInEveryForm) {
  using namespace std::string_literals;
  const auto words =
      parse_command_line("/usr/bin/kubelet\0--a=1\0--b\0two\0-v\0004\0--c\0--d=x=y\0"s);
  EXPECT_EQ(kubelet_flags(words), (KubeletFlags{
                                      {"--a", "1"},
                                      {"--b", "two"},
                                      {"--v", "4"},
                                      {"--c", "true"},
                                      {"--d", "x=y"},
                                  }));
}

/// Whether the next word is the value of a flag depends on the flag, not on the word.
TEST(KubeletFlags, HaveTheirFormsFromATable) {
  using Words = std::vector<std::string>;
  const struct {
    Words words;
    KubeletFlags flags;
  } cases[] = {
      {{"--fail-swap-on", "false"}, {{"--fail-swap-on", "true"}, {"--", "false"}}},
      {{"--fail-swap-on", "--max-pods", "5"}, {{"--fail-swap-on", "true"}, {"--max-pods", "5"}}},
      {{"--node-labels", "--v"}, {{"--node-labels", "--v"}}},
      {{"--node-ip"}, {{"--node-ip", "true"}, {"--", "--node-ip"}}},
      {{"-v2", "-h"}, {{"--v", "2"}, {"--help", "true"}}},
      {{"-v=3"}, {{"--v", "3"}}},
      {{"one", "two"}, {{"--", "one"}}},
      {{""}, {{"--", ""}}},
      {{"-max-pods=3"}, {{"-max-pods", "3"}}},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(flags_of_words(one.words), one.flags) << testing::PrintToString(one.words);
  }
}

TEST(KubeletFlags, ThatPreventAStartAreErrors) {
  const struct {
    std::vector<std::string> words;
    const char* error;
  } cases[] = {
      {{"--fail-swap-on", "false"}, "'false': expected a flag"},
      {{"--node-ip"}, "flag '--node-ip': expected a value after it"},
      {{"-max-pods=3"}, "unknown flag '-max-pods': a kubelet does not start with it, did you"},
      {{"--cpu-manager-policy="}, "flag '--cpu-manager-policy': '': expected a name: a kubelet"},
      {{"--memory-manager-policy="}, "flag '--memory-manager-policy': '': expected a name"},
      {{"--topology-manager-scope="}, "flag '--topology-manager-scope': '': expected a name"},
      {{"${A}", "--v=2"},
       "'${A}': expected a flag; a kubelet takes this for a command and does not start: systemd "
       "replaces no variables in environment files"},
      {{"--seccomp-default=perhaps"}, "flag '--seccomp-default': 'perhaps': expected true or"},
  };
  for (const auto& one : cases) {
    const auto checked = check_flags(flags_of_words(one.words));
    ASSERT_FALSE(checked) << testing::PrintToString(one.words);
    EXPECT_THAT(checked.error().message, HasSubstr(one.error));
  }
}

/// Values are parsed as by a kubelet.
TEST(KubeletFlags, HaveTheKubeletsSyntax) {
  const auto applied = [](const std::vector<std::string>& words) {
    json config = json::object();
    const auto done = apply_flags(flags_of_words(words), config);
    return done ? config.dump() : done.error().message;
  };
  const struct {
    const char* word;
    const char* result;
  } cases[] = {
      {"--kube-reserved=memory=1Gi, cpu = 500m,",
       R"({"kubeReserved":{"cpu":"500m","memory":"1Gi"}})"},
      {"--eviction-hard= memory.available < 5% ,", R"({"evictionHard":{"memory.available":"5%"}})"},
      {"--eviction-hard=memory.available=5%",
       "flag '--eviction-hard': 'memory.available=5%': expected SIGNAL<VALUE,..."},
      {"--kube-reserved=cpu<500m", "flag '--kube-reserved': 'cpu<500m': expected KEY=VALUE,..."},
      {"--feature-gates= A = true,B=0", R"({"featureGates":{"A":true,"B":false}})"},
      {"--cpu-manager-policy-options=a=true,b=true",
       R"({"cpuManagerPolicyOptions":{"a":"true,b=true"}})"},
      {"--reserved-memory=0:memory=1Gi;",
       "flag '--reserved-memory': '0:memory=1Gi;': expected NODE:memory=SIZE;..."},
      {"--reserved-memory=0:memory=1Gi,",
       "flag '--reserved-memory': '': expected memory=SIZE or hugepages-SIZE=SIZE"},
      {"--reserved-memory=0:cpu=1",
       "flag '--reserved-memory': 'cpu=1': expected memory=SIZE or hugepages-SIZE=SIZE"},
      {"--enforce-node-allocatable=", R"({"enforceNodeAllocatable":[]})"},
      {"--enforce-node-allocatable=pods,kube-reserved",
       R"({"enforceNodeAllocatable":["pods","kube-reserved"]})"},
  };
  for (const auto& one : cases) EXPECT_EQ(applied({one.word}), one.result) << one.word;
  EXPECT_EQ(applied({"--cpu-manager-policy-options=a=true", "--cpu-manager-policy-options=b=1"}),
            R"({"cpuManagerPolicyOptions":{"a":"true","b":"1"}})");
  EXPECT_EQ(applied({"--reserved-memory=0:memory=1Gi", "--reserved-memory", "1:memory=2Gi"}),
            R"({"reservedMemory":[{"limits":{"memory":"1Gi"},"numaNode":0},)"
            R"({"limits":{"memory":"2Gi"},"numaNode":1}]})");
}

TEST(KubeletFlags, MayIgnoreEvictionInReservations) {
  const auto hard_of = [](const char* value, json config) {
    EXPECT_TRUE(apply_flags({{"--experimental-allocatable-ignore-eviction", value}}, config));
    return config;
  };
  EXPECT_EQ(hard_of("true", json::object()),
            (json{{"evictionHard", {{"memory.available", "0%"}}}}));
  EXPECT_EQ(hard_of("true", {{"evictionHard", {{"memory.available", "1Gi"}, {"a", "5%"}}}}),
            (json{{"evictionHard", {{"memory.available", "0%"}, {"a", "5%"}}}}));
  EXPECT_EQ(hard_of("false", json::object()), json::object());
}

TEST(KubeletFlags, AreThoseOfAKubelet) {
  EXPECT_TRUE(kubelet_flags({"kubelet"}));
  EXPECT_EQ(kubelet_flags({"/hyperkube", "kubelet", "--a=1"}), (KubeletFlags{{"--a", "1"}}));
  EXPECT_FALSE(kubelet_flags({}));
  EXPECT_FALSE(kubelet_flags({"/usr/bin/kubelet-wrapper"}));
  EXPECT_FALSE(kubelet_flags({"grep", "-r", "kubelet"}));
}

TEST(KubeletFlags, ChangeTheConfiguration) {
  json config = {{"cpuManagerPolicy", "none"}, {"featureGates", {{"A", true}, {"B", true}}}};
  const auto applied =
      apply_flags({{"--cpu-manager-policy", "static"},
                   {"--cpu-manager-policy-options", "full-pcpus-only=true"},
                   {"--feature-gates", "B=false,C=1"},
                   {"--eviction-hard", "memory.available<100Mi"},
                   {"--cpu-cfs-quota", "false"},
                   {"--reserved-memory", "0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi"},
                   {"--node-ip", "::1"}},
                  config);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(config, json::parse(R"({
    "cpuManagerPolicy": "static",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
    "featureGates": {"A": true, "B": false, "C": true},
    "evictionHard": {"memory.available": "100Mi"},
    "cpuCFSQuota": false,
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": "2Gi"}},
                       {"numaNode": 1, "limits": {"memory": "1Gi"}}]})"));
}

TEST(KubeletFlags, SetFields) {
  const struct {
    const char* field;
    const char* value;
    std::vector<std::string> flags;
  } cases[] = {
      {"reservedSystemCPUs", R"("0-1")", {"--reserved-cpus=0-1"}},
      {"systemReservedCgroup", R"("")", {"--system-reserved-cgroup="}},
      {"maxPods", "110", {"--max-pods=110"}},
      {"cgroupsPerQOS", "false", {"--cgroups-per-qos=false"}},
      {"enforceNodeAllocatable",
       R"(["pods", "kube-reserved"])",
       {"--enforce-node-allocatable=pods,kube-reserved"}},
      {"enforceNodeAllocatable", "[]", {"--enforce-node-allocatable="}},
      {"kubeReserved", R"({"cpu": "1", "memory": "1Gi"})", {"--kube-reserved=cpu=1,memory=1Gi"}},
      {"evictionHard", R"({"memory.available": "5%"})", {"--eviction-hard=memory.available<5%"}},
      {"featureGates", R"({"A": true, "B": false})", {"--feature-gates=A=true,B=false"}},
      {"cpuManagerPolicyOptions",
       R"({"a": "true", "b": "x,y"})",
       {"--cpu-manager-policy-options=a=true", "--cpu-manager-policy-options=b=x,y"}},
      {"reservedMemory",
       R"([{"numaNode": 0, "limits": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}},
           {"numaNode": 1, "limits": {"memory": "2Gi"}}])",
       {"--reserved-memory=0:hugepages-2Mi=4Mi,memory=1Gi;1:memory=2Gi"}},
  };
  for (const auto& one : cases) {
    const json value = json::parse(one.value);
    EXPECT_EQ(flags_for(one.field, value), one.flags);
    json config = json::object();
    ASSERT_TRUE(apply_flags(flags_of_words(one.flags), config)) << one.field;
    EXPECT_EQ(config, (json{{one.field, value}})) << "a kubelet reads the same";
  }
  EXPECT_EQ(flags_for("cpuManagerPolicyOptions", json::object()), std::vector<std::string>{});
  EXPECT_EQ(flags_for("kubeReserved", json::object()), std::vector<std::string>{});
  EXPECT_EQ(flags_for("memorySwap", json::object()), std::vector<std::string>{}) << "no such flag";
  EXPECT_EQ(flag_name("evictionHard"), "--eviction-hard");
  EXPECT_EQ(flag_name("memorySwap"), "");
}

TEST(KubeletFlags, MayHaveUnderscoresInTheirNames) {
  EXPECT_EQ(kubelet_flags({"kubelet", "--cpu_manager_policy=static", "--reserved_cpus", "0_1"}),
            (KubeletFlags{{"--cpu-manager-policy", "static"}, {"--reserved-cpus", "0_1"}}));
  EXPECT_EQ(flags_of_args({"cpu_manager_policy=static"}),
            (KubeletFlags{{"--cpu-manager-policy", "static"}}));
}

TEST(KubeletFlags, LimitPods) {
  json config = json::object();
  ASSERT_TRUE(apply_flags({{"--max-pods", "2"}, {"--pods-per-core", "1"}}, config));
  EXPECT_EQ(config, (json{{"maxPods", 2}, {"podsPerCore", 1}}));
}

TEST(KubeletFlags, ThatNoKubeletKnowsPreventItsStart) {
  const auto misspelt = check_flags({{"--cpu-manager-polcy", "static"}});
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().message,
            "unknown flag '--cpu-manager-polcy': a kubelet does not start with it, did you mean "
            "'--cpu-manager-policy'?");
}

/// A map in YAML where k3s and RKE2 expect a text.
TEST(KubeletFlags, NameTheColonInsteadOfTheEqualsSign) {
  EXPECT_EQ(check_flags({{"--cpu-manager-policy: static", "true"}}).error().message,
            "flag '--cpu-manager-policy: static': expected '=' instead of ':': write "
            "'--cpu-manager-policy=static'");
}

/// A vendor's kubelet, such as GKE's, may have additional flags.
TEST(KubeletFlags, OfAVendorAreAWarning) {
  const KubeletFlags flags = {{"--pod-sysctls", "net.core.somaxconn=1024"}, {"--v", "2"}};
  EXPECT_TRUE(check_flags(flags));
  EXPECT_THAT(
      flag_warnings(flags),
      testing::ElementsAre(
          "flags that upstream's kubelets do not know, so they would not start: --pod-sysctls",
          "flags without effect here: --v"));
  KubeletFlags many;
  for (int i = 0; i < 100; ++i) many["--zzz" + std::to_string(i)] = "";
  EXPECT_FALSE(check_flags(many));
}

TEST(KubeletFlags, ThatWereRemovedPreventAStart) {
  const KubeletFlags flags = {{"--pod-infra-container-image", "registry.k8s.io/pause:3.9"},
                              {"--container-runtime-endpoint", "unix:///run/containerd.sock"},
                              {"--network-plugin", "cni"}};
  EXPECT_TRUE(check_flags(flags)) << "an older kubelet has them";
  EXPECT_THAT(
      flag_warnings(flags),
      testing::ElementsAre(
          "flags that upstream's kubelets do not know, so they would not start: --network-plugin "
          "(removed in 1.24), --pod-infra-container-image (removed in 1.35)",
          "flags without effect here: --container-runtime-endpoint"));
}

/// The flags of kubelets up to 1.38, including removed ones, and of their libraries.
TEST(KubeletFlags, OfEachVersionAreKnown) {
  constexpr const char* kAll =
      "--add-dir-header --address --allowed-unsafe-sysctls --alsologtostderr --anonymous-auth "
      "--application-metrics-count-limit --authentication-token-webhook "
      "--authentication-token-webhook-cache-ttl --authorization-mode "
      "--authorization-webhook-cache-authorized-ttl "
      "--authorization-webhook-cache-unauthorized-ttl --azure-container-registry-config "
      "--boot-id-file --bootstrap-checkpoint-path --bootstrap-kubeconfig --cadvisor-port "
      "--cert-dir --cgroup-driver --cgroup-root --cgroups-per-qos --chaos-chance "
      "--client-ca-file --cloud-config --cloud-provider --cluster-dns --cluster-domain "
      "--cni-bin-dir --cni-cache-dir --cni-conf-dir --config --config-dir --container-hints "
      "--container-log-max-files --container-log-max-size --container-runtime "
      "--container-runtime-endpoint --containerd --containerd-namespace --containerized "
      "--contention-profiling --cpu-cfs-quota --cpu-cfs-quota-period --cpu-manager-policy "
      "--cpu-manager-policy-options --cpu-manager-reconcile-period "
      "--default-not-ready-toleration-seconds --docker --docker-endpoint "
      "--docker-env-metadata-whitelist --docker-only --docker-root --docker-tls --docker-tls-ca "
      "--docker-tls-cert --docker-tls-key --dynamic-config-dir --enable-cadvisor-json-endpoints "
      "--enable-controller-attach-detach --enable-custom-metrics --enable-debugging-handlers "
      "--enable-load-reader --enable-server --enforce-node-allocatable --event-burst "
      "--event-qps --event-storage-age-limit --event-storage-event-limit --eviction-hard "
      "--eviction-max-pod-grace-period --eviction-minimum-reclaim "
      "--eviction-pressure-transition-period --eviction-soft --eviction-soft-grace-period "
      "--exit-on-lock-contention --experimental-allocatable-ignore-eviction "
      "--experimental-allowed-unsafe-sysctls --experimental-bootstrap-kubeconfig "
      "--experimental-check-node-capabilities-before-mount --experimental-dockershim "
      "--experimental-dockershim-root-directory --experimental-fail-swap-on "
      "--experimental-kernel-memcg-notification --experimental-logging-sanitization "
      "--experimental-mounter-path --experimental-qos-reserved --fail-swap-on --feature-gates "
      "--file-check-frequency --global-housekeeping-interval --google-json-key --hairpin-mode "
      "--healthz-bind-address --healthz-port --help --host-ipc-sources --host-network-sources "
      "--host-pid-sources --hostname-override --housekeeping-interval --http-check-frequency "
      "--image-credential-provider-bin-dir --image-credential-provider-config "
      "--image-gc-high-threshold --image-gc-low-threshold --image-pull-progress-deadline "
      "--image-service-endpoint --init-config-dir --iptables-drop-bit --iptables-masquerade-bit "
      "--keep-terminated-pod-volumes --kernel-memcg-notification --kube-api-burst "
      "--kube-api-content-type --kube-api-qps --kube-reserved --kube-reserved-cgroup "
      "--kubeconfig --kubelet-cgroups --local-storage-capacity-isolation --lock-file "
      "--log-backtrace-at --log-cadvisor-usage --log-dir --log-file --log-file-max-size "
      "--log-flush-frequency --log-json-info-buffer-size --log-json-split-stream "
      "--log-text-info-buffer-size --log-text-split-stream --logging-format --logtostderr "
      "--low-diskspace-threshold-mb --machine-id-file --make-iptables-util-chains "
      "--manifest-url --manifest-url-header --master-service-namespace "
      "--max-housekeeping-interval --max-open-files --max-pods --maximum-dead-containers "
      "--maximum-dead-containers-per-container --memory-manager-policy "
      "--minimum-container-ttl-duration --minimum-image-ttl-duration --network-plugin "
      "--network-plugin-dir --network-plugin-mtu --node-ip --node-labels "
      "--node-status-max-images --node-status-update-frequency --non-masquerade-cidr "
      "--one-output --oom-score-adj --outofdisk-transition-frequency --pod-cidr "
      "--pod-infra-container-image --pod-manifest-path --pod-max-pids --pods-per-core --port "
      "--protect-kernel-defaults --provider-id --qos-reserved --raw-cgroup-prefix-whitelist "
      "--read-only-port --really-crash-for-testing --redirect-container-streaming "
      "--referenced-reset-interval --register-node --register-schedulable "
      "--register-with-taints --registry-burst --registry-qps --reserved-cpus --reserved-memory "
      "--resolv-conf --root-dir --rotate-certificates --rotate-server-certificates --runonce "
      "--runtime-cgroups --runtime-request-timeout --seccomp-default --seccomp-profile-root "
      "--serialize-image-pulls --skip-headers --skip-log-headers --stderrthreshold "
      "--storage-driver-buffer-duration --storage-driver-db --storage-driver-host "
      "--storage-driver-password --storage-driver-secure --storage-driver-table "
      "--storage-driver-user --streaming-connection-idle-timeout --sync-frequency "
      "--system-cgroups --system-container --system-reserved --system-reserved-cgroup "
      "--tls-cert-file --tls-cipher-suites --tls-curve-preferences --tls-min-version "
      "--tls-private-key-file --topology-manager-policy --topology-manager-policy-options "
      "--topology-manager-scope --update-machine-info-interval --v --version --vmodule "
      "--volume-plugin-dir --volume-stats-agg-period --windows-priorityclass --windows-service "
      "--cloud-provider-gce-l7lb-src-cidrs --cloud-provider-gce-lb-src-cidrs --profiling "
      "--resource-container --reconcile-cidr --configure-cbr0 --api-servers --auth-path "
      "--allow-privileged --babysit-daemons --docker-disable-shared-pid --docker-exec-handler "
      "--enable-cri --enable-tracing --experimental-cgroups-per-qos "
      "--experimental-flannel-overlay --experimental-nvidia-gpus --require-kubeconfig "
      "--rkt-api-endpoint --rkt-path --rkt-stage1-image";
  for (const std::string& name : split_words(kAll)) {
    const KubeletFlags flags = {{name, "1"}};
    const auto checked = check_flags(flags);
    EXPECT_TRUE(checked) << checked.error().message;
  }
}

TEST(KubeletFlags, NameAValueThatIsNone) {
  for (const auto& [name, value] : KubeletFlags{{"--cpu-cfs-quota", "perhaps"},
                                                {"--system-reserved", "cpu"},
                                                {"--feature-gates", "A=perhaps"},
                                                {"--reserved-memory", "memory=1Gi"}}) {
    json config = json::object();
    const auto applied = apply_flags({{name, value}}, config);
    ASSERT_FALSE(applied) << name;
    EXPECT_THAT(applied.error().message,
                HasSubstr("flag '" + name + "': '" + value + "': expected"));
  }
}

}  // namespace
}  // namespace pinfold
