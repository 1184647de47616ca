#include "call.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "pinfold/api/pod_documents.hpp"
#include "pinfold/api/quiet_note.hpp"
#include "pinfold/api/validation.hpp"
#include "pinfold/text/document.hpp"

namespace pinfold::capi {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local int noted_errno = 0;

}  // namespace

void note_errno(int number) noexcept { noted_errno = number; }
void set_errno() noexcept { errno = noted_errno; }

char* copy_text(std::string_view text) noexcept {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

void set_message(char** error, std::string_view message) noexcept {
  if (error != nullptr) *error = copy_text(message);
}

pinfold_code set_text(char** out, const std::string& text, pinfold_code code) noexcept {
  char* const copy = copy_text(text);
  if (copy == nullptr) return PINFOLD_NO_MEMORY;
  *out = copy;
  return code;
}

Result<void> require(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} is NULL", name));
}

Result<void> require_directory(const char* path) {
  PINFOLD_TRY(require(path, "directory"));
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return {};
  Error error{ErrorCode::kInvalidArgument, failed ? failed.value() : ENOTDIR,
              fmt::format("'{}': {}", path, failed ? failed.message() : "is not a directory")};
  return fail(std::move(error));
}

Result<void> check_flags(std::uint32_t flags, std::uint32_t known) {
  if ((flags & ~known) == 0) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("flags {:#x}: unknown", flags & ~known));
}

Result<PodSpec> read_pod(const nlohmann::json& document) {
  PINFOLD_LET(auto pod, pod_from_json(document));
  apply_defaults(pod);
  PINFOLD_TRY(validate(pod));
  return pod;
}

Result<ManifestPod> read_manifest(const char* manifest) {
  PINFOLD_TRY(require(manifest, "manifest"));
  PINFOLD_LET(const auto document, parse_document(manifest));
  PINFOLD_LET(auto pod, pinfold::read_pod(document, UnknownFields::kIgnore));
  PINFOLD_TRY(validate(pod));
  ManifestPod read{std::move(pod), {}};
  if (std::string note = template_note(document); !note.empty()) read.notes.push_back(note);
  for (std::string& note : quiet_notes(document)) read.notes.push_back(std::move(note));
  return read;
}

bool is_out_of_memory(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) return true;
  const auto* const of_system = dynamic_cast<const std::system_error*>(&thrown);
  return of_system != nullptr && of_system->code() == std::errc::not_enough_memory;
}

}  // namespace pinfold::capi

void pinfold_free(void* text) { std::free(text); }

const char* pinfold_version() { return PINFOLD_VERSION; }

std::uint32_t pinfold_version_number() { return PINFOLD_VERSION_NUMBER; }

const char* pinfold_code_name(pinfold_code code) {
  switch (code) {
    case PINFOLD_OK:
      return "ok";
    case PINFOLD_INVALID_ARGUMENT:
      return "invalid argument";
    case PINFOLD_NOT_FOUND:
      return "not found";
    case PINFOLD_CORRUPT:
      return "corrupt";
    case PINFOLD_IO:
      return "i/o";
    case PINFOLD_UNSUPPORTED:
      return "unsupported";
    case PINFOLD_INTERNAL:
      return "internal";
    case PINFOLD_BUSY:
      return "busy";
    case PINFOLD_NO_MEMORY:
      return "no memory";
    case PINFOLD_REJECTED:
      return "rejected";
    case PINFOLD_NOT_ENFORCED:
      return "not enforced";
    case PINFOLD_NOT_SETTLED:
      return "not settled";
    case PINFOLD_UNKNOWN:
      return "unknown outcome";
    default:
      return "unknown code";
  }
}
