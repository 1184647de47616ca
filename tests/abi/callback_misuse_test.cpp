#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <stdexcept>

#include "callback_runtime.hpp"

/// Callbacks that do what their description forbids: the call fails with a message that names the
/// callback, nothing is stored, and the next call works.
namespace pinfold {
namespace {

using enforce::CgroupVersion;
using test::pod;
using test::Runtime;
using testing::HasSubstr;
using testing::StartsWith;

using GetHints = decltype(pinfold_hint_provider::get_hints);
using Allocate = decltype(pinfold_hint_provider::allocate);
using Release = decltype(pinfold_hint_provider::release);

/// Returns callbacks without a mistake.
pinfold_hint_provider sound_provider() {
  pinfold_hint_provider provider = PINFOLD_HINT_PROVIDER_INIT;
  provider.name = "ways";
  provider.get_hints = [](void*, const char*, const char*, const char*, pinfold_hints*) {};
  provider.allocate = [](void*, const char*, const char*, const char*, uint64_t,
                         pinfold_text* state,
                         pinfold_text*) { return pinfold_text_set(state, "x"); };
  provider.release = [](void*, const char*, const char*, const char*, pinfold_text* state) {
    (void)pinfold_text_set(state, "");
  };
  return provider;
}

/// A node with this provider only. Its callbacks can be replaced while the node is open.
struct HintedNode {
  HintedNode() : runtime(CgroupVersion::kV2) {
    provider.data = this;
    provider.name = "ways";
    provider.get_hints = [](void* data, const char* state, const char* pod, const char* container,
                            pinfold_hints* hints) {
      static_cast<HintedNode*>(data)->now.get_hints(data, state, pod, container, hints);
    };
    provider.allocate = [](void* data, const char* state, const char* pod, const char* container,
                           uint64_t mask, pinfold_text* next, pinfold_text* reason) {
      return static_cast<HintedNode*>(data)->now.allocate(data, state, pod, container, mask, next,
                                                          reason);
    };
    provider.release = [](void* data, const char* state, const char* uid, const char* container,
                          pinfold_text* next) {
      static_cast<HintedNode*>(data)->now.release(data, state, uid, container, next);
    };
    runtime.options.hint_providers = &providers;
    runtime.options.hint_provider_count = 1;
    node = runtime.open();
  }
  HintedNode(const HintedNode&) = delete;
  HintedNode& operator=(const HintedNode&) = delete;
  ~HintedNode() { pinfold_node_close(node); }

  [[nodiscard]] pinfold_code admit(const std::string& name) {
    pinfold_pod* answer = nullptr;
    char* error = nullptr;
    const pinfold_code code = pinfold_pod_admit(node, pod(name, 1).c_str(), &answer, &error);
    message = error == nullptr ? "" : error;
    pinfold_free(error);
    pinfold_pod_free(answer);
    return code;
  }
  [[nodiscard]] pinfold_code remove(const std::string& name) {
    char* error = nullptr;
    const pinfold_code code = pinfold_pod_remove(node, name.c_str(), 0, &error);
    message = error == nullptr ? "" : error;
    pinfold_free(error);
    return code;
  }
  [[nodiscard]] pinfold_code get(const std::string& name) const {
    pinfold_pod* answer = nullptr;
    const pinfold_code code = pinfold_pod_get(node, name.c_str(), &answer, nullptr);
    pinfold_pod_free(answer);
    return code;
  }

  Runtime runtime;
  pinfold_hint_provider now = sound_provider();
  pinfold_hint_provider provider = PINFOLD_HINT_PROVIDER_INIT;
  const pinfold_hint_provider* providers = &provider;
  pinfold_node* node = nullptr;
  std::string message;
};

struct HintMistake {
  const char* name;
  GetHints get_hints;
  Allocate allocate;
  const char* message;
};

const HintMistake kHintMistakes[] = {
    {"ResourceNull",
     [](void*, const char*, const char*, const char*, pinfold_hints* hints) {
       EXPECT_EQ(pinfold_hints_add(hints, nullptr, 1, 1), PINFOLD_INVALID_ARGUMENT);
     },
     nullptr, "get_hints: the resource is NULL"},
    {"ImpossibleResourceNull",
     [](void*, const char*, const char*, const char*, pinfold_hints* hints) {
       EXPECT_EQ(pinfold_hints_set_impossible(hints, nullptr), PINFOLD_INVALID_ARGUMENT);
     },
     nullptr, "get_hints: the resource is NULL"},
    {"ResourceEmpty",
     [](void*, const char*, const char*, const char*, pinfold_hints* hints) {
       EXPECT_EQ(pinfold_hints_add(hints, "", 1, 1), PINFOLD_INVALID_ARGUMENT);
     },
     nullptr, "get_hints: the resource is not 1 to 317 bytes of UTF-8"},
    {"ResourceNotUtf8",
     [](void*, const char*, const char*, const char*, pinfold_hints* hints) {
       EXPECT_EQ(pinfold_hints_add(hints, "a\xff", 1, 1), PINFOLD_INVALID_ARGUMENT);
     },
     nullptr, "get_hints: the resource is not 1 to 317 bytes of UTF-8"},
    {"MaskBeyondTheMachine",
     [](void*, const char*, const char*, const char*, pinfold_hints* hints) {
       EXPECT_EQ(pinfold_hints_add(hints, "ways", 3, 1), PINFOLD_OK);
       EXPECT_EQ(pinfold_hints_add(hints, "ways", 4, 1), PINFOLD_INVALID_ARGUMENT);
     },
     nullptr, "get_hints: the mask has NUMA nodes that the machine does not have"},
    {"TooManyHints",
     [](void*, const char*, const char*, const char*, pinfold_hints* hints) {
       while (pinfold_hints_add(hints, "ways", 1, 1) == PINFOLD_OK) {
       }
     },
     nullptr, "get_hints: there are too many hints"},
    {"TooManyResources",
     [](void*, const char*, const char*, const char*, pinfold_hints* hints) {
       for (int i = 0;
            pinfold_hints_set_impossible(hints, std::to_string(i).c_str()) == PINFOLD_OK;)
         ++i;
     },
     nullptr, "get_hints: there are too many hints"},
    {"GetHintsThrows",
     [](void*, const char*, const char*, const char*, pinfold_hints*) {
       throw std::runtime_error("no ways");
     },
     nullptr, "get_hints: it threw 'no ways'"},
    {"StateNull", nullptr,
     [](void*, const char*, const char*, const char*, uint64_t, pinfold_text* state,
        pinfold_text*) {
       EXPECT_EQ(pinfold_text_set(state, nullptr), PINFOLD_INVALID_ARGUMENT);
       return 0;
     },
     "allocate: its text is NULL"},
    {"StateNotUtf8", nullptr,
     [](void*, const char*, const char*, const char*, uint64_t, pinfold_text* state,
        pinfold_text*) -> int { return pinfold_text_set(state, "\xc0\xaf"); },
     "allocate: its text is not UTF-8"},
    {"MessageHuge", nullptr,
     [](void*, const char*, const char*, const char*, uint64_t, pinfold_text*,
        pinfold_text* message) {
       EXPECT_EQ(pinfold_text_set(message, std::string(std::size_t{1} << 30U, 'a').c_str()),
                 PINFOLD_INVALID_ARGUMENT);
       return 1;
     },
     "allocate: its text is too long"},
    {"AllocateThrowsANumber", nullptr,
     [](void*, const char*, const char*, const char*, uint64_t, pinfold_text*,
        pinfold_text*) -> int { throw 7; },
     "allocate: it threw an exception"},
};

TEST(CallbackMisuse, OfAHintProviderFailsTheAdmission) {
  HintedNode hinted;
  for (const HintMistake& mistake : kHintMistakes) {
    SCOPED_TRACE(mistake.name);
    hinted.now = sound_provider();
    if (mistake.get_hints != nullptr) hinted.now.get_hints = mistake.get_hints;
    if (mistake.allocate != nullptr) hinted.now.allocate = mistake.allocate;
    EXPECT_EQ(hinted.admit("a"), PINFOLD_INVALID_ARGUMENT);
    EXPECT_EQ(hinted.message, fmt::format("admit pod: hint provider 'ways': {}", mistake.message));
    EXPECT_EQ(hinted.get("a"), PINFOLD_NOT_FOUND);
    EXPECT_EQ(hinted.runtime.cpus("poda"), "gone");
  }
  hinted.now = sound_provider();
  EXPECT_EQ(hinted.admit("a"), PINFOLD_OK) << hinted.message;
}

TEST(CallbackMisuse, OfReleaseKeepsThePod) {
  HintedNode hinted;
  ASSERT_EQ(hinted.admit("a"), PINFOLD_OK) << hinted.message;
  const Release mistakes[] = {
      [](void*, const char*, const char*, const char*, pinfold_text* state) {
        EXPECT_EQ(pinfold_text_set(state, "\xff"), PINFOLD_INVALID_ARGUMENT);
      },
      [](void*, const char*, const char*, const char*, pinfold_text*) {
        throw std::runtime_error("later");
      }};
  for (const Release mistake : mistakes) {
    hinted.now.release = mistake;
    EXPECT_EQ(hinted.remove("a"), PINFOLD_INVALID_ARGUMENT);
    EXPECT_THAT(hinted.message, StartsWith("remove pod: hint provider 'ways': release: "));
    EXPECT_EQ(hinted.get("a"), PINFOLD_OK);
    EXPECT_EQ(hinted.runtime.cpus("poda/c"), "1");
  }
  hinted.now = sound_provider();
  EXPECT_EQ(hinted.remove("a"), PINFOLD_OK) << hinted.message;
}

TEST(CallbackMisuse, ARejectionWithoutAMessageNamesTheProvider) {
  HintedNode hinted;
  hinted.now.allocate = [](void*, const char*, const char*, const char*, uint64_t, pinfold_text*,
                           pinfold_text*) { return 1; };
  EXPECT_EQ(hinted.admit("a"), PINFOLD_REJECTED);
  EXPECT_THAT(hinted.message, HasSubstr("hint provider 'ways' gave no message"));
}

TEST(CallbackMisuse, OnlyTheLastTextCounts) {
  HintedNode hinted;
  hinted.now.allocate = [](void*, const char*, const char*, const char*, uint64_t,
                           pinfold_text* state, pinfold_text*) -> int {
    EXPECT_EQ(pinfold_text_set(state, "\xff"), PINFOLD_INVALID_ARGUMENT);
    return pinfold_text_set(state, "x");
  };
  EXPECT_EQ(hinted.admit("a"), PINFOLD_OK) << hinted.message;
}

TEST(CallbackMisuse, ALogThatThrowsStopsNothing) {
  Runtime runtime(CgroupVersion::kV2);
  runtime.sink.log = [](void*, int32_t, const char*) { throw std::runtime_error("disk full"); };
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  EXPECT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, nullptr), PINFOLD_OK);
  pinfold_pod_free(answer);
  pinfold_node_close(node);
}

TEST(CallbackMisuse, ClosingTheNodeInACallbackDoesNothing) {
  Runtime runtime(CgroupVersion::kV2);
  pinfold_node* node = nullptr;
  runtime.sink.data = &node;
  runtime.sink.log = [](void* data, int32_t, const char*) {
    pinfold_node_close(*static_cast<pinfold_node**>(data));
  };
  node = runtime.open();
  pinfold_pod* answer = nullptr;
  EXPECT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, nullptr), PINFOLD_OK);
  pinfold_pod_free(answer);
  pinfold_node_close(node);
}

/// What a cgroup_fs does instead of the next call of a callback; all other calls work.
struct FsMistake {
  const char* name;
  int (*read_file)(void*, const char*, const char*, const char*, pinfold_text*);
  int (*list_children)(void*, const char*, const char*, pinfold_text*);
  const char* message;
};

int list(pinfold_text* names, const char* value) { return pinfold_text_set(names, value); }

const FsMistake kFsMistakes[] = {
    {"NoText", [](void*, const char*, const char*, const char*, pinfold_text*) { return 0; },
     nullptr, "read_file '/groups/cgroup.procs': it returned 0 and set no text"},
    {"TextNull",
     [](void*, const char*, const char*, const char*, pinfold_text* value) {
       (void)pinfold_text_set(value, nullptr);
       return 0;
     },
     nullptr, "read_file '/groups/cgroup.procs': its text is NULL"},
    {"TextNotUtf8",
     [](void*, const char*, const char*, const char*, pinfold_text* value) -> int {
       return pinfold_text_set(value, "\xff");
     },
     nullptr, "read_file '/groups/cgroup.procs': its text is not UTF-8"},
    {"TextHuge",
     [](void*, const char*, const char*, const char*, pinfold_text* value) -> int {
       return pinfold_text_set(value, std::string(std::size_t{5} << 20U, '1').c_str());
     },
     nullptr, "read_file '/groups/cgroup.procs': its text is too long"},
    {"Throws",
     [](void*, const char*, const char*, const char*, pinfold_text*) -> int {
       throw std::runtime_error("no connection");
     },
     nullptr, "read_file '/groups/cgroup.procs': it threw 'no connection'"},
    {"NoErrno", [](void*, const char*, const char*, const char*, pinfold_text*) { return -ENOENT; },
     nullptr, "read_file '/groups/cgroup.procs': it returned -2: expected 0 or an errno"},
    {"NoErrnoEither",
     [](void*, const char*, const char*, const char*, pinfold_text*) { return 99999; }, nullptr,
     "read_file '/groups/cgroup.procs': it returned 99999: expected 0 or an errno"},
    {"NoNames", nullptr, [](void*, const char*, const char*, pinfold_text*) { return 0; },
     "list_children of '/groups': it returned 0 and set no text"},
    {"ParentName", nullptr,
     [](void*, const char*, const char*, pinfold_text* names) { return list(names, "pod1\n.."); },
     "list_children of '/groups': '..' is not the name of a cgroup"},
    {"PathName", nullptr,
     [](void*, const char*, const char*, pinfold_text* names) { return list(names, "/etc"); },
     "list_children of '/groups': '/etc' is not the name of a cgroup"},
    {"LongName", nullptr,
     [](void*, const char*, const char*, pinfold_text* names) {
       return list(names, std::string(256, 'a').c_str());
     },
     "is not the name of a cgroup"},
};

TEST(CallbackMisuse, OfACgroupFsIsAnIoError) {
  for (const FsMistake& mistake : kFsMistakes) {
    SCOPED_TRACE(mistake.name);
    struct Switched {
      Runtime runtime{CgroupVersion::kV2};
      pinfold_cgroup_fs sound = runtime.cgroup_fs;
      const FsMistake* mistake = nullptr;
    } fs;
    fs.runtime.cgroup_fs.data = &fs;
    fs.runtime.cgroup_fs.create_cgroup = [](void* data, const char* directory, const char* group) {
      const auto& sound = static_cast<Switched*>(data)->sound;
      return sound.create_cgroup(sound.data, directory, group);
    };
    fs.runtime.cgroup_fs.write_file = [](void* data, const char* directory, const char* group,
                                         const char* file, const char* value) {
      const auto& sound = static_cast<Switched*>(data)->sound;
      return sound.write_file(sound.data, directory, group, file, value);
    };
    fs.runtime.cgroup_fs.read_file = [](void* data, const char* directory, const char* group,
                                        const char* file, pinfold_text* value) {
      const auto& self = *static_cast<Switched*>(data);
      const bool is_wrong = self.mistake != nullptr && self.mistake->read_file != nullptr &&
                            std::string(file) == "cgroup.procs";
      const auto read = is_wrong ? self.mistake->read_file : self.sound.read_file;
      return read(self.sound.data, directory, group, file, value);
    };
    fs.runtime.cgroup_fs.list_children = [](void* data, const char* directory, const char* group,
                                            pinfold_text* names) {
      const auto& self = *static_cast<Switched*>(data);
      const bool is_wrong = self.mistake != nullptr && self.mistake->list_children != nullptr;
      const auto children = is_wrong ? self.mistake->list_children : self.sound.list_children;
      return children(self.sound.data, directory, group, names);
    };
    pinfold_node* const node = fs.runtime.open();
    fs.mistake = &mistake;
    char* json = nullptr;
    char* error = nullptr;
    // A group that cannot be read is named and does not hide the others.
    const pinfold_code code = pinfold_node_get_status(node, &json, &error);
    EXPECT_THAT(code, testing::AnyOf(PINFOLD_IO, PINFOLD_OK));
    const std::string said = code == PINFOLD_OK ? json : error;
    EXPECT_THAT(said, HasSubstr("cgroup_fs: "));
    EXPECT_THAT(said, HasSubstr(mistake.message));
    if (code == PINFOLD_OK) {
      EXPECT_THAT(said, HasSubstr("\"ok\":false"));
    }
    pinfold_free(json);
    pinfold_free(error);
    json = error = nullptr;
    fs.mistake = nullptr;
    EXPECT_EQ(pinfold_node_get_status(node, &json, &error), PINFOLD_OK) << error;
    pinfold_free(json);
    pinfold_node_close(node);
  }
}

TEST(CallbackMisuse, AThrownExceptionAfterTheCommitLeavesTheRestToReconcile) {
  Runtime runtime(CgroupVersion::kV2);
  static const pinfold_cgroup_fs kSound = runtime.cgroup_fs;
  static bool throws = false;
  runtime.cgroup_fs.write_file = [](void* data, const char* directory, const char* group,
                                    const char* file, const char* value) {
    if (throws) throw std::runtime_error("no connection");
    return kSound.write_file(data, directory, group, file, value);
  };
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  throws = true;
  EXPECT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, &error), PINFOLD_NOT_ENFORCED);
  EXPECT_THAT(error, HasSubstr("cgroup_fs: write_file"));
  EXPECT_THAT(error, HasSubstr("it threw 'no connection'"));
  EXPECT_EQ(pinfold_pod_is_admitted(answer), 1);
  pinfold_free(error);
  pinfold_pod_free(answer);
  throws = false;
  char* json = nullptr;
  EXPECT_EQ(pinfold_node_reconcile(node, &json, &error), PINFOLD_OK) << error;
  pinfold_free(json);
  EXPECT_EQ(runtime.cpus("poda/c"), "1");
  pinfold_node_close(node);
}

/// An errno is about a file of a cgroup, never about the pod.
TEST(CallbackErrno, IsNeverAnAnswerAboutThePod) {
  static int returned = 0;
  for (const int number : {ENOENT, EBUSY, EINVAL, EAGAIN, ENOMEM, EPERM, 4095}) {
    SCOPED_TRACE(number);
    Runtime runtime(CgroupVersion::kV2);
    static const pinfold_cgroup_fs* sound = nullptr;
    const pinfold_cgroup_fs kept = runtime.cgroup_fs;
    sound = &kept;
    returned = 0;
    runtime.cgroup_fs.read_file = [](void* data, const char* directory, const char* group,
                                     const char* file, pinfold_text* value) {
      if (returned != 0 && std::string(file) == "cgroup.subtree_control") return returned;
      return sound->read_file(data, directory, group, file, value);
    };
    pinfold_node* const node = runtime.open();
    pinfold_pod* answer = nullptr;
    ASSERT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, nullptr), PINFOLD_OK);
    pinfold_pod_free(answer);
    returned = number;
    const auto expect_io = [&](const auto& call) {
      char* error = nullptr;
      EXPECT_EQ(call(&error), number == ENOMEM ? PINFOLD_NO_MEMORY : PINFOLD_IO) << error;
      EXPECT_THAT(error, HasSubstr("cgroup_fs: read_file '/groups/cgroup.subtree_control'"));
      pinfold_free(error);
    };
    char* json = nullptr;
    pinfold_node* again = nullptr;
    expect_io([&](char** error) { return pinfold_pod_get(node, "a", &answer, error); });
    expect_io([&](char** error) { return pinfold_pod_remove(node, "a", 0, error); });
    expect_io([&](char** error) {
      return pinfold_container_attach_process(node, "a", "c", 4242, error);
    });
    expect_io([&](char** error) { return pinfold_node_get_status(node, &json, error); });
    expect_io([&](char** error) { return pinfold_node_open(&runtime.options, &again, error); });
    returned = 0;
    EXPECT_EQ(pinfold_pod_get(node, "other", &answer, nullptr), PINFOLD_NOT_FOUND);
    pinfold_node_close(node);
  }
}

TEST(CallbackErrno, ENoEntOfAProcessListIsAnIoError) {
  static bool is_missing = false;
  is_missing = false;
  Runtime runtime(CgroupVersion::kV2);
  static const pinfold_cgroup_fs* sound = nullptr;
  const pinfold_cgroup_fs kept = runtime.cgroup_fs;
  sound = &kept;
  runtime.cgroup_fs.write_file = [](void* data, const char* directory, const char* group,
                                    const char* file, const char* value) {
    if (is_missing && std::string(file) == "cgroup.procs") return ENOENT;
    return sound->write_file(data, directory, group, file, value);
  };
  pinfold_node* const node = runtime.open();
  pinfold_pod* answer = nullptr;
  char* error = nullptr;
  ASSERT_EQ(pinfold_pod_admit(node, pod("a", 1).c_str(), &answer, nullptr), PINFOLD_OK);
  pinfold_pod_free(answer);
  is_missing = true;
  EXPECT_EQ(pinfold_container_attach_process(node, "a", "c", 4242, &error), PINFOLD_IO);
  EXPECT_THAT(error, HasSubstr("cgroup_fs: write_file '4242' to '/groups/poda/c/cgroup.procs'"));
  pinfold_free(error);
  EXPECT_EQ(pinfold_container_attach_process(node, "a", "none", 4242, &error), PINFOLD_NOT_FOUND);
  pinfold_free(error);
  pinfold_node_close(node);
}

}  // namespace
}  // namespace pinfold
