#include "pinfold/agent/config_file.hpp"

#include <nlohmann/json.hpp>

#include "pinfold/checkpoint/replace_all.hpp"

namespace pinfold::agent {
namespace {

/// A document that names no profile leaves the one that the state has.
bool says(const std::optional<std::string>& text, const Config& config) {
  if (!text) return false;
  auto parsed = parse_config(*text);
  if (!parsed) return false;
  if (!parsed->names_profile) parsed->config.profile = config.profile;
  return parsed->config == config;
}

}  // namespace

Result<void> install_config(checkpoint::Fs& fs, const std::string& text) {
  PINFOLD_LET(const auto current, fs.read(kConfigFileName));
  if (!current || *current == text) return {};
  PINFOLD_TRY(checkpoint::replace_all(fs, {{kEarlierConfigFileName, *current}}));
  return checkpoint::replace_all(fs, {{kConfigFileName, text}});
}

Result<std::string> text_of_config(checkpoint::Fs& fs, const Config& config) {
  PINFOLD_LET(auto earlier, fs.read(kEarlierConfigFileName));
  return says(earlier, config) ? *std::move(earlier) : to_json(config).dump(2) + "\n";
}

Result<std::optional<std::string>> find_interrupted(checkpoint::Fs& fs, const Config& now,
                                                    const std::optional<EarlierNode>& before) {
  PINFOLD_LET(const auto current, fs.read(kConfigFileName));
  PINFOLD_LET(auto earlier, fs.read(kEarlierConfigFileName));
  if (!current || says(current, now) || !says(earlier, now)) return std::nullopt;
  if (before && says(current, before->config)) return std::nullopt;
  return earlier;
}

}  // namespace pinfold::agent
