#include "pinfold/harness/kubelet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "guest/kubelet_requests.hpp"
#include "judge/difference.hpp"
#include "pinfold/harness/cache.hpp"
#include "pinfold/harness/guest_programs.hpp"
#include "pinfold/text/document.hpp"
#include "runtime_texts.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKubeletScriptFile = "usr/lib/pinfold/kubelet.sh";
constexpr const char* kKeyFile = "etc/kubernetes/pki/key.pem";
constexpr const char* kCertificateFile = "etc/kubernetes/pki/cert.pem";
constexpr std::size_t kMaxPem = std::size_t{64} << 10U;

/// The exit status of kubelet.sh if the kubelet has ended (for `wait`: was killed).
constexpr int kHasEnded = 3;

Result<void> check_program(const fs::path& program) {
  std::error_code failed;
  if (fs::is_directory(program, failed)) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("kubelet '{}': a directory, expected the program of a kubelet for amd64",
                    program.string()));
  }
  if (!fs::is_regular_file(program, failed)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("kubelet '{}': no such file, expected a kubelet for amd64; check its "
                            "path",
                            program.string()));
  }
  if (!is_elf(program)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("kubelet '{}': not an ELF program, expected a kubelet for amd64",
                            program.string()));
  }
  PINFOLD_TRY_WRAP(libraries_of(program, Arch::kAmd64), "kubelet");
  return {};
}

/// Makes a key and its certificate in a new directory: in a guest that QEMU translates, a kubelet
/// would take minutes to make its own.
Result<void> make_certificate(const fs::path& folder) {
  const std::vector<std::string> command = {"openssl",
                                            "req",
                                            "-x509",
                                            "-newkey",
                                            "ec",
                                            "-pkeyopt",
                                            "ec_paramgen_curve:prime256v1",
                                            "-nodes",
                                            "-days",
                                            "36500",
                                            "-subj",
                                            "/CN=node",
                                            "-keyout",
                                            (folder / "key.pem").string(),
                                            "-out",
                                            (folder / "cert.pem").string()};
  PINFOLD_LET_WRAP(const auto made, run_program(command, std::chrono::minutes(1)),
                   "make the kubelet's certificate (package openssl)");
  if (made.exit_status == 0) return {};
  return fail(ErrorCode::kIo, fmt::format("make the kubelet's certificate: openssl ended with {}: "
                                          "{}",
                                          made.exit_status, excerpt(made.output)));
}

/// Returns the directory of the certificate in the cache. Concurrent runs may each make one; the
/// first one is kept.
Result<fs::path> certificate_folder() {
  const fs::path folder = cache_folder() / "kubelet";
  std::error_code failed;
  if (fs::exists(folder / "cert.pem", failed)) return folder;
  const fs::path draft =
      fmt::format("{}.{}.tmp", folder.string(), Clock::now().time_since_epoch().count());
  fs::create_directories(draft, failed);
  PINFOLD_TRY(make_certificate(draft));
  fs::rename(draft, folder, failed);
  std::error_code ignored;
  if (failed) fs::remove_all(draft, ignored);
  return folder;
}

/// Replaces an image that the guest does not have with one that waits, or ends (init containers).
void use_own_image(Json& container, bool must_end) {
  container["imagePullPolicy"] = "Never";
  const auto image = container.find("image");
  const bool is_named = image != container.end() && image->is_string();
  if (is_named && image->get<std::string>().starts_with("localhost/")) return;
  container["image"] = kOtherImage;
  container.erase("args");
  container.erase("command");
  if (must_end) container["command"] = Json::array({"true"});
}

}  // namespace

Result<void> check_kubelets(const Scenario& scenario) {
  std::uint64_t bytes = 0;
  for (const fs::path& kubelet : scenario.kubelets) {
    PINFOLD_TRY(check_program(kubelet));
    std::error_code failed;
    bytes += fs::file_size(kubelet, failed);
  }
  // The initramfs and what is unpacked from it are in memory at the same time.
  const std::uint64_t least = kRuntimeMemory + 2 * bytes;
  if (scenario.kubelets.empty() || scenario.machine.memory() >= least) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("scenario '{}': a machine with {} MiB of memory, expected {} MiB or more "
                          "for kubelets of {} MiB in total, such as '{}'",
                          scenario.name, scenario.machine.memory() / kMiB, least / kMiB + 1,
                          bytes / kMiB, scenario.kubelets.front().string()));
}

Result<std::string> check_kubelet_version(const fs::path& program, std::string_view printed) {
  constexpr std::string_view kBefore = "Kubernetes v1.";
  const std::string_view line = printed.substr(0, printed.find('\n'));
  int minor = 0;
  bool is_kubelet = line.starts_with(kBefore);
  if (is_kubelet) {
    const char* const end = line.data() + line.size();
    is_kubelet = std::from_chars(line.data() + kBefore.size(), end, minor).ec == std::errc();
  }
  if (!is_kubelet) {
    const std::string observed = line.empty()
                                     ? "it prints nothing"
                                     : fmt::format("it prints '{}'", excerpt(std::string(line)));
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("kubelet '{}': not a kubelet: for --version {}, expected 'Kubernetes "
                            "v1.N'",
                            program.string(), observed));
  }
  if (minor >= kOldestKnownMinor && minor <= kNewestKnownMinor) return "";
  return fmt::format(
      "kubelet '{}': version 1.{}; Pinfold knows the state files and decisions of "
      "1.{} to 1.{}",
      program.string(), minor, kOldestKnownMinor, kNewestKnownMinor);
}

std::string kubelet_in_guest(const std::vector<fs::path>& kubelets, const fs::path& program) {
  const auto found = std::find(kubelets.begin(), kubelets.end(), program);
  return fmt::format("/usr/lib/pinfold/kubelets/{}/kubelet", found - kubelets.begin() + 1);
}

Result<InitramfsParts> prepare_kubelets(const std::vector<fs::path>& kubelets) {
  InitramfsParts parts;
  for (const fs::path& kubelet : kubelets) {
    parts.programs.push_back({kubelet, kubelet_in_guest(kubelets, kubelet)});
  }
  PINFOLD_LET(const auto folder, certificate_folder());
  PINFOLD_LET(auto key, read_file(folder / "key.pem", kMaxPem));
  PINFOLD_LET(auto certificate, read_file(folder / "cert.pem", kMaxPem));
  const auto add = [&parts](const char* path, std::string text) {
    parts.files.push_back(CpioEntry::file(path, std::move(text), false));
  };
  add(kKeyFile, std::move(key));
  add(kCertificateFile, std::move(certificate));
  add(kKubeletScriptFile, kKubeletScript);
  add("etc/machine-id", "00000000000000000000000000000001\n");
  return parts;
}

Json kubelet_config(const Json& config) {
  Json full = {
      {"apiVersion", "kubelet.config.k8s.io/v1beta1"},
      {"kind", "KubeletConfiguration"},
      {"staticPodPath", kManifests},
      {"containerRuntimeEndpoint", "unix:///run/containerd/containerd.sock"},
      {"cgroupDriver", "cgroupfs"},
      {"enforceNodeAllocatable", Json::array()},
      {"authentication", {{"anonymous", {{"enabled", true}}}, {"webhook", {{"enabled", false}}}}},
      {"authorization", {{"mode", "AlwaysAllow"}}},
      {"readOnlyPort", 10255},
      {"tlsCertFile", std::string("/") + kCertificateFile},
      {"tlsPrivateKeyFile", std::string("/") + kKeyFile},
      {"failSwapOn", false},
      {"localStorageCapacityIsolation", false},
      {"makeIPTablesUtilChains", false},
      {"imageGCHighThresholdPercent", 100},
      {"runtimeRequestTimeout", "10m"},
      {"fileCheckFrequency", "2s"},
      {"cpuManagerReconcilePeriod", "5s"}};
  full.merge_patch(config);
  return full;
}

Result<Json> static_pod(std::string_view manifest) {
  PINFOLD_LET(Json pod, parse_document(manifest));
  if (!pod.is_object() || !pod.value("spec", Json()).is_object()) {
    return fail(ErrorCode::kInvalidArgument, "expected a Pod with a spec");
  }
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  Json& spec = pod["spec"];
  spec["hostNetwork"] = true;
  if (!spec.contains("terminationGracePeriodSeconds")) spec["terminationGracePeriodSeconds"] = 1;
  for (const char* const list : {"initContainers", "containers"}) {
    if (!spec.contains(list) || !spec[list].is_array()) continue;
    const bool is_init = std::string_view(list) == "initContainers";
    for (Json& container : spec[list]) {
      if (!container.is_object()) continue;
      use_own_image(container, is_init && container.value("restartPolicy", Json()) != "Always");
    }
  }
  return Result<Json>(std::move(pod));
}

VmResult<KubeletAnswer> control_kubelet(Vm& vm, std::vector<std::string> arguments,
                                        Milliseconds limit) {
  const std::string verb = arguments.front();
  std::vector<std::string> argv = {"sh", std::string("/") + kKubeletScriptFile};
  argv.insert(argv.end(), std::make_move_iterator(arguments.begin()),
              std::make_move_iterator(arguments.end()));
  PINFOLD_LET(const auto reply,
              vm.request({{"op", "exec"}, {"argv", argv}, {"timeLimitMs", limit.count()}},
                         limit + std::chrono::seconds(10)));
  const int status = reply.value("timedOut", false) ? -1 : reply.value("status", -1);
  if (status == 0) return KubeletAnswer{.output = reply.value("stdout", "")};
  if (status == kHasEnded) return KubeletAnswer{.has_ended = true};
  return KubeletAnswer{
      .error = fmt::format("kubelet.sh {} ended with {}: {}", verb, describe_end(reply),
                           excerpt(reply.value("error", "") + reply.value("stdout", "") +
                                   reply.value("stderr", "")))};
}

}  // namespace pinfold::harness
