#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent.hpp"

#ifdef PINFOLD_COVERAGE
extern "C" void __gcov_dump();  // <gcov.h> declares it for C only
#endif

namespace pinfold::guest {
namespace {

/// Values that are reported for each cgroup that has them.
constexpr const char* kCgroupFiles[] = {
    "cpuset.cpus", "cpuset.cpus.effective", "cpuset.mems", "cpuset.mems.effective", "cpu.max",
    "cpu.weight",  "cgroup.procs"};

Json make_folders(const Json& request) {
  std::error_code failed;
  std::filesystem::create_directories(request.at("path").get<std::string>(), failed);
  if (failed) return refuse(describe_errno(request["path"].get<std::string>(), failed.value()));
  return {{"ok", true}};
}

/// Writes a file or, with "append", adds to it.
Json put(const Json& request) {
  const std::string path = request.at("path");
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int flags = O_WRONLY | O_CREAT | (request.value("append", false) ? O_APPEND : O_TRUNC);
  const int failed = write_text(path, request.at("text").get<std::string>(), flags);
  return failed == 0 ? Json{{"ok", true}} : refuse(describe_errno(path, failed));
}

/// Overwrites a kernel value. The kernel's error is a result, not a failure of the request.
Json write_value(const Json& request) {
  const int failed =
      write_text(request.at("path"), request.at("value").get<std::string>(), O_WRONLY);
  return {{"ok", true}, {"errno", failed == 0 ? "" : errno_name(failed)}};
}

Json read_values(const Json& request) {
  Json files = Json::object();
  for (const Json& path : request.at("paths")) {
    int failed = 0;
    const std::string text = read_text(path, failed);
    files[path.get<std::string>()] =
        failed == 0 ? Json{{"value", text}} : Json{{"errno", errno_name(failed)}};
  }
  return {{"ok", true}, {"files", files}};
}

/// Lists every cgroup below a directory with its values, as the kernel reports them.
Json list_cgroups(const Json& request) {
  const std::string root = request.at("path");
  std::error_code failed;
  const std::vector<std::string> folders = groups_from(root, failed);
  if (failed) return refuse(describe_errno(root, failed.value()));
  Json groups = Json::object();
  for (const std::string& folder : folders) {
    Json& values = groups[folder] = Json::object();
    for (const char* file : kCgroupFiles) {
      int sys_errno = 0;
      const std::string text = read_text(folder + "/" + file, sys_errno);
      if (sys_errno == 0) values[file] = text;
    }
  }
  return {{"ok", true}, {"groups", groups}};
}

/// Reads everything except the command line.
Spawn spawn_of(const Agent& agent, const Json& request) {
  Spawn spawn;
  spawn.environment = request.value("env", std::vector<std::string>{});
  const std::string group = request.value("cgroup", "");
  if (!group.empty()) spawn.cgroups = groups_of(agent, group);
  if (group.empty()) spawn.cpu = agent.command_cpu;
  spawn.input = request.value("stdin", "");
  spawn.time_limit = std::chrono::milliseconds(request.value("timeLimitMs", 30000));
  return spawn;
}

Json run(Agent& agent, const Json& request) {
  Spawn spawn = spawn_of(agent, request);
  spawn.argv = request.at("argv").get<std::vector<std::string>>();
  if (request.contains("killAt")) {
    const Json& point = request["killAt"];
    spawn.kill_at =
        KillPoint{point.value("call", ""), point.value("file", ""), point.value("number", 1)};
  }
  return run_to_end(agent, spawn);
}

Json start(Agent& agent, const Json& request) {
  Spawn spawn = spawn_of(agent, request);
  const bool payload = request.contains("payloadBytes");
  if (payload) {
    const auto bytes = request["payloadBytes"].get<std::uint64_t>();
    const auto page_size = request.value("pageSize", std::uint64_t{0});
    spawn.argv = {"/proc/self/exe", "payload", std::to_string(bytes), std::to_string(page_size)};
  } else {
    spawn.argv = request.at("argv").get<std::vector<std::string>>();
  }
  return start_program(agent, request.at("name"), spawn, payload);
}

/// Instrumented programs write gcov data when they exit, and the agent never exits.
Json dump_coverage() {
#ifdef PINFOLD_COVERAGE
  __gcov_dump();
  return {{"ok", true}};
#else
  return refuse("the agent was not built for gcov");
#endif
}

}  // namespace

Json handle(Agent& agent, const Json& request) {
  try {
    const std::string op = request.value("op", "");
    if (op == "machine") return {{"ok", true}, {"machine", report_machine(agent)}};
    if (op == "load") return load_files(request);
    if (op == "remember") return remember(agent);
    if (op == "reset") return reset(agent);
    if (op == "mkdir") return make_folders(request);
    if (op == "put") return put(request);
    if (op == "write") return write_value(request);
    if (op == "read") return read_values(request);
    if (op == "cgroups") return list_cgroups(request);
    if (op == "exec") return run(agent, request);
    if (op == "start") return start(agent, request);
    if (op == "threads") return inspect_threads(request.at("group"));
    if (op == "sample") {
      return start_sampler(
          agent, {request.at("root"), request.at("file"), request.value("onlyInUse", false)});
    }
    if (op == "samples") return stop_sampler(agent);
    if (op == "witness") return start_witness(agent, request.at("root"));
    if (op == "witness-mark") return mark_witness(agent, request.at("number"));
    if (op == "witnessed") return stop_witness(agent);
    if (op == "inspect") return inspect_program(agent, request.at("name"));
    if (op == "disk") return make_disk(agent, request);
    if (op == "modules") return load_modules(request.at("names"));
    if (op == "mark") return mark_disk(agent);
    if (op == "cut-power") return cut_power(agent, request);
    if (op == "talk") return talk(request);
    if (op == "stop") return stop_program(agent, request.at("name"));
    if (op == "dump-coverage") return dump_coverage();
    if (op == "quit") return {{"ok", true}};
    return refuse("'" + op + "': unknown request");
  } catch (const std::exception& error) {  // a missing field, or one of the wrong type
    return refuse(error.what());
  }
}

}  // namespace pinfold::guest
