#include "pinfold/verbs/config_file.hpp"

#include <utility>

#include "pinfold/agent/options.hpp"
#include "pinfold/agent/profile_source.hpp"
#include "pinfold/checkpoint/store.hpp"

namespace pinfold::verbs {
namespace {

/// Returns whether a document yields `config`. One that names no profile inherits that of `config`.
bool says(const std::optional<std::string>& text, const Config& config) {
  if (!text) return false;
  auto parsed = parse_config(*text);
  if (!parsed) return false;
  const agent::ProfileSource source = agent::profile_source_of(*parsed);
  return agent::with_profile_of(config, std::move(parsed->config), source) == config;
}

}  // namespace

Result<ConfigFiles> ConfigFiles::open(std::unique_ptr<checkpoint::Fs> fs) {
  ConfigFiles files;
  files.fs_ = std::move(fs);
  PINFOLD_LET(files.current_, files.fs_->read(agent::kConfigFileName));
  PINFOLD_LET(files.earlier_, files.fs_->read(kEarlierConfigFileName));
  return files;
}

Result<void> ConfigFiles::install(const std::string& text) {
  has_changed_ = true;
  if (current_) {
    PINFOLD_TRY(checkpoint::replace_all(*fs_, {{kEarlierConfigFileName, *current_}}));
  }
  return checkpoint::replace_all(*fs_, {{agent::kConfigFileName, text}});
}

Result<void> ConfigFiles::restore() {
  if (!has_changed_) return {};
  PINFOLD_TRY(put(agent::kConfigFileName, current_));
  return put(kEarlierConfigFileName, earlier_);
}

bool ConfigFiles::is_interrupted(const Config& now,
                                 const std::shared_ptr<const agent::EarlierNode>& before) const {
  if (!current_ || says(current_, now) || !says(earlier_, now)) return false;
  return !before || !says(current_, before->config);
}

Result<void> ConfigFiles::take_back() { return put(agent::kConfigFileName, earlier_); }

Result<void> ConfigFiles::put(const char* name, const std::optional<std::string>& text) {
  if (text) return checkpoint::replace_all(*fs_, {{name, *text}});
  PINFOLD_TRY(fs_->remove(name));
  return fs_->sync_directory();
}

}  // namespace pinfold::verbs
