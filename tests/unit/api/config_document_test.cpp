#include "pinfold/api/config_document.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "pinfold/api/config.hpp"

namespace pinfold {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Sample {
  const char* name;
  const char* text;
};

/// The static policy with CPU 0 reserved, in every kind of file that can contain it.
constexpr Sample kStatic[] = {
    {"KubeletConfiguration",
     "kind: KubeletConfiguration\ncpuManagerPolicy: static\n"
     "reservedSystemCPUs: '0'"},
    {"no kind", "cpuManagerPolicy: static\nreservedSystemCPUs: '0'"},
    {"OpenShift",
     "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: a}\n"
     "spec: {kubeletConfig: {cpuManagerPolicy: static, reservedSystemCPUs: '0'}}"},
    {"Talos",
     "version: v1alpha1\nmachine:\n  type: worker\n  kubelet:\n    extraConfig:\n"
     "      cpuManagerPolicy: static\n    extraArgs:\n      reserved-cpus: '0'"},
    {"k3s",
     "write-kubeconfig-mode: '0644'\nkubelet-arg:\n- cpu-manager-policy=static\n"
     "- --reserved-cpus=0"},
    {"RKE2 with one",
     "cni: cilium\nkubelet-arg: cpu-manager-policy=static\n"
     "kubelet-arg+: [reserved-cpus=0]"},
    {"kubeadm v1beta3",
     "apiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\n"
     "nodeRegistration:\n  kubeletExtraArgs:\n    cpu-manager-policy: static\n"
     "    reserved-cpus: '0'\n---\napiVersion: kubeadm.k8s.io/v1beta3\n"
     "kind: ClusterConfiguration"},
    {"kubeadm v1beta4",
     "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
     "nodeRegistration:\n  kubeletExtraArgs:\n"
     "  - {name: cpu-manager-policy, value: static}\n---\n"
     "kind: KubeletConfiguration\nreservedSystemCPUs: '0'"},
    {"nodeadm",
     "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n"
     "    config: {cpuManagerPolicy: static}\n    flags: [--reserved-cpus=0]"},
    {"ConfigMap",
     "kind: ConfigMap\ndata:\n  kubelet: |\n    cpuManagerPolicy: static\n"
     "    reservedSystemCPUs: '0'"},
    {"configz", R"({"kubeletconfig": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}})"},
    {"command line", "/usr/bin/kubelet --cpu-manager-policy=static --reserved-cpus 0"},
    {"flags", "--cpu-manager-policy=static --reserved-cpus=0"},
    {"a flag a line", "# of MicroK8s\n--cpu-manager-policy=static\n--reserved-cpus=\"0\"\n"},
    {"environment file",
     "# kubeadm\nKUBELET_EXTRA_ARGS=\"--cpu-manager-policy=static "
     "--reserved-cpus=0\"\n"},
    {"environment in lines",
     "export KUBELET_EXTRA_ARGS='--cpu-manager-policy=static\n"
     " --reserved-cpus=0'\n"},
    {"drop-in",
     "[Service]\n# comment\nEnvironment='A=--cpu-manager-policy=static --v=2' \\\n"
     "  \"B=--reserved-cpus=0\"\n"},
    {"drop-in of two",
     "[Service]\nEnvironment=A=--cpu-manager-policy=static\n"
     "Environment=\"B=--reserved-cpus=0\"\n"},
    {"unit",
     "[Unit]\nDescription=kubelet\n[Service]\nEnvironment=\"ARGS=--reserved-cpus=0\"\n"
     "ExecStart=\nExecStart=/usr/bin/kubelet --cpu-manager-policy=static \\\n"
     "  $ARGS $OTHER\n"},
    {"unit with CRLF",
     "[Service]\r\nExecStart=/usr/bin/kubelet \\\r\n  --cpu-manager-policy=static \\\r\n"
     "# a comment\r\n --reserved-cpus=0\r\n"},
    {"environment with flags in words",
     "KUBELET_EXTRA_ARGS=\"\n  --cpu-manager-policy static\n  --reserved-cpus=0\n\"\n"},
    {"command line of k3s",
     "/usr/local/bin/k3s agent --kubelet-arg=cpu-manager-policy=static "
     "--kubelet-arg reserved-cpus=0"},
    {"command line of hyperkube",
     "/hyperkube kubelet --cpu-manager-policy=static --reserved-cpus=0"},
    {"unit of k3s",
     "[Service]\nExecStart=/usr/local/bin/k3s server \\\n"
     "  '--kubelet-arg=cpu-manager-policy=static' --kubelet-arg reserved-cpus=0\n"},
    {"list",
     "kind: List\nitems:\n- {apiVersion: machineconfiguration.openshift.io/v1, kind: "
     "KubeletConfig,\n"
     "   spec: {kubeletConfig: {cpuManagerPolicy: static, reservedSystemCPUs: '0'}}}"},
    {"underscores", "--cpu_manager_policy=static --reserved_cpus=0"},
    {"ConfigMap of k0s",
     "kind: ConfigMap\ndata:\n  kubeletConfiguration: |\n    cpuManagerPolicy: static\n"
     "    reservedSystemCPUs: '0'"},
    {"MicroShift",
     "dns: {baseDomain: example.com}\n"
     "kubelet: {cpuManagerPolicy: static, reservedSystemCPUs: '0'}"},
    {"worker profile of k0s",
     "apiVersion: k0s.k0sproject.io/v1beta1\nkind: ClusterConfig\nspec: {workerProfiles: [{name: "
     "a, "
     "values: {cpuManagerPolicy: static, reservedSystemCPUs: '0'}}]}"},
    {"node group of eksctl",
     "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups: [{name: a, "
     "kubeletExtraConfig: {cpuManagerPolicy: static, reservedSystemCPUs: '0'}}]"},
    {"node pool of Karpenter",
     "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nspec: {template: {spec: {kubelet: "
     "{cpuManagerPolicy: static, reservedSystemCPUs: '0'}}}}"},
    {"KubeadmConfigTemplate of Cluster API",
     "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nspec: "
     "{template: "
     "{spec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {cpu-manager-policy: "
     "static, "
     "reserved-cpus: '0'}}}}}}"},
    {"kops",
     "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec: {kubelet: {anonymousAuth: false, "
     "cpuManagerPolicy: static}}\n---\napiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\n"
     "spec: {kubelet: {reservedSystemCPUs: '0'}}"},
    {"AKS", "{cpuManagerPolicy: static, reservedSystemCPUs: '0', cpuCfsQuota: true}"},
    {"GKE", "kubeletConfig: {cpuManagerPolicy: static, reservedSystemCPUs: '0'}"},
    {"args of Canonical Kubernetes",
     "--authorization-mode=Webhook\n--cpu-manager-policy=static\n--reserved-cpus=0\n"
     "--root-dir=/var/lib/kubelet\n"},
    {"EKS' bootstrap.sh",
     "#!/bin/bash\nset -o xtrace\n/etc/eks/bootstrap.sh a --use-max-pods false \\\n"
     "  --kubelet-extra-args '--cpu-manager-policy=static --reserved-cpus=0'\n"},
    {"EKS' bootstrap.sh in MIME user data",
     "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n"
     "Content-Type: text/x-shellscript\n\n#!/bin/bash\n/etc/eks/bootstrap.sh a "
     "--kubelet-extra-args \"--cpu-manager-policy=static --reserved-cpus=0\"\n--//--\n"},
    {"unit of OpenShift",
     "[Service]\nExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet \\\n"
     "  --cpu-manager-policy=static --reserved-cpus=0\n"},
    {"unit with numactl",
     "[Service]\nExecStart=/usr/bin/numactl -m 0 /usr/bin/kubelet --cpu-manager-policy=static "
     "--reserved-cpus=0\n"},
    {"unit with docker",
     "[Service]\nExecStart=/usr/bin/docker run --name kubelet -v /var/lib/kubelet:/var/lib/kubelet "
     "hyperkube kubelet --cpu-manager-policy=static --reserved-cpus=0\n"},
};

TEST(ConfigDocument, IsFoundInEveryKindOfFile) {
  for (const auto& [name, text] : kStatic) {
    const auto parsed = parse_config(text);
    ASSERT_TRUE(parsed) << name << ": " << parsed.error().message;
    EXPECT_EQ(parsed->config.cpu_manager_policy, "static") << name;
    EXPECT_EQ(parsed->config.reserved_system_cpus, "0") << name;
  }
}

TEST(ConfigDocument, OfAnotherKindIsAnError) {
  const Sample samples[] = {
      {"kind: 'Pod': expected 'KubeletConfiguration'", "kind: Pod"},
      {"kind: 'PerformanceProfile': expected 'KubeletConfiguration': pass the KubeletConfig",
       "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\n"
       "spec: {cpu: {reserved: 0-1}}"},
      {"kubectl -n kube-system get configmap kubelet-config",
       "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration"},
      {"pass '/etc/kubernetes/kubelet/config' from the node",
       "[settings.kubernetes]\ncpu-manager-policy = \"static\"\n"},
      {"a TOML or INI file", "[plugins]\n[plugins.cri]\n"},
      {"Bottlerocket settings", "settings.kubernetes.cpu-manager-policy = \"static\"\n"},
      {"Bottlerocket settings",
       R"({"settings": {"kubernetes": {"cpu-manager-policy": "static"}}})"},
      {"MIME user data", "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n"},
      {"proxy/configz", "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec: {}"},
      {"several documents of kind 'InstanceGroup': expected one",
       "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nspec: {kubelet: {maxPods: 1}}\n---\n"
       "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nspec: {kubelet: {maxPods: 2}}"},
      {"proxy/configz",
       "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups: [{kubeletExtraConfig: "
       "{cpuManagerPolicy: static}}, {name: b}]"},
      {"'kubelet' alone does not identify this file", "kubelet: {cpuManagerPolicy: static}"},
      {"'kubelet' alone does not identify this file",
       "prometheus: {}\nkubelet: {enabled: true, serviceMonitor: {}}"},
      {"kubelet: an object: expected a KubeletConfiguration", "dns: {}\nkubelet: {q: 1}"},
      {"a part of a Gardener Shoot", "kubernetes: {kubelet: {cpuManagerPolicy: static}}"},
      {"kind: 'List': expected", "kind: List\nitems: []"},
      {"not a KubeletConfiguration: the document has none of its own fields, only 'devices', "
       "'name'",
       R"({"name": "a", "devices": []})"},
      {"2 kubelet configurations: expected one",
       "kind: KubeletConfiguration\n---\nkind: KubeletConfiguration"},
      {"contains no kubelet flags", "HTTP_PROXY=http://proxy:3128\n"},
      {"spec.kubeletConfig: 'text': expected a KubeletConfiguration",
       "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
       "spec: {kubeletConfig: text}"},
  };
  for (const auto& [message, text] : samples) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr(message)) << text;
  }
}

TEST(ConfigDocument, SaysWhatItLeavesOut) {
  const auto flags = parse_config("--config-dir=/a.d --node-ip=::1 --cpu-manager-policy=static");
  ASSERT_TRUE(flags);
  EXPECT_THAT(flags->warnings,
              ElementsAre(HasSubstr("'/a.d' is not read"), "flags without effect here: --node-ip"));
  const auto unit = parse_config(
      "[Service]\nEnvironmentFile=-/etc/default/kubelet\nEnvironment=A=--cpu-cfs-quota=false");
  ASSERT_TRUE(unit);
  EXPECT_FALSE(unit->config.cpu_cfs_quota);
  EXPECT_THAT(unit->warnings, ElementsAre(HasSubstr("'/etc/default/kubelet' is not read")));
  EXPECT_THAT(parse_config("write-kubeconfig-mode: '0644'")->warnings,
              Contains(HasSubstr("no 'kubelet-arg'")));
}

TEST(ConfigDocument, ThatNamesAnotherFileIsAnError) {
  for (const char* const text :
       {"--config=/a.yaml --node-ip=::1", "kubelet-arg: [config=/a.yaml]",
        "--config=/a.yaml --cpu-manager-policy=static --reserved-cpus=0",
        "[Service]\nEnvironment=\"KUBELET_CONFIG_ARGS=--config=/a.yaml\"\n",
        "[Service]\nExecStart=/usr/bin/kubelet --config=/a.yaml --max-pods=110\n"}) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("the configuration is in '/a.yaml'"));
  }
}

/// A partial configuration that omits a policy does not select its default.
TEST(ConfigDocument, LeavesPoliciesOpenIfItIsAPart) {
  const auto open = [](const char* text) {
    const auto parsed = parse_config(text);
    EXPECT_TRUE(parsed) << text << parsed.error().message;
    return parsed ? parsed->open_policies : std::vector<std::string>{"error"};
  };
  for (const char* const part :
       {"KUBELET_KUBEADM_ARGS=\"--container-runtime-endpoint=unix:///run/a.sock\"\n",
        "--max-pods=110", "[Service]\nExecStart=/usr/bin/kubelet --max-pods=110\n",
        ("kind: JoinConfiguration\napiVersion: kubeadm.k8s.io/v1beta3\n"
         "nodeRegistration: {kubeletExtraArgs: {node-ip: 10.0.0.1}}"),
        "machine: {kubelet: {extraArgs: {rotate-server-certificates: true}}}", "node-ip: 10.0.0.1",
        "k3s server --kubelet-arg=max-pods=1",
        ("apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
         "spec: {kubeletConfig: {maxPods: 250}}")}) {
    EXPECT_THAT(open(part), ElementsAre("cpuManagerPolicy", "memoryManagerPolicy")) << part;
  }
  EXPECT_THAT(open("--cpu-manager-policy=none"), ElementsAre("memoryManagerPolicy"));
  for (const char* const whole :
       {"kind: KubeletConfiguration", "{}", "maxPods: 110",
        "kind: ConfigMap\ndata: {kubelet: '{}'}", R"({"kubeletconfig": {"maxPods": 110}})",
        ("kind: KubeletConfiguration\n---\nkind: JoinConfiguration\n"
         "apiVersion: kubeadm.k8s.io/v1beta3\n"
         "nodeRegistration: {kubeletExtraArgs: {node-ip: 10.0.0.1}}")}) {
    EXPECT_THAT(open(whole), IsEmpty()) << whole;
  }
}

TEST(ConfigDocument, DoesNotChangeAnOpenPolicy) {
  Config before;
  before.memory_manager_policy = "Static";
  const std::vector<std::string> both = {"cpuManagerPolicy", "memoryManagerPolicy"};
  EXPECT_TRUE(check_policies({"cpuManagerPolicy"}, before));
  EXPECT_TRUE(check_policies({}, before));
  const auto changed = check_policies(both, before);
  ASSERT_FALSE(changed);
  EXPECT_THAT(
      changed.error().message,
      AllOf(HasSubstr("has no memoryManagerPolicy, which a flag of the kubelet may set, and "
                      "which is now 'Static': pass all of it"),
            HasSubstr("or write 'memoryManagerPolicy: None'")));
}

TEST(ConfigDocument, OfAnsibleIsNotGuessed) {
  const auto parsed = parse_config("kubelet_cpu_manager_policy: static\nkube_reserved: true");
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr("variables of Ansible: expected a Kubelet"));
  const auto other = parse_config("scrape_configs: []");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("not a KubeletConfiguration"));
}

/// A key that other programs use, too, does not make a file a kubelet's configuration with the
/// default policies.
TEST(ConfigDocument, OfAnotherProgramIsNotAConfiguration) {
  constexpr std::pair<const char*, const char*> kForeign[] = {
      {"nodes: []\nservices: {kubelet: {fail_swap_on: false}}\nauthentication: {}\n"
       "authorization: {}",
       "docker inspect kubelet"},
      {R"({"agentPoolType": "a", "kubeletConfig": null, "maxPods": 110})", "kubeletConfig is null"},
      {"clusterName: a\ntalosVersion: v1\nnodes: []", "talosctl read"},
      {R"({"addresses": [], "capacity": {}, "nodeInfo": {}})", "configz"},
      {"image: {}\nresources: {}\nport: 80", "has none of its own fields, only 'image'"},
      {"global: {}\ntracing: {}", "not a KubeletConfiguration"},
      {"server: {}\nlogging: {}", "not a KubeletConfiguration"},
      {"host: a\naddresses: []", "not a KubeletConfiguration"},
  };
  for (const auto& [text, expected] : kForeign) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr(expected)) << text;
  }
  for (const char* const text :
       {"a: 1\nb: 2\ncpuManagerPolicy: none", "maxPods: 1\nport: 1\na: 1", "reservedCpus: '0'"}) {
    EXPECT_TRUE(parse_config(text)) << text;
  }
}

/// Groups of nodes have different configurations; the first one is not a guess for all.
TEST(ConfigDocument, OfSeveralGroupsOfNodesIsNotGuessed) {
  const auto error_of = [](const char* text) {
    const auto parsed = parse_config(text);
    return parsed ? std::string("read") : parsed.error().message;
  };
  const std::string eksctl = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\n";
  for (const char* const groups :
       {"nodeGroups: [{name: a, kubeletExtraConfig: {cpuManagerPolicy: none}}]\n"
        "managedNodeGroups: [{name: b, kubeletExtraConfig: {cpuManagerPolicy: static}}]",
        "nodeGroups: [{name: a}]\n"
        "managedNodeGroups: [{name: b, kubeletExtraConfig: {cpuManagerPolicy: static}}]",
        "nodeGroups: [{name: a, kubeletExtraConfig: {maxPods: 9}}, {name: b}]"}) {
    EXPECT_THAT(error_of((eksctl + groups).c_str()),
                HasSubstr("2 groups of nodes, 'a', 'b': expected one configuration"))
        << groups;
  }
  EXPECT_THAT(error_of("apiVersion: k0s.k0sproject.io/v1beta1\nkind: ClusterConfig\nspec: "
                       "{workerProfiles: [{name: a, values: {maxPods: 9}}, {values: {}}]}"),
              HasSubstr("2 groups of nodes, 'a', '[1]'"));
  EXPECT_THAT(error_of("kind: List\nitems:\n- {apiVersion: machineconfiguration.openshift.io/v1, "
                       "kind: KubeletConfig, metadata: {name: a}, spec: {kubeletConfig: {maxPods: "
                       "9}}}\n- {apiVersion: machineconfiguration.openshift.io/v1, kind: "
                       "KubeletConfig, metadata: {name: b}, spec: {kubeletConfig: {maxPods: 9}}}"),
              HasSubstr("2 kubelet configurations: 'a', 'b': expected one: pass one of them"));
}

/// What people copy from a node or a repository, each with the static policy and CPU 0 reserved.
TEST(ConfigDocument, IsReadFromWhatPeopleHaveAtHand) {
  constexpr Sample kForms[] = {
      {"script of EKS with a variable",
       "#!/bin/bash\nCLUSTER=prod\n/etc/eks/bootstrap.sh $CLUSTER --kubelet-extra-args "
       "'--cpu-manager-policy=static --reserved-cpus=0'\n"},
      {"systemctl show -p Environment",
       "Environment=A=--kubeconfig=/a KUBELET_EXTRA_ARGS=--cpu-manager-policy=static "
       "--reserved-cpus=0"},
      {"ps of k3s",
       "root  1521  2.0  0.1 21 98 ? Ssl Nov28 30:11 /usr/local/bin/k3s server "
       "--kubelet-arg=cpu-manager-policy=static --kubelet-arg=reserved-cpus=0"},
      {"ps with pid and user",
       "1520 root /usr/bin/kubelet --cpu-manager-policy=static --reserved-cpus=0"},
      {"sudo", "sudo /usr/bin/kubelet --cpu-manager-policy=static --reserved-cpus=0"},
      {"prompt",
       "$ minikube start --extra-config=kubelet.cpu-manager-policy=static "
       "--extra-config=kubelet.reserved-cpus=0"},
      {"pipe that installs k3s",
       "#!/bin/sh\ncurl -sfL https://get.k3s.io | sh -s - server "
       "--kubelet-arg=cpu-manager-policy=static --kubelet-arg=reserved-cpus=0\n"},
      {"variable that installs k3s",
       "curl -sfL https://get.k3s.io | INSTALL_K3S_EXEC=\"--kubelet-arg=cpu-manager-policy=static "
       "--kubelet-arg=reserved-cpus=0\" sh -"},
      {"args of a manifest", R"(["kubelet","--cpu-manager-policy=static","--reserved-cpus=0"])"},
      {"log of k3s",
       "Nov 29 10:00:00 n1 k3s[812]: time=\"a\" level=info msg=\"Running kubelet --address=0.0.0.0 "
       "--cpu-manager-policy=static --reserved-cpus=0\"\n"},
      {"kube-env of GKE",
       "ZONE: a\nKUBELET_ARGS: --v=2 --cpu-manager-policy=static --reserved-cpus=0\n"},
      {"environment with a byte order mark",
       "\xef\xbb\xbfKUBELET_EXTRA_ARGS=\"--cpu-manager-policy=static --reserved-cpus=0\""},
      {"gcloud container node-pools describe",
       "autoscaling: {}\nconfig: {kubeletConfig: {cpuManagerPolicy: static, reservedSystemCPUs: "
       "'0'}}"},
      {"talosctl get machineconfig",
       "node: a\nmetadata: {type: MachineConfigs.config.talos.dev}\nspec: |\n  machine:\n    "
       "kubelet:\n      extraConfig: {cpuManagerPolicy: static, reservedSystemCPUs: '0'}\n"},
      {"talosctl get kubeletspec",
       "node: a\nmetadata: {type: KubeletSpecs.kubernetes.talos.dev}\nspec: {config: "
       "{cpuManagerPolicy: static, reservedSystemCPUs: '0'}}"},
      {"ConfigMap with a KubeletConfig",
       "kind: ConfigMap\ndata:\n  config: |\n    apiVersion: machineconfiguration.openshift.io/v1\n"
       "    kind: KubeletConfig\n    spec: {kubeletConfig: {cpuManagerPolicy: static, "
       "reservedSystemCPUs: '0'}}\n"},
      {"RKE2 of Cluster API",
       "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: RKE2ConfigTemplate\nspec: {template: "
       "{spec: {agentConfig: {kubelet: {extraArgs: [cpu-manager-policy=static, "
       "reserved-cpus=0]}}}}}"},
      {"user data of Karpenter",
       "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec:\n  userData: |\n    "
       "apiVersion: "
       "node.eks.aws/v1alpha1\n    kind: NodeConfig\n    spec: {kubelet: {config: "
       "{cpuManagerPolicy: static, reservedSystemCPUs: '0'}}}\n"},
      {"MIME with one NodeConfig",
       "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: "
       "application/node.eks.aws\n\n---\napiVersion: node.eks.aws/v1alpha1\nkind: "
       "NodeConfig\nspec: {kubelet: {config: {cpuManagerPolicy: static, reservedSystemCPUs: "
       "'0'}}}\n\n--B--\n"},
  };
  for (const auto& [name, text] : kForms) {
    const auto parsed = parse_config(text);
    ASSERT_TRUE(parsed) << name << ": " << parsed.error().message;
    EXPECT_EQ(parsed->config.cpu_manager_policy, "static") << name;
    EXPECT_EQ(parsed->config.reserved_system_cpus, "0") << name;
  }
}

/// A text about a kubelet without a flag, or with flags that are lost, has no answer.
TEST(ConfigDocument, WithoutAnyFlagIsAnError) {
  constexpr std::pair<const char*, const char*> kTexts[] = {
      {"KUBELET_EXTRA_ARGS=\n", "it contains no kubelet flags: expected '--NAME=VALUE'"},
      {"# /etc/k3s.env\nK3S_TOKEN=kubelet\n", "it contains no kubelet flags"},
      {"#!/bin/bash\nKUBELET_CONFIG=/a\necho \"$(jq . $KUBELET_CONFIG)\"\n", "a script: expected"},
      {"KUBELET_EXTRA_ARGS=cpu-manager-policy=static reserved-cpus=0",
       "'cpu-manager-policy=static'"},
      {"KUBELET_EXTRA_ARGS=cpu-manager-policy=static", "write '--cpu-manager-policy=static'"},
      {"A=\u2013-cpu-manager-policy=static",
       "'cpu-manager-policy=static': expected a flag: a dash of typeset text"},
      {"A=\u2014cpu-manager-policy=static", "write '--'"},
      {"   \u2514\u25001520 /usr/bin/kubelet --kubeconfig=/etc/kuber>",
       "is cut off: pass the output"},
      {"   `-1520 /usr/bin/kubelet --cpu-manager-policy=static --kubeconfig=/e...", "is cut off"},
      {"Nov 29 10:00:00 n1 kubelet[1520]: I1129 a.go:272] nodeConfig={}", "logs with --v=1"},
      {"kind: Config\napiVersion: v1\nclusters: []", "it is a kubeconfig"},
      {"- {op: add, path: /cpuManagerPolicy, value: static}", "such as kubeadm's or Sidero's"},
      {"machine: {type: worker}", "without machine.kubelet"},
      {"kind: ConfigMap\ndata: {ClusterConfiguration: \"kind: ClusterConfiguration\"}",
       "kubelet-config -o yaml"},
      {"kind: Foo", "expected 'KubeletConfiguration': pass the output of: kubectl get --raw"},
  };
  for (const auto& [text, expected] : kTexts) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr(expected)) << text;
  }
}

TEST(ConfigDocument, OfAksIsOfOneProduct) {
  const auto parsed = parse_config(
      R"({"agentPoolType": "a", "kubeletConfig": {"cpuManagerPolicy": "static", "podMaxPids": 9}})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->config.cpu_manager_policy, "static");
  EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr("AKS adds its own settings")));
}

TEST(ConfigDocument, OfKopsNamesMisspeltFields) {
  const auto parsed = parse_config(
      "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec: {kubelet: {cpuManagerPolicyy: "
      "static}}");
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->warnings,
              Contains("unknown field 'spec.kubelet.cpuManagerPolicyy', did you mean "
                       "'cpuManagerPolicy'?"));
}

TEST(ConfigDocument, HasTheSettingsThatDistributionsAdd) {
  using Amounts = std::map<std::string, std::string>;
  const Amounts of_k3s = {{"imagefs.available", "5%"}, {"nodefs.available", "5%"}};
  for (const char* const text :
       {"kubelet-arg: [memory-manager-policy=Static]", "cluster-init: true",
        "[Service]\nExecStart=/usr/local/bin/k3s server\n"}) {
    const auto parsed = parse_config(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->config.eviction_hard, of_k3s) << text;
  }
  EXPECT_EQ(parse_config("kubelet-arg: 'eviction-hard=memory.available<1Gi'")->config.eviction_hard,
            (Amounts{{"memory.available", "1Gi"}}));
  const auto gke = parse_config(
      "kubeletConfig: {cpuManagerPolicy: static, memoryManager: {policy: Static},\n"
      "  topologyManager: {policy: restricted, scope: pod}}");
  ASSERT_TRUE(gke);
  EXPECT_EQ(gke->config.memory_manager_policy, "Static");
  EXPECT_EQ(gke->config.topology_manager_policy, "restricted");
  EXPECT_EQ(gke->config.topology_manager_scope, "pod");
  EXPECT_THAT(gke->warnings, ElementsAre(HasSubstr("kubeReserved")));
}

/// Returns the memory in systemReserved, and the warning about it.
std::pair<std::string, std::string> system_memory(const std::string& text) {
  const auto parsed = parse_config(text);
  EXPECT_TRUE(parsed) << text << parsed.error().message;
  if (!parsed) return {};
  const auto found = parsed->config.system_reserved.find("memory");
  std::string assumed;
  for (const std::string& warning : parsed->warnings) {
    if (warning.find("systemReserved: assumed") != std::string::npos) assumed = warning;
  }
  return {found == parsed->config.system_reserved.end() ? "" : found->second, assumed};
}

TEST(ConfigDocument, OfTalosHasItsReservation) {
  const auto memory = [](const std::string& machine, const std::string& config) {
    return system_memory("machine: {" + machine + "kubelet: {extraConfig: {" + config + "}}}");
  };
  const auto reserved = [](const std::string& amount) {
    return "memoryManagerPolicy: Static, reservedMemory: [{numaNode: 0, limits: {memory: " +
           amount + "}}]";
  };
  EXPECT_EQ(memory("", "maxPods: 9").second,
            "systemReserved: assumed cpu 50m, ephemeral-storage 256Mi, memory 384Mi, pid 100: the "
            "constant of a worker of Talos 1.8 or later (it is memory 512Mi on a control plane of "
            "Talos 1.8 or later, memory 192Mi on Talos before 1.8); if the node has another one, "
            "write systemReserved, or pass it with --kubelet-flags "
            "'--system-reserved=cpu=...,memory=...'");
  EXPECT_EQ(memory("", reserved("484Mi")).first, "384Mi");
  EXPECT_EQ(memory("", reserved("612Mi")).first, "512Mi");
  EXPECT_EQ(memory("", reserved("292Mi")).first, "192Mi");
  EXPECT_EQ(memory("", "kubeReserved: {memory: 1Gi}, " + reserved("1636Mi")).first, "512Mi");
  EXPECT_THAT(memory("", reserved("612Mi")).second,
              HasSubstr("a control plane of Talos 1.8 or later, which agrees with reservedMemory"));
  EXPECT_EQ(memory("", reserved("7Gi")).first, "384Mi") << "none adds up";
  EXPECT_EQ(memory("type: init, ", "maxPods: 9").first, "512Mi") << "or before 1.8";
  EXPECT_EQ(memory("install: {image: 'ghcr.io/a/installer:v1.7.5'}, ", "maxPods: 9").first,
            "192Mi");
  const auto known = memory("type: worker, install: {image: 'a:5000/b:v1.10.0'}, ", "maxPods: 9");
  EXPECT_EQ(known.first, "384Mi");
  EXPECT_EQ(known.second.find("it is"), std::string::npos) << known.second;
  EXPECT_EQ(memory("", "systemReserved: {memory: 1Gi}"),
            (std::pair<std::string, std::string>("1Gi", "")));
  EXPECT_EQ(system_memory("machine: {kubelet: {extraArgs: {system-reserved: memory=2Gi}}}"),
            (std::pair<std::string, std::string>("2Gi", "")));
}

TEST(ConfigDocument, OfOpenShiftHasItsReservation) {
  const auto memory = [](const std::string& spec) {
    return system_memory(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec: {" + spec +
        "}");
  };
  EXPECT_EQ(memory("kubeletConfig: {maxPods: 9}").first, "1Gi");
  EXPECT_THAT(memory("kubeletConfig: {maxPods: 9}").second,
              HasSubstr("assumed cpu 500m, ephemeral-storage 1Gi, memory 1Gi: the constant of "
                        "OpenShift without autoSizingReserved; if"));
  const auto own =
      memory("autoSizingReserved: false, kubeletConfig: {systemReserved: {memory: 3Gi}}");
  EXPECT_EQ(own.first, "3Gi");
  EXPECT_THAT(own.second, HasSubstr("assumed cpu 500m, ephemeral-storage 1Gi, memory 3Gi"));
  const std::pair<std::string, std::string> none;
  EXPECT_EQ(memory("autoSizingReserved: true, kubeletConfig: {maxPods: 9}"), none);
  EXPECT_EQ(memory("kubeletConfig: {systemReserved: {memory: 3Gi, cpu: '1'}}").second, "");
}

TEST(ConfigDocument, HasTheFieldsThatKopsMakesFlags) {
  const auto parsed = parse_config(
      "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nspec:\n  kubelet:\n"
      "    cpuCFSQuota: false\n    enforceNodeAllocatable: pods\n"
      "    evictionHard: memory.available<1Gi,nodefs.available<10%\n"
      "    featureGates: {CPUManagerPolicyAlphaOptions: 'true'}\n    maxPods: 30\n"
      "    kubeReserved: {cpu: 500m, memory: 1Gi}\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Config& config = parsed->config;
  using Amounts = std::map<std::string, std::string>;
  EXPECT_FALSE(config.cpu_cfs_quota);
  EXPECT_THAT(config.enforce_node_allocatable, ElementsAre("pods"));
  EXPECT_EQ(config.eviction_hard,
            (Amounts{{"memory.available", "1Gi"}, {"nodefs.available", "10%"}}));
  EXPECT_EQ(config.feature_gates,
            (std::map<std::string, bool>{{"CPUManagerPolicyAlphaOptions", true}}));
  EXPECT_EQ(config.max_pods, 30);
  EXPECT_EQ(config.kube_reserved, (Amounts{{"cpu", "500m"}, {"memory", "1Gi"}}));
  EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr("other settings are added to these")));
}

TEST(ConfigDocument, ReadsACommandInSeveralLines) {
  const auto parsed = parse_config(
      "/usr/bin/kubelet \\\n  --cpu-manager-policy=static \\\r\n  --reserved-cpus=0,\\\n1 \\\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->config.cpu_manager_policy, "static");
  EXPECT_EQ(parsed->config.reserved_system_cpus, "0,1");
}

TEST(ConfigDocument, TakesOnlyTextsForArgumentsOfK3s) {
  for (const char* const wrong :
       {"kubelet-arg: {cpu-manager-policy: static}", "kubelet-arg: [{cpu-manager-policy: static}]",
        "kubelet-arg: 5"}) {
    const auto parsed = parse_config(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_THAT(parsed.error().message, HasSubstr("such as \"cpu-manager-policy=static\""));
  }
  EXPECT_EQ(parse_config("kubelet-arg: cpu-manager-policy=static")->config.cpu_manager_policy,
            "static");
}

TEST(ConfigDocument, ReadsTheFlagsThatMinikubePasses) {
  const auto parsed = parse_config(
      "minikube start --cpus=4 --extra-config=kubelet.cpu-manager-policy=static "
      "--extra-config=apiserver.v=2 --extra-config kubelet.reserved-cpus=0\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->config.cpu_manager_policy, "static");
  EXPECT_EQ(parsed->config.reserved_system_cpus, "0");
  EXPECT_THAT(parsed->open_policies, ElementsAre("memoryManagerPolicy"));
  EXPECT_FALSE(parse_config("minikube start --cpus=4\n"));
}

/// Returns the lines of a kubelet's log about flags.
std::string logged(const std::vector<std::string>& flags) {
  std::string text = "Nov 29 09:00:00 a kubelet[9]: I1129 09:00:00.1 9 server.go:1] \"Started\"\n";
  for (const std::string& flag : flags) {
    text += "Nov 29 09:00:00 a kubelet[9]: I1129 09:00:00.000000    9 flags.go:64] FLAG: --" +
            flag + "\n";
  }
  return text;
}

TEST(ConfigDocument, ReadsTheFlagsInAKubeletsLog) {
  const auto parsed = parse_config(
      logged({"address=\"0.0.0.0\"", "config=\"\"", "cpu-manager-policy=\"static\"",
              "cpu-manager-policy-options=\"full-pcpus-only=true,strict-cpu-reservation=true\"",
              "enforce-node-allocatable=\"[pods]\"", "eviction-hard=\"memory.available<1Gi\"",
              "feature-gates=\"\"", "kube-reserved=\"cpu=500m,memory=1Gi\"", "max-pods=\"110\"",
              "memory-manager-policy=\"None\"", "reserved-cpus=\"0\"",
              "reserved-memory=\"0:hugepages-1Gi=1Gi,memory=1Gi,1:memory=2Gi\"",
              "topology-manager-policy=\"none\""}));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Config& config = parsed->config;
  using Amounts = std::map<std::string, std::string>;
  EXPECT_EQ(config.cpu_manager_policy, "static");
  EXPECT_EQ(config.cpu_manager_policy_options,
            (Amounts{{"full-pcpus-only", "true"}, {"strict-cpu-reservation", "true"}}));
  EXPECT_EQ(config.reserved_system_cpus, "0");
  EXPECT_EQ(config.kube_reserved, (Amounts{{"cpu", "500m"}, {"memory", "1Gi"}}));
  EXPECT_EQ(config.eviction_hard, (Amounts{{"memory.available", "1Gi"}}));
  EXPECT_THAT(config.enforce_node_allocatable, ElementsAre("pods"));
  ASSERT_EQ(config.reserved_memory.size(), 2U);
  EXPECT_EQ(config.reserved_memory[1].numa_node, 1);
  EXPECT_THAT(parsed->warnings, IsEmpty());
}

TEST(ConfigDocument, TakesOnlyWhatIsSetFromALog) {
  const auto flags = [](const std::string& text) {
    const auto read = flags_of_text(text);
    return read ? read->flags : KubeletFlags{{"none", ""}};
  };
  const std::string thresholds =
      "eviction-hard=\"imagefs.available<15%,memory.available<100Mi,nodefs.available<10%,"
      "nodefs.inodesFree<5%\"";
  // Flags with default values are skipped, because the file may set them.
  EXPECT_EQ(flags(logged({"config=\"/a.yaml\"", "cpu-manager-policy=\"none\"", thresholds,
                          "max-pods=\"110\"", "reserved-cpus=\"0-1\""})),
            (KubeletFlags{{"--config", "/a.yaml"}, {"--reserved-cpus", "0-1"}}));
  EXPECT_EQ(flags(logged({"config=\"\"", "max-pods=\"110\"", thresholds})).size(), 1U)
      << "without a file, the command line has them";
  EXPECT_EQ(flags(logged({"max-pods=\"9\"", "reserved-cpus=\"0\"", "max-pods=\"110\"",
                          "reserved-cpus=\"1\""})),
            (KubeletFlags{{"--reserved-cpus", "1"}}))
      << "the last start counts";
  EXPECT_EQ(flags(R"({"ts":1,"msg":"FLAG: --cpu-manager-policy=\"static\"\n","v":1})"
                  "\n"),
            (KubeletFlags{{"--cpu-manager-policy", "static"}}));
  EXPECT_FALSE(flags_of_text(logged({"config=\"/a\"", "feature-gates=\"\"", "secure-port=\"1\""})))
      << "of another component";
  EXPECT_FALSE(flags_of_text("FLAG: --max-pods=9\nFLAG: \n")) << "without quotes";
}

TEST(ConfigDocument, ThatIsPrintedForPeopleIsNamed) {
  for (const auto& [text, what] : {
           std::pair("Machine (15GB total)\n  Package L#0\n",
                     "the text that 'lstopo' prints for people"),
           {"Name:         a\nRoles:        <none>\nCapacity:\n  cpu:  8\n",
            "the output of 'kubectl describe', which is for people"},
           {"NAME  STATUS  ROLES  AGE\na     Ready   <none>  1d\n",
            "a table of 'kubectl get', which is for people"},
       }) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message,
              std::string(what) +
                  ": expected a KubeletConfiguration: pass the output of: kubectl " +
                  "get --raw /api/v1/nodes/NAME/proxy/configz");
  }
}

TEST(ConfigDocument, ReadsTheCommandOfAProcess) {
  constexpr const char* kCommand = "/usr/bin/kubelet --cpu-manager-policy=static --reserved-cpus=0";
  for (const char* const before :
       {"root      1234  2.1  0.5 1234567 89012 ?  Ssl  10:00   1:23 ",
        "root      1234     1  2 Nov28 ?        00:01:23 ", "1234 ",
        "USER PID COMMAND\nroot 1 ? Ss 0:01 /sbin/init\nroot 1234 ? Ssl 1:23 ",
        ("\u25cf kubelet.service - kubelet\n   Main PID: 1234 (kubelet)\n     CGroup: "
         "/system.slice/kubelet.service\n             \u2514\u25001234 ")}) {
    const auto parsed = parse_config(std::string(before) + kCommand + "\n");
    ASSERT_TRUE(parsed) << before << parsed.error().message;
    EXPECT_EQ(parsed->config.cpu_manager_policy, "static") << before;
    EXPECT_EQ(parsed->config.reserved_system_cpus, "0") << before;
  }
  EXPECT_FALSE(parse_config(fmt::format("1 {}\n2 {} --v=2\n", kCommand, kCommand))) << "which?";
  EXPECT_FALSE(parse_config("1234 /usr/bin/kubelet --cpu-manager-policy=sta\u2026\n")) << "cut off";
  EXPECT_FALSE(parse_config(fmt::format("command: {}\n", kCommand))) << "no process";
}

TEST(KubeletUnit, IsReadAsSystemdDoes) {
  const auto unit = parse_config(
      "[Service]\nEnvironment=\"A=--eviction-hard=memory.available<5%%\"\n"
      "Environment=\"B=--node-labels=a=b --cpu-manager-policy=static\"\n"
      "ExecStart=/usr/bin/kubelet $A --cpu-cfs-quota-period=1%%0ms ${B}\n");
  ASSERT_TRUE(unit) << unit.error().message;
  EXPECT_EQ(unit->config.eviction_hard,
            (std::map<std::string, std::string>{{"memory.available", "5%"}}));
  EXPECT_EQ(unit->config.cpu_cfs_quota_period, "1%0ms");
  EXPECT_EQ(unit->config.cpu_manager_policy, "none") << "${B} is one word";
}

TEST(ConfigDocument, IsReadAsAKubeletReadsYaml) {
  const auto parsed = parse_config(
      "defaults: &d {cpu: 500m}\ncpuCFSQuota: no\nmaxPods: 110.0\nfailSwapOn: off\n"
      "kubeReserved: {<<: *d, memory: 1Gi}\nmaxPods: 1_20\n");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_FALSE(parsed->config.cpu_cfs_quota);
  EXPECT_EQ(parsed->config.max_pods, 120);
  EXPECT_EQ(parsed->config.kube_reserved.at("cpu"), "500m");
  EXPECT_THAT(parsed->warnings,
              Contains(HasSubstr("duplicate key 'maxPods': the last one counts")));
}

TEST(ConfigDocument, TakesNoPodsForTheDefaultAsAKubeletDoes) {
  EXPECT_EQ(parse_config("maxPods: 0").value().config.max_pods, 110);
  EXPECT_EQ(parse_config("--max-pods=0").error().message,
            "--max-pods: '0': expected 1 or more: a kubelet with it rejects every pod, OutOfpods")
      << "a flag is not defaulted";
  EXPECT_EQ(parse_config("maxPods: 1").value().config.max_pods, 1);
}

/// k3s and RKE2 replace their command line, and kubelite reads a file of flags.
TEST(ConfigDocument, OfAProcessThatHidesItsKubeletIsAnError) {
  for (const char* const text : {"    PID COMMAND\n   1231 /usr/local/bin/k3s server\n",
                                 "root 15 /snap/microk8s/7/kubelite --kubelet-args-file=/a\n"}) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr("do not show the flags of their kubelet"));
  }
}

TEST(ConfigDocument, OfGkeIsNotOfAks) {
  const auto read = read_config_document(
      "config:\n  kubeletConfig: {cpuCfsQuota: true, cpuManagerPolicy: static}");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->document,
            (nlohmann::json{{"cpuCFSQuota", true}, {"cpuManagerPolicy", "static"}}));
}

TEST(ConfigDocument, OfTalosResourceKubeletConfigsIsRead) {
  const auto read = read_config_document(
      "node: a\nmetadata: {type: KubeletConfigs.kubernetes.talos.dev}\nspec: {extraArgs: "
      "{reserved-cpus: 0-1}, extraConfig: {cpuManagerPolicy: static}}\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->document.at("cpuManagerPolicy"), "static");
  EXPECT_EQ(read->document.at("reservedSystemCPUs"), "0-1");
  EXPECT_TRUE(read->is_partial);
}

TEST(ConfigDocument, RenamesTheFieldsOfAksAndSaysThatMoreAreAdded) {
  const auto parsed = parse_config(R"({"cpuCfsQuota": false, "podMaxPids": 100})");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_FALSE(parsed->config.cpu_cfs_quota);
  EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr("AKS adds its own settings")));
}

TEST(ConfigDocument, OfGkeMayHaveOnlyItsOwnFields) {
  const auto parsed = parse_config("kubeletConfig: {memoryManager: {policy: Static}}");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->config.memory_manager_policy, "Static");
}

TEST(ConfigDocument, HasTheFlagsOfAContainerThatDockerShows) {
  const auto parsed = parse_config(
      R"([{"Id": "a", "Path": "/opt/rke-tools/entrypoint.sh",
           "Args": ["kubelet", "--cpu-manager-policy=static", "--reserved-cpus", "0-1"]}])");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->config.cpu_manager_policy, "static");
  EXPECT_EQ(parsed->config.reserved_system_cpus, "0-1");
  EXPECT_FALSE(parse_config(R"([{"Path": "/bin/etcd", "Args": ["--name=a"]}])"));
  EXPECT_FALSE(parse_config(R"([{"Path": "/kubelet", "Args": "--max-pods=1"}])"));
}

TEST(ConfigDocument, SaysWhereTheConfigurationIs) {
  for (const auto& [text, advice] :
       {std::pair("kind: InstanceGroup\nspec: {kubelet: {cpuManagerPolicy: static}}", "configz"),
        {"kind: KubeadmConfig\nspec: {}", "configz"},
        {"kind: OperatingSystemConfig\nspec: {}", "configz"},
        {"kind: ServerClass\nspec: {}", "talosctl read"},
        {"machine: {type: worker, kubelet: {image: x}}", "talosctl read"},
        {"- {op: replace, path: /machine/kubelet/extraArgs, value: {}}", "talosctl read"},
        {"scheme_version: 1\ntoken: a\nos: {hostname: b}", "/etc/rancher/rke2/config.yaml.d"},
        {"variant: fcos\nversion: 1.5.0\nstorage: {files: [{path: /etc/a}, {path: "
         "/etc/kubernetes/kubelet.yaml, contents: {inline: 'maxPods: 1'}}]}",
         "pass the contents of '/etc/kubernetes/kubelet.yaml'"},
        {"ignition: {version: 3.4.0}\nstorage: {files: []}", "configuration from the node"},
        {"write_files:\n- {path: /etc/kubernetes/kubelet.yaml, content: 'maxPods: 1'}",
         "pass the contents of '/etc/kubernetes/kubelet.yaml'"},
        {"kubelet_cpu_manager_policy: static", "kubespray '/etc/kubernetes/kubelet-config.yaml'"},
        {"kubernetes: {cpu-manager-policy: static}", "/etc/kubernetes/kubelet/config"}}) {
    const auto parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr(advice)) << text;
  }
}

TEST(ConfigDocument, LeavesTheWarningsOfTheConfiguration) {
  const auto parsed = parse_config(
      "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
      "spec: {kubeletConfig: {cpuPolicy: static}}");
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->warnings,
              ElementsAre(HasSubstr("/proxy/configz"), HasSubstr("systemReserved: assumed"),
                          "unknown field 'cpuPolicy', did you mean 'cpuManagerPolicy'?"));
}

TEST(ConfigDocument, FieldsAreSuggestedByTheirWords) {
  for (const auto& [written, meant] : {std::pair("reservedCpus", "reservedSystemCPUs"),
                                       {"topologyPolicy", "topologyManagerPolicy"},
                                       {"memoryPolicy", "memoryManagerPolicy"},
                                       {"cpu-manager-policy", "cpuManagerPolicy"},
                                       {"systemReservedCPUs", "reservedSystemCPUs"},
                                       {"podLimit", "maxPods"},
                                       {"topologyManagerPolicyScope", "topologyManagerScope"},
                                       {"numaPolicy", "topologyManagerPolicy"},
                                       {"isolatedCPUs", "reservedSystemCPUs"},
                                       {"cfsQuota", "cpuCFSQuota"}}) {
    const auto parsed = parse_config(std::string(written) + ": x\nport: 1");
    ASSERT_TRUE(parsed) << written << parsed.error().message;
    EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr(std::string("'") + meant + "'")));
  }
}

TEST(ConfigDocument, FieldsBelowAreSuggestedByTheirWords) {
  EXPECT_THAT(parse_config("reservedMemory: [{node: 0}]").value().warnings,
              ElementsAre(HasSubstr("did you mean 'numaNode'?")));
}

TEST(ConfigDocument, OfAWholeCommandLineWithoutAFileHasNoDefaultThresholds) {
  using Thresholds = std::optional<std::map<std::string, std::string>>;
  const auto thresholds = [](const char* text) {
    return parse_config(text).value().config.eviction_hard;
  };
  EXPECT_EQ(thresholds("/usr/bin/kubelet --max-pods=10"), Thresholds(std::in_place));
  EXPECT_EQ(thresholds("[Service]\nExecStart=/usr/bin/kubelet --max-pods=10\n"),
            Thresholds(std::in_place));
  EXPECT_EQ(thresholds("kubelet --eviction-hard=memory.available<1Gi"),
            (Thresholds{{{"memory.available", "1Gi"}}}));
  EXPECT_EQ(thresholds("[Service]\nEnvironment=KUBELET_EXTRA_ARGS=--max-pods=10\n"), std::nullopt)
      << "its unit may name a file";
  ConfigDocument with_file{{{"maxPods", 5}}};
  ASSERT_TRUE(add_flags({{{"--config", "/a"}}, {}, true}, with_file));
  EXPECT_FALSE(with_file.document.contains("evictionHard")) << "the file's rule applies";
}

TEST(KubeletFlagsText, IsNoDocument) {
  for (const char* const text :
       {"", "a: 1", "- a", "{\"a\": 1}", "---\na: 1", "[1]", "kubelet: 1"}) {
    EXPECT_FALSE(flags_of_text(text)) << text;
  }
  using namespace std::string_literals;
  const auto of_process = flags_of_text("kubelet\0--a=b c\0"s);
  ASSERT_TRUE(of_process);
  EXPECT_EQ(of_process->flags, (KubeletFlags{{"--a", "b c"}}));
  EXPECT_THAT(of_process->notes, IsEmpty());
}

}  // namespace
}  // namespace pinfold
