#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "scenario/cgroup_paths.hpp"
#include "steps/step_kubelet.hpp"
#include "steps/step_product.hpp"
#include "steps/step_result.hpp"
#include "steps/steps.hpp"

namespace pinfold::harness {
namespace {

bool is_of_process(const std::string& name) {
  return name == "Cpus_allowed_list" || name == "Mems_allowed_list" || name.starts_with("page");
}

std::string process_value(const Json& process, const std::string& name) {
  if (name == "Cpus_allowed_list") return process.value("cpusAllowed", "");
  if (name == "Mems_allowed_list") return process.value("memsAllowed", "");
  const Json pages = process.value("pages", Json());
  if (name == "pageNodes") return nodes_of_pages(pages);
  const std::size_t slash = name.find('/');
  return pages_on(pages, name.substr(slash + 1), name.starts_with("pageShare"));
}

/// Returns a container's cgroup; a full path is returned unchanged. If there is no such container,
/// `result` has the message.
VmResult<std::string> folder_of(StepContext& context, const std::string& group,
                                StepResult& result) {
  if (group.starts_with('/')) return group;
  return cgroup_of(context, group, result);
}

VmResult<void> expect_disjoint(StepContext& context, const Expectation& expectation,
                               StepResult& result) {
  std::vector<std::pair<std::string, std::string>> lists;
  for (const std::string& group : expectation.disjoint) {
    PINFOLD_LET(const auto folder, folder_of(context, group, result));
    if (!result.message.empty()) return {};
    PINFOLD_LET(auto cpus,
                context.read_one(folder + "/" + effective_file(context.cgroup_mode(), "cpus")));
    lists.emplace_back(group, std::move(cpus));
  }
  const auto checks = check_disjoint(lists);
  result.checks.insert(result.checks.end(), checks.begin(), checks.end());
  return {};
}

VmResult<void> expect_threads(StepContext& context, const Expectation& expectation,
                              StepResult& result) {
  PINFOLD_LET(const auto folder, folder_of(context, expectation.subject, result));
  if (!result.message.empty()) return {};
  PINFOLD_LET(const auto reply, context.ask({{"op", "threads"}, {"group", folder}}));
  const Json threads = reply.value("threads", Json::array());
  for (const auto& [name, expected_value] : expectation.values) {
    const std::string observed =
        name == "count"
            ? std::to_string(threads.size())
            : common_value(threads, name == "Cpus_allowed_list" ? "cpusAllowed" : "memsAllowed",
                           expected_value.text);
    result.checks.push_back(check_expected("threads of " + expectation.subject + " " + name, name,
                                           expected_value, observed));
  }
  return {};
}

VmResult<std::string> group_value(StepContext& context, const Expectation& expectation,
                                  const std::string& folder, const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string file = name.substr(0, slash);
  auto text = context.read_one(expectation.of == Expectation::Of::kContainer
                                   ? group_file(context.cgroup_mode(), folder, file)
                                   : folder + "/" + file);
  if (!text || slash == std::string::npos) return text;
  return line_value(*text, name.substr(slash + 1));
}

VmResult<void> expect_one(StepContext& context, const Expectation& expectation,
                          StepResult& result) {
  if (expectation.of == Expectation::Of::kDisjoint)
    return expect_disjoint(context, expectation, result);
  if (expectation.of == Expectation::Of::kProcesses)
    return expect_threads(context, expectation, result);
  if (expectation.of == Expectation::Of::kStateFile)
    return expect_state_file(context, expectation, result);
  std::string folder = expectation.subject;
  if (expectation.of == Expectation::Of::kContainer) {
    PINFOLD_LET(auto cgroup, cgroup_of(context, expectation.subject, result));
    if (!result.message.empty()) return {};
    folder = cgroup;
  }
  Json process;
  for (const auto& [name, expected_value] : expectation.values) {
    std::string what = expectation.subject + " " + name;
    VmResult<std::string> observed;
    if (is_of_process(name)) {
      if (process.is_null()) {
        PINFOLD_LET(process, context.ask({{"op", "inspect"}, {"name", expectation.subject}}));
      }
      observed = process.value("alive", false) ? process_value(process, name) : "(no process)";
    } else if (name == "contains") {
      PINFOLD_LET(const bool found, context.has_line(folder, expected_value.text));
      observed = found ? expected_value.text : "(no such line)";
    } else if (expectation.of == Expectation::Of::kFile) {
      what = expectation.subject;
      observed = context.read_one(folder);
    } else {
      observed = group_value(context, expectation, folder, name);
    }
    if (!observed) return tl::unexpected(observed.error());
    result.checks.push_back(
        check_expected(std::move(what), name, expected_value, std::move(*observed)));
    if (name == "contains") result.checks.back().owner = "the file";
  }
  return {};
}

VmResult<ContainerValues> look_at(StepContext& context, const DesiredContainer& container) {
  ContainerValues kernel;
  const std::string cpus = container.cgroup + "/" + effective_file(context.cgroup_mode(), "cpus");
  const std::string mems = container.cgroup + "/" + effective_file(context.cgroup_mode(), "mems");
  PINFOLD_LET(const auto reply, context.ask({{"op", "read"}, {"paths", {cpus, mems}}}));
  kernel.cpus = file_value(reply, cpus);
  kernel.mems = file_value(reply, mems);
  if (!context.running.contains(container.name)) return kernel;
  PINFOLD_LET(const auto process, context.ask({{"op", "inspect"}, {"name", container.name}}));
  kernel.has_process = true;
  kernel.cpus_allowed = process_value(process, "Cpus_allowed_list");
  kernel.mems_allowed = process_value(process, "Mems_allowed_list");
  kernel.page_nodes = process_value(process, "pageNodes");
  return kernel;
}

}  // namespace

VmResult<StepResult> act(StepContext& context, const ExpectStep& step) {
  StepResult result;
  std::vector<std::string> problems;
  for (const Expectation& expectation : step.expectations) {
    StepResult one;
    PINFOLD_TRY(expect_one(context, expectation, one));
    result.checks.insert(result.checks.end(), one.checks.begin(), one.checks.end());
    if (!one.message.empty()) problems.push_back(std::move(one.message));
  }
  result.message = fmt::format("{}", fmt::join(problems, "; "));
  return concluded(std::move(result));
}

VmResult<StepResult> act(StepContext& context, const VerifyStep&) {
  StepResult result;
  PINFOLD_LET(const auto containers, desired(context, result.message));
  if (result.message.empty() && containers.empty()) result.message = "there is no container";
  std::map<std::string, ContainerValues> kernel;
  for (const DesiredContainer& container : containers) {
    PINFOLD_LET(kernel[container.name], look_at(context, container));
  }
  static const std::string kOnline = "/sys/devices/system/cpu/online";
  PINFOLD_LET(const auto reply, context.ask({{"op", "read"}, {"paths", {kOnline}}}));
  const auto online = CpuSet::parse(file_value(reply, kOnline));
  if (!online) {
    result.message = "the guest's online CPUs: " + online.error().message;
    return result;
  }
  result.rows = judge_containers(containers, kernel, {*online, context.machine.memory_nodes()});
  for (const ContainerRow& row : result.rows) {
    result.checks.insert(result.checks.end(), row.checks.begin(), row.checks.end());
  }
  return concluded(std::move(result));
}

}  // namespace pinfold::harness
