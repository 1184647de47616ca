#include "pinfold/harness/image.hpp"

#include <fmt/format.h>

#include "pinfold/harness/process.hpp"
#include "pinfold/harness/verdict.hpp"

namespace pinfold::harness {
namespace {

namespace fs = std::filesystem;

std::string last_line(const std::string& text) { return end_of_console(text, 1); }

}  // namespace

Result<fs::path> run_image_script(const std::vector<std::string>& command) {
  const std::string intent = fmt::format("prepare the image '{}'", command.back());
  PINFOLD_LET_WRAP(const auto built, ask_program(command, std::chrono::minutes(15)), intent);
  const std::string last = last_line(built.output);
  if (built.exit_status == 0) return last;
  // The script's own errors are one sentence; other programs may need more lines.
  constexpr std::string_view kOwn = "vm-images: ";
  return fail(ErrorCode::kIo,
              fmt::format("{}: {}", intent,
                          last.starts_with(kOwn) ? last.substr(kOwn.size())
                                                 : end_of_console(built.output, 3)));
}

Result<Image> prepare_image(const fs::path& script, const std::string& kernel, Arch arch) {
  PINFOLD_LET(const auto folder,
              run_image_script(
                  {script.string(), "--arch", std::string(to_string(arch)), "--kernel", kernel}));
  PINFOLD_LET(auto version, read_file(folder / "version"));
  return Image{
      folder / "vmlinuz", folder / "busybox", folder / "modules", last_line(version), arch, false};
}

Result<fs::path> prepare_qemu(const fs::path& script) {
  PINFOLD_LET(auto folder, run_image_script({script.string(), "--qemu"}));
  return folder / "qemu-system-x86_64";
}

Result<fs::path> prepare_runtime_image(const fs::path& script, const std::string& runtime) {
  return run_image_script({script.string(), "--runtime", runtime});
}

}  // namespace pinfold::harness
