#include "pinfold/api/kubelet_flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pinfold {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(KubeletFlags, AreReadInEveryForm) {
  using namespace std::string_literals;
  const auto words =
      parse_command_line("/usr/bin/kubelet\0--a=1\0--b\0two\0-v\0--c\0--d=x=y\0ignored\0"s);
  EXPECT_EQ(kubelet_flags(words), (KubeletFlags{
                                      {"--a", "1"},
                                      {"--b", "two"},
                                      {"--v", "true"},
                                      {"--c", "true"},
                                      {"--d", "x=y"},
                                  }));
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

TEST(KubeletFlags, MayHaveUnderscoresInTheirNames) {
  EXPECT_EQ(kubelet_flags({"kubelet", "--cpu_manager_policy=static", "-reserved_cpus", "0_1"}),
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
            "unknown flag '--cpu-manager-polcy', with which a kubelet does not start: did you mean "
            "'--cpu-manager-policy'?");
}

TEST(KubeletFlags, OfAVendorMayResembleAKnownOne) {
  const KubeletFlags flags = {{"--cpu-manager-policy-file", "/a"}};
  EXPECT_TRUE(check_flags(flags));
  EXPECT_THAT(flag_warnings(flags),
              ElementsAre("unknown flag '--cpu-manager-policy-file', did you mean "
                          "'--cpu-manager-policy'?"));
}

/// The flags of kubelets up to 1.38, also those that are removed, and of their libraries.
TEST(KubeletFlags, OfAKubeletAreNotMisspelt) {
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
      "--resource-container --reconcile-cidr --configure-cbr0 --api-servers";
  for (const std::string& name : split_words(kAll)) {
    const KubeletFlags flags = {{name, "1"}};
    const auto checked = check_flags(flags);
    EXPECT_TRUE(checked) << checked.error().message;
    EXPECT_THAT(flag_warnings(flags), Not(Contains(HasSubstr("unknown")))) << name;
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
