#include <map>
#include <utility>

#include "scenario/cgroup_paths.hpp"
#include "steps/step_kubelet.hpp"
#include "steps/step_runtime.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {
namespace {

constexpr const char* kOnline = "/sys/devices/system/cpu/online";

std::string read_value(const Json& files, const std::string& path) {
  const auto file = files.find(path);
  return file == files.end() ? "" : file->value("value", "");
}

}  // namespace

VmResult<void> note_groups(StepContext& context, const StepAction& action, StepResult& result) {
  const auto* expect = std::get_if<ExpectStep>(&action);
  if (expect == nullptr && !std::holds_alternative<VerifyStep>(action)) return {};
  std::map<std::string, std::string> folders = context.running;
  folders.merge(runtime_cgroups(context));
  folders.merge(kubelet_cgroups(context));
  if (context.desired) {
    for (const DesiredContainer& one : *context.desired) folders[one.name] = one.cgroup;
  }
  if (expect != nullptr) {
    for (const Expectation& one : expect->expectations) {
      if (one.of == Expectation::Of::kCgroup) folders[one.subject] = one.subject;
    }
  }
  const auto file_of = [&context](const std::string& folder, const char* what) {
    return folder + "/" + effective_file(context.cgroup_mode(), what);
  };
  Json paths = {kOnline};
  for (const auto& [name, folder] : folders) {
    paths.push_back(file_of(folder, "cpus"));
    paths.push_back(file_of(folder, "mems"));
  }
  PINFOLD_LET(const auto reply, context.ask({{"op", "read"}, {"paths", paths}}));
  const Json files = reply.value("files", Json::object());
  result.online = read_value(files, kOnline);
  for (const auto& [name, folder] : folders) {
    GroupCpuset group{name, read_value(files, file_of(folder, "cpus")),
                      read_value(files, file_of(folder, "mems"))};
    if (!group.cpus.empty()) result.groups.push_back(std::move(group));
  }
  return {};
}

}  // namespace pinfold::harness
