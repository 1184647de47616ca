#include "input.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "output.hpp"
#include "pinfold/api/pod_documents.hpp"
#include "pinfold/api/quiet_note.hpp"

namespace pinfold::tools {

namespace {

/// Unpacks a gzip file. Domain: `packed` begins like one.
Result<std::string> unpacked(std::string packed, const std::string& name) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  if (::inflateInit2(&stream, kGzip) != Z_OK) {
    return fail(ErrorCode::kIo, fmt::format("read '{}': zlib cannot start", name));
  }
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= kMaxFileBytes) {
    constexpr std::size_t kStep = 1U << 16U;
    out.resize(out.size() + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(&out[out.size() - kStep]);
    stream.avail_out = kStep;
    status = ::inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    // Several gzip files may be concatenated: continue with the next one.
    if (status == Z_STREAM_END && stream.avail_in > 0) status = ::inflateReset(&stream);
  }
  (void)::inflateEnd(&stream);
  if (out.size() > kMaxFileBytes) {
    constexpr std::size_t kHeader = 512;  // of an archive
    if (const auto what = name_other_form(std::string_view(out).substr(0, kHeader))) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, *what));
    }
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("read '{}': unpacked more than {} MiB", name, kMaxFileBytes >> 20U));
  }
  if (status == Z_STREAM_END) return out;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("read '{}': a damaged or incomplete gzip file", name));
}

}  // namespace

std::string input_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string input_names(const std::vector<std::string>& paths) {
  std::string names;
  for (const std::string& path : paths) names += (names.empty() ? "" : ", ") + input_name(path);
  return names;
}

Result<std::string> read_input(const std::string& path) {
  PINFOLD_LET(auto text, path == "-" ? read_rest(STDIN_FILENO, input_name(path)) : read_file(path));
  if (!text.starts_with("\x1f\x8b")) return text;
  return unpacked(std::move(text), input_name(path));
}

namespace {

/// Returns the root of the tree of a machine; `input` may also be its directory sys.
std::string root_of_tree(const std::string& input) {
  const auto path = std::filesystem::path(input + "/").lexically_normal();
  std::error_code failed;
  const bool is_sys = std::filesystem::exists(path / "devices/system/cpu", failed) &&
                      path.parent_path().filename() == "sys";
  if (!is_sys) return input;
  const std::string root = path.parent_path().parent_path().string();
  return root.empty() ? "." : root;
}

}  // namespace

Result<Source> read_source(const std::string& input) {
  std::error_code failed;
  if (std::filesystem::is_directory(input, failed)) return SysTree{root_of_tree(input)};
  if (input != "-" && !std::filesystem::exists(input, failed)) {
    Source source = source_of_text(input);
    if (std::holds_alternative<HwlocSynthetic>(source)) return source;
  }
  PINFOLD_LET(auto text, read_input(input));
  return source_of_text(std::move(text));
}

std::set<std::string> device_resources(const PodSpec& pod) {
  std::set<std::string> resources;
  for (const Container& container : pod.containers) {
    for (const auto& [name, amount] : container.resources.requests) {
      const bool is_device = !is_native_resource(name) && name.find('/') != std::string::npos;
      if (is_device && !amount.is_zero()) resources.insert(name);
    }
  }
  return resources;
}

std::vector<std::string> missing_devices(const Machine& machine, const std::string& machine_file,
                                         const PodSpec& pod) {
  std::set<std::string> offered;
  for (const Device& device : machine.devices()) offered.insert(device.resource);
  std::vector<std::string> sentences;
  for (const std::string& resource : device_resources(pod)) {
    if (offered.contains(resource)) continue;
    const std::string name = pod.namespace_name + "/" + pod.name;
    sentences.push_back(
        machine_file.empty()
            ? fmt::format("{}: which devices this node offers is unknown; the decision ignores "
                          "'{}': 'pinfold topology --device' writes a machine with devices for "
                          "--machine",
                          name, resource)
            : fmt::format("{}: no device plugin on this machine offers '{}'; the decision ignores "
                          "it",
                          name, resource));
  }
  return sentences;
}

Result<PodFiles> read_pod_files(const std::vector<std::string>& files, RejectedPods rejected) {
  PodCollector collector(UnknownFields::kRefuse, rejected);
  std::vector<std::string> quiet;
  for (const std::string& file : files) {
    PINFOLD_LET(const auto text, read_input(file));
    PINFOLD_TRY(collector.add_text(text, input_name(file)));
    for (std::string& note : quiet_notes_in(text)) quiet.push_back(std::move(note));
  }
  PINFOLD_LET(auto read, std::move(collector).finish());
  for (const std::string& note : read.notes) warn(note);
  if (read.pods.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("no pod in {}: expected at least one", input_names(files)));
  }
  return PodFiles{std::move(read), std::move(quiet)};
}

Result<std::vector<PodSpec>> read_pods(const std::vector<std::string>& files,
                                       RejectedPods rejected) {
  PINFOLD_LET(auto read, read_pod_files(files, rejected));
  return std::move(read.pods);
}

cli::Option no_validation_option(bool& is_set) {
  return {"--no-validation", &is_set,
          "Accept pods whose resources the API server would reject, such as requests above limits"};
}

}  // namespace pinfold::tools
