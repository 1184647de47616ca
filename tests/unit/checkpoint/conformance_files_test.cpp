// The state files of the whole conformance corpus, if it is available (PINFOLD_SHARED): a kubelet's
// files are read and written back byte for byte (in every tenth vector), and every start or restart
// that failed to read a file fails here with the same text.

#include "corpus.hpp"
#include "pinfold/checkpoint/kubelet_files.hpp"

namespace pinfold::checkpoint {
namespace {

using Json = nlohmann::json;

using test::Corpus;
using test::for_each_vector;

struct Settings {
  std::string cpu_policy;
  std::string memory_policy;
  bool gate = false;
};

Settings setup_of(const Json& config) {
  const Json gates = config.value("featureGates", Json::object());
  return {config.value("cpuManagerPolicy", "none"), config.value("memoryManagerPolicy", "None"),
          gates.value("PodLevelResourceManagers", false)};
}

ContainerIds ids_of(const Json& vector) {
  ContainerIds ids;
  for (const Json& c : vector.value("initialContainers", Json::array())) {
    ids[c.at("id")] = {PodUid(c.at("podUID").get<std::string>()), c.at("container")};
  }
  return ids;
}

std::optional<std::string> bytes_of(const Json& files, std::string_view name) {
  const auto found = files.find(name);
  if (found == files.end()) return std::nullopt;
  return found->get<std::string>();
}

/// Compares the result of reading the files at a start with the stage and error of the vector.
void check_start(const std::string& where, const Json& files, const Settings& setup,
                 const ContainerIds& ids, const std::string& stage, const std::string& error) {
  const auto verdict = [&](std::string_view manager, const std::string& text) {
    if (stage == manager && error.starts_with("could not restore")) {
      EXPECT_EQ(text, error) << where;
      return false;
    }
    if (stage == manager) return false;  // failed before or after the file was read
    EXPECT_EQ(text, "") << where;
    return true;
  };
  const auto cpu = restore_cpu(bytes_of(files, kCpuFileName), setup.cpu_policy, setup.gate, ids);
  if (!verdict("cpumanager", cpu ? "" : cpu.error().message)) return;
  const auto memory =
      restore_memory(bytes_of(files, kMemoryFileName), setup.memory_policy, setup.gate);
  verdict("memorymanager", memory ? "" : memory.error().message);
}

TEST_F(Corpus, EveryFailedReadHasTheSameText) {
  for (const char* const group : {"checkpoint-legacy", "restart-same", "restart-config-changed"}) {
    for_each_vector(folder_ / (std::string(group) + ".jsonl.gz"), 1, [&](const Json& vector) {
      const std::string name = vector.at("name");
      Settings setup = setup_of(vector.at("config"));
      const Json failure = vector.value("startError", Json::object());
      check_start(name, vector.value("initialFiles", Json::object()), setup, ids_of(vector),
                  failure.value("stage", ""), failure.value("error", ""));
      const Json steps = vector.value("steps", Json::array());
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].at("op") != "restart") continue;
        const Json& expect = vector.at("expect")[i];
        if (steps[i].contains("config")) setup = setup_of(steps[i].at("config"));
        // A restart does not rewrite the files: it leaves what it read.
        check_start(name + " step " + std::to_string(i),
                    expect.value("checkpoints", Json::object()), setup, {},
                    expect.value("stage", ""), expect.value("error", ""));
      }
    });
  }
}

/// Reads a file and writes it again in the same format.
template <class Restore, class Encode>
bool survives(const std::string& bytes, const Restore& restore, const Encode& encode) {
  for (const bool gate : {false, true}) {
    const auto state = restore(bytes, gate);
    if (state && encode(**state, gate) == bytes) return true;
  }
  return false;
}

void check_files(const std::string& where, const Json& files, std::size_t& count) {
  for (const auto& [name, text] : files.items()) {
    const std::string bytes = text;
    const std::string policy = Json::parse(bytes).at("policyName");
    ++count;
    const bool same =
        name == kCpuFileName
            ? survives(
                  bytes, [&](auto& b, bool gate) { return restore_cpu(b, policy, gate, {}); },
                  [&](auto& s, bool gate) { return encode_cpu(s, policy, gate); })
            : survives(
                  bytes, [&](auto& b, bool gate) { return restore_memory(b, policy, gate); },
                  [&](auto& s, bool gate) { return encode_memory(s, policy, gate); });
    EXPECT_TRUE(same) << where << ": " << name << ": " << bytes;
  }
}

TEST_F(Corpus, FilesSurviveByteForByte) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string file = entry.path().filename();
    if (!file.ends_with(".jsonl.gz") || file.starts_with("checkpoint-legacy")) continue;
    for_each_vector(entry.path(), 10, [&](const Json& vector) {
      const std::string name = vector.at("name");
      check_files(name, vector.value("start", Json::object()).value("checkpoints", Json::object()),
                  count);
      for (const Json& expect : vector.value("expect", Json::array())) {
        check_files(name, expect.value("checkpoints", Json::object()), count);
      }
    });
  }
  EXPECT_GT(count, 5000U);
}

}  // namespace
}  // namespace pinfold::checkpoint
