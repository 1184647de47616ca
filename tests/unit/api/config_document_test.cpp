#include "pinfold/api/config_document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pinfold/api/config.hpp"

namespace pinfold {
namespace {

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
     "  $ARGS ${OTHER}\n"},
    {"unit of k3s",
     "[Service]\nExecStart=/usr/local/bin/k3s server \\\n"
     "  '--kubelet-arg=cpu-manager-policy=static' --kubelet-arg reserved-cpus=0\n"},
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
      {"not a KubeletConfiguration: it has none of its fields, but 'devices', 'name'",
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
  const auto flags = parse_config("--config=/a.yaml --node-ip=::1 --cpu-manager-polcy=static");
  ASSERT_TRUE(flags);
  EXPECT_THAT(
      flags->warnings,
      ElementsAre(HasSubstr("'/a.yaml' is not read"),
                  "unknown flag '--cpu-manager-polcy', did you mean '--cpu-manager-policy'?",
                  "flags without effect here: --node-ip"));
  const auto unit = parse_config(
      "[Service]\nEnvironmentFile=-/etc/default/kubelet\nEnvironment=A=--cpu-cfs-quota=false");
  ASSERT_TRUE(unit);
  EXPECT_FALSE(unit->config.cpu_cfs_quota);
  EXPECT_THAT(unit->warnings, ElementsAre(HasSubstr("'/etc/default/kubelet' is not read")));
  EXPECT_THAT(parse_config("write-kubeconfig-mode: '0644'")->warnings,
              Contains(HasSubstr("no 'kubelet-arg'")));
}

TEST(ConfigDocument, LeavesTheWarningsOfTheConfiguration) {
  const auto parsed = parse_config(
      "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
      "spec: {kubeletConfig: {cpuPolicy: static}}");
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->warnings,
              ElementsAre(HasSubstr("/etc/kubernetes/kubelet.conf"),
                          "unknown field 'cpuPolicy', did you mean 'cpuManagerPolicy'?"));
}

TEST(ConfigDocument, FieldsAreSuggestedByTheirWords) {
  for (const auto& [written, meant] : {std::pair("reservedCpus", "reservedSystemCPUs"),
                                       {"topologyPolicy", "topologyManagerPolicy"},
                                       {"memoryPolicy", "memoryManagerPolicy"},
                                       {"cpu-manager-policy", "cpuManagerPolicy"},
                                       {"systemReservedCPUs", "reservedSystemCPUs"}}) {
    const auto parsed = parse_config(std::string(written) + ": x");
    ASSERT_TRUE(parsed) << written << parsed.error().message;
    EXPECT_THAT(parsed->warnings, ElementsAre(HasSubstr(std::string("'") + meant + "'")));
  }
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
