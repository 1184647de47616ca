#include "pinfold/quiet/kept_knobs.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "pinfold/fields/json.hpp"

namespace pinfold::quiet {
namespace {

constexpr std::uint64_t kVersion = 1;

/// An entry of the file.
struct KeptEntry {
  Knob knob;
  KeptKnob kept;
};
struct KeptFile {
  std::uint64_t version = kVersion;
  std::string boot_id;
  std::vector<KeptEntry> knobs;
};

void describe(fields::Fields& fields, KeptEntry& entry) {
  fields.type("KeptKnob", "A value that Pinfold has changed.");
  fields.member("kind", entry.knob.kind, "");
  fields.member("name", entry.knob.name, "");
  fields.member("before", entry.kept.before, "Its value before.");
  fields.member("ours", entry.kept.ours, "Values of Pinfold.");
  fields.member("isWritten", entry.kept.is_written, "The last of these was written.");
}

void describe(fields::Fields& fields, KeptFile& file) {
  fields.type("KeptKnobs", "Values that Pinfold has changed.");
  fields.member("version", file.version, "");
  fields.member("bootId", file.boot_id, "");
  fields.member("knobs", file.knobs, "");
}

}  // namespace

std::string encode_kept(const KeptKnobs& kept, std::string_view boot_id) {
  KeptFile file{kVersion, std::string(boot_id), {}};
  file.knobs.reserve(kept.size());
  for (const auto& [knob, one] : kept) file.knobs.push_back({knob, one});
  return fields::to_json(file).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Result<KeptKnobs> decode_kept(std::string_view text, std::string_view boot_id) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::kCorrupt, "kept values: expected JSON");
  auto file = fields::read<KeptFile>(json);
  if (!file) return fail(ErrorCode::kCorrupt, "kept values: " + file.error().message);
  if (file->version != kVersion) {
    return fail(ErrorCode::kCorrupt, "kept values: version " + std::to_string(file->version) +
                                         ": expected " + std::to_string(kVersion));
  }
  KeptKnobs kept;
  if (file->boot_id != boot_id) return kept;
  for (KeptEntry& entry : file->knobs) kept[std::move(entry.knob)] = std::move(entry.kept);
  return kept;
}

}  // namespace pinfold::quiet
