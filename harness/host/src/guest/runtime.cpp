#include "pinfold/harness/runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "judge/difference.hpp"
#include "pinfold/harness/container_images.hpp"
#include "pinfold/harness/initramfs.hpp"
#include "pinfold/harness/scenario.hpp"
#include "pinfold/harness/witness.hpp"
#include "runtime_texts.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

/// The limit for the guest's programs, with their symbols.
constexpr std::size_t kMaxBytes = std::size_t{1} << 30U;

constexpr const char* kSocket = "/run/pinfold-cri.sock";
constexpr const char* kScript = "usr/lib/pinfold/runtime.sh";

constexpr Milliseconds kPause(100);

/// A shell that ends on request: as the init process of its container it must handle the signal
/// itself.
constexpr const char* kWait = "trap 'exit 0' TERM; while true; do sleep 1000 & wait $!; done";

Result<std::string> container_images(const Image& image, const fs::path& agent) {
  PINFOLD_LET(const auto program, read_program(agent));
  PINFOLD_LET(auto busybox, read_file(image.busybox, kMaxBytes));
  PINFOLD_LET(auto links, busybox_links(image.busybox));
  links.insert(links.begin(), CpioEntry::file("bin/busybox", std::move(busybox), true));
  return write_images(
      {{"localhost/pause:1", {CpioEntry::file("pause", program, true)}, {kSandboxProgram, "pause"}},
       {"localhost/restless:1",
        {CpioEntry::file("restless", program, true)},
        {"/restless", "restless"}},
       {"localhost/busybox:1", std::move(links), {"sh", "-c", kWait}}});
}

/// Returns what is left of `limit`.
Milliseconds left_of(Milliseconds limit, Clock::time_point begin) {
  return limit - std::chrono::duration_cast<Milliseconds>(Clock::now() - begin);
}

/// Repeats a call until its answer is as expected.
VmResult<CriAnswer> call_until(Vm& vm, const char* method, bool (*expected)(const Json&),
                               Milliseconds limit) {
  const Clock::time_point begin = Clock::now();
  while (true) {
    PINFOLD_LET(auto answer, call_runtime(vm, method, Json::object(), limit));
    if (expected(answer.reply)) return answer;
    if (left_of(limit, begin) <= Milliseconds(0)) {
      if (answer.error.empty()) answer.error = "it is not ready: " + answer.reply.dump();
      return answer;
    }
    std::this_thread::sleep_for(kPause);
  }
}

bool says_that_it_is_ready(const Json& status) {
  const Json conditions = status.value(Json::json_pointer("/status/conditions"), Json::array());
  return std::any_of(conditions.begin(), conditions.end(), [](const Json& one) {
    return one.value("type", "") == "RuntimeReady" && one.value("status", false);
  });
}

/// The runtime lists imported images with a delay.
bool has_all_images(const Json& list) { return list.value("images", Json::array()).size() == 3; }

/// Waits until the runtime can run pods.
VmResult<CriAnswer> wait_until_ready(Vm& vm, Milliseconds limit) {
  PINFOLD_LET(auto status, call_until(vm, "Status", says_that_it_is_ready, limit));
  if (!status.error.empty()) return status;
  return call_until(vm, "ListImages", has_all_images, limit);
}

}  // namespace

Result<InitramfsParts> prepare_runtime(const fs::path& script, std::string_view runtime,
                                       const Image& image, const fs::path& agent,
                                       const fs::path& client) {
  PINFOLD_LET(const auto folder, prepare_runtime_image(script, std::string(runtime)));
  InitramfsParts parts;
  for (const char* program : {"containerd", "containerd-shim-runc-v2", "ctr", "runc"}) {
    parts.programs.push_back({folder / program, std::string("/usr/bin/") + program});
  }
  parts.programs.push_back({client, "/usr/bin/pinfold-cri"});
  PINFOLD_LET(auto definition, read_file(folder / "cri.desc", kMaxBytes));
  PINFOLD_LET(auto images, container_images(image, agent));
  const auto add = [&parts](const char* path, std::string text) {
    parts.files.push_back(CpioEntry::file(path, std::move(text), false));
  };
  add("usr/lib/pinfold/cri.desc", std::move(definition));
  add("usr/lib/pinfold/images.tar", std::move(images));
  add(kScript, kRuntimeScript);
  add("etc/containerd/config.toml", runtime == kRuntimes[0] ? kContainerd17 : kContainerd21);
  add("etc/hosts", "127.0.0.1 localhost\n");  // the runtime copies both files for a sandbox
  add("etc/resolv.conf", "");
  return parts;
}

VmResult<CriAnswer> call_runtime(Vm& vm, const std::string& method, const Json& request,
                                 Milliseconds limit) {
  // The call to the runtime times out first, so that its client can report it.
  const Json call = {
      {"method", method}, {"request", request}, {"timeLimitMs", limit.count() * 9 / 10}};
  PINFOLD_LET(const auto reply,
              vm.request({{"op", "talk"},
                          {"socket", kSocket},
                          {"text", call.dump(-1, ' ', true, Json::error_handler_t::replace)},
                          {"timeLimitMs", limit.count()}},
                         limit + std::chrono::seconds(10)));
  if (!reply.value("ok", false)) return CriAnswer{.error = reply.value("error", "no reason given")};
  const Json answer = Json::parse(reply.value("text", ""), nullptr, false);
  if (!answer.is_object()) return CriAnswer{.error = method + ": no answer"};
  const std::string error = answer.value("error", answer.contains("reply") ? "" : "no answer");
  return CriAnswer{answer.value("reply", Json::object()), error};
}

VmResult<CriAnswer> control_runtime(Vm& vm, RuntimeVerb verb, Milliseconds limit) {
  static constexpr const char* kVerbs[] = {"boot", "kill", "restart"};
  const Clock::time_point begin = Clock::now();
  PINFOLD_LET(
      const auto reply,
      vm.request({{"op", "exec"},
                  {"argv", {"sh", "/" + std::string(kScript), kVerbs[static_cast<int>(verb)]}},
                  {"timeLimitMs", limit.count()}},
                 limit + std::chrono::seconds(10)));
  if (reply.value("status", -1) != 0) {
    return CriAnswer{.error =
                         fmt::format("it ended with {}: {}", describe_end(reply),
                                     excerpt(reply.value("error", "") + reply.value("stdout", "") +
                                             reply.value("stderr", "")))};
  }
  if (verb == RuntimeVerb::kKill) return CriAnswer{};
  return wait_until_ready(vm, std::max(left_of(limit, begin), Milliseconds(1000)));
}

}  // namespace pinfold::harness
