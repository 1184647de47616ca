#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>

#include "callback_runtime.hpp"

/// Every function of the C interface with each pointer NULL in turn, and structures with impossible
/// sizes.
namespace pinfold {
namespace {

using enforce::CgroupVersion;
using test::pod;
using test::Runtime;
using testing::HasSubstr;

constexpr const char* kTopology =
    "apiVersion: topology.node.k8s.io/v1alpha2\nkind: NodeResourceTopology\n"
    "metadata: {name: n1}\ntopologyPolicies: [SingleNUMANodePodLevel]\nzones:\n"
    "- {name: node-0, type: Node, resources: "
    "[{name: cpu, capacity: 4, allocatable: 4, available: 4}]}\n";

/// Valid arguments for every function.
struct Arguments {
  Arguments() : runtime(CgroupVersion::kV2) {
    node = runtime.open();
    EXPECT_EQ(pinfold_pod_admit(node, manifest.c_str(), &admitted, nullptr), PINFOLD_OK);
    EXPECT_EQ(pinfold_fleet_open(kTopology, nullptr, &fleet, nullptr), PINFOLD_OK);
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    pinfold_pod_free(admitted);
    pinfold_fleet_close(fleet);
    pinfold_node_close(node);
  }

  Runtime runtime;
  std::string manifest = pod("a", 1);
  pinfold_node* node = nullptr;
  pinfold_pod* admitted = nullptr;
  pinfold_fleet* fleet = nullptr;
};

/// One function with one pointer NULL.
struct NullCase {
  const char* name;
  std::function<pinfold_code(Arguments&, char** error)> call;
};

// Outputs, which a failing call must not change.
pinfold_node* no_node = nullptr;      // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
pinfold_pod* no_pod = nullptr;        // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
pinfold_pod_list* no_list = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
pinfold_fleet* no_fleet = nullptr;    // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
char* no_text = nullptr;              // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
char* no_json = nullptr;              // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
pinfold_container container =         // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
    PINFOLD_CONTAINER_INIT;

const pinfold_reconfiguration kNoChange = PINFOLD_RECONFIGURATION_INIT;

std::vector<NullCase> null_cases() {
  using A = Arguments;
  return {
      {"node_open options", [](A&, char** e) { return pinfold_node_open(nullptr, &no_node, e); }},
      {"node_open node",
       [](A& a, char** e) { return pinfold_node_open(&a.runtime.options, nullptr, e); }},
      {"node_get_status node",
       [](A&, char** e) { return pinfold_node_get_status(nullptr, &no_json, e); }},
      {"node_get_status json",
       [](A& a, char** e) { return pinfold_node_get_status(a.node, nullptr, e); }},
      {"node_reconcile node",
       [](A&, char** e) { return pinfold_node_reconcile(nullptr, &no_json, e); }},
      {"node_reconcile json",
       [](A& a, char** e) { return pinfold_node_reconcile(a.node, nullptr, e); }},
      {"node_reconfigure node",
       [](A&, char** e) { return pinfold_node_reconfigure(nullptr, &kNoChange, &no_json, e); }},
      {"node_reconfigure reconfiguration",
       [](A& a, char** e) { return pinfold_node_reconfigure(a.node, nullptr, &no_json, e); }},
      {"node_reconfigure plan",
       [](A& a, char** e) { return pinfold_node_reconfigure(a.node, &kNoChange, nullptr, e); }},
      {"node_defragment node",
       [](A& a, char** e) {
         return pinfold_node_defragment(nullptr, a.manifest.c_str(), 0, &no_json, e);
       }},
      {"node_defragment manifest",
       [](A& a, char** e) { return pinfold_node_defragment(a.node, nullptr, 0, &no_json, e); }},
      {"node_defragment plan",
       [](A& a, char** e) {
         return pinfold_node_defragment(a.node, a.manifest.c_str(), 0, nullptr, e);
       }},
      {"node_list_pods node",
       [](A&, char** e) { return pinfold_node_list_pods(nullptr, &no_list, e); }},
      {"node_list_pods list",
       [](A& a, char** e) { return pinfold_node_list_pods(a.node, nullptr, e); }},
      {"pod_admit node",
       [](A& a, char** e) { return pinfold_pod_admit(nullptr, a.manifest.c_str(), &no_pod, e); }},
      {"pod_admit manifest",
       [](A& a, char** e) { return pinfold_pod_admit(a.node, nullptr, &no_pod, e); }},
      {"pod_admit pod",
       [](A& a, char** e) {
         return pinfold_pod_admit(a.node, pod("unseen", 1).c_str(), nullptr, e);
       }},
      {"pod_explain node",
       [](A& a, char** e) { return pinfold_pod_explain(nullptr, a.manifest.c_str(), &no_pod, e); }},
      {"pod_explain manifest",
       [](A& a, char** e) { return pinfold_pod_explain(a.node, nullptr, &no_pod, e); }},
      {"pod_explain pod",
       [](A& a, char** e) { return pinfold_pod_explain(a.node, a.manifest.c_str(), nullptr, e); }},
      {"pod_get node", [](A&, char** e) { return pinfold_pod_get(nullptr, "a", &no_pod, e); }},
      {"pod_get pod_id",
       [](A& a, char** e) { return pinfold_pod_get(a.node, nullptr, &no_pod, e); }},
      {"pod_get pod", [](A& a, char** e) { return pinfold_pod_get(a.node, "a", nullptr, e); }},
      {"pod_remove node", [](A&, char** e) { return pinfold_pod_remove(nullptr, "a", 0, e); }},
      {"pod_remove pod_id",
       [](A& a, char** e) { return pinfold_pod_remove(a.node, nullptr, 0, e); }},
      {"pod_get_container pod",
       [](A&, char** e) { return pinfold_pod_get_container(nullptr, 0, &container, e); }},
      {"pod_get_container container",
       [](A& a, char** e) { return pinfold_pod_get_container(a.admitted, 0, nullptr, e); }},
      {"pod_find_container pod",
       [](A&, char** e) { return pinfold_pod_find_container(nullptr, "c", &container, e); }},
      {"pod_find_container name",
       [](A& a, char** e) {
         return pinfold_pod_find_container(a.admitted, nullptr, &container, e);
       }},
      {"pod_find_container container",
       [](A& a, char** e) { return pinfold_pod_find_container(a.admitted, "c", nullptr, e); }},
      {"container_start node",
       [](A&, char** e) { return pinfold_container_start(nullptr, "a", "c", e); }},
      {"container_start pod_id",
       [](A& a, char** e) { return pinfold_container_start(a.node, nullptr, "c", e); }},
      {"container_start container",
       [](A& a, char** e) { return pinfold_container_start(a.node, "a", nullptr, e); }},
      {"container_resize node",
       [](A&, char** e) { return pinfold_container_resize(nullptr, "a", "c", 1, nullptr, e); }},
      {"container_resize pod_id",
       [](A& a, char** e) {
         return pinfold_container_resize(a.node, nullptr, "c", 1, nullptr, e);
       }},
      {"container_resize container",
       [](A& a, char** e) {
         return pinfold_container_resize(a.node, "a", nullptr, 1, nullptr, e);
       }},
      {"container_remove node",
       [](A&, char** e) { return pinfold_container_remove(nullptr, "a", "c", 0, e); }},
      {"container_remove pod_id",
       [](A& a, char** e) { return pinfold_container_remove(a.node, nullptr, "c", 0, e); }},
      {"container_remove container",
       [](A& a, char** e) { return pinfold_container_remove(a.node, "a", nullptr, 0, e); }},
      {"container_attach_process node",
       [](A&, char** e) { return pinfold_container_attach_process(nullptr, "a", "c", 4242, e); }},
      {"container_attach_process pod_id",
       [](A& a, char** e) {
         return pinfold_container_attach_process(a.node, nullptr, "c", 4242, e);
       }},
      {"container_attach_process container",
       [](A& a, char** e) {
         return pinfold_container_attach_process(a.node, "a", nullptr, 4242, e);
       }},
      {"container_attach_pidfd node",
       [](A&, char** e) { return pinfold_container_attach_pidfd(nullptr, "a", "c", 0, e); }},
      {"container_attach_pidfd pod_id",
       [](A& a, char** e) { return pinfold_container_attach_pidfd(a.node, nullptr, "c", 0, e); }},
      {"container_attach_pidfd container",
       [](A& a, char** e) { return pinfold_container_attach_pidfd(a.node, "a", nullptr, 0, e); }},
      {"container_adopt_cgroup node",
       [](A&, char** e) {
         return pinfold_container_adopt_cgroup(nullptr, "a", "c", "/x", nullptr, e);
       }},
      {"container_adopt_cgroup pod_id",
       [](A& a, char** e) {
         return pinfold_container_adopt_cgroup(a.node, nullptr, "c", "/x", nullptr, e);
       }},
      {"container_adopt_cgroup container",
       [](A& a, char** e) {
         return pinfold_container_adopt_cgroup(a.node, "a", nullptr, "/x", nullptr, e);
       }},
      {"container_adopt_cgroup directory",
       [](A& a, char** e) {
         return pinfold_container_adopt_cgroup(a.node, "a", "c", nullptr, nullptr, e);
       }},
      {"container_create node",
       [](A&, char** e) {
         const pinfold_request request = PINFOLD_REQUEST_INIT;
         return pinfold_container_create(nullptr, &request, "/x", nullptr, e);
       }},
      {"container_create request",
       [](A& a, char** e) { return pinfold_container_create(a.node, nullptr, "/x", nullptr, e); }},
      {"container_create directory",
       [](A& a, char** e) {
         const pinfold_request request = PINFOLD_REQUEST_INIT;
         return pinfold_container_create(a.node, &request, nullptr, nullptr, e);
       }},
      {"container_create uid",
       [](A& a, char** e) {
         const pinfold_request request = PINFOLD_REQUEST_INIT;
         return pinfold_container_create(a.node, &request, "/x", nullptr, e);
       }},
      {"container_delete node",
       [](A&, char** e) { return pinfold_container_delete(nullptr, "a", "c", e); }},
      {"container_delete uid",
       [](A& a, char** e) { return pinfold_container_delete(a.node, nullptr, "c", e); }},
      {"owner_of uid", [](A&, char** e) { return pinfold_owner_of("/", 0, nullptr, &no_text, e); }},
      {"owner_of container",
       [](A&, char** e) { return pinfold_owner_of("/", 0, &no_text, nullptr, e); }},
      {"is_exclusive cpus",
       [](A&, char** e) {
         int answer = 0;
         return pinfold_is_exclusive("/", nullptr, &answer, e);
       }},
      {"is_exclusive is_exclusive",
       [](A&, char** e) { return pinfold_is_exclusive("/", "0", nullptr, e); }},
      {"container_is_placed uid",
       [](A&, char** e) {
         int answer = 0;
         return pinfold_container_is_placed("/", nullptr, "c", "/x", &answer, e);
       }},
      {"container_is_placed container",
       [](A&, char** e) {
         int answer = 0;
         return pinfold_container_is_placed("/", "a", nullptr, "/x", &answer, e);
       }},
      {"container_is_placed directory",
       [](A&, char** e) {
         int answer = 0;
         return pinfold_container_is_placed("/", "a", "c", nullptr, &answer, e);
       }},
      {"container_is_placed is_placed",
       [](A&, char** e) { return pinfold_container_is_placed("/", "a", "c", "/x", nullptr, e); }},
      {"fleet_open topologies",
       [](A&, char** e) { return pinfold_fleet_open(nullptr, nullptr, &no_fleet, e); }},
      {"fleet_open fleet",
       [](A&, char** e) { return pinfold_fleet_open(kTopology, nullptr, nullptr, e); }},
      {"fleet_predict fleet",
       [](A& a, char** e) {
         return pinfold_fleet_predict(nullptr, a.manifest.c_str(), nullptr, &no_json, e);
       }},
      {"fleet_predict manifest",
       [](A& a, char** e) {
         return pinfold_fleet_predict(a.fleet, nullptr, nullptr, &no_json, e);
       }},
      {"fleet_predict json",
       [](A& a, char** e) {
         return pinfold_fleet_predict(a.fleet, a.manifest.c_str(), nullptr, nullptr, e);
       }},
      {"fleet_place_pod fleet",
       [](A& a, char** e) {
         return pinfold_fleet_place_pod(nullptr, a.manifest.c_str(), "n1", e);
       }},
      {"fleet_place_pod manifest",
       [](A& a, char** e) { return pinfold_fleet_place_pod(a.fleet, nullptr, "n1", e); }},
      {"fleet_place_pod node_name",
       [](A& a, char** e) {
         return pinfold_fleet_place_pod(a.fleet, a.manifest.c_str(), nullptr, e);
       }},
      {"fleet_remove_pod fleet",
       [](A&, char** e) { return pinfold_fleet_remove_pod(nullptr, "a", e); }},
      {"fleet_remove_pod pod_uid",
       [](A& a, char** e) { return pinfold_fleet_remove_pod(a.fleet, nullptr, e); }},
  };
}

TEST(NullArguments, AreInvalidArguments) {
  Arguments arguments;
  for (const NullCase& each : null_cases()) {
    SCOPED_TRACE(each.name);
    char* error = nullptr;
    EXPECT_EQ(each.call(arguments, &error), PINFOLD_INVALID_ARGUMENT);
    const std::string argument(std::string(each.name).substr(std::string(each.name).find(' ') + 1));
    EXPECT_THAT(error, HasSubstr(argument + " is NULL"));
    pinfold_free(error);
    EXPECT_EQ(each.call(arguments, nullptr), PINFOLD_INVALID_ARGUMENT);  // without a message
  }
  EXPECT_EQ(no_node, nullptr);
  EXPECT_EQ(no_pod, nullptr);
  EXPECT_EQ(no_list, nullptr);
  EXPECT_EQ(no_fleet, nullptr);
  EXPECT_EQ(no_json, nullptr);
  EXPECT_EQ(arguments.runtime.cpus("podunseen"), "gone");
}

TEST(NullArguments, OfFunctionsThatCallbacksCall) {
  EXPECT_EQ(pinfold_text_set(nullptr, "x"), PINFOLD_INVALID_ARGUMENT);
  EXPECT_EQ(pinfold_hints_add(nullptr, "x", 1, 1), PINFOLD_INVALID_ARGUMENT);
  EXPECT_EQ(pinfold_hints_set_impossible(nullptr, "x"), PINFOLD_INVALID_ARGUMENT);
}

TEST(NullArguments, AreAcceptedWhereTheHeaderSaysSo) {
  pinfold_free(nullptr);
  pinfold_pod_free(nullptr);
  pinfold_node_close(nullptr);
  pinfold_fleet_close(nullptr);
  pinfold_pod_list_free(nullptr);
  EXPECT_EQ(pinfold_pod_list_count(nullptr), 0U);
  EXPECT_EQ(pinfold_pod_list_pod(nullptr, 0), nullptr);
  EXPECT_EQ(pinfold_pod_is_held(nullptr), 0);
  EXPECT_EQ(pinfold_pod_is_admitted(nullptr), 0);
  EXPECT_EQ(pinfold_pod_container_count(nullptr), 0U);
  for (const auto property :
       {pinfold_pod_uid, pinfold_pod_name, pinfold_pod_namespace, pinfold_pod_reason,
        pinfold_pod_message, pinfold_pod_trace, pinfold_pod_json}) {
    EXPECT_STREQ(property(nullptr), "");
  }
}

/// Options that a careless program passes to pinfold_node_open.
struct OptionsCase {
  const char* name;
  std::function<void(Runtime&)> spoil;
  const char* message;
};

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();

const pinfold_hint_provider* const kNoProvider = nullptr;

TEST(CarelessOptions, AreInvalidArguments) {
  pinfold_hint_provider unnamed = PINFOLD_HINT_PROVIDER_INIT;
  unnamed.get_hints = [](void*, const char*, const char*, const char*, pinfold_hints*) {};
  unnamed.allocate = [](void*, const char*, const char*, const char*, uint64_t, pinfold_text*,
                        pinfold_text*) { return 0; };
  unnamed.release = [](void*, const char*, const char*, const char*, pinfold_text*) {};
  pinfold_hint_provider mute = unnamed;
  mute.name = "mute";
  mute.get_hints = nullptr;
  pinfold_hint_provider outside = unnamed;
  outside.name = "../../etc";
  const pinfold_hint_provider* provider = nullptr;
  const auto give = [&](Runtime& runtime, const pinfold_hint_provider& given) {
    provider = &given;
    runtime.options.hint_providers = &provider;
    runtime.options.hint_provider_count = 1;
  };
  const OptionsCase cases[] = {
      {"size 0", [](Runtime& r) { r.options.struct_size = 0; }, "options.struct_size is 0: expec"},
      {"size 1", [](Runtime& r) { r.options.struct_size = 1; }, "options.struct_size is 1: expec"},
      {"size huge", [](Runtime& r) { r.options.struct_size = kHuge; }, "expected 96 to 4096"},
      {"sink size 0", [](Runtime& r) { r.sink.struct_size = 0; }, "pinfold_log_sink.struct_size"},
      {"sink size huge", [](Runtime& r) { r.sink.struct_size = kHuge; },
       "pinfold_log_sink.struct_size"},
      {"fs size 1", [](Runtime& r) { r.cgroup_fs.struct_size = 1; },
       "pinfold_cgroup_fs.struct_size"},
      {"fs size huge", [](Runtime& r) { r.cgroup_fs.struct_size = kHuge; },
       "pinfold_cgroup_fs.struct_size"},
      {"fs version", [](Runtime& r) { r.cgroup_fs.cgroup_version = 3; }, "cgroup_version 3"},
      {"fs negative version", [](Runtime& r) { r.cgroup_fs.cgroup_version = -1; },
       "cgroup_version -1"},
      {"fs incomplete", [](Runtime& r) { r.cgroup_fs.read_file = nullptr; }, "cgroup_version 2"},
      {"providers NULL", [](Runtime& r) { r.options.hint_provider_count = 1; },
       "hint_providers is NULL"},
      {"provider count huge",
       [](Runtime& r) {
         r.options.hint_providers = &kNoProvider;
         r.options.hint_provider_count = kHuge;
       },
       "hint_provider_count"},
      {"provider NULL",
       [](Runtime& r) {
         r.options.hint_providers = &kNoProvider;
         r.options.hint_provider_count = 1;
       },
       "hint_providers[0]: pinfold_hint_provider is NULL"},
      {"provider unnamed", [&](Runtime& r) { give(r, unnamed); },
       "hint_providers[0]: expected a name and all callbacks"},
      {"provider without a callback", [&](Runtime& r) { give(r, mute); },
       "hint_providers[0]: expected a name and all callbacks"},
      {"provider name", [&](Runtime& r) { give(r, outside); }, "hint provider '../../etc'"},
  };
  for (const OptionsCase& each : cases) {
    SCOPED_TRACE(each.name);
    Runtime runtime(CgroupVersion::kV2);
    each.spoil(runtime);
    pinfold_node* node = nullptr;
    char* error = nullptr;
    EXPECT_EQ(pinfold_node_open(&runtime.options, &node, &error), PINFOLD_INVALID_ARGUMENT);
    EXPECT_THAT(error, HasSubstr(each.message));
    EXPECT_EQ(node, nullptr);
    pinfold_free(error);
  }
}

TEST(CarelessOptions, ANameOfAHintProviderIsCopied) {
  Runtime runtime(CgroupVersion::kV2);
  std::string name = "ways";
  static std::string state;
  pinfold_hint_provider provider = PINFOLD_HINT_PROVIDER_INIT;
  provider.name = name.c_str();
  provider.get_hints = [](void*, const char* seen, const char*, const char*, pinfold_hints*) {
    state = seen;
  };
  provider.allocate = [](void*, const char*, const char*, const char*, uint64_t, pinfold_text* next,
                         pinfold_text*) { return pinfold_text_set(next, "kept"); };
  provider.release = [](void*, const char*, const char*, const char*, pinfold_text*) {};
  const pinfold_hint_provider* const providers = &provider;
  runtime.options.hint_providers = &providers;
  runtime.options.hint_provider_count = 1;
  pinfold_node* const node = runtime.open();
  name = "gone";
  provider = PINFOLD_HINT_PROVIDER_INIT;
  pinfold_pod* answer = nullptr;
  for (const char* each : {"a", "b"}) {
    EXPECT_EQ(pinfold_pod_admit(node, pod(each, 1).c_str(), &answer, nullptr), PINFOLD_OK);
    pinfold_pod_free(answer);
  }
  EXPECT_EQ(state, "kept");
  pinfold_node_close(node);
}

TEST(CarelessContainer, SizesAreInvalidArguments) {
  Arguments arguments;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kHuge}) {
    pinfold_container out = PINFOLD_CONTAINER_INIT;
    out.struct_size = size;
    EXPECT_EQ(pinfold_pod_get_container(arguments.admitted, 0, &out, nullptr),
              PINFOLD_INVALID_ARGUMENT);
    EXPECT_EQ(out.name, nullptr);
  }
}

}  // namespace
}  // namespace pinfold
