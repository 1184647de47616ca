#include <fmt/format.h>

#include <cerrno>

#include "pinfold/checkpoint/fs.hpp"

namespace pinfold::checkpoint {
namespace {

class AbsentDirectory final : public Fs {
 public:
  explicit AbsentDirectory(std::string path) : path_(std::move(path)) {}

  Result<std::optional<std::string>> read(const std::string& /*name*/) override {
    return std::nullopt;
  }
  Result<std::vector<std::string>> list() override { return std::vector<std::string>{}; }
  Result<std::unique_ptr<File>> create(const std::string& name) override { return absent(name); }
  Result<std::unique_ptr<File>> reopen(const std::string& name, std::size_t /*size*/) override {
    return absent(name);
  }
  Result<void> rename(const std::string& from, const std::string& /*to*/) override {
    return absent(from);
  }
  Result<void> remove(const std::string& /*name*/) override { return {}; }
  Result<void> sync_directory() override { return {}; }

 private:
  [[nodiscard]] tl::unexpected<Error> absent(const std::string& name) const {
    return fail_errno(ENOENT, fmt::format("write '{}/{}'", path_, name));
  }

  std::string path_;
};

}  // namespace

std::unique_ptr<Fs> absent_directory(std::string path) {
  return std::make_unique<AbsentDirectory>(std::move(path));
}

}  // namespace pinfold::checkpoint
