// state_files PINFOLD FILE...: compares the output of `pinfold checkpoint verify -o json` for state
// files with the way kubelets read them, and the files that the library writes with those that
// kubelets write. Exit status 1 if there is a difference.

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "memory_fields.hpp"
#include "pinfold/checkpoint/kubelet.hpp"
#include "pinfold/simulate/simulate.hpp"
#include "run_program.hpp"
#include "temp_dir.hpp"

namespace pinfold::test {
namespace {

using checkpoint::Kubelet;
using nlohmann::json;

/// "1.37" means that the gate is off, which is the default.
Kubelet kubelet_of(const std::string& reader) {
  return {std::stoi(reader.substr(2)), reader.ends_with("-gate-on")};
}

CpuCheckpoint cpu_state(const json& state) {
  const auto set = [](const json& list) { return CpuSet::parse(list.get<std::string>()).value(); };
  CpuCheckpoint out;
  out.default_set = set(state.at("defaultCpuSet"));
  for (const auto& [pod, containers] : state.at("entries").items()) {
    auto& of_pod = out.assignments[PodUid(pod)];
    for (const auto& [name, list] : containers.items()) of_pod[name] = set(list);
  }
  for (const auto& [pod, list] : state.at("podEntries").items()) {
    out.pods[PodUid(pod)] = set(list);
  }
  return out;
}

class StateFiles {
 public:
  explicit StateFiles(std::string command) : command_(std::move(command)) {}

  void add(const json& vector) {
    if (vector.contains("reader")) {
      add_read(vector);
    } else {
      compare_write(vector);
    }
  }

  [[nodiscard]] int finish() {
    for (const auto& [key, paths] : files_) verify(key.second, paths);
    for (const Expected& expected : expected_) compare_read(expected);
    fmt::print("{} vectors, {} wrong\n", count_, wrong_);
    return count_ > 0 && wrong_ == 0 ? 0 : 1;
  }

 private:
  struct Expected {
    std::string name;
    std::string path;
    std::string reader;
    json outcome;
  };
  using Key = std::tuple<std::string, int, bool>;  // path, minor version, gate

  void add_read(const json& vector) {
    const std::string policy = vector.at("policy");
    const std::string bytes = vector.at("bytes");
    const std::string kind = vector.at("file");
    auto& path = paths_[{kind, policy, bytes}];
    if (path.empty()) {
      path = fmt::format("{}_{}", kind, paths_.size());
      folder_.write(path, bytes);
      files_[{kind, policy}].push_back(folder_ / path);
    }
    expected_.push_back(
        {vector.at("name"), folder_ / path, vector.at("reader"), vector.at("expect")});
  }

  void verify(const std::string& policy, const std::vector<std::string>& paths) {
    const auto outcome = run_shell(fmt::format("'{}' checkpoint verify -o json --policy '{}' {}",
                                               command_, policy, fmt::join(paths, " ")));
    for (const json& line : json::parse(outcome.out)) {
      const std::string version = line.at("kubelet");
      const bool gate = line.at("podLevelResourceManagers");
      answers_[Key(line.at("file"), std::stoi(version.substr(2)), gate)] = line;
    }
  }

  void compare_read(const Expected& expected) {
    const Kubelet kubelet = kubelet_of(expected.reader);
    const json& answer = answers_.at(Key(expected.path, kubelet.minor, kubelet.pod_level_gate));
    json seen;
    if (answer.at("reads")) {
      seen["state"] = answer.at("state");
      seen["state"].erase("baselines");  // which the recordings leave out
    } else {
      seen[answer.at("crashes") ? "panic" : "error"] = answer.at("readError");
    }
    compare(fmt::format("{}, {}", expected.name, expected.reader), seen, expected.outcome);
  }

  void compare_write(const json& vector) {
    const Kubelet kubelet = {37, vector.at("gate") == "on"};
    const std::string policy = vector.at("policy");
    const std::string name = vector.at("name");
    const json& state = vector.at("state");
    const json& bytes = vector.at("bytes");
    if (vector.at("file") == "cpu") {
      return compare(name, checkpoint::write_cpu(cpu_state(state), policy, kubelet), bytes);
    }
    const auto file = checkpoint::memory_file::copied(
        checkpoint::memory_file::read(state.dump(), checkpoint::memory_file::MemoryFileVersion::kV2,
                                      "state.MemoryManagerCheckpoint"));
    compare(name, checkpoint::memory_file::file_text(file, policy, checkpoint::MemoryFormat::kV3),
            bytes);
    if (state.dump().find("null") != std::string::npos) return;  // not in a MemoryCheckpoint
    const auto checkpoint = checkpoint::memory_file::to_state(file, std::nullopt);
    compare(name, checkpoint::write_memory(checkpoint.value(), policy, kubelet), bytes);
  }

  void compare(const std::string& name, const json& seen, const json& expected) {
    ++count_;
    if (seen == expected) return;
    ++wrong_;
    fmt::print("{}:\n  seen     {}\n  expected {}\n", name, seen.dump(), expected.dump());
  }

  std::string command_;
  TempDir folder_;
  std::map<std::tuple<std::string, std::string, std::string>, std::string> paths_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> files_;  // kind, policy
  std::vector<Expected> expected_;
  std::map<Key, json> answers_;
  int count_ = 0;
  int wrong_ = 0;
};

int run(const std::vector<std::string>& arguments) {
  StateFiles truth(arguments.at(1));
  bool is_readable = true;
  const auto report = [&](const Error& error) {
    fmt::print(stderr, "{}\n", error.message);
    is_readable = false;
  };
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const auto done = simulate::for_each_vector(
        arguments[i],
        [&](const json& vector) {
          truth.add(vector);
          return Result<void>();
        },
        report);
    if (!done) report(done.error());
  }
  const int status = truth.finish();
  return is_readable ? status : 2;
}

}  // namespace
}  // namespace pinfold::test

// NOLINTNEXTLINE(bugprone-exception-escape): a vector without an expected field fails the test
int main(int count, char** arguments) {
  return pinfold::test::run(std::vector<std::string>(arguments, arguments + count));
}
